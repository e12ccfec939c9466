// The tables of prediction: outputs, and the inputs that they need.
#include "compiler/base/bug.h"
#include "compiler/ir/op.h"
#include "compiler/program.h"

#include <stdlib.h>
#include <string.h>

static struct dtr_place place(const struct dtg_location *at) {
  static const enum dtr_space spaces[] = {[DTG_SPACE_ARENA] = DTR_SPACE_ARENA,
                                          [DTG_SPACE_VARIABLE] = DTR_SPACE_VARIABLE,
                                          [DTG_SPACE_CONTRIBUTION] = DTR_SPACE_CONTRIBUTION,
                                          [DTG_SPACE_FEED] = DTR_SPACE_FEED,
                                          [DTG_SPACE_SCALAR] = DTR_SPACE_SCALAR};
  return (struct dtr_place){spaces[at->space], at->index, at->offset};
}

static size_t root_named(const struct dtg_graph *graph, const char *name) {
  for (size_t i = 0; i < graph->roots.len; i++)
    if (graph->roots.data[i].kind == DTG_ROOT_OUTPUT &&
        strcmp(graph->roots.data[i].name, name) == 0)
      return i;
  dtg_bug("the output `%s` is not in both graphs of evaluation", name);
}

// Whether one type is that of some examples and the other that of one.
static bool is_by_example(const struct dtg_type *some, const struct dtg_type *one) {
  const struct dtg_shape *a = &some->shape, *b = &one->shape;
  return a->rank >= 1 && a->rank == b->rank && b->dims[0] == 1 &&
         memcmp(a->dims + 1, b->dims + 1, (a->rank - 1) * sizeof *a->dims) == 0;
}

static struct dtr_output make_output(struct dtg_ctx *ctx, const struct dtg_plan *plan, size_t root,
                                     int64_t examples) {
  const struct dtg_plan_function *eval = &plan->functions[DTG_PLAN_EVAL];
  const struct dtg_plan_function *tail = &plan->functions[DTG_PLAN_TAIL];
  const struct dtg_root *from = &eval->graph->roots.data[root];
  size_t one = root_named(tail->graph, from->name);
  const struct dtg_node *node = dtg_graph_node(eval->graph, from->node);
  const struct dtg_type *of_one =
      &dtg_graph_node(tail->graph, tail->graph->roots.data[one].node)->type;
  bool by_example = is_by_example(&node->type, of_one) && node->type.shape.dims[0] == examples;
  struct dtr_output out = {.name = from->name,
                           .dtype = (enum dtr_dtype)node->type.dtype,
                           .rank = of_one->shape.rank - by_example,
                           .row_bytes = dtg_type_bytes(of_one),
                           .by_example = by_example,
                           .eval = place(&eval->roots.data[root]),
                           .tail = place(&tail->roots.data[one]),
                           .where = dtg_span_short(&ctx->arena, &ctx->sources, from->span)};
  memcpy(out.dims, of_one->shape.dims + by_example, out.rank * sizeof *out.dims);
  return out;
}

struct dtr_output *dtg_program_outputs(struct dtg_ctx *ctx, const struct dtg_plan *plan,
                                       int64_t batch, uint32_t *count) {
  const struct dtg_graph *graph = plan->functions[DTG_PLAN_EVAL].graph;
  *count = 0;
  if (!graph || !plan->functions[DTG_PLAN_TAIL].graph)
    return NULL;
  struct dtr_output *out = DTG_NEW_ARRAY(&ctx->arena, struct dtr_output, graph->roots.len);
  for (size_t i = 0; i < graph->roots.len; i++)
    if (graph->roots.data[i].kind == DTG_ROOT_OUTPUT)
      out[(*count)++] = make_output(ctx, plan, i, batch);
  return out;
}

bool dtg_program_needs(const struct dtg_plan *plan, const char *input) {
  const struct dtg_graph *graph = plan->functions[DTG_PLAN_EVAL].graph;
  bool needed = false;
  bool *wanted = graph ? calloc(graph->nodes.len + 1, sizeof *wanted) : NULL;
  if (graph && !wanted)
    dtg_bug("no memory for a mark a node");
  for (size_t i = 0; graph && i < graph->roots.len; i++)
    wanted[graph->roots.data[i].node] |= graph->roots.data[i].kind == DTG_ROOT_OUTPUT;
  for (size_t n = graph ? graph->nodes.len : 0; n-- > 0;) {
    const struct dtg_node *node = dtg_graph_node(graph, (uint32_t)n);
    for (uint32_t i = 0; wanted[n] && i < node->input_count; i++)
      wanted[node->inputs[i]] = true;
    needed |= wanted[n] && strcmp(node->op->name, "input") == 0 &&
              strcmp(dtg_node_string(node, "name", ""), input) == 0;
  }
  free(wanted);
  return needed;
}
