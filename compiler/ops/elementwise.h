/* Shapes of functions that element-wise rows share. Private to the families of compiler/ops/.
 *
 * Each macro defines one static function NAME_ref, NAME_lower or NAME_grad from an expression:
 * ref: doubles x, y (and z); lower: `b` the builder, x, y values in the computing type;
 * grad: `graph`, `g` the gradient of the result, `r` the result, x and y the operands.
 */
#ifndef DTG_OPS_ELEMENTWISE_H
#define DTG_OPS_ELEMENTWISE_H

#include "compiler/ops/support.h"

#define DTG_REF1(NAME, EXPR)                                 \
  static void NAME##_ref(const struct dtg_ref_call *call) {  \
    enum dtg_dtype dtype = call->out->type.dtype;            \
    int64_t count = dtg_shape_count(&call->out->type.shape); \
    for (int64_t i = 0; i < count; i++) {                    \
      double x = call->inputs[0].data[i];                    \
      call->out->data[i] = dtg_ref_store(dtype, (EXPR));     \
    }                                                        \
  }

#define DTG_REF2(NAME, EXPR)                                           \
  static void NAME##_ref(const struct dtg_ref_call *call) {            \
    enum dtg_dtype dtype = call->out->type.dtype;                      \
    int64_t count = dtg_shape_count(&call->out->type.shape);           \
    for (int64_t i = 0; i < count; i++) {                              \
      double x = call->inputs[0].data[i], y = call->inputs[1].data[i]; \
      call->out->data[i] = dtg_ref_store(dtype, (EXPR));               \
    }                                                                  \
  }

#define DTG_LOWER1(NAME, EXPR)                                      \
  static uint32_t NAME##_lower(const struct dtg_lower_call *call) { \
    struct cg_builder *b = call->builder;                           \
    (void)b;                                                        \
    uint32_t x = dtg_lower_widen(call, 0);                          \
    return dtg_lower_narrow(call, (EXPR));                          \
  }

#define DTG_LOWER2(NAME, EXPR)                                           \
  static uint32_t NAME##_lower(const struct dtg_lower_call *call) {      \
    struct cg_builder *b = call->builder;                                \
    (void)b;                                                             \
    uint32_t x = dtg_lower_widen(call, 0), y = dtg_lower_widen(call, 1); \
    return dtg_lower_narrow(call, (EXPR));                               \
  }

#define DTG_GRAD1(NAME, EXPR)                                 \
  static void NAME##_grad(const struct dtg_grad_call *call) { \
    struct dtg_graph *graph = call->graph;                    \
    uint32_t x = dtg_grad_input(call, 0), r = call->node;     \
    uint32_t g = call->grad;                                  \
    (void)x, (void)r, (void)graph;                            \
    if (call->needed[0])                                      \
      call->grads[0] = (EXPR);                                \
  }

#define DTG_GRAD2(NAME, EXPR_X, EXPR_Y)                                \
  static void NAME##_grad(const struct dtg_grad_call *call) {          \
    struct dtg_graph *graph = call->graph;                             \
    uint32_t x = dtg_grad_input(call, 0), y = dtg_grad_input(call, 1); \
    uint32_t r = call->node, g = call->grad;                           \
    (void)x, (void)y, (void)r, (void)graph;                            \
    if (call->needed[0])                                               \
      call->grads[0] = (EXPR_X);                                       \
    if (call->needed[1])                                               \
      call->grads[1] = (EXPR_Y);                                       \
  }

/* Nodes, for the expressions above. */
#define ADD(a, b) dtg_add_binary(graph, "add", (a), (b))
#define SUB(a, b) dtg_add_binary(graph, "sub", (a), (b))
#define MUL(a, b) dtg_add_binary(graph, "mul", (a), (b))
#define DIV(a, b) dtg_add_binary(graph, "div", (a), (b))
#define UNARY(name, a) dtg_add_unary(graph, (name), (a))
#define NEG(a) UNARY("neg", (a))
#define LIKE(a, value) dtg_const_like(graph, (a), (value))
#define SCALE(a, value) MUL((a), LIKE((a), (value)))

/* Common `infer` functions (elementwise.c). */
bool dtg_infer_float1(const struct dtg_infer_call *call, struct dtg_type *out);
bool dtg_infer_number1(const struct dtg_infer_call *call, struct dtg_type *out);
bool dtg_infer_float2(const struct dtg_infer_call *call, struct dtg_type *out);
bool dtg_infer_number2(const struct dtg_infer_call *call, struct dtg_type *out);

/* Is the node an op of that name? Its first operand, else DTG_NO_NODE: f(f(x)) patterns. */
uint32_t dtg_match1(const struct dtg_graph *graph, uint32_t id, const char *name);
uint32_t dtg_input_of(const struct dtg_graph *graph, uint32_t id, uint32_t input);
/* Is the node the constant `value` everywhere, with that sign of zero? */
bool dtg_is_splat(const struct dtg_graph *graph, uint32_t id, double value);

#endif
