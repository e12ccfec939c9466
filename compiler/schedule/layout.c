/* Layouts of what outlives a call: variables, contributions, metrics. */
#include "compiler/schedule/internal.h"

#include "compiler/base/bug.h"
#include "compiler/ir/sparse.h"

#include <string.h>

void dtg_schedule_variables(struct dtg_plan *plan) {
  const struct dtg_module *module = plan->module;
  plan->variable_offsets = DTG_NEW_ARRAY(plan->arena, int64_t, module->variables.len);
  for (size_t i = 0; i < module->variables.len; i++) {
    plan->variable_offsets[i] = plan->variables_bytes;
    plan->variables_bytes += dtg_align(dtg_type_bytes(&module->variables.data[i].type));
  }
}

/* Rank of a root kind in a contribution, -1 if it is no part of one. */
static int contribution_rank(enum dtg_root_kind kind) {
  switch (kind) {
  case DTG_ROOT_LOSS:
    return 0;
  case DTG_ROOT_METRIC:
    return 1;
  case DTG_ROOT_GRAD:
    return 2;
  case DTG_ROOT_STATE:
    return 3;
  default:
    return -1;
  }
}

/* Loss, metrics as declared, gradients and states by path. */
static bool stands_before(const struct dtg_root *a, const struct dtg_root *b) {
  int left = contribution_rank(a->kind), right = contribution_rank(b->kind);
  if (left != right)
    return left < right;
  return left >= 2 && strcmp(a->name, b->name) < 0;
}

static const struct dtg_sparse *sparse_of(const struct dtg_module *module,
                                          const struct dtg_root *root) {
  for (size_t i = 0; root->kind == DTG_ROOT_GRAD && i < module->sparse.len; i++)
    if (module->variables.data[module->sparse.data[i].variable].path == root->name)
      return &module->sparse.data[i];
  return NULL;
}

/* The list of the rows that `shards` shards can touch: number, ids, values. */
static int64_t lay_out_rows(struct dtg_plan_contribution *entry, int64_t shards) {
  const struct dtg_sparse *table = entry->sparse;
  int64_t begin = entry->offset;
  entry->capacity = dtg_sparse_capacity(table, shards, table->rows);
  entry->rows = begin;
  entry->ids = begin + dtg_align(DTG_ROW_COUNT_BYTES);
  entry->offset = entry->ids + dtg_align(entry->capacity * DTG_ROW_ID_BYTES);
  return dtg_sparse_block_bytes(table, entry->capacity);
}

/* Fills `list`, which has room for every root; the bytes of the block. */
static int64_t lay_out(struct dtg_plan *plan, const struct dtg_graph *graph, int64_t shards,
                       struct dtg_plan_contribution *list, size_t *len) {
  const struct dtg_root **sorted =
      DTG_NEW_ARRAY(plan->arena, const struct dtg_root *, graph->roots.len);
  size_t count = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    size_t at = count;
    if (contribution_rank(root->kind) < 0)
      continue;
    for (; at > 0 && stands_before(root, sorted[at - 1]); at--)
      sorted[at] = sorted[at - 1];
    sorted[at] = root;
    count++;
  }
  for (size_t i = 0; i < count; i++) {
    list[i] = (struct dtg_plan_contribution){.kind = sorted[i]->kind,
                                             .name = sorted[i]->name,
                                             .type = dtg_graph_node(graph, sorted[i]->node)->type,
                                             .reduce = sorted[i]->reduce,
                                             .offset = bytes,
                                             .sparse = sparse_of(plan->module, sorted[i])};
    bytes +=
        list[i].sparse ? lay_out_rows(&list[i], shards) : dtg_align(dtg_type_bytes(&list[i].type));
  }
  *len = count;
  return bytes;
}

void dtg_schedule_contributions(struct dtg_plan *plan, int64_t shards) {
  const struct dtg_module *module = plan->module;
  const struct dtg_graph *train = module->train;
  const struct dtg_graph *eval = module->eval ? module->eval : module->tail;
  if (train) {
    size_t room = plan->contributions.cap = train->roots.len;
    plan->contributions.data = DTG_NEW_ARRAY(plan->arena, struct dtg_plan_contribution, room);
    plan->contribution_bytes =
        lay_out(plan, train, shards, plan->contributions.data, &plan->contributions.len);
  }
  if (eval) {
    size_t room = plan->metrics.cap = eval->roots.len;
    plan->metrics.data = DTG_NEW_ARRAY(plan->arena, struct dtg_plan_contribution, room);
    plan->metrics_bytes = lay_out(plan, eval, 1, plan->metrics.data, &plan->metrics.len);
  }
}

static bool find_entry(const struct dtg_plan_contribution *list, size_t count,
                       enum dtg_root_kind kind, const char *name, int64_t *offset) {
  for (size_t i = 0; i < count; i++) {
    if (list[i].kind == kind && list[i].name == name) {
      *offset = list[i].offset;
      return true;
    }
  }
  return false;
}

/* Where a shard writes the rows that it has gathered. */
static bool find_rows(const struct dtg_plan *plan, const char *name, int64_t *offset) {
  for (size_t i = 0; i < plan->contributions.len; i++) {
    if (plan->contributions.data[i].sparse && plan->contributions.data[i].name == name) {
      *offset = plan->contributions.data[i].ids;
      return true;
    }
  }
  return false;
}

static bool find_variable(const struct dtg_plan *plan, const char *path, int64_t *offset) {
  for (size_t i = 0; i < plan->module->variables.len; i++) {
    if (plan->module->variables.data[i].path == path) {
      *offset = plan->variable_offsets[i];
      return true;
    }
  }
  return false;
}

bool dtg_root_location(const struct dtg_plan *plan, int function, const struct dtg_root *root,
                       struct dtg_location *at) {
  struct dtg_location location = {.space = DTG_SPACE_CONTRIBUTION};
  bool evaluation = function == DTG_PLAN_EVAL || function == DTG_PLAN_TAIL;
  bool found;
  if (root->kind == DTG_ROOT_OUTPUT)
    return false;
  if (root->kind == DTG_ROOT_UPDATE) {
    location.space = DTG_SPACE_VARIABLE;
    found = find_variable(plan, root->name, &location.offset);
  } else if (root->kind == DTG_ROOT_ROWS) {
    found = find_rows(plan, root->name, &location.offset);
  } else if (evaluation) {
    found =
        find_entry(plan->metrics.data, plan->metrics.len, root->kind, root->name, &location.offset);
  } else {
    found = find_entry(plan->contributions.data, plan->contributions.len, root->kind, root->name,
                       &location.offset);
  }
  if (!found)
    dtg_bug("root `%s` has no place in its block", root->name);
  *at = location;
  return true;
}

static uint32_t scalar_index(const char *name) {
  static const char *const names[] = {[DTG_SCALAR_STEP] = "step",
                                      [DTG_SCALAR_UPDATES] = "updates",
                                      [DTG_SCALAR_TOTAL_STEPS] = "total_steps",
                                      [DTG_SCALAR_SHARD] = "shard",
                                      [DTG_SCALAR_SEED] = "seed"};
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0)
      return i;
  }
  dtg_bug("there is no run-time scalar `%s`", name);
}

/* Without a list: the number of names in the module's graphs that sort before this one. */
static uint32_t input_index(const struct dtg_plan *plan, const struct dtg_schedule_options *options,
                            const char *name) {
  const struct dtg_graph *graphs[] = {plan->module->train, plan->module->eval, plan->module->tail};
  const char *before = NULL;
  uint32_t index = 0;
  for (uint32_t i = 0; options->inputs && i < options->input_count; i++) {
    if (strcmp(options->inputs[i], name) == 0)
      return i;
  }
  if (options->inputs)
    dtg_bug("input `%s` is none of the model's", name);
  for (;;) { /* the next smallest name, until it is this one */
    const char *next = NULL;
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
      for (uint32_t i = 0; graphs[g] && i < graphs[g]->nodes.len; i++) {
        const char *key = NULL;
        if (dtg_leaf_of(dtg_graph_node(graphs[g], i), &key) == DTG_LEAF_INPUT &&
            (!before || strcmp(key, before) > 0) && (!next || strcmp(key, next) < 0))
          next = key;
      }
    }
    if (!next || strcmp(next, name) == 0)
      return index;
    before = next;
    index++;
  }
}

struct dtg_location dtg_leaf_location(const struct dtg_plan *plan,
                                      const struct dtg_schedule_options *options,
                                      const struct dtg_node *leaf) {
  struct dtg_location at = {0};
  const char *key = NULL;
  bool found = true;
  switch (dtg_leaf_of(leaf, &key)) {
  case DTG_LEAF_INPUT:
    at.space = DTG_SPACE_FEED;
    at.index = input_index(plan, options, key);
    break;
  case DTG_LEAF_VARIABLE:
    at.space = DTG_SPACE_VARIABLE;
    found = find_variable(plan, key, &at.offset);
    break;
  case DTG_LEAF_GRADIENT:
    at.space = DTG_SPACE_CONTRIBUTION;
    found = find_entry(plan->contributions.data, plan->contributions.len, DTG_ROOT_GRAD, key,
                       &at.offset) ||
            find_entry(plan->contributions.data, plan->contributions.len, DTG_ROOT_STATE, key,
                       &at.offset);
    break;
  case DTG_LEAF_SCALAR:
    at.space = DTG_SPACE_SCALAR;
    at.index = scalar_index(key);
    break;
  case DTG_LEAF_NONE:
    dtg_bug("`%s` is no leaf", leaf->op->name);
  }
  if (!found)
    dtg_bug("leaf `%s` has no memory", key);
  return at;
}

int64_t dtg_scratch_bytes(const struct dtg_schedule_options *options, const struct dtg_graph *graph,
                          const struct dtg_group *group, const struct dtg_nest_buffer *buffer) {
  if (!dtg_group_is_library(group->kind))
    return dtg_type_bytes(&buffer->type);
  if (group->kind == DTG_GROUP_WINDOW) {
    struct cg_window window = dtg_group_window(graph, dtg_graph_node(graph, group->members[0]));
    return options->window_scratch_bytes
               ? options->window_scratch_bytes(options->scratch_context, &window)
               : 0;
  }
  struct cg_gemm gemm = dtg_group_gemm(graph, dtg_graph_node(graph, group->members[0]));
  return options->scratch_bytes ? options->scratch_bytes(options->scratch_context, &gemm) : 0;
}
