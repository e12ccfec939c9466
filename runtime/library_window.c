/* Convolutions and poolings by oneDNN.
 *
 * A call is a list of primitives: reorders of operands into the layouts that the library asks for,
 * the convolution or pooling, and a reorder of the result. Images stay as they are, channels
 * innermost. Against the library's own layouts, over 54 calls of lenet, the residual networks and
 * the tutorial network, that costs 2 per cent in the median and 4 (AVX2) to 9 per cent (AVX-512) in
 * the mean, measured on a loaded machine; large images with few channels (56 x 56 with 64 and 256,
 * 224 x 224 with 3) take up to twice as long. Where it has no kernel for that layout that is faster
 * than its reference, it is asked for any layout and images are reordered too. Weights always have
 * the library's layout. The largest pixel of a window is found again for the gradient, in scratch:
 * nothing but the images passes from the forward to the backward pass.
 */
#include "runtime/library_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 4, MAX_SLOTS = 12, MAX_ARGS = 5, SCRATCH = -1, NO_SLOT = -1 };

/* A memory object, and where its bytes are. */
struct slot {
  dnnl_memory_t memory;
  int buffer;     /* SCRATCH: `offset` bytes into the scratch */
  int64_t offset; /* buffers: of one image, per image of a tile's first */
};

struct step {
  dnnl_primitive_t primitive;
  int count;
  int names[MAX_ARGS], slots[MAX_ARGS];
};

struct dtr_library_window_call {
  int slot_count, step_count;
  struct slot slots[MAX_SLOTS];
  struct step steps[MAX_STEPS];
};

/* In the library's type, dilation as it counts: 0 is none. */
struct geometry {
  dnnl_dims_t kernel, stride, dilation, before, after;
};

/* Makes a call, or only measures it. */
struct maker {
  const struct dtr_window *window;
  int64_t images; /* of the tile */
  dnnl_engine_t engine;
  struct dtr_library_window_call *call;
  bool measures;           /* no primitive is compiled */
  bool any;                /* images in any layout */
  int64_t bytes;           /* scratch so far */
  dnnl_status_t status;    /* of the first failure */
  const char *reorders[3]; /* what is reordered */
  int reorder_count;
  char name[64]; /* of the library's kernel */
};

int dtr_library_window_buffers(const struct dtr_window *window) {
  return window->kind <= DTR_WINDOW_CONV_WEIGHTS || window->kind == DTR_WINDOW_MAX_POOL_GRAD ? 3
                                                                                             : 2;
}

int64_t dtr_library_window_tiles(const struct dtr_window *window) {
  return (window->batch - 1) / window->tile_images + 1;
}

static int64_t images_of(const struct dtr_window *window, int kind) {
  if (kind == TILE_LAST)
    return window->batch % window->tile_images;
  return window->batch >= window->tile_images ? window->tile_images : 0;
}

static struct geometry geometry_of(const struct dtr_window *window) {
  struct geometry out = {0};
  for (int i = 0; i < 2; i++) {
    out.kernel[i] = window->kernel[i];
    out.stride[i] = window->stride[i];
    out.dilation[i] = window->dilation[i] - 1;
    out.before[i] = window->before[i];
    out.after[i] = window->after[i];
  }
  return out;
}

static bool keep(struct maker *maker, dnnl_status_t status) {
  if (maker->status == dnnl_success)
    maker->status = status;
  return maker->status == dnnl_success;
}

/* ---- slots ---- */

static int add_slot(struct maker *maker, const dnnl_memory_desc_t *desc, int buffer,
                    int64_t offset) {
  struct dtr_library_window_call *call = maker->call;
  int index = call->slot_count++;
  call->slots[index] = (struct slot){.buffer = buffer, .offset = offset};
  if (!maker->measures)
    keep(maker,
         dnnl_memory_create(&call->slots[index].memory, desc, maker->engine, DNNL_MEMORY_NONE));
  return index;
}

/* Bytes in the scratch that stay in use until the end of the call. */
static int add_scratch(struct maker *maker, const dnnl_memory_desc_t *desc) {
  int64_t bytes = (int64_t)dnnl_memory_desc_get_size(desc);
  if (bytes == 0)
    return NO_SLOT;
  int index = add_slot(maker, desc, SCRATCH, maker->bytes);
  maker->bytes += (bytes + DTR_ALIGN - 1) / DTR_ALIGN * DTR_ALIGN;
  return index;
}

/* ---- steps ---- */

static struct step *add_step(struct maker *maker, const_dnnl_primitive_desc_t desc) {
  struct step *step = &maker->call->steps[maker->call->step_count++];
  if (!maker->measures)
    keep(maker, dnnl_primitive_create(&step->primitive, desc));
  int scratch = add_scratch(maker, dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0));
  if (scratch != NO_SLOT) {
    step->names[step->count] = DNNL_ARG_SCRATCHPAD;
    step->slots[step->count++] = scratch;
  }
  return step;
}

static void add_argument(struct step *step, int name, int slot) {
  step->names[step->count] = name;
  step->slots[step->count++] = slot;
}

static dnnl_status_t user_scratch(dnnl_primitive_attr_t *attr) {
  dnnl_status_t status = dnnl_primitive_attr_create(attr);
  if (status == dnnl_success)
    status = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
  return status;
}

static void add_reorder(struct maker *maker, const dnnl_memory_desc_t *from, int from_slot,
                        const dnnl_memory_desc_t *to, int to_slot) {
  dnnl_primitive_attr_t attr = NULL;
  dnnl_primitive_desc_t desc = NULL;
  if (keep(maker, user_scratch(&attr)) &&
      keep(maker, dnnl_reorder_primitive_desc_create(&desc, from, maker->engine, to, maker->engine,
                                                     attr))) {
    struct step *step = add_step(maker, desc);
    add_argument(step, DNNL_ARG_FROM, from_slot);
    add_argument(step, DNNL_ARG_TO, to_slot);
  }
  if (desc)
    dnnl_primitive_desc_destroy(desc);
  if (attr)
    dnnl_primitive_attr_destroy(attr);
}

/* An operand in our layout, as the library wants it: its slot. */
static int add_operand(struct maker *maker, int buffer, int64_t image_bytes,
                       const dnnl_memory_desc_t *ours, const dnnl_memory_desc_t *theirs,
                       const char *name) {
  int slot = add_slot(maker, ours, buffer, image_bytes);
  if (dnnl_memory_desc_equal(ours, theirs))
    return slot;
  int packed = add_scratch(maker, theirs);
  maker->reorders[maker->reorder_count++] = name;
  add_reorder(maker, ours, slot, theirs, packed);
  return packed;
}

/* The slot that the library writes, and after it, once the main step is added: our layout. */
struct result {
  int slot, ours_slot;
  dnnl_memory_desc_t ours, theirs;
};

static struct result begin_result(struct maker *maker, int buffer, int64_t image_bytes,
                                  const dnnl_memory_desc_t *ours, const dnnl_memory_desc_t *theirs,
                                  const char *name) {
  struct result out = {.ours = *ours, .theirs = *theirs};
  out.slot = out.ours_slot = add_slot(maker, ours, buffer, image_bytes);
  if (!dnnl_memory_desc_equal(ours, theirs)) {
    out.slot = add_scratch(maker, theirs);
    maker->reorders[maker->reorder_count++] = name;
  }
  return out;
}

static void end_result(struct maker *maker, const struct result *result) {
  if (result->slot != result->ours_slot)
    add_reorder(maker, &result->theirs, result->slot, &result->ours, result->ours_slot);
}

/* ---- layouts ---- */

/* Images [n, h, w, c] in the library's order of axes: n, c, h, w. Axes of one element get the
 * stride that they have in a dense tensor: see `describe` in library_onednn.c. */
static void describe_images(struct maker *maker, const int64_t size[2], int64_t channels, bool any,
                            dnnl_memory_desc_t *desc) {
  dnnl_dims_t dims = {maker->images, channels, size[0], size[1]};
  keep(maker, dnnl_memory_desc_init_by_tag(desc, 4, dims, dnnl_f32,
                                           any ? dnnl_format_tag_any : dnnl_nhwc));
}

/* Weights [kh, kw, c / groups, o] in the library's order: (groups,) o, c, kh, kw. */
static void describe_weights(struct maker *maker, bool any, dnnl_memory_desc_t *desc) {
  const struct dtr_window *w = maker->window;
  int64_t in = w->x_channels / w->groups, out = w->y_channels / w->groups;
  int64_t column = in * w->y_channels, row = w->kernel[1] * column;
  dnnl_dims_t dims = {w->groups, out, in, w->kernel[0], w->kernel[1]};
  dnnl_dims_t strides = {out, 1, w->y_channels, row, column};
  int skip = w->groups == 1;
  keep(maker, any ? dnnl_memory_desc_init_by_tag(desc, 5 - skip, dims + skip, dnnl_f32,
                                                 dnnl_format_tag_any)
                  : dnnl_memory_desc_init_by_strides(desc, 5 - skip, dims + skip, dnnl_f32,
                                                     strides + skip));
}

static int64_t image_bytes(const int64_t size[2], int64_t channels) {
  return size[0] * size[1] * channels * (int64_t)sizeof(float);
}

static int64_t x_bytes(const struct dtr_window *w) {
  return image_bytes(w->x_size, w->x_channels);
}

static int64_t y_bytes(const struct dtr_window *w) {
  return image_bytes(w->y_size, w->y_channels);
}

/* ---- convolutions ---- */

/* The forward one is what the library wants as a hint for the others. */
static dnnl_primitive_desc_t describe_conv(struct maker *maker) {
  const struct dtr_window *w = maker->window;
  dnnl_memory_desc_t x, y, weights;
  dnnl_convolution_desc_t conv;
  dnnl_primitive_desc_t forward = NULL, out = NULL;
  dnnl_primitive_attr_t attr = NULL;
  struct geometry g = geometry_of(w);
  describe_images(maker, w->x_size, w->x_channels, maker->any, &x);
  describe_images(maker, w->y_size, w->y_channels, maker->any, &y);
  describe_weights(maker, true, &weights);
  if (!keep(maker, user_scratch(&attr)) ||
      !keep(maker, dnnl_dilated_convolution_forward_desc_init(
                       &conv, dnnl_forward_training, dnnl_convolution_direct, &x, &weights, NULL,
                       &y, g.stride, g.dilation, g.before, g.after)) ||
      !keep(maker, dnnl_primitive_desc_create(&forward, &conv, attr, maker->engine, NULL)))
    goto done;
  if (w->kind == DTR_WINDOW_CONV) {
    out = forward;
    forward = NULL;
    goto done;
  }
  dnnl_status_t status =
      w->kind == DTR_WINDOW_CONV_DATA
          ? dnnl_dilated_convolution_backward_data_desc_init(&conv, dnnl_convolution_direct, &x,
                                                             &weights, &y, g.stride, g.dilation,
                                                             g.before, g.after)
          : dnnl_dilated_convolution_backward_weights_desc_init(&conv, dnnl_convolution_direct, &x,
                                                                &weights, NULL, &y, g.stride,
                                                                g.dilation, g.before, g.after);
  if (keep(maker, status))
    keep(maker, dnnl_primitive_desc_create(&out, &conv, attr, maker->engine, forward));
done:
  if (forward)
    dnnl_primitive_desc_destroy(forward);
  if (attr)
    dnnl_primitive_attr_destroy(attr);
  return out;
}

static const dnnl_memory_desc_t *layout_of(const_dnnl_primitive_desc_t desc, dnnl_query_t what) {
  return dnnl_primitive_desc_query_md(desc, what, 0);
}

static void make_conv(struct maker *maker, const_dnnl_primitive_desc_t desc) {
  const struct dtr_window *w = maker->window;
  bool data = w->kind == DTR_WINDOW_CONV_DATA, weights = w->kind == DTR_WINDOW_CONV_WEIGHTS;
  dnnl_memory_desc_t x, y, kernel;
  describe_images(maker, w->x_size, w->x_channels, false, &x);
  describe_images(maker, w->y_size, w->y_channels, false, &y);
  describe_weights(maker, false, &kernel);
  const dnnl_memory_desc_t *x_their =
      layout_of(desc, data ? dnnl_query_diff_src_md : dnnl_query_src_md);
  const dnnl_memory_desc_t *w_their =
      layout_of(desc, weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
  const dnnl_memory_desc_t *y_their =
      layout_of(desc, w->kind == DTR_WINDOW_CONV ? dnnl_query_dst_md : dnnl_query_diff_dst_md);
  if (maker->status != dnnl_success)
    return;
  int names[3] = {data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
                  weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
                  w->kind == DTR_WINDOW_CONV ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST};
  int slots[3];
  struct result result;
  if (!data)
    slots[0] = add_operand(maker, 0, x_bytes(w), &x, x_their, "x");
  if (!weights)
    slots[1] = add_operand(maker, 1, 0, &kernel, w_their, "w");
  if (w->kind != DTR_WINDOW_CONV)
    slots[2] = add_operand(maker, data ? 0 : 1, y_bytes(w), &y, y_their, "y");
  if (data)
    result = begin_result(maker, 2, x_bytes(w), &x, x_their, "x");
  else if (weights)
    result = begin_result(maker, 2, 0, &kernel, w_their, "w");
  else
    result = begin_result(maker, 2, y_bytes(w), &y, y_their, "y");
  slots[data ? 0 : weights ? 1 : 2] = result.slot;
  struct step *step = add_step(maker, desc);
  for (int i = 0; i < 3; i++)
    add_argument(step, names[i], slots[i]);
  end_result(maker, &result);
}

/* ---- poolings ---- */

static dnnl_alg_kind_t algorithm(const struct dtr_window *w) {
  return w->kind <= DTR_WINDOW_MAX_POOL_GRAD ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
}

static dnnl_primitive_desc_t describe_pool(struct maker *maker, const dnnl_memory_desc_t *x,
                                           const dnnl_memory_desc_t *y, bool keeps) {
  const struct dtr_window *w = maker->window;
  dnnl_pooling_desc_t pool;
  struct geometry g = geometry_of(w);
  dnnl_primitive_desc_t out = NULL;
  dnnl_primitive_attr_t attr = NULL;
  if (keep(maker, user_scratch(&attr)) &&
      keep(maker, dnnl_pooling_forward_desc_init(
                      &pool, keeps ? dnnl_forward_training : dnnl_forward_inference, algorithm(w),
                      x, y, g.stride, g.kernel, g.before, g.after)))
    keep(maker, dnnl_primitive_desc_create(&out, &pool, attr, maker->engine, NULL));
  if (attr)
    dnnl_primitive_attr_destroy(attr);
  return out;
}

static dnnl_primitive_desc_t describe_pool_grad(struct maker *maker, const dnnl_memory_desc_t *x,
                                                const dnnl_memory_desc_t *y,
                                                const_dnnl_primitive_desc_t forward) {
  const struct dtr_window *w = maker->window;
  dnnl_pooling_desc_t pool;
  struct geometry g = geometry_of(w);
  dnnl_primitive_desc_t out = NULL;
  dnnl_primitive_attr_t attr = NULL;
  if (keep(maker, user_scratch(&attr)) &&
      keep(maker, dnnl_pooling_backward_desc_init(&pool, algorithm(w), x, y, g.stride, g.kernel,
                                                  g.before, g.after)))
    keep(maker, dnnl_primitive_desc_create(&out, &pool, attr, maker->engine, forward));
  if (attr)
    dnnl_primitive_attr_destroy(attr);
  return out;
}

static void take_name(struct maker *maker, const_dnnl_primitive_desc_t desc) {
  const char *name = "";
  dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
  snprintf(maker->name, sizeof maker->name, "%s", name);
}

static void make_pool_grad(struct maker *maker, const dnnl_memory_desc_t *x,
                           const dnnl_memory_desc_t *y, const_dnnl_primitive_desc_t forward) {
  const struct dtr_window *w = maker->window;
  bool max = w->kind == DTR_WINDOW_MAX_POOL_GRAD;
  dnnl_primitive_desc_t desc = describe_pool_grad(maker, x, y, forward);
  if (!desc)
    return;
  int chosen = NO_SLOT;
  if (max) {
    const dnnl_memory_desc_t *workspace = layout_of(forward, dnnl_query_workspace_md);
    struct step *find = add_step(maker, forward);
    add_argument(find, DNNL_ARG_SRC, add_slot(maker, x, 0, x_bytes(w)));
    add_argument(find, DNNL_ARG_DST, add_scratch(maker, y));
    chosen = add_scratch(maker, workspace);
    add_argument(find, DNNL_ARG_WORKSPACE, chosen);
  }
  struct step *step = add_step(maker, desc);
  add_argument(step, DNNL_ARG_DIFF_DST, add_slot(maker, y, max ? 1 : 0, y_bytes(w)));
  add_argument(step, DNNL_ARG_DIFF_SRC, add_slot(maker, x, max ? 2 : 1, x_bytes(w)));
  if (max)
    add_argument(step, DNNL_ARG_WORKSPACE, chosen);
  take_name(maker, desc);
  dnnl_primitive_desc_destroy(desc);
}

static void make_pool(struct maker *maker) {
  const struct dtr_window *w = maker->window;
  bool grad = w->kind == DTR_WINDOW_MAX_POOL_GRAD || w->kind == DTR_WINDOW_AVG_POOL_GRAD;
  dnnl_memory_desc_t x, y;
  describe_images(maker, w->x_size, w->x_channels, false, &x);
  describe_images(maker, w->y_size, w->y_channels, false, &y);
  dnnl_primitive_desc_t forward = describe_pool(maker, &x, &y, grad);
  if (!forward)
    return;
  if (grad) {
    make_pool_grad(maker, &x, &y, forward);
  } else {
    struct step *step = add_step(maker, forward);
    add_argument(step, DNNL_ARG_SRC, add_slot(maker, &x, 0, x_bytes(w)));
    add_argument(step, DNNL_ARG_DST, add_slot(maker, &y, 1, y_bytes(w)));
    take_name(maker, forward);
  }
  dnnl_primitive_desc_destroy(forward);
}

/* ---- calls ---- */

/* The library's plain C loops. */
static bool is_reference(const struct maker *maker) {
  return strstr(maker->name, "ref") != NULL;
}

static dnnl_primitive_desc_t choose_conv(struct maker *maker) {
  dnnl_primitive_desc_t ours = describe_conv(maker);
  if (!ours)
    return NULL;
  take_name(maker, ours);
  if (!is_reference(maker))
    return ours;
  maker->any = true;
  dnnl_primitive_desc_t any = describe_conv(maker);
  if (!any)
    return ours;
  take_name(maker, any);
  dnnl_primitive_desc_t worse = is_reference(maker) ? any : ours;
  dnnl_primitive_desc_t better = worse == any ? ours : any;
  take_name(maker, better);
  maker->any = better == any;
  dnnl_primitive_desc_destroy(worse);
  return better;
}

static bool make(struct maker *maker) {
  if (maker->window->kind > DTR_WINDOW_CONV_WEIGHTS) {
    make_pool(maker);
  } else {
    dnnl_primitive_desc_t desc = choose_conv(maker);
    if (desc) {
      make_conv(maker, desc);
      dnnl_primitive_desc_destroy(desc);
    }
  }
  return maker->status == dnnl_success;
}

/* Measures a tile of a kind: false if the library refuses. */
static bool measure(const struct dtr_window *window, dnnl_engine_t engine, int kind,
                    struct maker *maker) {
  struct dtr_library_window_call call = {0};
  *maker = (struct maker){.window = window,
                          .images = images_of(window, kind),
                          .engine = engine,
                          .call = &call,
                          .measures = true};
  bool good = maker->images == 0 || make(maker);
  maker->call = NULL;
  return good;
}

static bool open_engine(const char *cpu_arch, dnnl_engine_t *engine) {
  dtr_library_enter_thread();
  return dtr_library_limit_isa(cpu_arch) && dnnl_engine_create(engine, dnnl_cpu, 0) == dnnl_success;
}

int64_t dtr_library_window_scratch(const struct dtr_window *window, const char *cpu_arch) {
  dnnl_engine_t engine;
  int64_t bytes = 0;
  if (!open_engine(cpu_arch, &engine))
    return -1;
  for (int kind = 0; kind < TILE_KINDS && bytes >= 0; kind++) {
    struct maker maker;
    bool good = measure(window, engine, kind, &maker);
    bytes = !good ? -1 : maker.bytes > bytes ? maker.bytes : bytes;
  }
  dnnl_engine_destroy(engine);
  return bytes;
}

bool dtr_library_window_text(const struct dtr_window *window, const char *cpu_arch, char *text,
                             size_t size) {
  dnnl_engine_t engine;
  struct maker maker;
  if (!open_engine(cpu_arch, &engine))
    return false;
  bool good = measure(window, engine, TILE_WHOLE, &maker);
  int length = snprintf(text, size, "%s", maker.name);
  for (int i = 0; i < maker.reorder_count && length >= 0 && (size_t)length < size; i++)
    length += snprintf(text + length, size - (size_t)length, "%s%s", i ? " and " : ", reorders ",
                       maker.reorders[i]);
  dnnl_engine_destroy(engine);
  return good;
}

static void free_call(struct dtr_library_window_call *call) {
  for (int i = 0; i < call->step_count; i++)
    if (call->steps[i].primitive)
      dnnl_primitive_destroy(call->steps[i].primitive);
  for (int i = 0; i < call->slot_count; i++)
    if (call->slots[i].memory)
      dnnl_memory_destroy(call->slots[i].memory);
  free(call);
}

static bool add_window(struct dtr_library *library, uint32_t index, int kind, char *why,
                       size_t why_size) {
  const struct dtr_window *window = &library->calls.windows[index];
  struct maker maker = {
      .window = window, .images = images_of(window, kind), .engine = library->engine};
  if (maker.images == 0)
    return true;
  maker.call = calloc(1, sizeof *maker.call);
  if (!maker.call) {
    snprintf(why, why_size, "no memory for the library's handles");
    return false;
  }
  library->windows[index][kind] = maker.call;
  if (!make(&maker)) {
    snprintf(why, why_size,
             "oneDNN refuses the window call %u on images of %lld x %lld x %lld (status %d)", index,
             (long long)window->x_size[0], (long long)window->x_size[1],
             (long long)window->x_channels, (int)maker.status);
    return false;
  }
  if (maker.bytes <= window->scratch_bytes)
    return true;
  snprintf(why, why_size,
           "oneDNN needs %lld bytes of scratch for the window call %u, the plan has %lld: it was "
           "planned with another version of the library or on another processor",
           (long long)maker.bytes, index, (long long)window->scratch_bytes);
  return false;
}

bool dtr_library_add_windows(struct dtr_library *library, char *why, size_t why_size) {
  for (uint32_t i = 0; i < library->calls.window_count; i++)
    for (int kind = 0; kind < TILE_KINDS; kind++)
      if (!add_window(library, i, kind, why, why_size))
        return false;
  return true;
}

void dtr_library_free_windows(struct dtr_library *library) {
  for (uint32_t i = 0; i < library->calls.window_count; i++)
    for (int kind = 0; kind < TILE_KINDS; kind++)
      if (library->windows[i][kind])
        free_call(library->windows[i][kind]);
}

int dtr_library_window(struct dtr_library *library, uint32_t window, int64_t tile,
                       char *const *buffers, char *scratch) {
  const struct dtr_window *w = &library->calls.windows[window];
  int64_t first = tile * w->tile_images;
  bool last = w->batch - first < w->tile_images;
  struct dtr_library_window_call *call = library->windows[window][last ? TILE_LAST : TILE_WHOLE];
  for (int i = 0; i < call->slot_count; i++) {
    const struct slot *slot = &call->slots[i];
    char *at = slot->buffer == SCRATCH ? scratch + slot->offset
                                       : buffers[slot->buffer] + first * slot->offset;
    dnnl_memory_set_data_handle(slot->memory, at);
  }
  for (int i = 0; i < call->step_count; i++) {
    const struct step *step = &call->steps[i];
    dnnl_exec_arg_t args[MAX_ARGS];
    for (int j = 0; j < step->count; j++)
      args[j] = (dnnl_exec_arg_t){step->names[j], call->slots[step->slots[j]].memory};
    dnnl_status_t status =
        dnnl_primitive_execute(step->primitive, library->stream, step->count, args);
    if (status != dnnl_success)
      return (int)status;
  }
  return 0;
}
