/* Ops that take or make a part of a tensor along its axes. */
#include "compiler/ops/elementwise.h"

#include <inttypes.h>
#include <string.h>

/* An attribute with one int for each axis of operand 0. */
static bool per_axis(const struct dtg_infer_call *call, const char *name, const int64_t **values) {
  const struct dtg_type *x = &call->inputs[0];
  uint32_t count = dtg_call_ints(call, name, values);
  if (count == x->shape.rank)
    return true;
  return dtg_fail(call, "`%s` needs a %s for each axis of %s, got %" PRIu32, call->op->name, name,
                  DTG_TYPE(x), count);
}

static bool slice_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const int64_t *start, *stop, *step;
  struct dtg_type type = call->inputs[0];
  if (!per_axis(call, "start", &start) || !per_axis(call, "stop", &stop) ||
      !per_axis(call, "step", &step))
    return false;
  for (uint32_t i = 0; i < type.shape.rank; i++) {
    if (step[i] < 1)
      return dtg_fail(call, "`slice` needs steps of at least 1, got %" PRId64, step[i]);
    if (start[i] < 0 || stop[i] <= start[i] || stop[i] > type.shape.dims[i])
      return dtg_fail(call, "`slice` cannot take %" PRId64 ":%" PRId64 " of axis %" PRIu32 " of %s",
                      start[i], stop[i], i, DTG_TYPE(&call->inputs[0]));
    type.shape.dims[i] = (stop[i] - start[i] - 1) / step[i] + 1;
  }
  *out = type;
  return true;
}

static void slice_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *to = &call->out->type.shape;
  const int64_t *start = NULL, *step = NULL;
  int64_t index[DTG_MAX_RANK];
  dtg_node_ints(call->node, "start", &start);
  dtg_node_ints(call->node, "step", &step);
  for (int64_t i = 0; i < dtg_shape_count(to); i++) {
    dtg_ref_coordinates(to, i, index);
    for (uint32_t axis = 0; axis < to->rank; axis++)
      index[axis] = start[axis] + index[axis] * step[axis];
    call->out->data[i] = call->inputs[0].data[dtg_ref_flat(&call->inputs[0].type.shape, index)];
  }
}

static uint32_t add_slice(struct dtg_graph *graph, uint32_t x, uint32_t rank, const int64_t *start,
                          const int64_t *stop) {
  int64_t step[DTG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
  struct dtg_attr attrs[] = {dtg_attr_ints("start", rank, start), dtg_attr_ints("step", rank, step),
                             dtg_attr_ints("stop", rank, stop)};
  return dtg_add(graph, "slice", &x, 1, attrs, 3);
}

static uint32_t add_pad(struct dtg_graph *graph, uint32_t x, uint32_t rank, const int64_t *before,
                        const int64_t *after) {
  struct dtg_attr attrs[] = {dtg_attr_ints("after", rank, after),
                             dtg_attr_ints("before", rank, before)};
  return dtg_add(graph, "pad", &x, 1, attrs, 2);
}

/* Puts step - 1 zeros after each element along an axis. */
static uint32_t spread(struct dtg_graph *graph, uint32_t x, uint32_t axis, int64_t step) {
  struct dtg_shape shape = dtg_graph_node(graph, x)->type.shape;
  struct dtg_shape rows = {.rank = 4, .dims = {1, shape.dims[axis], 1, 1}};
  for (uint32_t i = 0; i < shape.rank; i++)
    rows.dims[0] *= i < axis ? shape.dims[i] : 1;
  for (uint32_t i = axis + 1; i < shape.rank; i++)
    rows.dims[3] *= shape.dims[i];
  x = dtg_add_reshape(graph, x, &rows);
  x = add_pad(graph, x, 4, (int64_t[4]){0}, (int64_t[4]){0, 0, step - 1, 0});
  shape.dims[axis] *= step;
  return dtg_add_reshape(graph, x, &shape);
}

/* The gradient goes back to the elements that were taken, zeros to the others. */
static void slice_grad(const struct dtg_grad_call *call) {
  const struct dtg_node *node = dtg_graph_node(call->graph, call->node);
  struct dtg_shape from = dtg_grad_type(call, dtg_grad_input(call, 0)).shape;
  const int64_t *start = NULL, *step = NULL;
  int64_t zero[DTG_MAX_RANK] = {0}, kept[DTG_MAX_RANK], after[DTG_MAX_RANK];
  uint32_t g = call->grad;
  bool cut = false;
  dtg_node_ints(node, "start", &start);
  dtg_node_ints(node, "step", &step);
  if (!call->needed[0])
    return;
  for (uint32_t i = 0; i < from.rank; i++) {
    if (step[i] != 1)
      g = spread(call->graph, g, i, step[i]);
    int64_t size = dtg_grad_type(call, g).shape.dims[i], room = from.dims[i] - start[i];
    kept[i] = size < room ? size : room;
    after[i] = room - kept[i];
    cut = cut || kept[i] != size;
  }
  if (cut)
    g = add_slice(call->graph, g, from.rank, zero, kept);
  call->grads[0] = add_pad(call->graph, g, from.rank, start, after);
}

static uint32_t slice_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0);
  return dtg_shape_equal(&dtg_graph_node(graph, node)->type.shape,
                         &dtg_graph_node(graph, x)->type.shape)
             ? x
             : DTG_NO_NODE;
}

static const struct dtg_op_sample slice_samples[] = {
    {"f32[11]", "start=[2] step=[1] stop=[9]", -3, 3, 0},
    {"f32[7,7]", "start=[1, 0] step=[2, 3] stop=[6, 7]", -3, 3, 0},
    {"f32[2,4,5]", "start=[0, 2, 1] step=[1, 1, 2] stop=[2, 3, 5]", -3, 3, 0},
    {"f32[9,2]", "start=[2, 0] step=[4, 1] stop=[8, 1]", -3, 3, 0},
    {"i32[9]", "start=[3] step=[2] stop=[8]", 0, 0, 9},
};

const struct dtg_op_def dtg_row_slice = {
    .name = "slice",
    .doc = "Elements start, start + step, ... below stop along each axis.",
    .class = DTG_CLASS_INDEX,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "start:ints step:ints stop:ints",
    .shard = "",
    .infer = slice_infer,
    .grad = slice_grad,
    .simplify = slice_simplify,
    .cost = dtg_cost_move,
    .ref = slice_ref,
    DTG_SAMPLES(slice_samples),
};

static bool pad_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const int64_t *before, *after;
  struct dtg_type type = call->inputs[0];
  if (!per_axis(call, "before", &before) || !per_axis(call, "after", &after))
    return false;
  for (uint32_t i = 0; i < type.shape.rank; i++) {
    int64_t *dim = &type.shape.dims[i];
    if (before[i] < 0 || after[i] < 0)
      return dtg_fail(call, "`pad` needs counts of at least 0, got %" PRId64 " and %" PRId64,
                      before[i], after[i]);
    if (__builtin_add_overflow(*dim, before[i], dim) || __builtin_add_overflow(*dim, after[i], dim))
      return dtg_fail(call, "`pad` makes axis %" PRIu32 " of %s too large", i,
                      DTG_TYPE(&call->inputs[0]));
  }
  *out = type;
  return true;
}

static void pad_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *from = &call->inputs[0].type.shape;
  const struct dtg_type *to = &call->out->type;
  double value = dtg_ref_store(to->dtype, dtg_node_float(call->node, "value", 0));
  const int64_t *before = NULL;
  int64_t index[DTG_MAX_RANK];
  dtg_node_ints(call->node, "before", &before);
  for (int64_t i = 0; i < dtg_shape_count(&to->shape); i++)
    call->out->data[i] = value;
  for (int64_t i = 0; i < dtg_shape_count(from); i++) {
    dtg_ref_coordinates(from, i, index);
    for (uint32_t axis = 0; axis < from->rank; axis++)
      index[axis] += before[axis];
    call->out->data[dtg_ref_flat(&to->shape, index)] = call->inputs[0].data[i];
  }
}

static void pad_grad(const struct dtg_grad_call *call) {
  struct dtg_shape shape = dtg_grad_type(call, dtg_grad_input(call, 0)).shape;
  const int64_t *before = NULL;
  int64_t stop[DTG_MAX_RANK];
  dtg_node_ints(dtg_graph_node(call->graph, call->node), "before", &before);
  for (uint32_t i = 0; i < shape.rank; i++)
    stop[i] = before[i] + shape.dims[i];
  if (call->needed[0])
    call->grads[0] = add_slice(call->graph, call->grad, shape.rank, before, stop);
}

static const struct dtg_op_sample pad_samples[] = {
    {"f32[3,4]", "after=[2, 3] before=[1, 0]", -3, 3, 0},
    {"f32[2,1,3]", "after=[1, 0, 1] before=[0, 2, 1] value=1.5", -3, 3, 0},
    {"f32[5]", "after=[0] before=[3] value=-2.0", -3, 3, 0},
    {"i32[5]", "after=[1] before=[1] value=7.0", 0, 0, 9},
};

const struct dtg_op_def dtg_row_pad = {
    .name = "pad",
    .doc = "A border of a value, so many elements before and after along each axis.",
    .class = DTG_CLASS_INDEX,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "after:ints before:ints value:float=0.0",
    .shard = "",
    .infer = pad_infer,
    .grad = pad_grad,
    .simplify = slice_simplify,
    .cost = dtg_cost_move,
    .ref = pad_ref,
    DTG_SAMPLES(pad_samples),
};

static bool fits_beside(const struct dtg_infer_call *call, uint32_t input, int64_t axis) {
  const struct dtg_type *a = &call->inputs[0], *b = &call->inputs[input];
  bool fits = a->dtype == b->dtype && a->shape.rank == b->shape.rank;
  for (uint32_t i = 0; i < a->shape.rank && fits; i++)
    fits = i == axis || a->shape.dims[i] == b->shape.dims[i];
  if (fits)
    return true;
  return dtg_fail(call, "`concat` cannot join %s and %s along axis %" PRId64, DTG_TYPE(a),
                  DTG_TYPE(b), axis);
}

static bool concat_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  int64_t axis = dtg_call_int(call, "axis", 0);
  struct dtg_type type = call->inputs[0];
  if (!dtg_check_axis(call, axis, &type))
    return false;
  for (uint32_t i = 1; i < call->input_count; i++) {
    if (!fits_beside(call, i, axis))
      return false;
    if (__builtin_add_overflow(type.shape.dims[axis], call->inputs[i].shape.dims[axis],
                               &type.shape.dims[axis]))
      return dtg_fail(call, "`concat` makes axis %" PRId64 " too large", axis);
  }
  *out = type;
  return true;
}

static void concat_ref(const struct dtg_ref_call *call) {
  int64_t axis = dtg_node_int(call->node, "axis", 0), offset = 0, index[DTG_MAX_RANK];
  for (uint32_t input = 0; input < call->input_count; input++) {
    const struct dtg_shape *from = &call->inputs[input].type.shape;
    for (int64_t i = 0; i < dtg_shape_count(from); i++) {
      dtg_ref_coordinates(from, i, index);
      index[axis] += offset;
      call->out->data[dtg_ref_flat(&call->out->type.shape, index)] = call->inputs[input].data[i];
    }
    offset += from->dims[axis];
  }
}

static void concat_grad(const struct dtg_grad_call *call) {
  int64_t axis = dtg_node_int(dtg_graph_node(call->graph, call->node), "axis", 0);
  uint32_t count = dtg_graph_node(call->graph, call->node)->input_count;
  int64_t start[DTG_MAX_RANK] = {0};
  for (uint32_t i = 0; i < count; i++) {
    struct dtg_shape stop = dtg_grad_type(call, dtg_grad_input(call, i)).shape;
    stop.dims[axis] += start[axis];
    if (call->needed[i])
      call->grads[i] = add_slice(call->graph, call->grad, stop.rank, start, stop.dims);
    start[axis] = stop.dims[axis];
  }
}

static uint32_t concat_simplify(struct dtg_graph *graph, uint32_t node) {
  return dtg_graph_node(graph, node)->input_count == 1 ? dtg_input_of(graph, node, 0) : DTG_NO_NODE;
}

static const struct dtg_op_sample concat_samples[] = {
    {"f32[3,2] f32[3,5]", "axis=1", -3, 3, 0},
    {"f32[2,3] f32[1,3] f32[4,3]", "axis=0", -3, 3, 0},
    {"f32[2,1,3] f32[2,4,3]", "axis=1", -3, 3, 0},
    {"i32[2] i32[3]", "axis=0", 0, 0, 9},
};

const struct dtg_op_def dtg_row_concat = {
    .name = "concat",
    .doc = "The operands one after another along an axis.",
    .class = DTG_CLASS_INDEX,
    .min_inputs = 1,
    .max_inputs = UINT32_MAX,
    .attributes = "axis:int",
    .shard = "",
    .infer = concat_infer,
    .grad = concat_grad,
    .simplify = concat_simplify,
    .cost = dtg_cost_move,
    .ref = concat_ref,
    DTG_SAMPLES(concat_samples),
};
