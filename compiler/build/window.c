// Convolutions and poolings: what is written as `padding` becomes rows and columns.
#include "compiler/build/functions.h"

#include <inttypes.h>
#include <string.h>

enum { AXES = 2 };

struct window {
  uint32_t axes; // of the image between batch and channels: 1 or 2
  int64_t kernel[AXES], stride[AXES], dilation[AXES], before[AXES], after[AXES];
  int64_t groups;
};

static const char *const axis_names[AXES] = {"rows", "columns"};

// One number for all axes or one for each, from 1 to a limit that keeps sums small. Axes that are
// not there come first and are 1.
static bool read_sizes(struct dtg_build *b, const char *what, const struct dtg_build_given *given,
                       uint32_t axes, int64_t out[AXES]) {
  enum { LIMIT = 1 << 24 };
  int64_t values[DTG_MAX_RANK];
  uint32_t count = 0;
  out[0] = out[1] = 1;
  if (!dtg_is_given(given))
    return true;
  if (!dtg_argument_ints(b, what, given, values, &count))
    return false;
  if (count != axes && count != 1) {
    dtg_build_error(b, given->span, "`%s` is one number or %" PRIu32 ", not %" PRIu32, what, axes,
                    count);
    return false;
  }
  for (uint32_t i = 0; i < axes; i++) {
    int64_t value = values[count == 1 ? 0 : i];
    if (value < 1 || value > LIMIT) {
      dtg_build_error(b, given->span, "`%s` must be from 1 to %d, not %" PRId64, what, LIMIT,
                      value);
      return false;
    }
    out[AXES - axes + i] = value;
  }
  return true;
}

// ---- padding ----

static int64_t span_of(const struct window *w, uint32_t axis) {
  return (w->kernel[axis] - 1) * w->dilation[axis] + 1;
}

// As many windows as the stride needs to pass the image; what is odd comes last.
static void pad_same(struct window *w, const int64_t size[AXES]) {
  for (uint32_t i = 0; i < AXES; i++) {
    int64_t windows = (size[i] - 1) / w->stride[i] + 1;
    int64_t border = (windows - 1) * w->stride[i] + span_of(w, i) - size[i];
    border = border > 0 ? border : 0;
    w->before[i] = border / 2;
    w->after[i] = border - border / 2;
  }
}

static bool is_pair(const struct dtg_value *value) {
  return value->kind == DTG_VALUE_LIST && value->list.count == 2 &&
         value->list.items[0].kind == DTG_VALUE_INT && value->list.items[1].kind == DTG_VALUE_INT;
}

static bool bad_padding(struct dtg_build *b, const struct dtg_build_given *given, uint32_t axes) {
  struct dtg_diag *diag = dtg_build_error(
      b, given->span, "`padding` is \"same\", \"valid\" or the border before and after %s",
      axes == 1 ? "the axis" : "each axis");
  dtg_diag_hint(diag, axes == 1 ? "for example [2, 0]" : "for example [[1, 1], [0, 2]]");
  return false;
}

static bool read_border(struct dtg_build *b, const struct dtg_build_given *given, uint32_t axes,
                        struct window *w) {
  const struct dtg_value *value = &given->value;
  if (value->kind != DTG_VALUE_LIST || (axes == 2 && value->list.count != 2))
    return bad_padding(b, given, axes);
  for (uint32_t i = 0; i < axes; i++) {
    const struct dtg_value *pair = axes == 1 ? value : &value->list.items[i];
    if (!is_pair(pair))
      return bad_padding(b, given, axes);
    int64_t before = pair->list.items[0].i, after = pair->list.items[1].i;
    if (before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX)
      return bad_padding(b, given, axes);
    w->before[AXES - axes + i] = before;
    w->after[AXES - axes + i] = after;
  }
  return true;
}

enum padding { PADDING_SAME, PADDING_VALID, PADDING_BORDER, PADDING_BAD };

static enum padding read_padding(struct dtg_build *b, const struct dtg_build_given *given,
                                 const char *fallback, uint32_t axes, struct window *w) {
  const char *word = dtg_is_given(given) ? given->value.s : fallback;
  if (dtg_is_given(given) && given->value.kind != DTG_VALUE_STRING)
    return read_border(b, given, axes, w) ? PADDING_BORDER : PADDING_BAD;
  if (strcmp(word, "same") == 0)
    return PADDING_SAME;
  if (strcmp(word, "valid") == 0)
    return PADDING_VALID;
  bad_padding(b, given, axes);
  return PADDING_BAD;
}

// ---- images ----

// Images of one axis get a second one of one row.
static uint32_t as_image(struct dtg_build *b, uint32_t x) {
  struct dtg_shape s = dtg_build_type(b, x)->shape;
  if (s.rank != 3)
    return x;
  struct dtg_shape image = {.rank = 4, .dims = {s.dims[0], 1, s.dims[1], s.dims[2]}};
  return dtg_add_reshape(b->graph, x, &image);
}

static uint32_t as_kernel(struct dtg_build *b, uint32_t w) {
  struct dtg_shape s = dtg_build_type(b, w)->shape;
  if (s.rank != 3)
    return w;
  struct dtg_shape kernel = {.rank = 4, .dims = {1, s.dims[0], s.dims[1], s.dims[2]}};
  return dtg_add_reshape(b->graph, w, &kernel);
}

static struct dtg_value as_it_was(struct dtg_build *b, struct dtg_value y, uint32_t axes) {
  if (y.kind != DTG_VALUE_TENSOR || axes == 2)
    return y;
  struct dtg_shape s = dtg_build_type(b, y.node)->shape;
  struct dtg_shape line = {.rank = 3, .dims = {s.dims[0], s.dims[2], s.dims[3]}};
  return dtg_build_tensor(dtg_add_reshape(b->graph, y.node, &line), false);
}

static const char *image_axes(uint32_t rank) {
  return rank == 3 ? "[batch, length, channels]" : "[batch, rows, columns, channels]";
}

// `x`, images of one or two axes, and `w`, as many; their numbers of axes in `axes`.
static bool read_operands(struct dtg_build *b, const char *name,
                          const struct dtg_build_given *given, uint32_t nodes[2], uint32_t *axes) {
  if (!dtg_argument_tensor(b, name, &given[0], &nodes[0]) ||
      !dtg_argument_tensor(b, name, &given[1], &nodes[1]))
    return false;
  const struct dtg_type *x = dtg_build_type(b, nodes[0]), *w = dtg_build_type(b, nodes[1]);
  if ((x->shape.rank == 3 || x->shape.rank == 4) && x->shape.rank == w->shape.rank) {
    *axes = x->shape.rank - 2;
    return true;
  }
  struct dtg_diag *diag =
      dtg_build_error(b, given[0].span, "`%s` cannot apply weights %s to %s", name,
                      dtg_build_type_text(b, w), dtg_build_type_text(b, x));
  for (int i = 0; i < 2; i++)
    dtg_build_note(b, diag, nodes[i]);
  uint32_t rank = x->shape.rank == 3 || w->shape.rank == 3 ? 3 : 4;
  dtg_diag_hint(diag, "images are %s, weights [%s, channels / groups, out]", image_axes(rank),
                rank == 3 ? "kernel" : "kernel rows, kernel columns");
  return false;
}

static uint32_t put_attrs(struct dtg_build *b, const struct window *w, struct dtg_attr *attrs) {
  struct window *kept = DTG_NEW(&b->ctx->arena, struct window);
  *kept = *w;
  uint32_t count = 0;
  attrs[count++] = dtg_attr_ints("after", AXES, kept->after);
  attrs[count++] = dtg_attr_ints("before", AXES, kept->before);
  attrs[count++] = dtg_attr_ints("strides", AXES, kept->stride);
  if (w->dilation[0] != 1 || w->dilation[1] != 1)
    attrs[count++] = dtg_attr_ints("dilation", AXES, kept->dilation);
  if (w->groups != 1)
    attrs[count++] = dtg_attr_int("groups", w->groups);
  return count;
}

// ---- functions ----

// One number for rows and columns, or both, as a list of two.
struct dtg_value dtg_function_pair(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  DTG_ARGUMENTS(1, 1, "sizes")
  int64_t sizes[AXES];
  if (!read_sizes(b, "sizes", &given[0], AXES, sizes))
    return dtg_value_error();
  struct dtg_value *items = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_value, AXES);
  for (int i = 0; i < AXES; i++)
    items[i] = (struct dtg_value){.kind = DTG_VALUE_INT, .i = sizes[i]};
  return (struct dtg_value){.kind = DTG_VALUE_LIST, .list = {AXES, items}};
}

// The channels of each group.
struct dtg_value dtg_function_per_group(struct dtg_build *b, const char *name,
                                        const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 2, "channels", "groups")
  int64_t channels, groups;
  if (!dtg_argument_int(b, "channels", &given[0], &channels) ||
      !dtg_argument_int(b, "groups", &given[1], &groups))
    return dtg_value_error();
  if (groups < 1 || channels % groups != 0)
    return dtg_build_fail(b, given[1].span,
                          "%" PRId64 " channels cannot be cut into %" PRId64
                          " groups: groups must divide them",
                          channels, groups);
  return (struct dtg_value){.kind = DTG_VALUE_INT, .i = channels / groups};
}

struct dtg_value dtg_function_convolve(struct dtg_build *b, const char *name,
                                       const struct dtg_build_call *call) {
  DTG_ARGUMENTS(6, 2, "x", "w", "stride", "padding", "dilation", "groups")
  uint32_t nodes[2], axes;
  struct window w = {.groups = 1};
  struct dtg_attr attrs[6];
  if (!read_operands(b, name, given, nodes, &axes) ||
      !read_sizes(b, "stride", &given[2], axes, w.stride) ||
      !read_sizes(b, "dilation", &given[4], axes, w.dilation) ||
      (dtg_is_given(&given[5]) && !dtg_argument_int(b, "groups", &given[5], &w.groups)))
    return dtg_value_error();
  nodes[0] = as_image(b, nodes[0]);
  nodes[1] = as_kernel(b, nodes[1]);
  memcpy(w.kernel, dtg_build_type(b, nodes[1])->shape.dims, sizeof w.kernel);
  enum padding padding = read_padding(b, &given[3], "same", axes, &w);
  if (padding == PADDING_BAD)
    return dtg_value_error();
  if (padding == PADDING_SAME)
    pad_same(&w, &dtg_build_type(b, nodes[0])->shape.dims[1]);
  uint32_t count = put_attrs(b, &w, attrs);
  return as_it_was(b, dtg_build_add(b, "conv", nodes, 2, attrs, count, call->span), axes);
}

// The size of the image whose windows are the pixels of x, and its border.
static bool grown(struct dtg_build *b, enum padding padding, const int64_t x[AXES],
                  struct window *w, int64_t size[AXES], struct dtg_span span) {
  for (uint32_t i = 0; i < AXES; i++) {
    int64_t all = (x[i] - 1) * w->stride[i] + span_of(w, i);
    if (padding == PADDING_SAME) {
      int64_t extra = span_of(w, i) - w->stride[i];
      w->before[i] = extra > 0 ? extra / 2 : 0;
      size[i] = x[i] * w->stride[i];
      w->after[i] = all - size[i] - w->before[i];
      w->after[i] = w->after[i] > 0 ? w->after[i] : 0;
    } else {
      size[i] = all - w->before[i] - w->after[i];
    }
    if (size[i] < 1) {
      dtg_build_error(b, span,
                      "the padding of %" PRId64 " and %" PRId64 " leaves nothing of %" PRId64 " %s",
                      w->before[i], w->after[i], all, axis_names[i]);
      return false;
    }
  }
  return true;
}

struct dtg_value dtg_function_convolve_transpose(struct dtg_build *b, const char *name,
                                                 const struct dtg_build_call *call) {
  DTG_ARGUMENTS(5, 2, "x", "w", "stride", "padding", "dilation")
  static const int64_t swapped[] = {0, 1, 3, 2};
  uint32_t nodes[2], axes;
  struct window w = {.groups = 1};
  struct dtg_attr attrs[7], turn = dtg_attr_ints("perm", 4, swapped);
  if (!read_operands(b, name, given, nodes, &axes) ||
      !read_sizes(b, "stride", &given[2], axes, w.stride) ||
      !read_sizes(b, "dilation", &given[4], axes, w.dilation))
    return dtg_value_error();
  nodes[0] = as_image(b, nodes[0]);
  nodes[1] = as_kernel(b, nodes[1]);
  memcpy(w.kernel, dtg_build_type(b, nodes[1])->shape.dims, sizeof w.kernel);
  enum padding padding = read_padding(b, &given[3], "same", axes, &w);
  int64_t *size = DTG_NEW_ARRAY(&b->ctx->arena, int64_t, AXES);
  if (padding == PADDING_BAD ||
      !grown(b, padding, &dtg_build_type(b, nodes[0])->shape.dims[1], &w, size, call->span))
    return dtg_value_error();
  nodes[1] = dtg_add(b->graph, "transpose", &nodes[1], 1, &turn, 1);
  uint32_t count = put_attrs(b, &w, attrs);
  attrs[count++] = dtg_attr_ints("size", AXES, size);
  return as_it_was(b, dtg_build_add(b, "conv_data", nodes, 2, attrs, count, call->span), axes);
}

static struct dtg_value pool(struct dtg_build *b, const char *name,
                             const struct dtg_build_call *call) {
  DTG_ARGUMENTS(4, 2, "x", "window", "stride", "padding")
  struct window w = {.groups = 1, .dilation = {1, 1}};
  struct dtg_attr attrs[7];
  uint32_t x;
  if (!dtg_argument_tensor(b, name, &given[0], &x))
    return dtg_value_error();
  const struct dtg_type *type = dtg_build_type(b, x);
  uint32_t axes = type->shape.rank == 3 ? 1 : 2;
  if (type->shape.rank != 3 && type->shape.rank != 4)
    return dtg_build_fail(b, given[0].span, "`%s` works on images of %s, not on %s", name,
                          image_axes(4), dtg_build_type_text(b, type));
  if (!read_sizes(b, "window", &given[1], axes, w.kernel) ||
      !read_sizes(b, "stride", &given[dtg_is_given(&given[2]) ? 2 : 1], axes, w.stride))
    return dtg_value_error();
  x = as_image(b, x);
  enum padding padding = read_padding(b, &given[3], "valid", axes, &w);
  if (padding == PADDING_BAD)
    return dtg_value_error();
  if (padding == PADDING_SAME)
    pad_same(&w, &dtg_build_type(b, x)->shape.dims[1]);
  uint32_t count = put_attrs(b, &w, attrs);
  int64_t *kernel = DTG_NEW_ARRAY(&b->ctx->arena, int64_t, AXES);
  memcpy(kernel, w.kernel, sizeof w.kernel);
  attrs[count++] = dtg_attr_ints("window", AXES, kernel);
  return as_it_was(b, dtg_build_add(b, name, &x, 1, attrs, count, call->span), axes);
}

struct dtg_value dtg_function_max_pool(struct dtg_build *b, const char *name,
                                       const struct dtg_build_call *call) {
  return pool(b, name, call);
}

struct dtg_value dtg_function_avg_pool(struct dtg_build *b, const char *name,
                                       const struct dtg_build_call *call) {
  return pool(b, name, call);
}
