/* The plan as text. */
#include "compiler/schedule/internal.h"

#include "compiler/base/strbuf.h"

#include <inttypes.h>

static void print_type(struct dtg_strbuf *out, const struct dtg_type *type) {
  char text[256];
  dtg_type_format(type, text, sizeof text);
  dtg_strbuf_puts(out, text);
}

static void print_place(struct dtg_strbuf *out, const struct dtg_location *at) {
  static const char *const scalars[] = {"step", "updates", "total_steps", "shard", "seed"};
  switch (at->space) {
  case DTG_SPACE_ARENA:
    dtg_strbuf_printf(out, "arena+%" PRId64, at->offset);
    break;
  case DTG_SPACE_VARIABLE:
    dtg_strbuf_printf(out, "variables+%" PRId64, at->offset);
    break;
  case DTG_SPACE_CONTRIBUTION:
    dtg_strbuf_printf(out, "contribution+%" PRId64, at->offset);
    break;
  case DTG_SPACE_FEED:
    dtg_strbuf_printf(out, "feed[%" PRIu32 "]", at->index);
    break;
  case DTG_SPACE_SCALAR:
    dtg_strbuf_printf(out, "scalar.%s", scalars[at->index]);
    break;
  case DTG_SPACE_ITERATION:
    dtg_strbuf_printf(out, "iteration.%" PRIu32, at->index);
    break;
  }
}

/* "arena+64 + 256*i0", "(first0: variables+0 | odd0: arena+0 | arena+64)" */
static void print_location(struct dtg_strbuf *out, const struct dtg_location *at) {
  static const char *const words[] = {[DTG_MOVE_FIRST] = "first", [DTG_MOVE_ODD] = "odd"};
  bool choice = at->moves && at->moves->kind != DTG_MOVE_STRIDE;
  if (choice)
    dtg_strbuf_putc(out, '(');
  for (const struct dtg_move *move = at->moves; move; move = move->next) {
    if (move->kind == DTG_MOVE_STRIDE)
      continue;
    dtg_strbuf_printf(out, "%s%" PRIu32 ": ", words[move->kind], move->depth);
    print_location(out, &move->other);
    dtg_strbuf_puts(out, " | ");
  }
  print_place(out, at);
  for (const struct dtg_move *move = at->moves; move; move = move->next) {
    if (move->kind == DTG_MOVE_STRIDE)
      dtg_strbuf_printf(out, " + %" PRId64 "*i%" PRIu32, move->stride, move->depth);
  }
  if (choice)
    dtg_strbuf_putc(out, ')');
}

static void print_variables(struct dtg_strbuf *out, const struct dtg_plan *plan) {
  dtg_strbuf_printf(out, "variables %" PRId64 " bytes\n", plan->variables_bytes);
  for (size_t i = 0; i < plan->module->variables.len; i++) {
    const struct dtg_variable *variable = &plan->module->variables.data[i];
    dtg_strbuf_printf(out, "  +%" PRId64 " %s ", plan->variable_offsets[i], variable->path);
    print_type(out, &variable->type);
    dtg_strbuf_putc(out, '\n');
  }
}

static void print_block(struct dtg_strbuf *out, const char *name, int64_t bytes,
                        const struct dtg_plan_contribution *list, size_t count) {
  static const char *const kinds[] = {"loss", "metric", "output", "grad", "state", "update"};
  static const char *const reduces[] = {"mean", "sum", "max"};
  dtg_strbuf_printf(out, "%s %" PRId64 " bytes\n", name, bytes);
  for (size_t i = 0; i < count; i++) {
    dtg_strbuf_printf(out, "  +%" PRId64 " %s ", list[i].offset, kinds[list[i].kind]);
    if (*list[i].name)
      dtg_strbuf_printf(out, "%s ", list[i].name);
    print_type(out, &list[i].type);
    dtg_strbuf_printf(out, " by %s", reduces[list[i].reduce]);
    if (list[i].sparse)
      dtg_strbuf_printf(out, ", rows at +%" PRId64 " and +%" PRId64 ", room for %" PRId64,
                        list[i].rows, list[i].ids, list[i].capacity);
    dtg_strbuf_putc(out, '\n');
  }
}

static void print_steps(struct dtg_strbuf *out, const struct dtg_plan *plan,
                        const struct dtg_plan_function *function, uint32_t depth);

static void indent(struct dtg_strbuf *out, uint32_t depth) {
  for (uint32_t i = 0; i < depth; i++)
    dtg_strbuf_puts(out, "    ");
}

static void print_step(struct dtg_strbuf *out, const struct dtg_plan *plan,
                       const struct dtg_plan_function *function, uint32_t number, uint32_t depth) {
  const struct dtg_plan_step *step = &function->steps.data[number];
  const struct dtg_group *group = &function->groups->groups[step->group];
  indent(out, depth);
  dtg_strbuf_printf(out, "  step %" PRIu32 " group %" PRIu32, number, step->group);
  if (step->kernel < plan->kernels.len)
    dtg_strbuf_printf(out, " %s", plan->kernels.data[step->kernel]->name);
  dtg_strbuf_puts(out, ":");
  for (uint32_t i = 0; i < group->member_count; i++)
    dtg_strbuf_printf(out, " %s", dtg_graph_node(function->graph, group->members[i])->op->name);
  dtg_strbuf_putc(out, '\n');
  for (size_t i = 0; i < step->args.len; i++) {
    const struct dtg_nest_buffer *buffer = &group->buffers.data[i];
    indent(out, depth);
    dtg_strbuf_printf(out, "    %s%s ", buffer->read ? "r" : "-", buffer->written ? "w" : "-");
    if (buffer->node == DTG_NO_NODE) {
      dtg_strbuf_puts(out, "scratch");
    } else {
      dtg_strbuf_printf(out, "%%%" PRIu32 " ", buffer->node);
      print_type(out, &buffer->type);
    }
    dtg_strbuf_puts(out, " at ");
    print_location(out, &step->args.data[i]);
    dtg_strbuf_putc(out, '\n');
  }
  if (!step->loop)
    return;
  indent(out, depth);
  dtg_strbuf_printf(
      out, "    loop of %" PRId64 "%s: %zu steps, arena+%" PRId64 " %" PRId64 " bytes\n",
      step->loop->count, step->loop->reverse ? " in reverse" : "", step->loop->body.steps.len,
      step->loop->arena_offset, step->loop->body.arena_bytes);
  print_steps(out, plan, &step->loop->body, depth + 1);
}

static void print_buffer(struct dtg_strbuf *out, const struct dtg_plan_buffer *buffer,
                         uint32_t depth) {
  if (buffer->at.space != DTG_SPACE_ARENA || buffer->at.moves)
    return;
  indent(out, depth);
  dtg_strbuf_printf(out, "  +%" PRId64 " %" PRId64 " bytes, steps %" PRIu32 " to %" PRIu32 ", ",
                    buffer->at.offset, buffer->bytes, buffer->first_step, buffer->last_step);
  if (buffer->node == DTG_NO_NODE)
    dtg_strbuf_puts(out, "scratch");
  else
    dtg_strbuf_printf(out, "%%%" PRIu32, buffer->node);
  if (buffer->in_place_of != DTG_NO_NODE)
    dtg_strbuf_printf(out, " in place of buffer %" PRIu32, buffer->in_place_of);
  dtg_strbuf_putc(out, '\n');
}

static void print_steps(struct dtg_strbuf *out, const struct dtg_plan *plan,
                        const struct dtg_plan_function *function, uint32_t depth) {
  for (uint32_t s = 0; s < function->steps.len; s++)
    print_step(out, plan, function, s, depth);
  for (size_t b = 0; b < function->buffers.len; b++)
    print_buffer(out, &function->buffers.data[b], depth);
}

void dtg_plan_print(const struct dtg_plan *plan, struct dtg_strbuf *out) {
  print_variables(out, plan);
  print_block(out, "contribution", plan->contribution_bytes, plan->contributions.data,
              plan->contributions.len);
  print_block(out, "metrics", plan->metrics_bytes, plan->metrics.data, plan->metrics.len);
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *function = &plan->functions[i];
    if (!function->graph)
      continue;
    dtg_strbuf_printf(out,
                      "function %s: %zu steps, arena %" PRId64 " bytes, live at most %" PRId64
                      " in step %" PRIu32 "\n",
                      function->name, function->steps.len, function->arena_bytes,
                      function->live_peak_bytes, function->live_peak_step);
    print_steps(out, plan, function, 0);
  }
}
