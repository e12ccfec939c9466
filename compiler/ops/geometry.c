/* Windows that move over images. */
#include "compiler/ops/geometry.h"

#include <inttypes.h>
#include <string.h>

static const char *const axis_names[2] = {"rows", "columns"};

static bool read_pair(const struct dtg_infer_call *call, const char *name, int64_t least,
                      int64_t fallback, int64_t out[2]) {
  const int64_t *values = NULL;
  uint32_t count = dtg_call_ints(call, name, &values);
  out[0] = out[1] = fallback;
  if (!dtg_attrs_find(call->attrs, call->attr_count, name))
    return true;
  if (count != 2)
    return dtg_fail(call, "`%s` needs two numbers for `%s`, rows and columns, got %" PRIu32,
                    call->op->name, name, count);
  for (int i = 0; i < 2; i++) {
    if (values[i] < least || values[i] > INT32_MAX)
      return dtg_fail(call, "`%s` needs `%s` from %" PRId64 " to %d, got %" PRId64 " for the %s",
                      call->op->name, name, least, INT32_MAX, values[i], axis_names[i]);
    out[i] = values[i];
  }
  return true;
}

bool dtg_geometry_pair(const struct dtg_infer_call *call, const char *name, int64_t out[2]) {
  return read_pair(call, name, 1, 1, out);
}

bool dtg_geometry_infer(const struct dtg_infer_call *call, struct dtg_geometry *out) {
  *out = (struct dtg_geometry){.groups = dtg_call_int(call, "groups", 1)};
  if (out->groups < 1)
    return dtg_fail(call, "`%s` needs at least one group, got %" PRId64, call->op->name,
                    out->groups);
  return read_pair(call, "strides", 1, 1, out->strides) &&
         read_pair(call, "dilation", 1, 1, out->dilation) &&
         read_pair(call, "before", 0, 0, out->before) && read_pair(call, "after", 0, 0, out->after);
}

bool dtg_geometry_image(const struct dtg_infer_call *call, uint32_t input) {
  const struct dtg_type *type = &call->inputs[input];
  if (!dtg_check_dtype(call, input, DTG_IN_F32))
    return false;
  if (type->shape.rank != 4)
    return dtg_fail(call, "`%s` works on images of [batch, rows, columns, channels], got %s",
                    call->op->name, DTG_TYPE(type));
  return true;
}

bool dtg_geometry_windows(const struct dtg_infer_call *call, const struct dtg_geometry *geometry,
                          const int64_t size[2], const char *image, int64_t out[2]) {
  for (int i = 0; i < 2; i++) {
    int64_t span = (geometry->kernel[i] - 1) * geometry->dilation[i] + 1;
    int64_t border = geometry->before[i] + geometry->after[i], room = size[i] + border;
    if (geometry->before[i] >= span || geometry->after[i] >= span)
      return dtg_fail(call,
                      "`%s` has windows of %" PRId64 " %s on the border alone: the padding of "
                      "%" PRId64 " and %" PRId64 " must be less than that",
                      call->op->name, span, axis_names[i], geometry->before[i], geometry->after[i]);
    if (room < span)
      return dtg_fail(call,
                      "`%s` cannot put a window of %" PRId64 " %s (kernel %" PRId64
                      ", dilation %" PRId64 ") on the %" PRId64 " %s of %s and %" PRId64
                      " of padding: at most %" PRId64 " fit",
                      call->op->name, span, axis_names[i], geometry->kernel[i],
                      geometry->dilation[i], size[i], axis_names[i], image, border, room);
    out[i] = (room - span) / geometry->strides[i] + 1;
  }
  return true;
}

static void node_pair(const struct dtg_node *node, const char *name, int64_t fallback,
                      int64_t out[2]) {
  const int64_t *values = NULL;
  uint32_t count = dtg_node_ints(node, name, &values);
  for (uint32_t i = 0; i < 2; i++)
    out[i] = count == 2 ? values[i] : fallback;
}

struct dtg_geometry dtg_geometry_of(const struct dtg_node *node) {
  struct dtg_geometry out = {.groups = dtg_node_int(node, "groups", 1)};
  node_pair(node, "window", 1, out.kernel);
  node_pair(node, "strides", 1, out.strides);
  node_pair(node, "dilation", 1, out.dilation);
  node_pair(node, "before", 0, out.before);
  node_pair(node, "after", 0, out.after);
  return out;
}

bool dtg_geometry_pixel(const struct dtg_geometry *geometry, int axis, int64_t size,
                        int64_t position, int64_t element, int64_t *pixel) {
  *pixel = position * geometry->strides[axis] - geometry->before[axis] +
           element * geometry->dilation[axis];
  return *pixel >= 0 && *pixel < size;
}

uint32_t dtg_geometry_attrs(struct dtg_graph *graph, const struct dtg_node *node, bool convolution,
                            const char *name, const int64_t *values, struct dtg_attr *attrs) {
  static const char *const pairs[] = {"after",  "before", "dilation", "groups",
                                      "kernel", "size",   "strides",  "window"};
  uint32_t count = 0;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const struct dtg_attr *have = dtg_attrs_find(node->attrs, node->attr_count, pairs[i]);
    bool shared = strcmp(pairs[i], "kernel") != 0 && strcmp(pairs[i], "size") != 0;
    if (name && strcmp(pairs[i], name) == 0) {
      int64_t *copy = DTG_NEW_ARRAY(graph->arena, int64_t, 2);
      memcpy(copy, values, 2 * sizeof *copy);
      attrs[count++] = dtg_attr_ints(name, 2, copy);
    } else if (have && shared && (!convolution || strcmp(pairs[i], "window") != 0)) {
      attrs[count++] = *have;
    }
  }
  return count;
}
