// (d) What lives at the same time lies in different memory, and every size is known to the byte.
#include "compiler/ir/group.h"
#include "compiler/prove/internal.h"

#include <stdlib.h>

// Bytes [begin, end) of a space that belong to something.
struct range {
  int64_t begin, end;
  uint32_t buffer;
};

static int by_begin(const void *left, const void *right) {
  const struct range *a = left, *b = right;
  if (a->begin != b->begin)
    return a->begin < b->begin ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static bool live_together(const struct dtg_plan_buffer *a, const struct dtg_plan_buffer *b) {
  return a->first_step <= b->last_step && b->first_step <= a->last_step;
}

// One takes over the whole memory of the other in the step that reads that for the last time.
static bool takes_over(const struct dtg_plan_function *f, uint32_t earlier, uint32_t later) {
  const struct dtg_plan_buffer *a = &f->buffers.data[earlier], *b = &f->buffers.data[later];
  return b->in_place_of == earlier && a->last_step == b->first_step &&
         a->at.offset == b->at.offset && a->bytes == b->bytes;
}

// The result of a body: it lies where the function around has it.
static bool lies_around(const struct dtg_plan_function *f, const struct dtg_plan_buffer *b) {
  for (size_t i = 0; b->node != DTG_NO_NODE && i < f->graph->roots.len; i++) {
    enum dtg_root_kind kind = f->graph->roots.data[i].kind;
    if ((kind == DTG_ROOT_CARRY || kind == DTG_ROOT_STACK) &&
        dtg_links_base(f->groups->links, f->graph->roots.data[i].node) == b->node)
      return true;
  }
  return false;
}

static bool check_inside(struct dtg_proof *proof, const struct dtg_plan_function *f, int64_t base,
                         uint32_t i) {
  const struct dtg_plan_buffer *b = &f->buffers.data[i];
  if (b->first_step > b->last_step || b->first_step >= f->steps.len)
    return dtg_proof_fail(proof, "memory: buffer %u of %s lives in no step", i, f->name);
  if (b->at.offset >= base && b->bytes >= 0 && b->bytes <= f->arena_bytes &&
      b->at.offset - base <= f->arena_bytes - b->bytes)
    return true;
  return dtg_proof_fail(proof, "memory: buffer %u of %s lies outside the %lld bytes of its arena",
                        i, f->name, (long long)f->arena_bytes);
}

// `base`: where the arena begins; what moves with a loop lies around its body.
static bool check_buffers(struct dtg_proof *proof, const struct dtg_plan_function *f,
                          int64_t base) {
  struct range *ranges = DTG_NEW_ARRAY(&proof->scratch, struct range, f->buffers.len);
  size_t count = 0;
  for (uint32_t i = 0; i < f->buffers.len; i++) {
    const struct dtg_plan_buffer *b = &f->buffers.data[i];
    if (b->at.space != DTG_SPACE_ARENA || lies_around(f, b))
      continue;
    if (!check_inside(proof, f, base, i))
      return false;
    ranges[count++] = (struct range){b->at.offset, b->at.offset + b->bytes, i};
  }
  qsort(ranges, count, sizeof *ranges, by_begin);
  for (size_t i = 0; i < count; i++)
    for (size_t k = i + 1; k < count && ranges[k].begin < ranges[i].end; k++) {
      uint32_t a = ranges[i].buffer, b = ranges[k].buffer;
      if (!live_together(&f->buffers.data[a], &f->buffers.data[b]) || takes_over(f, a, b) ||
          takes_over(f, b, a))
        continue;
      return dtg_proof_fail(
          proof, "memory: buffers %u and %u of %s live at the same time in the same memory",
          a < b ? a : b, a < b ? b : a, f->name);
    }
  return true;
}

// The largest live set, by bytes added and released along the steps.
static bool check_peak(struct dtg_proof *proof, const struct dtg_plan_function *f) {
  int64_t *change = DTG_NEW_ARRAY(&proof->scratch, int64_t, f->steps.len + 2);
  int64_t live = 0, peak = 0;
  for (size_t i = 0; i < f->buffers.len; i++) {
    const struct dtg_plan_buffer *b = &f->buffers.data[i];
    if (b->at.space != DTG_SPACE_ARENA || lies_around(f, b))
      continue;
    // Memory that was taken over counts once, for as long as any of its users lives.
    uint32_t first = b->in_place_of == DTG_NO_NODE ? b->first_step : b->first_step + 1;
    uint32_t end = b->last_step < f->steps.len ? b->last_step + 1 : (uint32_t)f->steps.len + 1;
    if (first >= end)
      continue;
    change[first] += b->bytes;
    change[end] -= b->bytes;
  }
  for (size_t s = 0; s < f->steps.len; s++) {
    live += change[s];
    if (live > peak)
      peak = live;
  }
  if (peak == f->live_peak_bytes && peak <= f->arena_bytes)
    return true;
  return dtg_proof_fail(proof, "memory: %s needs %lld bytes at its peak, and the plan says %lld",
                        f->name, (long long)peak, (long long)f->live_peak_bytes);
}

static bool check_steps(struct dtg_proof *proof, const struct dtg_plan_function *f) {
  bool *seen = DTG_NEW_ARRAY(&proof->scratch, bool, f->graph->group_count);
  for (size_t s = 0; s < f->steps.len; s++) {
    uint32_t group = f->steps.data[s].group;
    if (group >= f->graph->group_count || seen[group])
      return dtg_proof_fail(proof, "updates: group %u of %s runs twice or does not exist", group,
                            f->name);
    seen[group] = true;
  }
  for (uint32_t g = 0; g < f->graph->group_count; g++)
    if (!seen[g])
      return dtg_proof_fail(proof, "updates: group %u of %s never runs", g, f->name);
  return true;
}

// Places in a block, in any order: disjoint and inside.
static bool check_places(struct dtg_proof *proof, struct range *ranges, size_t count, int64_t size,
                         const char *what) {
  qsort(ranges, count, sizeof *ranges, by_begin);
  for (size_t i = 0; i < count; i++) {
    if (ranges[i].begin < 0 || ranges[i].end > size)
      return dtg_proof_fail(proof, "memory: %s %u lies outside its block of %lld bytes", what,
                            ranges[i].buffer, (long long)size);
    if (i > 0 && ranges[i].begin < ranges[i - 1].end)
      return dtg_proof_fail(proof, "memory: %s %u and %u lie in the same memory", what,
                            ranges[i - 1].buffer, ranges[i].buffer);
  }
  return true;
}

static bool check_variables(struct dtg_proof *proof) {
  const struct dtg_plan *plan = proof->plan;
  size_t count = plan->module->variables.len;
  struct range *ranges = DTG_NEW_ARRAY(&proof->scratch, struct range, count);
  for (uint32_t v = 0; v < count; v++) {
    int64_t begin = plan->variable_offsets[v];
    ranges[v] =
        (struct range){begin, begin + dtg_type_bytes(&plan->module->variables.data[v].type), v};
  }
  return check_places(proof, ranges, count, plan->variables_bytes, "variables");
}

// A list of rows: its number, ids, values, one behind the other, with room for all that the shards
// of a replica can touch.
static bool check_list(struct dtg_proof *proof, const struct dtg_plan_contribution *c) {
  const struct dtg_sparse *table = c->sparse;
  int64_t most = proof->r->shards / proof->r->replicas * table->picks;
  most = most < table->rows ? most : table->rows;
  if (c->capacity >= most && c->capacity >= table->picks && c->ids >= c->rows + 4 &&
      c->offset >= c->ids + 4 * c->capacity)
    return true;
  return dtg_proof_fail(proof, "memory: the rows of `%s` have no room for %lld of them", c->name,
                        (long long)most);
}

static bool check_contributions(struct dtg_proof *proof) {
  const struct dtg_plan *plan = proof->plan;
  size_t count = plan->contributions.len;
  struct range *ranges = DTG_NEW_ARRAY(&proof->scratch, struct range, count);
  for (uint32_t i = 0; i < count; i++) {
    const struct dtg_plan_contribution *c = &plan->contributions.data[i];
    ranges[i] = (struct range){c->offset, c->offset + dtg_type_bytes(&c->type), i};
    if (!c->sparse)
      continue;
    if (!check_list(proof, c))
      return false;
    ranges[i].begin = c->rows;
    ranges[i].end = c->offset + 4 * c->capacity * c->sparse->width;
  }
  return check_places(proof, ranges, count, plan->contribution_bytes, "contributions");
}

static bool check_function(struct dtg_proof *proof, const struct dtg_plan_function *f,
                           int64_t base) {
  if (!check_steps(proof, f) || !check_buffers(proof, f, base) || !check_peak(proof, f))
    return false;
  for (size_t s = 0; s < f->steps.len; s++) {
    const struct dtg_plan_loop *loop = f->steps.data[s].loop;
    if (loop && !check_function(proof, &loop->body, loop->arena_offset))
      return false;
  }
  return true;
}

bool dtg_prove_memory(struct dtg_proof *proof) {
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *f = &proof->plan->functions[i];
    if (!f->graph)
      continue;
    if (!check_function(proof, f, 0))
      return false;
  }
  return check_variables(proof) && check_contributions(proof);
}
