/* The level "schedule" for loops: where the body reads and writes, iteration by iteration. */
#include "compiler/schedule/verify.h"

#include <inttypes.h>

struct loop_check {
  struct dtg_plan_check *check; /* of the function around */
  const struct dtg_plan_step *step;
  const struct dtg_group *group;
  struct dtg_loop loop;
  struct dtg_iteration iterations[DTG_MAX_LOOP_DEPTH];
  struct dtg_location *roots; /* per result: as the body writes it */
};

static bool same_place(const struct dtg_location *a, const struct dtg_location *b) {
  return a->space == b->space && a->index == b->index && a->offset == b->offset;
}

static void set_iteration(struct loop_check *it, int64_t number) {
  it->iterations[it->step->loop->depth] = (struct dtg_iteration){
      number, it->step->loop->reverse ? it->step->loop->count - 1 - number : number};
}

/* The argument of the loop's step for an operand or result of the scan. */
static const struct dtg_location *argument(const struct loop_check *it, uint32_t operand) {
  return operand < it->step->args.len ? &it->step->args.data[operand] : NULL;
}

static const struct dtg_location *result_argument(const struct loop_check *it, uint32_t number) {
  const struct dtg_graph *graph = it->check->function->graph;
  for (uint32_t i = 1; i < it->group->member_count; i++) {
    const struct dtg_node *node = dtg_graph_node(graph, it->group->members[i]);
    if (dtg_node_int(node, "index", -1) == number)
      return argument(it, it->loop.carries + it->loop.slices + it->loop.values + i - 1);
  }
  return NULL;
}

static struct dtg_location entry_of(const struct loop_check *it, const struct dtg_location *whole,
                                    int64_t bytes) {
  struct dtg_location at = dtg_location_at(whole, it->iterations);
  at.offset += it->iterations[it->step->loop->depth].index * bytes;
  return at;
}

/* Where the leaf must be in iteration `number`. */
static struct dtg_location leaf_place(struct loop_check *it, const struct dtg_node *leaf,
                                      int64_t number) {
  uint32_t index = 0;
  enum dtg_loop_leaf kind = dtg_loop_leaf_of(leaf, &index);
  struct dtg_location at = {.space = DTG_SPACE_ITERATION, .index = it->step->loop->depth};
  if (kind == DTG_LOOP_SLICE)
    return entry_of(it, argument(it, it->loop.carries + index), dtg_type_bytes(&leaf->type));
  if (kind == DTG_LOOP_VALUE)
    return dtg_location_at(argument(it, it->loop.carries + it->loop.slices + index),
                           it->iterations);
  if (kind != DTG_LOOP_CARRY)
    return at;
  if (number == 0)
    return dtg_location_at(argument(it, index), it->iterations);
  set_iteration(it, number - 1);
  at = dtg_location_at(&it->roots[index], it->iterations);
  set_iteration(it, number);
  return at;
}

static bool check_reads(struct loop_check *it, int64_t number) {
  const struct dtg_plan_function *body = &it->step->loop->body;
  for (uint32_t s = 0; s < body->steps.len; s++) {
    const struct dtg_plan_step *step = &body->steps.data[s];
    for (size_t i = 0; i < step->args.len; i++) {
      uint32_t node = step->nodes.data[i];
      if (node == DTG_NO_NODE || body->graph->nodes.data[node].op->class != DTG_CLASS_LEAF)
        continue;
      struct dtg_location at = dtg_location_at(&step->args.data[i], it->iterations);
      struct dtg_location wanted = leaf_place(it, &body->graph->nodes.data[node], number);
      if (!same_place(&at, &wanted))
        return dtg_plan_check_fail(it->check,
                                   "step %" PRIu32 " of a body looks for %%%" PRIu32
                                   " where it is not in iteration "
                                   "%" PRId64,
                                   s, node, number);
    }
  }
  return true;
}

static bool check_writes(struct loop_check *it, int64_t number) {
  for (uint32_t i = 0; i < it->loop.results; i++) {
    const struct dtg_location *result = result_argument(it, i);
    const struct dtg_node *node = dtg_graph_node(it->loop.body, it->loop.body->roots.data[i].node);
    bool carry = i < it->loop.carries;
    if (!result || (carry && number != it->step->loop->count - 1))
      continue;
    struct dtg_location at = dtg_location_at(&it->roots[i], it->iterations);
    struct dtg_location wanted = carry ? dtg_location_at(result, it->iterations)
                                       : entry_of(it, result, dtg_type_bytes(&node->type));
    if (!same_place(&at, &wanted))
      return dtg_plan_check_fail(it->check,
                                 "iteration %" PRId64 " does not write result %" PRIu32
                                 " of its loop where it is read",
                                 number, i);
  }
  return true;
}

static bool find_roots(struct loop_check *it) {
  const struct dtg_plan_function *body = &it->step->loop->body;
  it->roots = DTG_NEW_ARRAY(&it->check->scratch, struct dtg_location, it->loop.results);
  for (uint32_t i = 0; i < it->loop.results; i++) {
    uint32_t base = dtg_links_base(body->groups->links, body->graph->roots.data[i].node);
    size_t b = 0;
    while (b < body->buffers.len && body->buffers.data[b].node != base)
      b++;
    if (base == DTG_NO_NODE || b == body->buffers.len)
      return dtg_plan_check_fail(it->check, "result %" PRIu32 " of a loop is not written", i);
    it->roots[i] = body->buffers.data[b].at;
  }
  return true;
}

/* A carry's two places, and what the body keeps for itself, are inside the loop's scratch; the
 * others were checked as buffers of the function around. */
bool dtg_plan_check_loop(struct dtg_plan_check *check, const struct dtg_plan_step *step) {
  const struct dtg_group *group = &check->function->groups->groups[step->group];
  struct loop_check it = {.check = check,
                          .step = step,
                          .group = group,
                          .loop = dtg_loop_of(check->function->graph, group->members[0])};
  int64_t count = step->loop->count;
  if (count != it.loop.count || step->loop->reverse != it.loop.reverse)
    return dtg_plan_check_fail(check, "a loop does not run as its scan says");
  if (!find_roots(&it))
    return false;
  for (int64_t number = 0; number < count;
       number = number < 3 || number == count - 1 ? number + 1 : count - 1) {
    set_iteration(&it, number);
    if (!check_reads(&it, number) || !check_writes(&it, number))
      return false;
  }
  return true;
}
