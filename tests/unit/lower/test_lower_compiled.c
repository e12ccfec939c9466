/* Compiled kernels against the interpreter, through whole plans: every sample of every op, and
 * random graphs. All kernels of a test become one object. */
#include "compiled.h"
#include "plan_run.h"
#include "random_graph.h"

#include "compiler/base/strbuf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GRAPHS = 150 };

struct sample_leaf {
  const struct dtg_op_sample *sample;
  uint64_t state;
};

struct job {
  struct dtg_ctx *ctx;
  struct dtg_plan *plan;
  dtg_leaf_value *leaf;
  struct sample_leaf context; /* random graphs: only `state`, which plan_leaf reads as the first */
  uint64_t seed;
  const char *what;
};

struct jobs {
  struct dtg_arena arena;
  DTG_VEC(struct job) list;
  DTG_VEC(const struct cg_kernel *) kernels;
  struct cg_compiled compiled;
};

static void sample_values(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  struct sample_leaf *it = context;
  uint64_t state = it->state;
  for (const char *c = dtg_node_string(leaf, "name", ""); *c; c++)
    state = (state ^ (unsigned char)*c) * 0x100000001B3u;
  for (int64_t i = 0; i < dtg_shape_count(&out->type.shape); i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out->data[i] = dtg_sample_value(it->sample, out->type.dtype, state ^ state >> 29);
  }
}

static struct dtg_ctx *new_ctx(struct jobs *jobs) {
  struct dtg_ctx *ctx = DTG_NEW(&jobs->arena, struct dtg_ctx);
  dtg_ctx_init(ctx);
  return ctx;
}

static void add_job(struct jobs *jobs, struct job job, const struct dtg_graph *graph) {
  job.plan = plan_make(job.ctx, graph, true);
  for (size_t i = 0; i < job.plan->kernels.len; i++) {
    struct cg_kernel *kernel = job.plan->kernels.data[i];
    kernel->name = dtg_arena_printf(&jobs->arena, "p%zu_%s", jobs->list.len, kernel->name);
    dtg_vec_push(&jobs->arena, &jobs->kernels, kernel);
  }
  dtg_vec_push(&jobs->arena, &jobs->list, job);
}

static void launch(void *context, const struct dtg_plan *plan, uint32_t number,
                   void *const *buffers) {
  struct jobs *jobs = context;
  const struct cg_kernel *kernel = plan->kernels.data[number];
  struct dtr_fault fault = {0};
  if (kernel->kind != CG_KERNEL_LOOPS) {
    cg_kernel_interpret(kernel, buffers);
    return;
  }
  dtr_kernel_fn *fn = cg_compiled_find(&jobs->compiled, kernel->name);
  assert_non_null(fn);
  for (int64_t tile = kernel->tiles; tile-- > 0;) /* backwards: tiles are independent */
    fn((char *const *)(char **)(uintptr_t)buffers, &fault, tile, tile + 1);
}

static double scale_of(const double *values, int64_t count) {
  double max = 1;
  for (int64_t i = 0; i < count; i++)
    max = isfinite(values[i]) ? fmax(max, fabs(values[i])) : max;
  return max;
}

static void check_job(struct jobs *jobs, struct job *job) {
  void *context = job->leaf == plan_leaf ? (void *)&job->seed : (void *)&job->context;
  struct dtg_arena arena = {0};
  struct plan_memory *expected = plan_run(&arena, job->plan, DTG_PLAN_TRAIN, job->leaf, context);
  struct plan_memory *got =
      plan_run_with(&arena, job->plan, DTG_PLAN_TRAIN, job->leaf, context, launch, jobs);
  const struct dtg_graph *graph = job->plan->functions[DTG_PLAN_TRAIN].graph;
  for (size_t r = 0; r < graph->roots.len; r++) {
    const struct dtg_type *type = &dtg_graph_node(graph, graph->roots.data[r].node)->type;
    int64_t count = dtg_shape_count(&type->shape);
    const double *a = plan_run_root(&arena, expected, r), *b = plan_run_root(&arena, got, r);
    double scale = scale_of(a, count) * (type->dtype == DTG_BF16 ? 1e-2 : 1e-4);
    if (!(scale < 1e2)) /* grown beyond what f32 can follow */
      continue;
    for (int64_t i = 0; i < count; i++) {
      bool same = (isnan(a[i]) && isnan(b[i])) || a[i] == b[i] || fabs(a[i] - b[i]) <= scale;
      if (!same)
        fail_msg("%s (seed %llu), root %s, element %lld: %.9g interpreted, %.9g compiled",
                 job->what, (unsigned long long)job->seed, graph->roots.data[r].name, (long long)i,
                 a[i], b[i]);
    }
  }
  dtg_arena_free(&arena);
}

static void run_jobs(struct jobs *jobs) {
  const char *const *archs = cg_runnable_archs();
  while (archs[1])
    archs++;
  jobs->compiled = cg_compile(jobs->kernels.data, jobs->kernels.len, *archs);
  printf("%zu plans, %zu kernels for %s\n", jobs->list.len, jobs->kernels.len, *archs);
  for (size_t i = 0; i < jobs->list.len; i++)
    check_job(jobs, &jobs->list.data[i]);
  cg_compiled_free(&jobs->compiled);
  for (size_t i = 0; i < jobs->list.len; i++)
    dtg_ctx_free(jobs->list.data[i].ctx);
  dtg_arena_free(&jobs->arena);
}

static void test_samples(void **state) {
  (void)state;
  struct jobs jobs = {0};
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    const struct dtg_op_def *op = dtg_op_at(i);
    for (uint32_t k = 0; k < op->sample_count; k++) {
      struct job job = {.ctx = new_ctx(&jobs),
                        .leaf = sample_values,
                        .context = {&op->samples[k], 7},
                        .what = op->name};
      struct dtg_strbuf why = {0};
      struct dtg_graph *graph =
          dtg_sample_graph(&job.ctx->arena, &job.ctx->names, op, &op->samples[k], &why);
      assert_non_null(graph);
      dtg_graph_add_root(graph, DTG_ROOT_STATE, "y", (uint32_t)graph->nodes.len - 1, DTG_REDUCE_SUM,
                         DTG_SPAN_NONE);
      add_job(&jobs, job, graph);
    }
  }
  run_jobs(&jobs);
}

static void test_random(void **state) {
  (void)state;
  struct jobs jobs = {0};
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    struct job job = {
        .ctx = new_ctx(&jobs), .leaf = plan_leaf, .seed = seed, .what = "random graph"};
    add_job(&jobs, job, random_graph_make(job.ctx, seed, 4 + (int)(seed % 16), true));
  }
  run_jobs(&jobs);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples), cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
