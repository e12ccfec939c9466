/* Convolutions and poolings as library calls. */
#include "compiler/ir/group.h"

/* Floating-point operations of a tile, and of a tile for each weight, which the library reorders
 * for every call. */
enum { TILE_FLOPS = 8 << 20, FLOPS_A_WEIGHT = 256 };

static void read_pair(const struct dtg_node *node, const char *name, int64_t fallback,
                      int64_t out[2]) {
  const int64_t *values = NULL;
  uint32_t count = dtg_node_ints(node, name, &values);
  for (uint32_t i = 0; i < 2; i++)
    out[i] = count == 2 ? values[i] : fallback;
}

static bool is_convolution(enum cg_window_kind kind) {
  return kind <= CG_WINDOW_CONV_WEIGHTS;
}

/* The shapes of x, y and w, whichever of them are operands. */
static void set_shapes(struct cg_window *window, const struct dtg_shape *x,
                       const struct dtg_shape *y, const struct dtg_shape *w) {
  window->batch = x->dims[0];
  window->x_channels = x->dims[3];
  window->y_channels = y->dims[3];
  for (uint32_t i = 0; i < 2; i++) {
    window->x_size[i] = x->dims[1 + i];
    window->y_size[i] = y->dims[1 + i];
    if (w)
      window->kernel[i] = w->dims[i];
  }
}

static void cut_images(struct cg_window *window) {
  double weights = (double)window->kernel[0] * (double)window->kernel[1] *
                   (double)(window->x_channels / window->groups);
  double image = 2.0 * (double)window->y_size[0] * (double)window->y_size[1] * weights *
                 (double)window->y_channels;
  double wanted = TILE_FLOPS;
  window->tile_images = window->batch;
  if (!is_convolution(window->kind))
    image /= (double)window->x_channels;
  else if (weights * (double)window->y_channels * FLOPS_A_WEIGHT > wanted)
    wanted = weights * (double)window->y_channels * FLOPS_A_WEIGHT;
  if (window->kind != CG_WINDOW_CONV_WEIGHTS && image * (double)window->batch > wanted)
    window->tile_images = (int64_t)(wanted / image) + 1;
}

struct cg_window dtg_group_window(const struct dtg_graph *graph, const struct dtg_node *node) {
  const struct dtg_shape *first = &dtg_graph_node(graph, node->inputs[0])->type.shape;
  const struct dtg_shape *second =
      node->input_count > 1 ? &dtg_graph_node(graph, node->inputs[1])->type.shape : NULL;
  const struct dtg_shape *result = &node->type.shape;
  struct cg_window window = {.kind = node->op->window, .groups = dtg_node_int(node, "groups", 1)};
  read_pair(node, "strides", 1, window.stride);
  read_pair(node, "dilation", 1, window.dilation);
  read_pair(node, "before", 0, window.before);
  read_pair(node, "after", 0, window.after);
  read_pair(node, "window", 1, window.kernel);
  switch (window.kind) {
  case CG_WINDOW_CONV:
    set_shapes(&window, first, result, second);
    break;
  case CG_WINDOW_CONV_DATA:
    set_shapes(&window, result, first, second);
    break;
  case CG_WINDOW_CONV_WEIGHTS:
    set_shapes(&window, first, second, result);
    break;
  case CG_WINDOW_MAX_POOL_GRAD:
    set_shapes(&window, first, second, NULL);
    break;
  case CG_WINDOW_AVG_POOL_GRAD:
    set_shapes(&window, result, first, NULL);
    break;
  default:
    set_shapes(&window, first, result, NULL);
    break;
  }
  cut_images(&window);
  return window;
}
