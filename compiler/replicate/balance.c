// Owners for pieces of variables.
#include "compiler/replicate/internal.h"

#include <stdlib.h>

// Bytes on the devices that hold something, by device.
struct load {
  uint32_t device;
  int64_t bytes;
};

// Candidates of one set in the order in which they are wanted. Numbers from `fresh` on have not
// been looked at; the others are in a heap, by the load they had when they were put there: loads
// only grow, so an entry that is out of date is put back.
struct entry {
  int64_t bytes;
  uint32_t number;
};
struct queue {
  struct dtg_device_set where;
  uint32_t fresh;
  DTG_VEC(struct entry) heap;
};

struct balance {
  struct dtg_arena *scratch;
  DTG_VEC(struct load) loads;
  DTG_VEC(struct queue) queues; // one for each set that occurs
  DTG_VEC(uint32_t) next;       // per `params` clause: its next turn
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
    for (size_t i = b->loads.len - 1; i > at; i--)
      b->loads.data[i] = b->loads.data[i - 1];
    b->loads.data[at] = (struct load){device, 0};
  }
  int64_t *bytes = &b->loads.data[at].bytes;
  if (__builtin_add_overflow(*bytes, unit->weight, bytes))
    *bytes = INT64_MAX;
}

static bool is_before(const struct entry *a, const struct entry *b) {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->number < b->number;
}

static void push(struct balance *b, struct queue *queue, struct entry entry) {
  size_t at = queue->heap.len;
  dtg_vec_push(b->scratch, &queue->heap, entry);
  struct entry *heap = queue->heap.data;
  for (; at > 0 && is_before(&entry, &heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = entry;
}

static struct entry pop(struct queue *queue) {
  struct entry *heap = queue->heap.data;
  struct entry first = heap[0], last = heap[--queue->heap.len];
  size_t at = 0, count = queue->heap.len;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
      child++;
    if (is_before(&last, &heap[child]))
      break;
    heap[at] = heap[child];
  }
  if (count > 0)
    heap[at] = last;
  return first;
}

static struct queue *queue_of(struct balance *b, const struct dtg_device_set *where) {
  for (size_t i = 0; i < b->queues.len; i++) {
    const struct dtg_device_set *other = &b->queues.data[i].where;
    if (other->base == where->base && other->outer == where->outer &&
        other->inner == where->inner && other->outer_stride == where->outer_stride &&
        other->inner_stride == where->inner_stride)
      return &b->queues.data[i];
  }
  struct queue queue = {.where = *where};
  dtg_vec_push(b->scratch, &b->queues, queue);
  return &dtg_vec_last(&b->queues);
}

// The first candidate that holds nothing, else the one that holds least.
static uint32_t least_loaded(struct balance *b, const struct dtg_device_set *where) {
  struct queue *queue = queue_of(b, where);
  uint32_t count = dtg_device_set_count(where);
  size_t at;
  for (; queue->fresh < count; queue->fresh++) {
    uint32_t device = dtg_device_set_at(where, queue->fresh);
    if (!is_loaded(b, device, &at))
      return device;
    push(b, queue, (struct entry){b->loads.data[at].bytes, queue->fresh});
  }
  for (;;) {
    struct entry entry = pop(queue);
    uint32_t device = dtg_device_set_at(where, entry.number);
    is_loaded(b, device, &at);
    bool current = b->loads.data[at].bytes == entry.bytes;
    entry.bytes = b->loads.data[at].bytes;
    push(b, queue, entry);
    if (current)
      return device;
  }
}

static uint32_t take_turn(struct balance *b, const struct dtg_owner_unit *unit) {
  while (b->next.len <= unit->rule)
    dtg_vec_push(b->scratch, &b->next, 0);
  return dtg_device_set_at(&unit->where,
                           b->next.data[unit->rule]++ % dtg_device_set_count(&unit->where));
}

static int heavier(const void *left, const void *right) {
  const struct dtg_owner_unit *a = *(struct dtg_owner_unit *const *)left;
  const struct dtg_owner_unit *b = *(struct dtg_owner_unit *const *)right;
  if (a->weight != b->weight)
    return a->weight > b->weight ? -1 : 1;
  if (a->variable != b->variable)
    return a->variable < b->variable ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

void dtg_owner_balance(struct dtg_arena *scratch, struct dtg_owner_unit *units, size_t count) {
  struct balance b = {.scratch = scratch};
  struct dtg_owner_unit **free_units = DTG_NEW_ARRAY(scratch, struct dtg_owner_unit *, count);
  size_t free_count = 0;
  for (size_t i = 0; i < count; i++)
    if (dtg_device_set_count(&units[i].where) == 1)
      give(&b, &units[i], units[i].where.base);
  for (size_t i = 0; i < count; i++) {
    if (dtg_device_set_count(&units[i].where) == 1)
      continue;
    if (units[i].round_robin)
      give(&b, &units[i], take_turn(&b, &units[i]));
    else
      free_units[free_count++] = &units[i];
  }
  qsort(free_units, free_count, sizeof(struct dtg_owner_unit *), heavier);
  for (size_t i = 0; i < free_count; i++)
    give(&b, free_units[i], least_loaded(&b, &free_units[i]->where));
}
