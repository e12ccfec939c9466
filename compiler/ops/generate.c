/* Ops whose elements depend on their position alone. */
#include "compiler/ops/support.h"

#include <math.h>
#include <string.h>

static bool iota_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_type type = {.dtype =
                              dtg_attrs_find(call->attrs, call->attr_count, "dtype")->value.dtype};
  if (type.dtype == DTG_BOOL)
    return dtg_fail(call, "`iota` counts in numbers, not in bool");
  if (!dtg_call_shape(call, "shape", &type.shape) ||
      !dtg_check_axis(call, dtg_call_int(call, "axis", 0), &type))
    return false;
  *out = type;
  return true;
}

static void iota_ref(const struct dtg_ref_call *call) {
  const struct dtg_type *type = &call->out->type;
  int64_t axis = dtg_node_int(call->node, "axis", 0), index[DTG_MAX_RANK];
  for (int64_t i = 0; i < dtg_shape_count(&type->shape); i++) {
    dtg_ref_coordinates(&type->shape, i, index);
    call->out->data[i] = dtg_ref_store(type->dtype, (double)index[axis]);
  }
}

static uint32_t iota_lower(const struct dtg_lower_call *call) {
  uint32_t index = call->index[dtg_node_int(call->node, "axis", 0)];
  enum dtg_dtype dtype = call->node->type.dtype;
  if (dtype == DTG_BF16)
    index = cg_cast(call->builder, index, DTG_F32);
  return dtype == DTG_I64 ? index : cg_cast(call->builder, index, dtype);
}

static const struct dtg_op_sample iota_samples[] = {
    {"", "axis=0 dtype=i64 shape=[17]", 0, 0, 0},
    {"", "axis=1 dtype=i32 shape=[3, 5, 2]", 0, 0, 0},
    {"", "axis=2 dtype=f32 shape=[3, 2, 7]", 0, 0, 0},
};

const struct dtg_op_def dtg_row_iota = {
    .name = "iota",
    .doc = "The coordinate of each element along an axis.",
    .class = DTG_CLASS_GENERATE,
    .flags = DTG_OP_ZERO_GRAD,
    .attributes = "axis:int dtype:dtype shape:ints",
    .shard = "",
    .infer = iota_infer,
    .cost = dtg_cost_elementwise,
    .lower = iota_lower,
    .ref = iota_ref,
    DTG_SAMPLES(iota_samples),
};

/* Random numbers. Element e (row-major) of the node with attribute `stream`, in shard s of step t
 * of a run with a seed, comes from one Philox 4x32-10 block: key     = seed ^ mix(stream), low word
 * first          (64 bits) counter = e, then t + s * 2^40, each low word first   (2 x 64 bits) mix
 * = the finalizer of splitmix64 over stream + 0x9E3779B97F4A7C15 uniform: (word0 >> 8) * 2^-24, in
 * [0, 1). normal:  sqrt(-2 log u) cos(2 pi v) with u = ((word0 >> 8) + 1) * 2^-24, v = (word1 >> 8)
 * * 2^-24 (Box and Muller 1958). The element is independent of how the work is dealt out, and a
 * step needs no state. */
enum { SHARD_SHIFT = 40 };

static uint64_t stream_mix(uint64_t stream) {
  uint64_t z = stream + UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static bool is_normal(const struct dtg_node *node) {
  return strcmp(dtg_node_string(node, "distribution", ""), "normal") == 0;
}

static bool random_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const char *distribution = dtg_call_string(call, "distribution");
  struct dtg_type type = {.dtype = DTG_F32};
  if (strcmp(distribution, "uniform") != 0 && strcmp(distribution, "normal") != 0)
    return dtg_fail(call, "`random` knows the distributions uniform and normal, not `%s`",
                    distribution);
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (call->inputs[i].dtype != DTG_I64 || call->inputs[i].shape.rank != 0)
      return dtg_fail(call, "`random` needs seed, step and shard as i64[], got %s",
                      DTG_TYPE(&call->inputs[i]));
  }
  if (!dtg_call_shape(call, "shape", &type.shape))
    return false;
  *out = type;
  return true;
}

static double random_value(bool normal, const uint32_t words[4]) {
  double first = words[0] >> 8, second = words[1] >> 8;
  if (!normal)
    return first * 0x1p-24;
  return sqrt(-2 * log((first + 1) * 0x1p-24)) * cos(2 * M_PI * (second * 0x1p-24));
}

static void random_ref(const struct dtg_ref_call *call) {
  uint64_t seed = (uint64_t)(int64_t)call->inputs[0].data[0];
  uint64_t step = (uint64_t)(int64_t)call->inputs[1].data[0];
  uint64_t shard = (uint64_t)(int64_t)call->inputs[2].data[0];
  uint64_t key = seed ^ stream_mix((uint64_t)dtg_node_int(call->node, "stream", 0));
  uint64_t high = step + (shard << SHARD_SHIFT);
  for (int64_t i = 0; i < dtg_shape_count(&call->out->type.shape); i++) {
    uint32_t words[4];
    dtg_philox((uint32_t[2]){(uint32_t)key, (uint32_t)(key >> 32)},
               (uint32_t[4]){(uint32_t)i, (uint32_t)((uint64_t)i >> 32), (uint32_t)high,
                             (uint32_t)(high >> 32)},
               words);
    call->out->data[i] = random_value(is_normal(call->node), words);
  }
}

/* Bits 8 to 31 of a word as f32, exact. */
static uint32_t word_value(struct cg_builder *b, uint32_t key, uint32_t low, uint32_t high,
                           int word) {
  uint32_t bits = cg_philox(b, key, low, high, word);
  return cg_cast(b, cg_binary(b, CG_SHR, bits, cg_const_i(b, DTG_I32, 8)), DTG_F32);
}

static uint32_t normal_lower(struct cg_builder *b, uint32_t key, uint32_t low, uint32_t high) {
  uint32_t first = word_value(b, key, low, high, 0), second = word_value(b, key, low, high, 1);
  uint32_t unit = cg_const_f(b, DTG_F32, 0x1p-24);
  uint32_t u = cg_binary(b, CG_MUL, cg_binary(b, CG_ADD, first, cg_const_f(b, DTG_F32, 1)), unit);
  uint32_t angle = cg_binary(b, CG_MUL, second, cg_const_f(b, DTG_F32, 2 * M_PI * 0x1p-24));
  uint32_t square = cg_binary(b, CG_MUL, cg_unary(b, CG_LOG, u), cg_const_f(b, DTG_F32, -2));
  return cg_binary(b, CG_MUL, cg_unary(b, CG_SQRT, square), cg_unary(b, CG_COS, angle));
}

static uint32_t random_lower(const struct dtg_lower_call *call) {
  struct cg_builder *b = call->builder;
  const struct dtg_shape *shape = &call->node->type.shape;
  uint64_t mix = stream_mix((uint64_t)dtg_node_int(call->node, "stream", 0));
  uint32_t key = cg_binary(b, CG_XOR, call->values[0], cg_const_i(b, DTG_I64, (int64_t)mix));
  uint32_t moved = cg_binary(b, CG_SHL, call->values[2], cg_const_i(b, DTG_I64, SHARD_SHIFT));
  uint32_t high = cg_binary(b, CG_ADD, call->values[1], moved);
  uint32_t element = cg_const_i(b, DTG_I64, 0);
  for (uint32_t i = 0; i < shape->rank; i++) {
    uint32_t dim = cg_const_i(b, DTG_I64, shape->dims[i]);
    element = cg_binary(b, CG_ADD, cg_binary(b, CG_MUL, element, dim), call->index[i]);
  }
  if (is_normal(call->node))
    return normal_lower(b, key, element, high);
  uint32_t value = word_value(b, key, element, high, 0);
  return cg_binary(b, CG_MUL, value, cg_const_f(b, DTG_F32, 0x1p-24));
}

static void random_cost(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                        double *bytes) {
  dtg_cost_elementwise(node, inputs, flops, bytes);
  *flops *= is_normal(node) ? 100 : 60; /* ten rounds of six operations, and the logarithm */
}

static const struct dtg_op_sample random_samples[] = {
    {"i64[] i64[] i64[]", "distribution=\"uniform\" shape=[131] stream=1", 0, 0, 100},
    {"i64[] i64[] i64[]", "distribution=\"uniform\" shape=[3, 5] stream=7", 0, 0, 100},
    {"i64[] i64[] i64[]", "distribution=\"normal\" shape=[4, 33] stream=2", 0, 0, 100},
};

const struct dtg_op_def dtg_row_random = {
    .name = "random",
    .doc = "Random numbers from seed, step and shard: uniform in [0, 1), or standard normal.",
    .class = DTG_CLASS_GENERATE,
    .flags = DTG_OP_RANDOM | DTG_OP_ZERO_GRAD,
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = "distribution:string shape:ints stream:int",
    .shard = "",
    .infer = random_infer,
    .cost = random_cost,
    .lower = random_lower,
    .ref = random_ref,
    DTG_SAMPLES(random_samples),
};
