// Measures a built program from within: a step as the program runs it, the same kernels in a bare
// loop in plan order, and its matrix products alone. Compiled together with the host source of the
// program (macro PROGRAM: its path); prints nanoseconds a step, the best of several rounds.
// usage: bench STEPS [shard]: with the second word the kernels of the shards alone.
#include "dtr_abi.h"
#include "dtr_library.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool skip_kernels, skip_products;

static inline void bench_kernel(struct dtr_frame *frame, uint32_t launch, dtr_kernel_fn *fn,
                                char *const *buffers, int64_t tiles) {
  if (!skip_kernels)
    dtr_kernel(frame, launch, fn, buffers, tiles);
}

static inline void bench_gemm_run(struct dtr_frame *frame, uint32_t launch, uint32_t gemm,
                                  const char *a, const char *b, char *c, char *scratch) {
  if (!skip_products)
    dtr_gemm_run(frame, launch, gemm, a, b, c, scratch);
}

#define dtr_kernel bench_kernel
#define dtr_gemm_run bench_gemm_run
#define main program_main
#include PROGRAM
#undef main

enum { ROUNDS = 7 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *block(int64_t bytes, int fill) {
  size_t size = ((size_t)bytes + 127) / 64 * 64;
  void *memory = aligned_alloc(64, size);
  if (!memory)
    exit(1);
  memset(memory, fill, size);
  return memory;
}

struct bare {
  struct dtr_frame frame;
  char *shard_arena, *update_arena;
};

static void bare_init(struct bare *b, struct dtr_scalars *scalars) {
  char why[256];
  char **feeds = block((int64_t)sizeof(char *) * (program.input_count + 1), 0);
  for (uint32_t i = 0; i < program.input_count; i++)
    feeds[i] = block(program.inputs[i].row_bytes * program.shard.batch, 0);
  *scalars = (struct dtr_scalars){.updates = 1, .total_steps = 1000000};
  b->shard_arena = block(program.shard.arena_bytes, 0);
  b->update_arena = block(program.update.arena_bytes, 0);
  b->frame = (struct dtr_frame){.variables = block(program.variables_bytes, 0),
                                .contribution = block(program.contribution_bytes, 0),
                                .feeds = feeds,
                                .scalars = scalars,
                                .program = &program,
                                .plain = true};
  // Small values, so that no step runs into denormal or infinite numbers.
  for (uint32_t v = 0; v < program.variable_count; v++)
    if (program.variables[v].dtype == DTR_F32 && program.variables[v].kind == DTR_VARIABLE_PARAM)
      for (int64_t e = 0; e < program.variables[v].elements; e++)
        ((float *)(b->frame.variables + program.variables[v].offset))[e] =
            (float)((e * 7919) % 1000 - 500) * 1e-4f;
  struct dtr_library_calls calls = dtr_library_calls_of(&program);
  b->frame.library = dtr_library_new(&calls, program.cpu_arch, why, sizeof why);
  if (!b->frame.library) {
    fprintf(stderr, "%s\n", why);
    exit(1);
  }
}

static void bare_steps(struct bare *b, long steps, bool with_update) {
  for (long i = 0; i < steps; i++) {
    for (int64_t s = 0; s < program.train.shards; s++) {
      b->frame.arena = b->shard_arena;
      program.shard.run(&b->frame);
    }
    if (!with_update)
      continue;
    b->frame.arena = b->update_arena;
    program.update.run(&b->frame);
  }
}

static double bare(struct bare *b, long steps, bool with_update) {
  double best = 1e300;
  for (int r = 0; r < ROUNDS; r++) {
    double start = now();
    bare_steps(b, steps, with_update);
    double each = (now() - start) / (double)steps;
    if (each < best)
      best = each;
  }
  return best;
}

static double whole(long steps) {
  char count[32];
  snprintf(count, sizeof count, "%ld", steps);
  char *argv[] = {"bench", "--quiet", "--threads", "1", "--steps", count, NULL};
  double start = now();
  if (dtr_main(&program, 6, argv) != 0)
    exit(1);
  return now() - start;
}

// The difference of a long and a short run: what a step takes, without the start.
static double stepped(long steps) {
  double best = 1e300;
  int out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
  fflush(stdout);
  dup2(nowhere, STDOUT_FILENO);
  for (int r = 0; r < ROUNDS; r++) {
    double few = whole(steps / 10), many = whole(steps);
    double each = (many - few) / (double)(steps - steps / 10);
    if (each > 0 && each < best)
      best = each;
  }
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  return best;
}

int main(int argc, char **argv) {
  long steps = argc > 1 ? atol(argv[1]) : 1000;
  struct bare b;
  struct dtr_scalars scalars;
  bare_init(&b, &scalars);
  if (argc > 2 && strcmp(argv[2], "shard") == 0) {
    printf("shard %.1f\n", bare(&b, steps, false));
    return 0;
  }
  double step = stepped(steps);
  double loop = bare(&b, steps, true);
  skip_kernels = true;
  double products = bare(&b, steps, false);
  printf("step %.1f\nloop %.1f\nproducts %.1f\n", step, loop, products);
  return 0;
}
