/* Launching kernels when a frame is not plain: shared with a team, watched, or traced. */
#include "runtime/executor.h"

static void keep_first(struct dtr_fault *fault, const struct dtr_fault *other) {
  if (other->code != DTR_FAULT_NONE &&
      (fault->code == DTR_FAULT_NONE || other->position < fault->position))
    *fault = *other;
}

/* Whatever runs tiles of one kernel; helpers have their own fault, and scratch at the same offset
 * of their own arena, which is idle while they help. */
struct launch {
  struct dtr_frame *frame;
  struct dtr_executor *executor; /* NULL: alone */
  int leader;
  dtr_kernel_fn *fn; /* NULL: a call of the library */
  char *const *buffers;
  bool is_window; /* else a matrix product */
  uint32_t call;  /* its number */
  const char *a, *b;
  char *c, *scratch;
  int64_t first; /* tile 0 of this launch is tile `first` of the kernel */
};

static void run_library_tiles(const struct launch *launch, struct dtr_library *library,
                              struct dtr_fault *fault, char *scratch, int64_t begin, int64_t end) {
  for (int64_t tile = begin; tile < end; tile++) {
    int status = launch->is_window
                     ? dtr_library_window(library, launch->call, tile, launch->buffers, scratch)
                     : dtr_library_gemm(library, launch->call, tile, launch->a, launch->b,
                                        launch->c, scratch);
    if (status != 0)
      keep_first(fault, &(struct dtr_fault){DTR_FAULT_LIBRARY, launch->call, status});
  }
}

static void run_tiles(void *context, int thread, int64_t begin, int64_t end) {
  const struct launch *launch = context;
  struct dtr_frame *frame = launch->frame;
  bool helps = launch->executor && thread != launch->leader;
  struct dtr_worker *worker = helps ? &launch->executor->workers[thread] : NULL;
  struct dtr_fault *fault = helps ? &worker->tile_fault : &frame->fault;
  if (launch->fn) {
    launch->fn(launch->buffers, fault, launch->first + begin, launch->first + end);
    return;
  }
  char *scratch = launch->scratch;
  if (helps && scratch)
    scratch = worker->arena + (scratch - frame->arena);
  run_library_tiles(launch, helps ? worker->library : frame->library, fault, scratch, begin, end);
}

static void share(struct launch *launch, struct dtr_team *team, int64_t tiles) {
  dtr_team_tiles(team, tiles, run_tiles, launch);
  for (int i = 1; i < team->count; i++) {
    struct dtr_fault *fault = &launch->executor->workers[team->first + i].tile_fault;
    keep_first(&launch->frame->fault, fault);
    *fault = (struct dtr_fault){0};
  }
}

static void run(struct launch *launch, uint32_t kernel, int64_t tiles) {
  struct dtr_frame *frame = launch->frame;
  struct dtr_team *team = frame->watch ? NULL : frame->team;
  if (!team) {
    run_tiles(launch, 0, 0, tiles);
    return;
  }
  launch->executor = team->owner;
  launch->leader = team->first;
  struct dtr_trace *trace = launch->executor->trace;
  int64_t begin = trace ? dtr_trace_now(trace) : 0;
  if (tiles <= 1 || team->count == 1)
    run_tiles(launch, team->first, 0, tiles);
  else
    share(launch, team, tiles);
  if (trace)
    dtr_trace_add(trace, launch->executor->trace_first + team->first,
                  frame->program->kernels[kernel].name, frame->program->kernels[kernel].comment,
                  frame->scalars->step, begin);
}

void dtr_kernel_run(struct dtr_frame *frame, uint32_t kernel, dtr_kernel_fn *fn,
                    char *const *buffers, int64_t tiles) {
  struct launch launch = {.frame = frame, .fn = fn, .buffers = buffers};
  run(&launch, kernel, tiles);
  if (frame->watch)
    dtr_watch_kernel(frame->watch, frame->program, kernel, buffers, &frame->fault);
}

void dtr_executor_tiles(struct dtr_frame *frame, uint32_t kernel, dtr_kernel_fn *fn,
                        char *const *buffers, int64_t begin, int64_t end) {
  struct launch launch = {.frame = frame, .fn = fn, .buffers = buffers, .first = begin};
  run(&launch, kernel, end - begin);
}

void dtr_gemm_run(struct dtr_frame *frame, uint32_t kernel, uint32_t gemm, const char *a,
                  const char *b, char *c, char *scratch) {
  struct launch launch = {.frame = frame, .call = gemm, .a = a, .b = b, .c = c, .scratch = scratch};
  run(&launch, kernel, dtr_library_gemm_tiles(&frame->program->gemms[gemm]));
  if (frame->watch) {
    char *buffers[] = {(char *)a, (char *)b, c, scratch};
    dtr_watch_kernel(frame->watch, frame->program, kernel, buffers, &frame->fault);
  }
}

void dtr_window_run(struct dtr_frame *frame, uint32_t kernel, uint32_t window,
                    char *const *buffers) {
  const struct dtr_window *call = &frame->program->windows[window];
  struct launch launch = {.frame = frame,
                          .is_window = true,
                          .call = window,
                          .buffers = buffers,
                          .scratch = buffers[dtr_library_window_buffers(call)]};
  run(&launch, kernel, dtr_library_window_tiles(call));
  if (frame->watch)
    dtr_watch_kernel(frame->watch, frame->program, kernel, buffers, &frame->fault);
}
