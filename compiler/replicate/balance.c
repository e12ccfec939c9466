// Owners for pieces of variables.
#include "compiler/replicate/internal.h"

#include <stdlib.h>

// Bytes on the devices that hold something, by device.
struct load {
  uint32_t device;
  int64_t bytes;
};
struct balance {
  struct dtg_arena *scratch;
  DTG_VEC(struct load) loads;
  DTG_VEC(uint32_t) next; // per `params` clause: its next turn
};

// Position of a device among the loads, or where it would stand.
static size_t position(const struct balance *b, uint32_t device) {
  size_t low = 0, high = b->loads.len;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (b->loads.data[middle].device < device)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool is_loaded(const struct balance *b, uint32_t device, size_t *at) {
  *at = position(b, device);
  return *at < b->loads.len && b->loads.data[*at].device == device;
}

static void give(struct balance *b, struct dtg_owner_unit *unit, uint32_t device) {
  size_t at;
  unit->owner = device;
  if (!is_loaded(b, device, &at)) {
    dtg_vec_push(b->scratch, &b->loads, (struct load){0});
    for (size_t i = b->loads.len - 1; i > at; i--) b->loads.data[i] = b->loads.data[i - 1];
    b->loads.data[at] = (struct load){device, 0};
  }
  int64_t *bytes = &b->loads.data[at].bytes;
  if (__builtin_add_overflow(*bytes, unit->weight, bytes)) *bytes = INT64_MAX;
}

// The first candidate that holds nothing, else the one that holds least: at most one step more than
// there are loaded devices, however many candidates.
static uint32_t least_loaded(const struct balance *b, const struct dtg_device_set *where) {
  uint32_t best = where->base;
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < dtg_device_set_count(where); i++) {
    uint32_t device = dtg_device_set_at(where, i);
    size_t at;
    if (!is_loaded(b, device, &at)) return device;
    if (b->loads.data[at].bytes < least) {
      least = b->loads.data[at].bytes;
      best = device;
    }
  }
  return best;
}

static uint32_t take_turn(struct balance *b, const struct dtg_owner_unit *unit) {
  while (b->next.len <= unit->rule) dtg_vec_push(b->scratch, &b->next, 0);
  return dtg_device_set_at(&unit->where,
                           b->next.data[unit->rule]++ % dtg_device_set_count(&unit->where));
}

static int heavier(const void *left, const void *right) {
  const struct dtg_owner_unit *a = *(struct dtg_owner_unit *const *)left;
  const struct dtg_owner_unit *b = *(struct dtg_owner_unit *const *)right;
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  if (a->variable != b->variable) return a->variable < b->variable ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

void dtg_owner_balance(struct dtg_arena *scratch, struct dtg_owner_unit *units, size_t count) {
  struct balance b = {.scratch = scratch};
  struct dtg_owner_unit **free_units = DTG_NEW_ARRAY(scratch, struct dtg_owner_unit *, count);
  size_t free_count = 0;
  for (size_t i = 0; i < count; i++)
    if (dtg_device_set_count(&units[i].where) == 1) give(&b, &units[i], units[i].where.base);
  for (size_t i = 0; i < count; i++) {
    if (dtg_device_set_count(&units[i].where) == 1) continue;
    if (units[i].round_robin)
      give(&b, &units[i], take_turn(&b, &units[i]));
    else
      free_units[free_count++] = &units[i];
  }
  qsort(free_units, free_count, sizeof(struct dtg_owner_unit *), heavier);
  for (size_t i = 0; i < free_count; i++)
    give(&b, free_units[i], least_loaded(&b, &free_units[i]->where));
}
