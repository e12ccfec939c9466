/* Constant folding. Requires: a typed graph. Guarantees: an element-wise op whose operands are all
 * constants (also broadcast ones) is a constant, unless it needs a math function, whose bits are
 * the backend's own. The value is computed by interpreting the op's own kernel, so it has the bits
 * that the kernel would give. Cost: linear. */
#include "compiler/base/bug.h"
#include "compiler/ir/op.h"
#include "compiler/ir/rewrite.h"
#include "compiler/opt/opt.h"

#include <string.h>

enum { OPERANDS = 8, CELL = 64 };

static bool has_own_bits(enum cg_op op) {
  return (op >= CG_EXP && op <= CG_EXPM1) || op == CG_PHILOX || op == CG_CHECK;
}

static const struct dtg_node *splat_const(const struct dtg_graph *graph, uint32_t id) {
  double value;
  if (!dtg_graph_splat(graph, id, &value))
    return NULL;
  const struct dtg_node *node = dtg_graph_node(graph, id);
  while (node->op->class != DTG_CLASS_CONST)
    node = dtg_graph_node(graph, node->inputs[0]);
  return node;
}

static bool foldable(const struct dtg_graph *graph, const struct dtg_node *node) {
  if (node->op->class != DTG_CLASS_ELEMENTWISE || node->op->flags & DTG_OP_INDEXED ||
      node->input_count == 0 || node->input_count > OPERANDS)
    return false;
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (!splat_const(graph, node->inputs[i]))
      return false;
  }
  return true;
}

/* A kernel that computes one element of the node and stores it. */
static struct cg_kernel *element_kernel(const struct dtg_graph *graph,
                                        const struct dtg_node *node) {
  struct dtg_type types[OPERANDS];
  uint32_t values[OPERANDS];
  struct cg_builder builder;
  struct cg_kernel *kernel = cg_kernel_new(graph->arena, "fold", "", node->span);
  struct cg_address address = {.buffer =
                                   cg_buffer_add(kernel, "out", node->type.dtype, 1, false, true),
                               .dynamic = CG_NO_VALUE};
  cg_builder_init(&builder, kernel);
  cg_loop_begin(&builder, CG_LOOP_PARALLEL, 1);
  for (uint32_t i = 0; i < node->input_count; i++) {
    const struct dtg_node *operand = splat_const(graph, node->inputs[i]);
    struct dtg_lower_call call = {.builder = &builder, .node = operand};
    types[i] = dtg_graph_node(graph, node->inputs[i])->type;
    values[i] = operand->op->lower(&call);
  }
  struct dtg_lower_call call = {
      .builder = &builder, .node = node, .input_types = types, .values = values};
  cg_store(&builder, &address, node->op->lower(&call));
  cg_loop_end(&builder);
  return kernel;
}

static uint32_t add_result(struct dtg_graph *graph, const struct dtg_type *type,
                           const char *bytes) {
  float f;
  double d;
  int32_t i;
  int64_t l;
  switch (type->dtype) {
  case DTG_F32:
    memcpy(&f, bytes, sizeof f);
    return dtg_add_const(graph, (double)f, type->dtype, &type->shape);
  case DTG_F64:
    memcpy(&d, bytes, sizeof d);
    return dtg_add_const(graph, d, type->dtype, &type->shape);
  case DTG_I32:
    memcpy(&i, bytes, sizeof i);
    return dtg_add_const_int(graph, i, type->dtype, &type->shape);
  case DTG_I64:
    memcpy(&l, bytes, sizeof l);
    return dtg_add_const_int(graph, l, type->dtype, &type->shape);
  case DTG_U8:
    return dtg_add_const_int(graph, (unsigned char)bytes[0], type->dtype, &type->shape);
  case DTG_BOOL:
    return dtg_add_const(graph, bytes[0] != 0, type->dtype, &type->shape);
  default:
    return DTG_NO_NODE; /* bf16: left to the kernel */
  }
}

static uint32_t fold(struct dtg_graph *graph, uint32_t id) {
  struct dtg_node node = *dtg_graph_node(graph, id);
  char cell[CELL] = {0};
  if (!foldable(graph, &node))
    return DTG_NO_NODE;
  struct cg_kernel *kernel = element_kernel(graph, &node);
  for (size_t i = 0; i < kernel->insts.len; i++) {
    if (has_own_bits(kernel->insts.data[i].op))
      return DTG_NO_NODE;
  }
  void *buffers[] = {cell};
  cg_kernel_interpret(kernel, buffers);
  return add_result(graph, &node.type, cell);
}

struct dtg_graph *dtg_opt_fold(const struct dtg_graph *graph) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    uint32_t copy = dtg_rewrite_copy(&rewrite, id);
    uint32_t folded = fold(rewrite.to, copy);
    dtg_rewrite_origin(&rewrite, id, copy + 1);
    dtg_rewrite_set(&rewrite, id, folded != DTG_NO_NODE ? folded : copy);
  }
  return dtg_rewrite_end(&rewrite);
}
