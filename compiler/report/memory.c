#include "compiler/report/report.h"

static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

// The runtime's rule: with one thread the tree needs a block per level and the one being computed;
// with more, subtrees wait for each other: a stack per thread, at most one block a shard.
static int64_t tree_blocks(int64_t shards, int64_t threads) {
  int64_t levels = 1;
  for (int64_t n = 1; n < shards; n *= 2) levels++;
  int64_t blocks = threads * levels;
  return blocks < shards ? blocks : shards;
}

struct dtg_report_memory dtg_report_memory(const struct dtg_report_input *in) {
  const struct dtg_plan *plan = in->plan;
  const struct dtg_model *model = in->replication->model;
  struct dtg_report_memory m = {0};
  for (size_t v = 0; v < plan->module->variables.len; v++) {
    const struct dtg_variable *variable = &plan->module->variables.data[v];
    int64_t bytes = dtg_type_bytes(&variable->type);
    if (variable->kind == DTG_VARIABLE_PARAM) m.parameters += bytes;
    if (variable->kind == DTG_VARIABLE_STATE) m.states += bytes;
    if (variable->kind == DTG_VARIABLE_SLOT) m.slots += bytes;
  }
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++)
    if (i != DTG_PLAN_UPDATE) m.arena = max(m.arena, plan->functions[i].arena_bytes);
  m.update_arena = plan->functions[DTG_PLAN_UPDATE].arena_bytes;
  m.contribution = plan->contribution_bytes;
  m.contribution_blocks = tree_blocks(in->replication->shards, in->threads);
  for (size_t i = 0; i < model->inputs.len; i++)
    m.feeds += dtg_type_bytes(&model->inputs.data[i].type) * model->train.batch;
  m.total = plan->variables_bytes + m.arena * in->threads + m.update_arena +
            m.contribution * m.contribution_blocks + m.feeds;
  return m;
}
