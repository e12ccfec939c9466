/* The level "schedule": checks a plan against the graph alone, not against how it was made. */
#include "compiler/schedule/verify.h"

#include "compiler/base/strbuf.h"

#include <inttypes.h>
#include <stdarg.h>

bool dtg_plan_check_fail(struct dtg_plan_check *check, const char *format, ...) {
  va_list args;
  dtg_strbuf_printf(check->why, "%s: ", check->function->name);
  va_start(args, format);
  dtg_strbuf_vprintf(check->why, format, args);
  va_end(args);
  return false;
}

static bool check_steps(struct dtg_plan_check *check) {
  const struct dtg_groups *groups = check->function->groups;
  check->step_of = DTG_NEW_ARRAY(&check->scratch, uint32_t, groups->count);
  for (uint32_t i = 0; i < groups->count; i++)
    check->step_of[i] = DTG_NO_NODE;
  for (uint32_t s = 0; s < check->function->steps.len; s++) {
    uint32_t group = check->function->steps.data[s].group;
    if (group >= groups->count)
      return dtg_plan_check_fail(
          check, "step %" PRIu32 " runs group %" PRIu32 ", which does not exist", s, group);
    if (check->step_of[group] != DTG_NO_NODE)
      return dtg_plan_check_fail(check,
                                 "group %" PRIu32 " runs twice, in steps %" PRIu32 " and %" PRIu32,
                                 group, check->step_of[group], s);
    check->step_of[group] = s;
  }
  for (uint32_t i = 0; i < groups->count; i++) {
    if (check->step_of[i] == DTG_NO_NODE)
      return dtg_plan_check_fail(check, "group %" PRIu32 " has no step", i);
  }
  return true;
}

static bool check_order(struct dtg_plan_check *check) {
  const struct dtg_links *links = check->function->groups->links;
  const struct dtg_edges *edges = dtg_edges_new(&check->scratch, links);
  for (uint32_t node = 0; node < links->graph->nodes.len; node++) {
    for (uint32_t i = links->reader_start[node]; i < links->reader_start[node + 1]; i++) {
      uint32_t from = links->group[node], to = links->group[links->readers[i]];
      if (from == DTG_NO_GROUP || from == to || check->step_of[from] < check->step_of[to])
        continue;
      return dtg_plan_check_fail(
          check, "step %" PRIu32 " reads %%%" PRIu32 ", which step %" PRIu32 " computes",
          check->step_of[to], node, check->step_of[from]);
    }
  }
  for (uint32_t from = 0; from < edges->count; from++) {
    for (uint32_t i = edges->start[from]; i < edges->start[from + 1]; i++) {
      if (check->step_of[from] > check->step_of[edges->to[i]])
        return dtg_plan_check_fail(
            check, "step %" PRIu32 " reads a variable that step %" PRIu32 " has overwritten",
            check->step_of[from], check->step_of[edges->to[i]]);
    }
  }
  return true;
}

/* The lowest and highest offset over all iterations. */
static void reach(const struct dtg_plan_check *check, const struct dtg_location *at, int64_t *low,
                  int64_t *high) {
  *low = *high = at->offset;
  for (const struct dtg_move *move = at->moves; move; move = move->next) {
    int64_t way = move->stride * (check->counts[move->depth] - 1);
    if (move->kind == DTG_MOVE_STRIDE)
      *(way < 0 ? low : high) += way;
  }
}

static bool check_inside(struct dtg_plan_check *check, const struct dtg_location *at, int64_t bytes,
                         const char *what) {
  int64_t low, high;
  bool moving = false;
  reach(check, at, &low, &high);
  for (const struct dtg_move *move = at->moves; move; move = move->next) {
    moving = moving || move->kind == DTG_MOVE_STRIDE;
    if (move->kind != DTG_MOVE_STRIDE && !check_inside(check, &move->other, bytes, what))
      return false;
  }
  bool evaluation = check->index == DTG_PLAN_EVAL || check->index == DTG_PLAN_TAIL;
  int64_t room = INT64_MAX;
  if (at->space == DTG_SPACE_ARENA)
    room = check->arena_bytes;
  else if (at->space == DTG_SPACE_VARIABLE)
    room = check->plan->variables_bytes;
  else if (at->space == DTG_SPACE_CONTRIBUTION)
    room = evaluation ? check->plan->metrics_bytes : check->plan->contribution_bytes;
  if (at->offset % DTG_ALIGN != 0 && !moving)
    return dtg_plan_check_fail(check, "%s lies at %" PRId64 ", no multiple of %d", what, at->offset,
                               DTG_ALIGN);
  if (low < 0 || bytes > room || high > room - bytes)
    return dtg_plan_check_fail(
        check, "%s lies at %" PRId64 " to %" PRId64 ", outside its %" PRId64 " bytes", what, low,
        high + bytes, room);
  return true;
}

/* The live range that the steps ask for; outputs are read after the last one. */
static uint32_t last_reader(const struct dtg_plan_check *check, uint32_t node, uint32_t first) {
  const struct dtg_links *links = check->function->groups->links;
  uint32_t last = links->root[node] ? check->function->groups->count : first;
  for (uint32_t i = links->reader_start[node]; i < links->reader_start[node + 1]; i++) {
    uint32_t step = check->step_of[links->group[links->readers[i]]];
    last = step > last ? step : last;
  }
  return last;
}

static bool is_root(const struct dtg_links *links, uint32_t node) {
  return node != DTG_NO_NODE && links->root[node];
}

static bool check_buffers(struct dtg_plan_check *check) {
  const struct dtg_plan_function *function = check->function;
  const struct dtg_links *links = function->groups->links;
  check->buffer_of = DTG_NEW_ARRAY(&check->scratch, uint32_t, links->graph->nodes.len);
  for (size_t i = 0; i < links->graph->nodes.len; i++)
    check->buffer_of[i] = DTG_NO_NODE;
  for (uint32_t i = 0; i < function->buffers.len; i++) {
    const struct dtg_plan_buffer *buffer = &function->buffers.data[i];
    const char *what = buffer->node == DTG_NO_NODE
                           ? "scratch"
                           : dtg_arena_printf(&check->scratch, "%%%" PRIu32, buffer->node);
    int64_t type_bytes = buffer->node == DTG_NO_NODE
                             ? buffer->bytes
                             : dtg_type_bytes(&dtg_graph_node(links->graph, buffer->node)->type);
    if (!check_inside(check, &buffer->at, buffer->at.moves ? type_bytes : buffer->bytes, what))
      return false;
    if (check->loop && !is_root(links, buffer->node) &&
        (buffer->at.space != DTG_SPACE_ARENA || buffer->at.offset < check->loop->arena_offset ||
         buffer->at.offset + buffer->bytes >
             check->loop->arena_offset + check->function->arena_bytes))
      return dtg_plan_check_fail(check, "%s of a body lies outside its arena", what);
    if (buffer->node == DTG_NO_NODE)
      continue;
    if (check->buffer_of[buffer->node] != DTG_NO_NODE)
      return dtg_plan_check_fail(check, "%s has two buffers", what);
    check->buffer_of[buffer->node] = i;
    if (buffer->bytes < dtg_type_bytes(&dtg_graph_node(links->graph, buffer->node)->type))
      return dtg_plan_check_fail(check, "the buffer of %s is too small", what);
    uint32_t first = check->step_of[links->group[buffer->node]];
    if (buffer->at.space == DTG_SPACE_ARENA && !(check->loop && is_root(links, buffer->node)) &&
        (buffer->first_step > first || buffer->last_step < last_reader(check, buffer->node, first)))
      return dtg_plan_check_fail(check, "the buffer of %s does not live as long as it is used",
                                 what);
  }
  return true;
}

static bool meet(const struct dtg_plan_buffer *a, const struct dtg_plan_buffer *b) {
  return a->at.space == DTG_SPACE_ARENA && b->at.space == DTG_SPACE_ARENA &&
         a->first_step <= b->last_step && b->first_step <= a->last_step && !a->at.moves &&
         !b->at.moves && a->at.offset < b->at.offset + b->bytes &&
         b->at.offset < a->at.offset + a->bytes;
}

/* `later` takes over the memory of `earlier` in the step in which that is read for the last time.
 */
static bool handed_over(const struct dtg_plan_check *check, uint32_t earlier, uint32_t later) {
  const struct dtg_plan_buffer *from = &check->function->buffers.data[earlier];
  const struct dtg_plan_buffer *to = &check->function->buffers.data[later];
  if (to->in_place_of != earlier || from->last_step != to->first_step ||
      from->at.offset != to->at.offset || from->bytes != to->bytes)
    return false;
  const struct dtg_group *group =
      &check->function->groups->groups[check->function->steps.data[to->first_step].group];
  for (size_t i = 0; group->nest && i < group->nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &group->nest->outputs.data[i];
    for (uint32_t k = 0; k < group->buffers.len; k++) {
      if (group->buffers.data[output->buffer].node == to->node &&
          group->buffers.data[k].node == from->node)
        return dtg_nest_may_overwrite(group->nest, output, k);
    }
  }
  return false;
}

static bool check_disjoint(struct dtg_plan_check *check) {
  const struct dtg_plan_function *function = check->function;
  for (uint32_t i = 0; i < function->buffers.len; i++) {
    for (uint32_t k = i + 1; k < function->buffers.len; k++) {
      const struct dtg_plan_buffer *a = &function->buffers.data[i], *b = &function->buffers.data[k];
      if (!meet(a, b) || handed_over(check, i, k))
        continue;
      return dtg_plan_check_fail(check,
                                 "buffers %" PRIu32 " (%%%" PRId64 ") and %" PRIu32 " (%%%" PRId64
                                 ") live at the same time in the same memory",
                                 i, a->node == DTG_NO_NODE ? -1 : (int64_t)a->node, k,
                                 b->node == DTG_NO_NODE ? -1 : (int64_t)b->node);
    }
  }
  return true;
}

static bool same_place(const struct dtg_location *a, const struct dtg_location *b) {
  return a->space == b->space && a->index == b->index && a->offset == b->offset;
}

/* Arguments are where the values are. */
static bool check_args(struct dtg_plan_check *check) {
  for (uint32_t s = 0; s < check->function->steps.len; s++) {
    const struct dtg_plan_step *step = &check->function->steps.data[s];
    const struct dtg_group *group = &check->function->groups->groups[step->group];
    for (size_t i = 0; i < step->args.len; i++) {
      uint32_t node = group->buffers.data[i].node;
      if (node == DTG_NO_NODE || check->buffer_of[node] == DTG_NO_NODE)
        continue;
      if (!same_place(&step->args.data[i],
                      &check->function->buffers.data[check->buffer_of[node]].at))
        return dtg_plan_check_fail(
            check, "step %" PRIu32 " looks for %%%" PRIu32 " where it is not", s, node);
    }
    bool bare = dtg_group_is_library(group->kind) || group->kind == DTG_GROUP_SCAN;
    if (step->args.len + bare < group->buffers.len)
      return dtg_plan_check_fail(check, "step %" PRIu32 " has too few arguments", s);
  }
  return true;
}

/* Every root lies in its place, and nothing else does. */
static bool check_roots(struct dtg_plan_check *check) {
  const struct dtg_graph *graph = check->function->graph;
  size_t delivered = 0, placed = 0;
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    uint32_t base = dtg_links_base(check->function->groups->links, root->node);
    struct dtg_location at;
    const char *key = NULL;
    if (!dtg_root_location(check->plan, check->index, root, &at))
      continue;
    if (dtg_leaf_of(dtg_graph_node(graph, base), &key) == DTG_LEAF_VARIABLE && key == root->name)
      continue; /* keeps its value */
    delivered++;
    if (check->buffer_of[base] == DTG_NO_NODE ||
        !same_place(&check->function->buffers.data[check->buffer_of[base]].at, &at))
      return dtg_plan_check_fail(check, "root `%s` is not written to its place", root->name);
  }
  for (size_t i = 0; i < check->function->buffers.len; i++)
    placed += check->function->buffers.data[i].at.space != DTG_SPACE_ARENA;
  if (placed != delivered)
    return dtg_plan_check_fail(check, "%zu buffers lie outside the arena for %zu roots", placed,
                               delivered);
  return true;
}

static bool check_function(struct dtg_plan_check *check);

/* Loops, and their bodies as functions of their own. */
static bool check_loops(const struct dtg_plan_check *check) {
  for (size_t s = 0; s < check->function->steps.len; s++) {
    const struct dtg_plan_step *step = &check->function->steps.data[s];
    bool loop = check->function->groups->groups[step->group].kind == DTG_GROUP_SCAN;
    struct dtg_plan_check own = *check, body = *check;
    own.scratch = body.scratch = (struct dtg_arena){0};
    if (loop != (step->loop != NULL))
      return dtg_plan_check_fail(&own, "step %zu is a loop, or is none, against its group", s);
    if (!loop)
      continue;
    body.function = &step->loop->body;
    body.loop = step->loop;
    body.counts[step->loop->depth] = step->loop->count;
    bool good = check_function(&body) && dtg_plan_check_loop(&own, step);
    dtg_arena_free(&own.scratch);
    dtg_arena_free(&body.scratch);
    if (!good)
      return false;
  }
  return true;
}

static bool check_function(struct dtg_plan_check *check) {
  return check_steps(check) && check_order(check) && check_buffers(check) &&
         check_disjoint(check) && check_args(check) && (check->loop || check_roots(check)) &&
         check_loops(check);
}

bool dtg_plan_verify(const struct dtg_plan *plan, struct dtg_strbuf *why) {
  bool good = true;
  for (int i = 0; i < DTG_PLAN_FUNCTIONS && good; i++) {
    struct dtg_plan_check check = {
        .plan = plan, .function = &plan->functions[i], .index = i, .why = why};
    if (!check.function->graph)
      continue;
    check.arena_bytes = check.function->arena_bytes;
    good = check_function(&check);
    dtg_arena_free(&check.scratch);
  }
  return good;
}
