/* What rows lower to, run by the kernel interpreter, against their double-precision reference:
 * every sample of every element-wise and generating op. */
#include "compiler/base/strbuf.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double load(const void *bytes, enum dtg_dtype dtype, int64_t i) {
  float narrow;
  uint32_t bits;
  switch (dtype) {
  case DTG_F32:
    return ((const float *)bytes)[i];
  case DTG_F64:
    return ((const double *)bytes)[i];
  case DTG_BF16:
    bits = (uint32_t)((const uint16_t *)bytes)[i] << 16;
    memcpy(&narrow, &bits, sizeof narrow);
    return narrow;
  case DTG_I32:
    return ((const int32_t *)bytes)[i];
  case DTG_I64:
    return (double)((const int64_t *)bytes)[i];
  default:
    return ((const uint8_t *)bytes)[i];
  }
}

static void store(void *bytes, enum dtg_dtype dtype, int64_t i, double value) {
  float narrow = (float)value;
  uint32_t bits;
  switch (dtype) {
  case DTG_F32:
    ((float *)bytes)[i] = narrow;
    break;
  case DTG_F64:
    ((double *)bytes)[i] = value;
    break;
  case DTG_BF16: /* the value is one of bf16 already */
    memcpy(&bits, &narrow, sizeof bits);
    ((uint16_t *)bytes)[i] = (uint16_t)(bits >> 16);
    break;
  case DTG_I32:
    ((int32_t *)bytes)[i] = (int32_t)value;
    break;
  case DTG_I64:
    ((int64_t *)bytes)[i] = (int64_t)value;
    break;
  default:
    ((uint8_t *)bytes)[i] = (uint8_t)value;
    break;
  }
}

/* The address of the current element of a buffer with the loops' shape, or of a scalar. */
static struct cg_address address_of(uint32_t buffer, const struct dtg_shape *shape,
                                    const uint32_t *loops) {
  struct cg_address address = {.buffer = buffer, .dynamic = CG_NO_VALUE};
  int64_t strides[DTG_MAX_RANK];
  dtg_shape_strides(shape, strides);
  for (uint32_t i = 0; i < shape->rank; i++) {
    address.terms[address.term_count].loop = loops[i];
    address.terms[address.term_count++].coef = strides[i];
  }
  return address;
}

/* One loop an axis; buffers are the operands and then the result. */
static struct cg_kernel *lower(struct bench *bench, const struct dtg_graph *graph) {
  const struct dtg_node *node = &graph->nodes.data[graph->nodes.len - 1];
  const struct dtg_shape *shape = &node->type.shape;
  struct cg_kernel *kernel = cg_kernel_new(&bench->arena, "sample", node->op->name, DTG_SPAN_NONE);
  struct cg_builder builder;
  uint32_t loops[DTG_MAX_RANK], index[DTG_MAX_RANK], values[8];
  struct dtg_type types[8];
  for (uint32_t i = 0; i < node->input_count; i++) {
    types[i] = graph->nodes.data[node->inputs[i]].type;
    cg_buffer_add(kernel, "x", types[i].dtype, dtg_shape_count(&types[i].shape), true, false);
  }
  uint32_t out =
      cg_buffer_add(kernel, "out", node->type.dtype, dtg_shape_count(shape), false, true);
  cg_builder_init(&builder, kernel);
  uint32_t count = shape->rank == 0 ? 1 : shape->rank;
  for (uint32_t i = 0; i < count; i++)
    loops[i] = cg_loop_begin(&builder, i == 0 ? CG_LOOP_PARALLEL : CG_LOOP_SEQUENTIAL,
                             shape->rank == 0 ? 1 : shape->dims[i]);
  for (uint32_t i = 0; i < count; i++)
    index[i] = cg_index(&builder, loops[i]);
  for (uint32_t i = 0; i < node->input_count; i++) {
    struct cg_address from = address_of(i, &types[i].shape, loops);
    values[i] = cg_load(&builder, &from);
  }
  struct dtg_lower_call call = {
      .builder = &builder, .node = node, .input_types = types, .values = values, .index = index};
  struct cg_address to = address_of(out, shape, loops);
  cg_store(&builder, &to, node->op->lower(&call));
  for (uint32_t i = 0; i < count; i++)
    cg_loop_end(&builder);
  return kernel;
}

/* Integers agree; floats to a few units in the last place. */
static bool close_to(const struct dtg_node *node, double found, double wanted) {
  /* The f32 angle of a normal number is off by up to 2^-22: that is seen where the cosine is small.
   */
  bool has_angle = (node->op->flags & DTG_OP_RANDOM) != 0;
  double scale = fmax(fabs(wanted), has_angle ? 1 : 1e-3);
  switch (node->type.dtype) {
  case DTG_F32:
    return fabs(found - wanted) <= 4e-6 * scale;
  case DTG_F64:
    return fabs(found - wanted) <= 1e-13 * scale;
  case DTG_BF16:
    return fabs(found - wanted) <= 0x1p-7 * scale;
  default:
    return found == wanted;
  }
}

static void check_sample(const struct dtg_op_def *op, uint32_t sample) {
  struct bench bench;
  struct leaf_table table = {0};
  struct dtg_strbuf why = {0};
  void *buffers[8];
  bench_open(&bench, sample + 1);
  struct dtg_graph *graph =
      dtg_sample_graph(&bench.arena, &bench.names, op, &op->samples[sample], &why);
  assert_non_null(graph);
  uint32_t last = (uint32_t)graph->nodes.len - 1;
  for (uint32_t id = 0; id <= last; id++) {
    const struct dtg_node *node = dtg_graph_node(graph, id);
    buffers[id] = dtg_alloc(&bench.arena, (size_t)dtg_type_bytes(&node->type));
    if (id == last)
      break;
    struct dtg_ref_tensor *leaf =
        leaf_add(&table, &bench, dtg_node_string(node, "name", ""), node->type);
    for (int64_t i = 0; i < dtg_shape_count(&node->type.shape); i++) {
      leaf->data[i] = dtg_sample_value(&op->samples[sample], node->type.dtype, bench_bits(&bench));
      store(buffers[id], node->type.dtype, i, leaf->data[i]);
    }
  }
  struct cg_kernel *kernel = lower(&bench, graph);
  if (!cg_kernel_verify(kernel, &why))
    fail_msg("%s, sample %u: %s", op->name, sample, dtg_strbuf_text(&why));
  cg_kernel_interpret(kernel, buffers);
  struct dtg_ref_tensor wanted = dtg_evaluate(graph, &bench.arena, leaf_value, &table)[last];
  for (int64_t i = 0; i < dtg_shape_count(&wanted.type.shape); i++) {
    double found = load(buffers[last], wanted.type.dtype, i);
    if (!close_to(dtg_graph_node(graph, last), found, wanted.data[i]))
      fail_msg("%s, sample %u: element %lld is %.9g, not %.9g", op->name, sample, (long long)i,
               found, wanted.data[i]);
  }
  bench_close(&bench);
}

static void test_samples(void **state) {
  (void)state;
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    for (uint32_t j = 0; dtg_op_at(i)->lower && j < dtg_op_at(i)->sample_count; j++)
      check_sample(dtg_op_at(i), j);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
