/* Poolings over images, and their gradients. */
#include "compiler/ops/geometry.h"

#include <inttypes.h>
#include <math.h>

static bool read_geometry(const struct dtg_infer_call *call, struct dtg_geometry *out) {
  return dtg_geometry_infer(call, out) && dtg_geometry_pair(call, "window", out->kernel);
}

static bool pool_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_type type = call->inputs[0];
  struct dtg_geometry geometry;
  if (!dtg_geometry_image(call, 0) || !read_geometry(call, &geometry) ||
      !dtg_geometry_windows(call, &geometry, &call->inputs[0].shape.dims[1], DTG_TYPE(&type),
                            &type.shape.dims[1]))
    return false;
  *out = type;
  return true;
}

/* `y` must be what a pooling of the image makes. */
static bool check_y(const struct dtg_infer_call *call, const struct dtg_geometry *geometry,
                    const struct dtg_type *image, const struct dtg_type *y) {
  struct dtg_type made = *image;
  if (!dtg_geometry_windows(call, geometry, &image->shape.dims[1], DTG_TYPE(image),
                            &made.shape.dims[1]))
    return false;
  if (dtg_shape_equal(&made.shape, &y->shape))
    return true;
  return dtg_fail(call, "`%s` takes %s for the image %s, whose windows make %s", call->op->name,
                  DTG_TYPE(y), DTG_TYPE(image), DTG_TYPE(&made));
}

static bool max_pool_grad_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_geometry geometry;
  if (!dtg_geometry_image(call, 0) || !dtg_geometry_image(call, 1) ||
      !read_geometry(call, &geometry) ||
      !check_y(call, &geometry, &call->inputs[0], &call->inputs[1]))
    return false;
  *out = call->inputs[0];
  return true;
}

static bool avg_pool_grad_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_geometry geometry;
  struct dtg_type image = call->inputs[0];
  if (!dtg_geometry_image(call, 0) || !read_geometry(call, &geometry) ||
      !dtg_geometry_pair(call, "size", &image.shape.dims[1]) ||
      !check_y(call, &geometry, &image, &call->inputs[0]))
    return false;
  *out = image;
  return true;
}

/* ---- reference ---- */

/* The pixels of x under one element of y: their flat positions, at most as many as the window has;
 * returns their number. */
static int64_t pixels_under(const struct dtg_geometry *geometry, const struct dtg_shape *x,
                            const struct dtg_shape *y, int64_t flat, int64_t *out) {
  int64_t at[DTG_MAX_RANK], row, column, count = 0;
  dtg_ref_coordinates(y, flat, at);
  for (int64_t i = 0; i < geometry->kernel[0]; i++)
    for (int64_t j = 0; j < geometry->kernel[1]; j++)
      if (dtg_geometry_pixel(geometry, 0, x->dims[1], at[1], i, &row) &&
          dtg_geometry_pixel(geometry, 1, x->dims[2], at[2], j, &column))
        out[count++] = dtg_ref_flat(x, (int64_t[DTG_MAX_RANK]){at[0], row, column, at[3]});
  return count;
}

/* The first largest. */
static int64_t largest_of(const double *data, const int64_t *pixels, int64_t count) {
  int64_t best = pixels[0];
  for (int64_t i = 1; i < count; i++)
    best = data[pixels[i]] > data[best] ? pixels[i] : best;
  return best;
}

static void max_pool_ref(const struct dtg_ref_call *call) {
  struct dtg_geometry geometry = dtg_geometry_of(call->node);
  const struct dtg_shape *x = &call->inputs[0].type.shape, *y = &call->out->type.shape;
  struct dtg_arena arena = {0};
  int64_t *pixels = DTG_NEW_ARRAY(&arena, int64_t, geometry.kernel[0] * geometry.kernel[1]);
  for (int64_t i = 0; i < dtg_shape_count(y); i++) {
    int64_t count = pixels_under(&geometry, x, y, i, pixels);
    call->out->data[i] = call->inputs[0].data[largest_of(call->inputs[0].data, pixels, count)];
  }
  dtg_arena_free(&arena);
}

static void max_pool_grad_ref(const struct dtg_ref_call *call) {
  struct dtg_geometry geometry = dtg_geometry_of(call->node);
  const struct dtg_shape *x = &call->out->type.shape, *y = &call->inputs[1].type.shape;
  struct dtg_arena arena = {0};
  int64_t *pixels = DTG_NEW_ARRAY(&arena, int64_t, geometry.kernel[0] * geometry.kernel[1]);
  for (int64_t i = 0; i < dtg_shape_count(x); i++)
    call->out->data[i] = 0;
  for (int64_t i = 0; i < dtg_shape_count(y); i++) {
    int64_t count = pixels_under(&geometry, x, y, i, pixels);
    call->out->data[largest_of(call->inputs[0].data, pixels, count)] += call->inputs[1].data[i];
  }
  dtg_arena_free(&arena);
}

static void avg_pool_ref(const struct dtg_ref_call *call) {
  struct dtg_geometry geometry = dtg_geometry_of(call->node);
  const struct dtg_shape *x = &call->inputs[0].type.shape, *y = &call->out->type.shape;
  struct dtg_arena arena = {0};
  int64_t *pixels = DTG_NEW_ARRAY(&arena, int64_t, geometry.kernel[0] * geometry.kernel[1]);
  for (int64_t i = 0; i < dtg_shape_count(y); i++) {
    int64_t count = pixels_under(&geometry, x, y, i, pixels);
    double total = 0;
    for (int64_t k = 0; k < count; k++)
      total += call->inputs[0].data[pixels[k]];
    call->out->data[i] = total / (double)count;
  }
  dtg_arena_free(&arena);
}

static void avg_pool_grad_ref(const struct dtg_ref_call *call) {
  struct dtg_geometry geometry = dtg_geometry_of(call->node);
  const struct dtg_shape *x = &call->out->type.shape, *y = &call->inputs[0].type.shape;
  struct dtg_arena arena = {0};
  int64_t *pixels = DTG_NEW_ARRAY(&arena, int64_t, geometry.kernel[0] * geometry.kernel[1]);
  for (int64_t i = 0; i < dtg_shape_count(x); i++)
    call->out->data[i] = 0;
  for (int64_t i = 0; i < dtg_shape_count(y); i++) {
    int64_t count = pixels_under(&geometry, x, y, i, pixels);
    for (int64_t k = 0; k < count; k++)
      call->out->data[pixels[k]] += call->inputs[0].data[i] / (double)count;
  }
  dtg_arena_free(&arena);
}

/* ---- gradients ---- */

static uint32_t add_pool(const struct dtg_grad_call *call, const char *op, const uint32_t *inputs,
                         uint32_t input_count, const int64_t *size) {
  struct dtg_attr attrs[8];
  uint32_t count = dtg_geometry_attrs(call->graph, dtg_graph_node(call->graph, call->node), false,
                                      size ? "size" : NULL, size, attrs);
  return dtg_add(call->graph, op, inputs, input_count, attrs, count);
}

static void max_pool_grad(const struct dtg_grad_call *call) {
  uint32_t x = dtg_grad_input(call, 0);
  if (call->needed[0])
    call->grads[0] = add_pool(call, "max_pool_grad", (uint32_t[]){x, call->grad}, 2, NULL);
}

static void avg_pool_grad(const struct dtg_grad_call *call) {
  struct dtg_shape x = dtg_grad_type(call, dtg_grad_input(call, 0)).shape;
  if (call->needed[0])
    call->grads[0] = add_pool(call, "avg_pool_grad", &call->grad, 1, &x.dims[1]);
}

static void avg_pool_grad_grad(const struct dtg_grad_call *call) {
  if (call->needed[0])
    call->grads[0] = add_pool(call, "avg_pool", &call->grad, 1, NULL);
}

/* One operation for each pixel that a window covers. */
static void pool_cost(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                      double *bytes) {
  struct dtg_geometry geometry = dtg_geometry_of(node);
  const struct dtg_shape *y = node->op->window == CG_WINDOW_MAX_POOL_GRAD   ? &inputs[1].shape
                              : node->op->window == CG_WINDOW_AVG_POOL_GRAD ? &inputs[0].shape
                                                                            : &node->type.shape;
  dtg_cost_bytes(node, inputs, bytes);
  *flops = (double)dtg_shape_count(y) * (double)geometry.kernel[0] * (double)geometry.kernel[1];
}

/* ---- rows ---- */

static const struct dtg_op_sample pool_samples[] = {
    {"f32[2,6,4,3]", "after=[0, 0] before=[0, 0] strides=[2, 2] window=[2, 2]", -1, 1, 0},
    {"f32[2,5,7,2]", "after=[1, 1] before=[0, 0] strides=[2, 2] window=[2, 2]", -1, 1, 0},
    {"f32[1,8,7,3]", "after=[1, 1] before=[0, 1] strides=[2, 2] window=[3, 3]", -1, 1, 0},
    {"f32[2,4,5,1]", "after=[1, 1] before=[1, 1] strides=[1, 1] window=[3, 3]", -1, 1, 0},
    {"f32[2,6,9,2]", "after=[1, 1] before=[0, 1] strides=[1, 2] window=[2, 3]", -1, 1, 0},
    {"f32[1,5,4,2]", "after=[0, 0] before=[0, 0] strides=[2, 2] window=[1, 1]", -1, 1, 0},
    {"f32[3,64,64,33]", "after=[1, 0] before=[0, 1] strides=[2, 1] window=[3, 2]", -1, 1, 0},
};

const struct dtg_op_def dtg_row_max_pool = {
    .name = "max_pool",
    .doc = "The largest pixel of each window, channel by channel.",
    .class = DTG_CLASS_LIBRARY,
    .window = CG_WINDOW_MAX_POOL,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "after:ints before:ints strides:ints window:ints",
    .shard = "n h w c -> n p q c",
    .infer = pool_infer,
    .grad = max_pool_grad,
    .cost = pool_cost,
    .ref = max_pool_ref,
    DTG_SAMPLES(pool_samples),
};

static const struct dtg_op_sample max_pool_grad_samples[] = {
    {"f32[2,6,4,3] f32[2,3,2,3]", "after=[0, 0] before=[0, 0] strides=[2, 2] window=[2, 2]", -1, 1,
     0},
    {"f32[1,8,7,3] f32[1,4,4,3]", "after=[1, 1] before=[0, 1] strides=[2, 2] window=[3, 3]", -1, 1,
     0},
    {"f32[2,4,5,1] f32[2,4,5,1]", "after=[1, 1] before=[1, 1] strides=[1, 1] window=[3, 3]", -1, 1,
     0},
};

const struct dtg_op_def dtg_row_max_pool_grad = {
    .name = "max_pool_grad",
    .doc = "Each value goes to the first largest pixel of its window, and adds up there.",
    .class = DTG_CLASS_LIBRARY,
    .window = CG_WINDOW_MAX_POOL_GRAD,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = "after:ints before:ints strides:ints window:ints",
    .shard = "n h w c, n p q c -> n h w c",
    .infer = max_pool_grad_infer,
    .cost = pool_cost,
    .ref = max_pool_grad_ref,
    DTG_SAMPLES(max_pool_grad_samples),
};

const struct dtg_op_def dtg_row_avg_pool = {
    .name = "avg_pool",
    .doc = "The mean of the pixels of each window, channel by channel; the border is not counted.",
    .class = DTG_CLASS_LIBRARY,
    .window = CG_WINDOW_AVG_POOL,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "after:ints before:ints strides:ints window:ints",
    .shard = "n h w c -> n p q c",
    .infer = pool_infer,
    .grad = avg_pool_grad,
    .cost = pool_cost,
    .ref = avg_pool_ref,
    DTG_SAMPLES(pool_samples),
};

static const struct dtg_op_sample avg_pool_grad_samples[] = {
    {"f32[2,3,2,3]", "after=[0, 0] before=[0, 0] size=[6, 4] strides=[2, 2] window=[2, 2]", -1, 1,
     0},
    {"f32[1,4,4,3]", "after=[1, 1] before=[0, 1] size=[8, 7] strides=[2, 2] window=[3, 3]", -1, 1,
     0},
    {"f32[2,4,5,1]", "after=[1, 1] before=[1, 1] size=[4, 5] strides=[1, 1] window=[3, 3]", -1, 1,
     0},
};

const struct dtg_op_def dtg_row_avg_pool_grad = {
    .name = "avg_pool_grad",
    .doc = "Each value is shared by the pixels of its window in an image of the given size.",
    .class = DTG_CLASS_LIBRARY,
    .window = CG_WINDOW_AVG_POOL_GRAD,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "after:ints before:ints size:ints strides:ints window:ints",
    .shard = "n p q c -> n h w c",
    .infer = avg_pool_grad_infer,
    .grad = avg_pool_grad_grad,
    .cost = pool_cost,
    .ref = avg_pool_grad_ref,
    DTG_SAMPLES(avg_pool_grad_samples),
};
