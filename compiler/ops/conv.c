/* Convolutions over images, and their two transposes. */
#include "compiler/ops/geometry.h"

#include <inttypes.h>

/* Operands x [n, h, w, c], w [kh, kw, c / groups, o], y [n, p, q, o]; what is missing of them is
 * the result. */
struct convolution {
  struct dtg_geometry geometry;
  int64_t batch, x_size[2], x_channels, y_size[2], y_channels;
};

static bool check_groups(const struct dtg_infer_call *call, int64_t channels, int64_t groups,
                         const struct dtg_type *type) {
  if (channels % groups == 0)
    return true;
  return dtg_fail(call,
                  "`%s` cannot cut the %" PRId64 " channels of %s into %" PRId64
                  " groups: groups must divide them",
                  call->op->name, channels, DTG_TYPE(type), groups);
}

/* Fills all but the size of y from x, the weights and the attributes. */
static bool check_weights(const struct dtg_infer_call *call, const struct dtg_type *weights,
                          struct convolution *c) {
  for (int i = 0; i < 2; i++)
    c->geometry.kernel[i] = weights->shape.dims[i];
  c->y_channels = weights->shape.dims[3];
  return check_groups(call, c->y_channels, c->geometry.groups, weights);
}

static bool weights_rank(const struct dtg_infer_call *call, const struct dtg_type *weights) {
  if (!dtg_check_dtype(call, 1, DTG_IN_F32))
    return false;
  if (weights->shape.rank == 4)
    return true;
  return dtg_fail(call,
                  "the weights of `%s` are [kernel rows, kernel columns, channels / groups, out], "
                  "got %s",
                  call->op->name, DTG_TYPE(weights));
}

static bool conv_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const struct dtg_type *x = &call->inputs[0], *w = &call->inputs[1];
  struct convolution c = {0};
  if (!dtg_geometry_image(call, 0) || !weights_rank(call, w) ||
      !dtg_geometry_infer(call, &c.geometry) ||
      !check_groups(call, x->shape.dims[3], c.geometry.groups, x) || !check_weights(call, w, &c))
    return false;
  int64_t wanted = x->shape.dims[3] / c.geometry.groups;
  if (w->shape.dims[2] != wanted)
    return dtg_fail(call,
                    "`%s` cannot apply weights %s to %s: axis 2 of the weights must be its %" PRId64
                    " channels by %" PRId64 " group%s, %" PRId64 ", and is %" PRId64,
                    call->op->name, DTG_TYPE(w), DTG_TYPE(x), x->shape.dims[3], c.geometry.groups,
                    c.geometry.groups == 1 ? "" : "s", wanted, w->shape.dims[2]);
  if (!dtg_geometry_windows(call, &c.geometry, &x->shape.dims[1], DTG_TYPE(x), c.y_size))
    return false;
  *out = (struct dtg_type){
      .dtype = DTG_F32,
      .shape = {.rank = 4, .dims = {x->shape.dims[0], c.y_size[0], c.y_size[1], c.y_channels}}};
  return true;
}

/* The windows on an image of that size must make y. */
static bool check_y(const struct dtg_infer_call *call, const struct dtg_geometry *geometry,
                    const int64_t size[2], const struct dtg_type *y) {
  int64_t made[2];
  if (!dtg_geometry_windows(call, geometry, size, "the image", made))
    return false;
  if (made[0] == y->shape.dims[1] && made[1] == y->shape.dims[2])
    return true;
  return dtg_fail(call,
                  "`%s` takes %s for an image of %" PRId64 " x %" PRId64
                  ", whose windows make %" PRId64 " x %" PRId64,
                  call->op->name, DTG_TYPE(y), size[0], size[1], made[0], made[1]);
}

static bool conv_data_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const struct dtg_type *y = &call->inputs[0], *w = &call->inputs[1];
  struct convolution c = {0};
  int64_t channels;
  if (!dtg_geometry_image(call, 0) || !weights_rank(call, w) ||
      !dtg_geometry_infer(call, &c.geometry) || !dtg_geometry_pair(call, "size", c.x_size) ||
      !check_weights(call, w, &c))
    return false;
  if (c.y_channels != y->shape.dims[3])
    return dtg_fail(call,
                    "`%s` cannot apply weights %s to %s: %" PRId64 " and %" PRId64 " channels",
                    call->op->name, DTG_TYPE(w), DTG_TYPE(y), c.y_channels, y->shape.dims[3]);
  if (!check_y(call, &c.geometry, c.x_size, y))
    return false;
  if (__builtin_mul_overflow(w->shape.dims[2], c.geometry.groups, &channels))
    return dtg_fail(call, "`%s` makes an image with too many channels", call->op->name);
  *out = (struct dtg_type){
      .dtype = DTG_F32,
      .shape = {.rank = 4, .dims = {y->shape.dims[0], c.x_size[0], c.x_size[1], channels}}};
  return true;
}

static bool conv_weights_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const struct dtg_type *x = &call->inputs[0], *y = &call->inputs[1];
  struct convolution c = {0};
  if (!dtg_geometry_image(call, 0) || !dtg_geometry_image(call, 1) ||
      !dtg_geometry_infer(call, &c.geometry) ||
      !dtg_geometry_pair(call, "kernel", c.geometry.kernel) ||
      !check_groups(call, x->shape.dims[3], c.geometry.groups, x) ||
      !check_groups(call, y->shape.dims[3], c.geometry.groups, y) ||
      !check_y(call, &c.geometry, &x->shape.dims[1], y))
    return false;
  if (x->shape.dims[0] != y->shape.dims[0])
    return dtg_fail(call, "`%s` needs as many images in %s as in %s", call->op->name, DTG_TYPE(x),
                    DTG_TYPE(y));
  *out = (struct dtg_type){
      .dtype = DTG_F32,
      .shape = {.rank = 4,
                .dims = {c.geometry.kernel[0], c.geometry.kernel[1],
                         x->shape.dims[3] / c.geometry.groups, y->shape.dims[3]}}};
  return true;
}

/* ---- reference: one sum for each element of the result ---- */

static struct convolution convolution_of(const struct dtg_node *node, const struct dtg_shape *x,
                                         const struct dtg_shape *w, const struct dtg_shape *y) {
  struct convolution c = {.geometry = dtg_geometry_of(node),
                          .batch = x->dims[0],
                          .x_channels = x->dims[3],
                          .y_channels = y->dims[3]};
  for (int i = 0; i < 2; i++) {
    c.geometry.kernel[i] = w->dims[i];
    c.x_size[i] = x->dims[1 + i];
    c.y_size[i] = y->dims[1 + i];
  }
  return c;
}

static void conv_ref(const struct dtg_ref_call *call) {
  const struct dtg_ref_tensor *x = &call->inputs[0], *w = &call->inputs[1];
  const struct dtg_shape *to = &call->out->type.shape;
  struct convolution c = convolution_of(call->node, &x->type.shape, &w->type.shape, to);
  int64_t inner = w->type.shape.dims[2], outer = c.y_channels / c.geometry.groups;
  for (int64_t flat = 0; flat < dtg_shape_count(to); flat++) {
    int64_t at[DTG_MAX_RANK], row, column;
    double total = 0;
    dtg_ref_coordinates(to, flat, at);
    for (int64_t i = 0; i < c.geometry.kernel[0]; i++)
      for (int64_t j = 0; j < c.geometry.kernel[1]; j++) {
        if (!dtg_geometry_pixel(&c.geometry, 0, c.x_size[0], at[1], i, &row) ||
            !dtg_geometry_pixel(&c.geometry, 1, c.x_size[1], at[2], j, &column))
          continue;
        for (int64_t k = 0; k < inner; k++)
          total += x->data[dtg_ref_flat(
                       &x->type.shape,
                       (int64_t[DTG_MAX_RANK]){at[0], row, column, at[3] / outer * inner + k})] *
                   w->data[dtg_ref_flat(&w->type.shape, (int64_t[DTG_MAX_RANK]){i, j, k, at[3]})];
      }
    call->out->data[flat] = total;
  }
}

/* The window along one axis whose element `element` lies on `pixel`; false if there is none. */
static bool position_of(const struct convolution *c, int axis, int64_t pixel, int64_t element,
                        int64_t *position) {
  int64_t from = pixel + c->geometry.before[axis] - element * c->geometry.dilation[axis];
  *position = from / c->geometry.strides[axis];
  return from >= 0 && from % c->geometry.strides[axis] == 0 && *position < c->y_size[axis];
}

static void conv_data_ref(const struct dtg_ref_call *call) {
  const struct dtg_ref_tensor *y = &call->inputs[0], *w = &call->inputs[1];
  const struct dtg_shape *to = &call->out->type.shape;
  struct convolution c = convolution_of(call->node, to, &w->type.shape, &y->type.shape);
  int64_t inner = w->type.shape.dims[2], outer = c.y_channels / c.geometry.groups;
  for (int64_t flat = 0; flat < dtg_shape_count(to); flat++) {
    int64_t at[DTG_MAX_RANK], row, column;
    double total = 0;
    dtg_ref_coordinates(to, flat, at);
    int64_t first = at[3] / inner * outer;
    for (int64_t i = 0; i < c.geometry.kernel[0]; i++)
      for (int64_t j = 0; j < c.geometry.kernel[1]; j++) {
        if (!position_of(&c, 0, at[1], i, &row) || !position_of(&c, 1, at[2], j, &column))
          continue;
        for (int64_t o = first; o < first + outer; o++)
          total += y->data[dtg_ref_flat(&y->type.shape,
                                        (int64_t[DTG_MAX_RANK]){at[0], row, column, o})] *
                   w->data[dtg_ref_flat(&w->type.shape,
                                        (int64_t[DTG_MAX_RANK]){i, j, at[3] % inner, o})];
      }
    call->out->data[flat] = total;
  }
}

static void conv_weights_ref(const struct dtg_ref_call *call) {
  const struct dtg_ref_tensor *x = &call->inputs[0], *y = &call->inputs[1];
  const struct dtg_shape *to = &call->out->type.shape;
  struct convolution c = convolution_of(call->node, &x->type.shape, to, &y->type.shape);
  int64_t inner = to->dims[2], outer = c.y_channels / c.geometry.groups;
  for (int64_t flat = 0; flat < dtg_shape_count(to); flat++) {
    int64_t at[DTG_MAX_RANK], from[DTG_MAX_RANK], row, column;
    double total = 0;
    dtg_ref_coordinates(to, flat, at);
    for (int64_t i = 0; i < dtg_shape_count(&y->type.shape) / c.y_channels; i++) {
      dtg_ref_coordinates(&y->type.shape, i * c.y_channels + at[3], from);
      if (!dtg_geometry_pixel(&c.geometry, 0, c.x_size[0], from[1], at[0], &row) ||
          !dtg_geometry_pixel(&c.geometry, 1, c.x_size[1], from[2], at[1], &column))
        continue;
      total += x->data[dtg_ref_flat(
                   &x->type.shape,
                   (int64_t[DTG_MAX_RANK]){from[0], row, column, at[3] / outer * inner + at[2]})] *
               y->data[dtg_ref_flat(&y->type.shape, from)];
    }
    call->out->data[flat] = total;
  }
}

/* ---- gradients: the three ops are each other's ---- */

static uint32_t add_conv(const struct dtg_grad_call *call, uint32_t x, uint32_t w) {
  struct dtg_attr attrs[8];
  uint32_t count = dtg_geometry_attrs(call->graph, dtg_graph_node(call->graph, call->node), true,
                                      NULL, NULL, attrs);
  return dtg_add(call->graph, "conv", (uint32_t[]){x, w}, 2, attrs, count);
}

static uint32_t add_data(const struct dtg_grad_call *call, uint32_t y, uint32_t w,
                         const struct dtg_shape *x) {
  struct dtg_attr attrs[8];
  uint32_t count = dtg_geometry_attrs(call->graph, dtg_graph_node(call->graph, call->node), true,
                                      "size", &x->dims[1], attrs);
  return dtg_add(call->graph, "conv_data", (uint32_t[]){y, w}, 2, attrs, count);
}

static uint32_t add_weights(const struct dtg_grad_call *call, uint32_t x, uint32_t y,
                            const struct dtg_shape *w) {
  struct dtg_attr attrs[8];
  uint32_t count = dtg_geometry_attrs(call->graph, dtg_graph_node(call->graph, call->node), true,
                                      "kernel", w->dims, attrs);
  return dtg_add(call->graph, "conv_weights", (uint32_t[]){x, y}, 2, attrs, count);
}

static void conv_grad(const struct dtg_grad_call *call) {
  uint32_t x = dtg_grad_input(call, 0), w = dtg_grad_input(call, 1);
  struct dtg_shape x_shape = dtg_grad_type(call, x).shape, w_shape = dtg_grad_type(call, w).shape;
  if (call->needed[0])
    call->grads[0] = add_data(call, call->grad, w, &x_shape);
  if (call->needed[1])
    call->grads[1] = add_weights(call, x, call->grad, &w_shape);
}

static void conv_data_grad(const struct dtg_grad_call *call) {
  uint32_t y = dtg_grad_input(call, 0), w = dtg_grad_input(call, 1);
  struct dtg_shape w_shape = dtg_grad_type(call, w).shape;
  if (call->needed[0])
    call->grads[0] = add_conv(call, call->grad, w);
  if (call->needed[1])
    call->grads[1] = add_weights(call, call->grad, y, &w_shape);
}

static void conv_weights_grad(const struct dtg_grad_call *call) {
  uint32_t x = dtg_grad_input(call, 0), y = dtg_grad_input(call, 1);
  struct dtg_shape x_shape = dtg_grad_type(call, x).shape;
  if (call->needed[0])
    call->grads[0] = add_data(call, y, call->grad, &x_shape);
  if (call->needed[1])
    call->grads[1] = add_conv(call, x, call->grad);
}

/* Two operations for each weight that a pixel of y meets. */
static void conv_cost(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                      double *bytes) {
  const struct dtg_shape *y = node->op->window == CG_WINDOW_CONV        ? &node->type.shape
                              : node->op->window == CG_WINDOW_CONV_DATA ? &inputs[0].shape
                                                                        : &inputs[1].shape;
  const struct dtg_shape *w =
      node->op->window == CG_WINDOW_CONV_WEIGHTS ? &node->type.shape : &inputs[1].shape;
  dtg_cost_bytes(node, inputs, bytes);
  *flops = 2.0 * (double)dtg_shape_count(y) * (double)w->dims[0] * (double)w->dims[1] *
           (double)w->dims[2];
}

/* ---- rows ---- */

#define SAME3 "after=[1, 1] before=[1, 1]"

static const struct dtg_op_sample conv_samples[] = {
    {"f32[2,5,7,3] f32[3,3,3,4]", "after=[0, 0] before=[0, 0] strides=[1, 1]", -1, 1, 0},
    {"f32[2,6,5,2] f32[3,3,2,5]", SAME3 " strides=[1, 1]", -1, 1, 0},
    {"f32[1,8,7,2] f32[3,2,2,3]", "after=[1, 0] before=[0, 1] strides=[2, 1]", -1, 1, 0},
    {"f32[1,9,7,2] f32[3,3,2,3]", "after=[2, 2] before=[2, 2] dilation=[2, 2] strides=[1, 1]", -1,
     1, 0},
    {"f32[2,5,5,4] f32[3,3,2,6]", SAME3 " groups=2 strides=[1, 1]", -1, 1, 0},
    {"f32[1,7,8,3] f32[3,3,1,6]", SAME3 " groups=3 strides=[2, 2]", -1, 1, 0},
    {"f32[2,4,3,5] f32[1,1,5,7]", "after=[0, 0] before=[0, 0] strides=[2, 2]", -1, 1, 0},
    {"f32[3,1,1,2] f32[3,3,2,4]", SAME3 " strides=[1, 1]", -1, 1, 0},
    {"f32[9,40,40,8] f32[3,3,8,17]", SAME3 " strides=[1, 1]", -1, 1, 0},
};

const struct dtg_op_def dtg_row_conv = {
    .name = "conv",
    .doc =
        "Convolution of images [batch, rows, columns, channels] with weights [kernel rows, kernel "
        "columns, channels / groups, out], over a border of zeros.",
    .class = DTG_CLASS_LIBRARY,
    .window = CG_WINDOW_CONV,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = "after:ints before:ints dilation:ints=1 groups:int=1 strides:ints",
    .shard = "n h w c, i j c o -> n p q o",
    .infer = conv_infer,
    .grad = conv_grad,
    .cost = conv_cost,
    .ref = conv_ref,
    DTG_SAMPLES(conv_samples),
};

static const struct dtg_op_sample conv_data_samples[] = {
    {"f32[2,3,5,4] f32[3,3,3,4]", "after=[0, 0] before=[0, 0] size=[5, 7] strides=[1, 1]", -1, 1,
     0},
    {"f32[2,3,2,3] f32[3,3,2,3]", SAME3 " size=[5, 4] strides=[2, 2]", -1, 1, 0},
    {"f32[2,3,2,3] f32[3,3,2,3]", SAME3 " size=[6, 3] strides=[2, 2]", -1, 1, 0},
    {"f32[1,9,7,3] f32[3,3,2,3]",
     "after=[2, 2] before=[2, 2] dilation=[2, 2] size=[9, 7] strides=[1, 1]", -1, 1, 0},
    {"f32[2,5,5,6] f32[3,3,2,6]", SAME3 " groups=2 size=[5, 5] strides=[1, 1]", -1, 1, 0},
    {"f32[1,4,4,6] f32[3,3,1,6]", SAME3 " groups=3 size=[7, 8] strides=[2, 2]", -1, 1, 0},
    {"f32[1,3,2,3] f32[2,2,2,3]", "after=[0, 0] before=[0, 0] size=[9, 6] strides=[3, 3]", -1, 1,
     0},
    {"f32[9,40,40,17] f32[3,3,8,17]", SAME3 " size=[40, 40] strides=[1, 1]", -1, 1, 0},
};

const struct dtg_op_def dtg_row_conv_data = {
    .name = "conv_data",
    .doc = "The transpose of `conv` in its images: each pixel adds its product with the weights to "
           "the pixels of its window in an image of the given size.",
    .class = DTG_CLASS_LIBRARY,
    .window = CG_WINDOW_CONV_DATA,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = "after:ints before:ints dilation:ints=1 groups:int=1 size:ints strides:ints",
    .shard = "n p q o, i j c o -> n h w c",
    .infer = conv_data_infer,
    .grad = conv_data_grad,
    .cost = conv_cost,
    .ref = conv_data_ref,
    DTG_SAMPLES(conv_data_samples),
};

static const struct dtg_op_sample conv_weights_samples[] = {
    {"f32[2,5,7,3] f32[2,3,5,4]", "after=[0, 0] before=[0, 0] kernel=[3, 3] strides=[1, 1]", -1, 1,
     0},
    {"f32[2,6,5,2] f32[2,3,3,5]", SAME3 " kernel=[3, 3] strides=[2, 2]", -1, 1, 0},
    {"f32[1,9,7,2] f32[1,9,7,3]",
     "after=[2, 2] before=[2, 2] dilation=[2, 2] kernel=[3, 3] strides=[1, 1]", -1, 1, 0},
    {"f32[2,5,5,4] f32[2,5,5,6]", SAME3 " groups=2 kernel=[3, 3] strides=[1, 1]", -1, 1, 0},
    {"f32[1,7,8,3] f32[1,4,4,6]", SAME3 " groups=3 kernel=[3, 3] strides=[2, 2]", -1, 1, 0},
    {"f32[2,4,3,5] f32[2,4,3,7]", "after=[0, 0] before=[0, 0] kernel=[1, 1] strides=[1, 1]", -1, 1,
     0},
};

const struct dtg_op_def dtg_row_conv_weights = {
    .name = "conv_weights",
    .doc = "The transpose of `conv` in its weights: the sum over images and pixels of what each "
           "element of the window saw times the pixel that it made.",
    .class = DTG_CLASS_LIBRARY,
    .window = CG_WINDOW_CONV_WEIGHTS,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = "after:ints before:ints dilation:ints=1 groups:int=1 kernel:ints strides:ints",
    .shard = "n h w c, n p q o -> i j c o",
    .infer = conv_weights_infer,
    .grad = conv_weights_grad,
    .cost = conv_cost,
    .ref = conv_weights_ref,
    DTG_SAMPLES(conv_weights_samples),
};
