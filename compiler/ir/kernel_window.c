// Window calls in kernel IR: their text, their limits, and their meaning in plain C.
#include "compiler/base/strbuf.h"
#include "compiler/ir/kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const cg_window_names[] = {
    [CG_WINDOW_NONE] = "none",           [CG_WINDOW_CONV] = "conv",
    [CG_WINDOW_CONV_DATA] = "conv_data", [CG_WINDOW_CONV_WEIGHTS] = "conv_weights",
    [CG_WINDOW_MAX_POOL] = "max_pool",   [CG_WINDOW_MAX_POOL_GRAD] = "max_pool_grad",
    [CG_WINDOW_AVG_POOL] = "avg_pool",   [CG_WINDOW_AVG_POOL_GRAD] = "avg_pool_grad",
};

const char *cg_window_name(enum cg_window_kind kind) {
  return cg_window_names[kind];
}

uint32_t cg_window_buffers(enum cg_window_kind kind) {
  return kind <= CG_WINDOW_CONV_WEIGHTS || kind == CG_WINDOW_MAX_POOL_GRAD ? 3 : 2;
}

static void cg_print_pair(struct dtg_strbuf *out, const char *name, const int64_t pair[2]) {
  dtg_strbuf_printf(out, " %s %" PRId64 "x%" PRId64, name, pair[0], pair[1]);
}

void cg_window_print(const struct cg_window *window, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "  %s batch %" PRId64, cg_window_name(window->kind), window->batch);
  cg_print_pair(out, "x", window->x_size);
  dtg_strbuf_printf(out, "x%" PRId64, window->x_channels);
  cg_print_pair(out, "y", window->y_size);
  dtg_strbuf_printf(out, "x%" PRId64, window->y_channels);
  cg_print_pair(out, "kernel", window->kernel);
  cg_print_pair(out, "stride", window->stride);
  cg_print_pair(out, "dilation", window->dilation);
  cg_print_pair(out, "before", window->before);
  cg_print_pair(out, "after", window->after);
  dtg_strbuf_printf(out, " groups %" PRId64 " tiles of %" PRId64 " images\n", window->groups,
                    window->tile_images);
}

// ---- limits ----

// The product of the four, or -1 where it does not fit.
static int64_t cg_product(int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t all;
  if (__builtin_mul_overflow(a, b, &all) || __builtin_mul_overflow(all, c, &all) ||
      __builtin_mul_overflow(all, d, &all))
    return -1;
  return all;
}

static bool cg_window_positive(const struct cg_window *window) {
  bool good = window->batch > 0 && window->groups > 0 && window->x_channels > 0 &&
              window->y_channels > 0 && window->tile_images > 0;
  for (int i = 0; i < 2; i++)
    good = good && window->x_size[i] > 0 && window->y_size[i] > 0 && window->kernel[i] > 0 &&
           window->stride[i] > 0 && window->dilation[i] > 0 && window->before[i] >= 0 &&
           window->after[i] >= 0;
  return good;
}

// Every pixel of y has its window inside x with its border.
static bool cg_window_covers(const struct cg_window *window) {
  for (int i = 0; i < 2; i++) {
    int64_t span = (window->kernel[i] - 1) * window->dilation[i] + 1;
    int64_t room = window->x_size[i] + window->before[i] + window->after[i];
    if (room < span || (room - span) / window->stride[i] + 1 != window->y_size[i])
      return false;
  }
  return true;
}

static const char *cg_window_buffer(const struct cg_kernel *kernel, uint32_t buffer,
                                    int64_t elements) {
  const struct cg_buffer *have = &kernel->buffers.data[buffer];
  return have->dtype == DTG_F32 && elements >= 0 && elements <= have->elements
             ? NULL
             : "a window call reaches past a buffer, or one is not f32";
}

const char *cg_window_refuse(const struct cg_kernel *kernel) {
  const struct cg_window *window = &kernel->window;
  if (window->kind <= CG_WINDOW_NONE || window->kind > CG_WINDOW_AVG_POOL_GRAD ||
      kernel->buffers.len < cg_window_buffers(window->kind))
    return "a window call without its buffers";
  if (!cg_window_positive(window))
    return "a window call with an extent below 1";
  bool pools = window->kind >= CG_WINDOW_MAX_POOL;
  if (window->x_channels % window->groups != 0 || window->y_channels % window->groups != 0 ||
      (pools && window->x_channels != window->y_channels))
    return "channels of a window call that do not divide";
  if (!cg_window_covers(window))
    return "the windows do not make y";
  if (kernel->tiles != (window->batch - 1) / window->tile_images + 1 ||
      (window->kind == CG_WINDOW_CONV_WEIGHTS && kernel->tiles != 1))
    return "the tiles do not cover the batch";
  int64_t x = cg_product(window->batch, window->x_size[0], window->x_size[1], window->x_channels);
  int64_t y = cg_product(window->batch, window->y_size[0], window->y_size[1], window->y_channels);
  int64_t w = cg_product(window->kernel[0], window->kernel[1], window->x_channels / window->groups,
                         window->y_channels);
  const int64_t sizes[][3] = {
      [CG_WINDOW_CONV] = {x, w, y},          [CG_WINDOW_CONV_DATA] = {y, w, x},
      [CG_WINDOW_CONV_WEIGHTS] = {x, y, w},  [CG_WINDOW_MAX_POOL] = {x, y},
      [CG_WINDOW_MAX_POOL_GRAD] = {x, y, x}, [CG_WINDOW_AVG_POOL] = {x, y},
      [CG_WINDOW_AVG_POOL_GRAD] = {y, x},
  };
  const char *reason = NULL;
  for (uint32_t i = 0; i < cg_window_buffers(window->kind) && !reason; i++)
    reason = cg_window_buffer(kernel, i, sizes[window->kind][i]);
  return reason;
}

// ---- meaning ----

// Calls `visit` for every pair of a pixel of x and a window element of a pixel of y, in the order
// of y and then of the window.
struct cg_visit {
  int64_t image, y, x; // pixels, counted over the images
  int64_t element;     // of the kernel
};
typedef void cg_visit_fn(void *context, const struct cg_visit *at);

static void cg_visit_window(const struct cg_window *w, struct cg_visit at, int64_t row,
                            int64_t column, cg_visit_fn *visit, void *context) {
  for (int64_t i = 0; i < w->kernel[0]; i++) {
    for (int64_t j = 0; j < w->kernel[1]; j++) {
      int64_t r = row * w->stride[0] - w->before[0] + i * w->dilation[0];
      int64_t c = column * w->stride[1] - w->before[1] + j * w->dilation[1];
      if (r < 0 || r >= w->x_size[0] || c < 0 || c >= w->x_size[1])
        continue;
      at.x = (at.image * w->x_size[0] + r) * w->x_size[1] + c;
      at.element = i * w->kernel[1] + j;
      visit(context, &at);
    }
  }
}

static void cg_visit_all(const struct cg_window *w, cg_visit_fn *visit, void *context) {
  struct cg_visit at = {0};
  for (at.image = 0; at.image < w->batch; at.image++)
    for (int64_t row = 0; row < w->y_size[0]; row++)
      for (int64_t column = 0; column < w->y_size[1]; column++, at.y++)
        cg_visit_window(w, at, row, column, visit, context);
}

struct cg_window_run {
  const struct cg_window *window;
  float *x, *y, *w;
  float *dx;      // MAX_POOL_GRAD
  int32_t *count; // per pixel of y: pixels of x seen
  int64_t *best;  // MAX_POOL_GRAD: per element of y, the element of x
};

// One multiplication for every pair of channels of a group.
static void cg_visit_conv(void *context, const struct cg_visit *at) {
  const struct cg_window_run *run = context;
  const struct cg_window *window = run->window;
  int64_t inner = window->x_channels / window->groups, outer = window->y_channels / window->groups;
  for (int64_t o = 0; o < window->y_channels; o++) {
    float *y = &run->y[at->y * window->y_channels + o];
    for (int64_t i = 0; i < inner; i++) {
      float *x = &run->x[at->x * window->x_channels + o / outer * inner + i];
      float *w = &run->w[(at->element * inner + i) * window->y_channels + o];
      if (window->kind == CG_WINDOW_CONV)
        *y += *x * *w;
      else if (window->kind == CG_WINDOW_CONV_DATA)
        *x += *y * *w;
      else
        *w += *x * *y;
    }
  }
}

static void cg_visit_count(void *context, const struct cg_visit *at) {
  const struct cg_window_run *run = context;
  run->count[at->y]++;
}

static void cg_visit_pool(void *context, const struct cg_visit *at) {
  const struct cg_window_run *run = context;
  int64_t channels = run->window->x_channels;
  for (int64_t c = 0; c < channels; c++) {
    float *x = &run->x[at->x * channels + c], *y = &run->y[at->y * channels + c];
    int64_t *best = run->best ? &run->best[at->y * channels + c] : NULL;
    switch (run->window->kind) {
    case CG_WINDOW_MAX_POOL:
      *y = *x > *y ? *x : *y;
      break;
    case CG_WINDOW_MAX_POOL_GRAD:
      if (*best < 0 || *x > run->x[*best])
        *best = at->x * channels + c;
      break;
    case CG_WINDOW_AVG_POOL:
      *y += *x / (float)run->count[at->y];
      break;
    default:
      *x += *y / (float)run->count[at->y];
      break;
    }
  }
}

static void cg_run_pool(struct cg_window_run *run, int64_t y_pixels) {
  const struct cg_window *window = run->window;
  int64_t elements = y_pixels * window->y_channels;
  struct dtg_arena arena;
  dtg_arena_init(&arena);
  run->count = DTG_NEW_ARRAY(&arena, int32_t, y_pixels);
  cg_visit_all(window, cg_visit_count, run);
  if (window->kind == CG_WINDOW_MAX_POOL_GRAD) {
    run->best = DTG_NEW_ARRAY(&arena, int64_t, elements);
    memset(run->best, -1, (size_t)elements * sizeof *run->best);
  }
  cg_visit_all(window, cg_visit_pool, run);
  for (int64_t i = 0; run->best && i < elements; i++)
    if (run->best[i] >= 0)
      run->dx[run->best[i]] += run->y[i];
  dtg_arena_free(&arena);
}

static void cg_fill(float *data, int64_t count, float value) {
  for (int64_t i = 0; i < count; i++)
    data[i] = value;
}

void cg_window_interpret(const struct cg_window *window, void *const *buffers) {
  int64_t x = window->batch * window->x_size[0] * window->x_size[1];
  int64_t y = window->batch * window->y_size[0] * window->y_size[1];
  int64_t w = window->kernel[0] * window->kernel[1] * (window->x_channels / window->groups);
  float *b[3] = {buffers[0], buffers[1], cg_window_buffers(window->kind) > 2 ? buffers[2] : NULL};
  struct cg_window_run run = {.window = window, .x = b[0], .y = b[1]};
  switch (window->kind) {
  case CG_WINDOW_CONV:
    run = (struct cg_window_run){.window = window, .x = b[0], .w = b[1], .y = b[2]};
    break;
  case CG_WINDOW_CONV_DATA:
    run = (struct cg_window_run){.window = window, .y = b[0], .w = b[1], .x = b[2]};
    break;
  case CG_WINDOW_CONV_WEIGHTS:
    run.w = b[2];
    break;
  case CG_WINDOW_MAX_POOL_GRAD:
    run.dx = b[2];
    break;
  case CG_WINDOW_AVG_POOL_GRAD:
    run = (struct cg_window_run){.window = window, .y = b[0], .x = b[1]};
    break;
  default:
    break;
  }
  bool gives_x = window->kind == CG_WINDOW_CONV_DATA || window->kind == CG_WINDOW_MAX_POOL_GRAD ||
                 window->kind == CG_WINDOW_AVG_POOL_GRAD;
  if (window->kind == CG_WINDOW_CONV_WEIGHTS)
    cg_fill(run.w, w * window->y_channels, 0);
  else if (gives_x)
    cg_fill(run.dx ? run.dx : run.x, x * window->x_channels, 0);
  else
    cg_fill(run.y, y * window->y_channels, window->kind == CG_WINDOW_MAX_POOL ? -INFINITY : 0);
  if (window->kind <= CG_WINDOW_CONV_WEIGHTS)
    cg_visit_all(window, cg_visit_conv, &run);
  else
    cg_run_pool(&run, y);
}
