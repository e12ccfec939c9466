/* Leaves: what a graph is given. */
#include "compiler/base/strbuf.h"
#include "compiler/ops/support.h"

#include <inttypes.h>
#include <string.h>

static void leaf_cost(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                      double *bytes) {
  (void)node;
  (void)inputs;
  *flops = *bytes = 0;
}

#define LEAF(name_, attributes_, doc_)                                  \
  const struct dtg_op_def dtg_row_##name_ = {.name = #name_,            \
                                             .doc = doc_,               \
                                             .class = DTG_CLASS_LEAF,   \
                                             .attributes = attributes_, \
                                             .shard = "",               \
                                             .cost = leaf_cost}

LEAF(input, "name:string", "A column of the batch, by the name of the model's input.");
LEAF(param, "path:string", "The value of a trainable parameter at the start of the step.");
LEAF(state, "path:string", "The value of a state at the start of the step.");
LEAF(slot, "path:string", "The value of an optimizer slot at the start of the update.");
LEAF(grad_in, "path:string",
     "The reduced gradient of a parameter, or candidate of a state (update graph).");

/* The run-time scalars: all i64[]. */
static const char *const scalar_names[] = {"step", "updates", "total_steps", "shard", "seed"};

static bool scalar_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const char *name = dtg_call_string(call, "name");
  for (size_t i = 0; i < sizeof scalar_names / sizeof *scalar_names; i++) {
    if (strcmp(name, scalar_names[i]) == 0) {
      *out = (struct dtg_type){.dtype = DTG_I64};
      return true;
    }
  }
  return dtg_fail(call, "there is no run-time scalar `%s`", name);
}

const struct dtg_op_def dtg_row_scalar = {
    .name = "scalar",
    .doc = "A number known at run time: step (from 0), updates (from 1), total_steps, shard, seed.",
    .class = DTG_CLASS_LEAF,
    .attributes = "name:string",
    .shard = "",
    .infer = scalar_infer,
    .cost = leaf_cost,
};

static bool integer_fits(enum dtg_dtype dtype, int64_t value) {
  switch (dtype) {
  case DTG_I32:
    return value >= INT32_MIN && value <= INT32_MAX;
  case DTG_U8:
    return value >= 0 && value <= UINT8_MAX;
  default:
    return true;
  }
}

static bool const_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  enum dtg_dtype dtype = dtg_attrs_find(call->attrs, call->attr_count, "dtype")->value.dtype;
  const struct dtg_attr *value = dtg_attrs_find(call->attrs, call->attr_count, "value");
  enum dtg_attr_kind wanted = dtg_dtype_is_float(dtype)     ? DTG_ATTR_FLOAT
                              : dtg_dtype_is_integer(dtype) ? DTG_ATTR_INT
                                                            : DTG_ATTR_BOOL;
  if (value->kind != wanted)
    return dtg_fail(call, "a constant of %s has a value of another kind", dtg_dtype_name(dtype));
  if (wanted == DTG_ATTR_INT && !integer_fits(dtype, value->value.i))
    return dtg_fail(call, "%" PRId64 " is out of the range of %s", value->value.i,
                    dtg_dtype_name(dtype));
  *out = (struct dtg_type){.dtype = dtype};
  return true;
}

double dtg_const_float(const struct dtg_node *node) {
  const struct dtg_attr *value = dtg_node_attr(node, "value");
  switch (value->kind) {
  case DTG_ATTR_INT:
    return (double)value->value.i;
  case DTG_ATTR_BOOL:
    return value->value.b;
  default:
    return value->value.f;
  }
}

int64_t dtg_const_int(const struct dtg_node *node) {
  const struct dtg_attr *value = dtg_node_attr(node, "value");
  return value->kind == DTG_ATTR_INT ? value->value.i : (int64_t)dtg_const_float(node);
}

static uint32_t const_lower(const struct dtg_lower_call *call) {
  enum dtg_dtype dtype = call->node->type.dtype;
  if (dtype == DTG_BF16)
    return cg_cast(call->builder, cg_const_f(call->builder, DTG_F32, dtg_const_float(call->node)),
                   DTG_BF16);
  if (dtg_dtype_is_float(dtype))
    return cg_const_f(call->builder, dtype, dtg_const_float(call->node));
  return cg_const_i(call->builder, dtype, dtg_const_int(call->node));
}

static void const_ref(const struct dtg_ref_call *call) {
  call->out->data[0] = dtg_ref_store(call->out->type.dtype, dtg_const_float(call->node));
}

const struct dtg_op_def dtg_row_const = {
    .name = "const",
    .doc = "A scalar that is known at compile time.",
    .class = DTG_CLASS_CONST,
    .flags = DTG_OP_ZERO_GRAD,
    .attributes = "dtype:dtype value:scalar",
    .shard = "",
    .infer = const_infer,
    .cost = leaf_cost,
    .lower = const_lower,
    .ref = const_ref,
};
