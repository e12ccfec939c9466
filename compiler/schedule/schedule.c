/* Entry: layouts, then each function in the order that needs the least memory. */
#include "compiler/schedule/internal.h"

#include <string.h>

void dtg_schedule_function(struct dtg_schedule_state *state) {
  struct dtg_plan_function *function = state->function;
  uint32_t count = state->groups->count;
  uint32_t *order = DTG_NEW_ARRAY(state->scratch, uint32_t, count);
  uint32_t *best = DTG_NEW_ARRAY(state->scratch, uint32_t, count);
  int64_t least = INT64_MAX;
  state->buffer_of = DTG_NEW_ARRAY(state->scratch, uint32_t, function->graph->nodes.len);
  dtg_schedule_loops(state);
  for (uint32_t way = 0; dtg_schedule_order(state, way, order); way++) {
    dtg_schedule_buffers(state, order);
    if (function->arena_bytes >= least)
      continue;
    least = function->arena_bytes;
    if (count > 0)
      memcpy(best, order, count * sizeof *order);
  }
  dtg_schedule_buffers(state, best);
}

struct dtg_plan *dtg_schedule(struct dtg_ctx *ctx, const struct dtg_module *module,
                              const struct dtg_schedule_options *options) {
  const struct dtg_graph *graphs[DTG_PLAN_FUNCTIONS] = {[DTG_PLAN_TRAIN] = module->train,
                                                        [DTG_PLAN_EVAL] = module->eval,
                                                        [DTG_PLAN_TAIL] = module->tail,
                                                        [DTG_PLAN_UPDATE] = module->update};
  static const char *const names[DTG_PLAN_FUNCTIONS] = {"train", "eval", "tail", "update"};
  struct dtg_plan *plan = DTG_NEW(&ctx->arena, struct dtg_plan);
  struct dtg_arena scratch = {0};
  plan->arena = &ctx->arena;
  plan->module = module;
  dtg_schedule_variables(plan);
  dtg_schedule_contributions(plan, options->shards > 0 ? options->shards : 1);
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    struct dtg_plan_function *function = &plan->functions[i];
    struct dtg_schedule_state state = {
        .scratch = &scratch, .plan = plan, .function = function, .options = options, .index = i};
    function->name = names[i];
    function->graph = graphs[i];
    if (!graphs[i])
      continue;
    function->groups = state.groups = dtg_groups_new(plan->arena, graphs[i]);
    dtg_schedule_function(&state);
    dtg_schedule_args(&state);
    dtg_schedule_bind_loops(&state);
  }
  dtg_arena_free(&scratch);
  return plan;
}
