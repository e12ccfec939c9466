#include "compiler/pipeline.h"

#include "codegen/cuda/cuda.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/host/host.h"
#include "codegen/link/link.h"
#include "codegen/lower/lower.h"
#include "compiler/base/bug.h"
#include "compiler/build/build.h"
#include "compiler/grad/grad.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/sparse.h"
#include "compiler/ir/verify.h"
#include "compiler/launch/launch.h"
#include "compiler/opt/opt.h"
#include "compiler/place/place.h"
#include "compiler/program.h"
#include "compiler/prove/prove.h"
#include "compiler/schedule/schedule.h"
#include "compiler/sema/sema.h"
#include "compiler/tools/peak.h"
#include "grammar/parse.h"
#include "grammar/print.h"
#include "runtime/include/dtr_library.h"

#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLANNED_THREADS_LIMIT = 256 };

// ---- the stages ----

static bool run_tokens(struct dtg_pipeline *p) {
  return dtg_source_load(&p->ctx->sources, &p->ctx->diags, p->options->model, DTG_SPAN_NONE,
                         &p->file);
}

static bool run_ast(struct dtg_pipeline *p) {
  p->ast = dtg_parse(p->ctx, p->file);
  return !dtg_diags_failed(&p->ctx->diags);
}

static bool run_model(struct dtg_pipeline *p) {
  if (!dtg_install_find(p->ctx, &p->install))
    return false;
  struct dtg_sema_options options = {.defines = p->options->defines.data,
                                     .define_count = p->options->defines.len,
                                     .include_dirs = p->options->includes.data,
                                     .include_count = p->options->includes.len,
                                     .std_dir = p->install.std_dir,
                                     .strategy = p->options->strategy};
  p->model = dtg_sema(p->ctx, p->ast, &options);
  const char *native = cg_llvm_native_arch();
  bool cluster = p->options->cluster
                     ? dtg_cluster_load(p->ctx, p->options->cluster, native, &p->cluster)
                     : dtg_cluster_default(p->ctx, native, &p->cluster);
  return p->model && cluster;
}

// Files that only hold layers, or a model without training, end early: for `dtgc check` that is all
// there is to do, else something is missing.
static bool is_complete(struct dtg_pipeline *p, enum dtg_stage next) {
  bool no_model = next == DTG_STAGE_GRAPH && !p->model->body;
  bool no_train = next == DTG_STAGE_GRAD && !p->model->train.present;
  if (!no_model && !no_train)
    return true;
  if (p->options->command == DTG_COMMAND_CHECK)
    return false;
  struct dtg_span span = no_model ? (struct dtg_span){p->file, 0, 0} : p->model->span;
  struct dtg_diag *diag =
      dtg_error(&p->ctx->diags, span, "the file has no `%s`", no_model ? "model" : "train");
  dtg_diag_hint(diag, no_model ? "a file that only holds layers and functions is imported by others"
                               : "add `train { model = ..., data = ..., batch = ..., ... }`");
  return false;
}

static bool run_graph(struct dtg_pipeline *p) {
  p->module = dtg_build(p->ctx, p->model);
  return p->module && !dtg_diags_failed(&p->ctx->diags);
}

static bool run_grad(struct dtg_pipeline *p) {
  if (!dtg_grad(p->ctx, p->module))
    return false;
  dtg_grad_sparse(p->module);
  return true;
}

static bool run_opt(struct dtg_pipeline *p) {
  if (p->options->unfused)
    dtg_opt_nothing(p->module);
  else
    dtg_opt(p->ctx, p->module);
  uint32_t node;
  if (dtg_sparse_decide(p->module, &node))
    return true;
  struct dtg_diag *diag =
      dtg_error(&p->ctx->diags, dtg_graph_node(p->module->update, node)->span,
                "`lazy` cannot be: the optimizer needs every row of a gathered table here");
  dtg_diag_note(diag, p->model->train.optimizer->span, "`lazy` is asked for here");
  dtg_diag_hint(diag, "sums over a tensor need all of it: leave `lazy` out");
  return false;
}

static bool run_replicate(struct dtg_pipeline *p) {
  p->replication = dtg_replicate(p->ctx, p->model, &p->cluster, p->module);
  return p->replication;
}

static bool run_place(struct dtg_pipeline *p) {
  return dtg_place(p->ctx, p->replication);
}

static bool run_partition(struct dtg_pipeline *p) {
  p->partition = dtg_partition(p->ctx, p->replication);
  return true;
}

static int64_t gemm_scratch(void *cpu_arch, const struct cg_gemm *g) {
  struct dtr_gemm gemm = {.batch = g->batch,
                          .m = g->m,
                          .n = g->n,
                          .k = g->k,
                          .stride_a = g->stride_a,
                          .stride_b = g->stride_b,
                          .stride_c = g->stride_c,
                          .transpose_a = g->transpose_a,
                          .transpose_b = g->transpose_b,
                          .beta = g->beta,
                          .tile_rows = g->tile_rows,
                          .row_tiles = g->row_tiles};
  int64_t bytes = dtr_library_gemm_scratch(&gemm, cpu_arch);
  if (bytes < 0)
    dtg_bug("the library refuses the product %lld x %lld x %lld", (long long)g->m, (long long)g->n,
            (long long)g->k);
  return bytes;
}

static int64_t window_scratch(void *cpu_arch, const struct cg_window *window) {
  struct dtr_window call = dtg_program_window(window);
  int64_t bytes = dtr_library_window_scratch(&call, cpu_arch);
  if (bytes < 0)
    dtg_bug("the library refuses `%s` of %lld x %lld x %lld", cg_window_name(window->kind),
            (long long)window->x_size[0], (long long)window->x_size[1],
            (long long)window->x_channels);
  return bytes;
}

static uint32_t planned_threads(const struct dtg_cluster *cluster) {
  uint32_t threads = cluster->jobs[cluster->chief_job].threads;
  if (threads == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    threads = online > 0 ? (uint32_t)online : 1;
  }
  return threads < PLANNED_THREADS_LIMIT ? threads : PLANNED_THREADS_LIMIT;
}

static bool fits_memory(struct dtg_pipeline *p) {
  for (uint32_t j = 0; j < p->cluster.job_count; j++) {
    const struct dtg_job *job = &p->cluster.jobs[j];
    int64_t total = dtg_report_task_memory(&p->report, job);
    if (job->memory == 0 || total <= job->memory)
      continue;
    struct dtg_diag *diag =
        dtg_error(&p->ctx->diags, job->span,
                  "job `%s` has %lld bytes of memory a task, and the plan needs %lld", job->name,
                  (long long)job->memory, (long long)total);
    uint32_t first = dtg_replica_device(p->replication, 0);
    if (first >= job->first_device &&
        first - job->first_device < job->task_count * dtg_job_devices(job))
      dtg_peak_notes(p->ctx, diag, p->plan);
    dtg_diag_hint(diag, "dtgc plan shows what takes the memory; more shards make each one smaller");
    return false;
  }
  return true;
}

static bool run_schedule(struct dtg_pipeline *p) {
  const char **inputs = DTG_NEW_ARRAY(&p->ctx->arena, const char *, p->model->inputs.len);
  for (size_t i = 0; i < p->model->inputs.len; i++)
    inputs[i] = p->model->inputs.data[i].name;
  struct dtg_schedule_options options = {.scratch_bytes = gemm_scratch,
                                         .window_scratch_bytes = window_scratch,
                                         .scratch_context = (void *)(uintptr_t)p->cluster.cpu_arch,
                                         .inputs = inputs,
                                         .input_count = (uint32_t)p->model->inputs.len,
                                         .shards =
                                             p->replication->shards / p->replication->replicas};
  p->plan = dtg_schedule(p->ctx, p->module, &options);
  if (!p->plan)
    return false;
  p->report = (struct dtg_report_input){
      .ctx = p->ctx,
      .name = p->name,
      .model_file = dtg_base_name(p->options->model),
      .results = dtg_results_line(&p->ctx->arena, p->model, &p->cluster),
      .replication = p->replication,
      .partition = p->partition,
      .plan = p->plan,
      .threads = planned_threads(&p->cluster),
      .owner_arena_bytes = dtg_program_update_arena(p->replication, p->plan)};
  return fits_memory(p);
}

static bool run_kernels(struct dtg_pipeline *p) {
  return cg_lower(p->ctx, p->plan);
}

static bool run_llvm(struct dtg_pipeline *p) {
  struct dtg_strbuf why = {0};
  bool good =
      cg_llvm_emit(&p->ctx->arena, (const struct cg_kernel *const *)p->plan->kernels.data,
                   p->plan->kernels.len, p->cluster.cpu_arch, p->options->level, &p->llvm, &why);
  if (!good)
    dtg_bug("LLVM: %s", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  return good;
}

static bool run_cuda(struct dtg_pipeline *p) {
  struct dtg_strbuf why = {0};
  size_t count = p->plan->kernels.len;
  struct cg_cuda_shape *shapes = DTG_NEW_ARRAY(&p->ctx->arena, struct cg_cuda_shape, count);
  bool good = cg_cuda_module(&p->ctx->arena, (const struct cg_kernel *const *)p->plan->kernels.data,
                             count, shapes, &p->cuda_text, &why);
  if (!good)
    dtg_error(&p->ctx->diags, DTG_SPAN_NONE, "%s", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  return good;
}

// Of the first GPU that the cluster names, "compute_90"; without any, what sm_80 and later take.
static const char *ptx_arch(const struct dtg_pipeline *p) {
  for (uint32_t j = 0; j < p->cluster.job_count; j++) {
    const struct dtg_job *job = &p->cluster.jobs[j];
    if (job->gpu > 0 && job->gpu_arch_count > 0)
      return dtg_arena_printf(&p->ctx->arena, "compute_%s", job->gpu_archs[0] + strlen("sm_"));
  }
  return "compute_80";
}

static bool run_ptx(struct dtg_pipeline *p) {
  struct dtg_strbuf why = {0};
  struct cg_nvrtc *nvrtc;
  struct cg_nvrtc_output output;
  struct cg_nvrtc_input input = {
      .text = dtg_strbuf_text(&p->cuda_text), .name = p->name, .arch = ptx_arch(p)};
  if (!cg_nvrtc_open(&nvrtc, &why)) {
    struct dtg_diag *diag = dtg_error(&p->ctx->diags, DTG_SPAN_NONE, "%s", dtg_strbuf_text(&why));
    dtg_diag_hint(diag, "install the CUDA Toolkit (its package of NVRTC is enough), or set "
                        "DTG_NVRTC to the path of libnvrtc.so");
    dtg_strbuf_free(&why);
    return false;
  }
  bool good = cg_nvrtc_compile(nvrtc, &p->ctx->arena, &input, &output, &why);
  if (!good)
    dtg_bug("%s", dtg_strbuf_text(&why));
  dtg_strbuf_write(&p->ptx_text, output.code, output.size);
  cg_nvrtc_close(nvrtc);
  dtg_strbuf_free(&why);
  return good;
}

static void write_host(struct dtg_pipeline *p, const char *plan_id, struct dtg_strbuf *out) {
  struct dtg_program_input input = {.model = p->model,
                                    .cluster = &p->cluster,
                                    .plan = p->plan,
                                    .replication = p->replication,
                                    .name = p->name,
                                    .model_file = dtg_base_name(p->options->model),
                                    .plan_text = dtg_strbuf_text(&p->plan_text),
                                    .plan_id = plan_id,
                                    .model_id = p->model_id};
  struct cg_host_input host = {
      .plan = p->plan, .tables = dtg_program_tables(p->ctx, &input), .sources = &p->ctx->sources};
  cg_host_emit(&host, out);
}

static bool run_c(struct dtg_pipeline *p) {
  char zeros[DTG_ID_DIGITS + 1];
  memset(zeros, '0', DTG_ID_DIGITS);
  zeros[DTG_ID_DIGITS] = '\0';
  p->model_id = dtg_model_id(p->ctx, p->model, p->module);
  dtg_report_text(&p->report, &p->plan_text);
  struct dtg_strbuf unnamed = {0};
  write_host(p, zeros, &unnamed);
  p->plan_id = dtg_plan_id(p->ctx, p->model, &p->cluster, p->plan, dtg_strbuf_text(&unnamed));
  dtg_strbuf_free(&unnamed);
  write_host(p, p->plan_id, &p->host_text);
  dtg_report_json(&p->report, p->plan_id, p->model_id, &p->plan_json);
  return true;
}

static struct dtg_launch_input launch_input(const struct dtg_pipeline *p) {
  return (struct dtg_launch_input){
      .report = &p->report, .cluster = &p->cluster, .program = dtg_pipeline_program(p)};
}

// Needs addresses, which a plan does not.
static bool run_hostfile(struct dtg_pipeline *p) {
  if (p->options->emit != DTG_STAGE_HOSTFILE)
    return true;
  struct dtg_launch_input input = launch_input(p);
  return dtg_launch_hostfile(p->ctx, &input, &p->launch_text);
}

static bool run_nothing(struct dtg_pipeline *p) {
  (void)p;
  return true;
}

// ---- the verifiers ----

static bool verify_graphs(const struct dtg_pipeline *p, enum dtg_verify_level level,
                          struct dtg_strbuf *why) {
  return dtg_module_verify(p->module, level, why);
}

static bool verify_graph(struct dtg_pipeline *p, struct dtg_strbuf *why) {
  return verify_graphs(p, DTG_VERIFY_BUILD, why);
}
static bool verify_grad(struct dtg_pipeline *p, struct dtg_strbuf *why) {
  return verify_graphs(p, DTG_VERIFY_GRAD, why);
}
static bool verify_replicate(struct dtg_pipeline *p, struct dtg_strbuf *why) {
  return dtg_replication_verify(p->replication, why);
}
static bool verify_place(struct dtg_pipeline *p, struct dtg_strbuf *why) {
  return dtg_place_verify(p->replication, why);
}
static bool verify_partition(struct dtg_pipeline *p, struct dtg_strbuf *why) {
  return dtg_partition_verify(p->partition, why);
}
static bool verify_schedule(struct dtg_pipeline *p, struct dtg_strbuf *why) {
  return dtg_plan_verify(p->plan, why) && dtg_prove(p->partition, p->plan, why);
}
static bool verify_kernels(struct dtg_pipeline *p, struct dtg_strbuf *why) {
  for (size_t i = 0; i < p->plan->kernels.len; i++)
    if (!cg_kernel_verify(p->plan->kernels.data[i], why))
      return false;
  return true;
}

// ---- the order ----

struct stage_row {
  bool (*run)(struct dtg_pipeline *p);
  bool (*verify)(struct dtg_pipeline *p, struct dtg_strbuf *why); // NULL: nothing to check
};

static const struct stage_row stage_rows[DTG_STAGE_COUNT] = {
    [DTG_STAGE_TOKENS] = {run_tokens, NULL},
    [DTG_STAGE_AST] = {run_ast, NULL},
    [DTG_STAGE_MODEL] = {run_model, NULL},
    [DTG_STAGE_GRAPH] = {run_graph, verify_graph},
    [DTG_STAGE_GRAD] = {run_grad, verify_grad},
    [DTG_STAGE_OPT] = {run_opt, verify_grad},
    [DTG_STAGE_REPLICATE] = {run_replicate, verify_replicate},
    [DTG_STAGE_PLACE] = {run_place, verify_place},
    [DTG_STAGE_PARTITION] = {run_partition, verify_partition},
    [DTG_STAGE_SCHEDULE] = {run_schedule, verify_schedule},
    [DTG_STAGE_KERNELS] = {run_kernels, verify_kernels},
    [DTG_STAGE_LLVM] = {run_llvm, NULL},
    [DTG_STAGE_CUDA] = {run_cuda, NULL},
    [DTG_STAGE_PTX] = {run_ptx, NULL},
    [DTG_STAGE_C] = {run_c, NULL},
    [DTG_STAGE_PLAN] = {run_nothing, NULL},
    [DTG_STAGE_JSON] = {run_nothing, NULL},
    [DTG_STAGE_DOT] = {run_nothing, NULL},
    [DTG_STAGE_SLURM] = {run_nothing, NULL},
    [DTG_STAGE_K8S] = {run_nothing, NULL},
    [DTG_STAGE_HOSTFILE] = {run_hostfile, NULL},
};

static bool run_stage(struct dtg_pipeline *p, enum dtg_stage stage) {
  const struct stage_row *row = &stage_rows[stage];
  struct dtg_strbuf why = {0};
  if (!row->run(p) || dtg_diags_failed(&p->ctx->diags))
    return false;
  if (row->verify && !row->verify(p, &why))
    dtg_bug("after stage %s: %s", dtg_stage_name(stage), dtg_strbuf_text(&why));
  return true;
}

static const char *source_dir(struct dtg_pipeline *p) {
  char folder[PATH_MAX], model[PATH_MAX];
  const char *slash = strrchr(p->options->model, '/');
  const char *dir = slash ? dtg_arena_strndup(&p->ctx->arena, p->options->model,
                                              (size_t)(slash - p->options->model) + 1)
                          : ".";
  if (!realpath(dir, model) || !realpath(dtg_pipeline_folder(p), folder))
    return dir;
  return dtg_relative_path(&p->ctx->arena, folder, model);
}

static bool bundle(struct dtg_pipeline *p) {
  struct cg_link_input input = {.folder = dtg_pipeline_folder(p),
                                .name = p->name,
                                .host_text = dtg_strbuf_text(&p->host_text),
                                .llvm_text = p->llvm.text,
                                .plan_json = dtg_strbuf_text(&p->plan_json),
                                .object = p->llvm.object,
                                .object_size = p->llvm.object_size,
                                .include_dir = p->install.include_dir,
                                .library = p->options->library,
                                .runtime = p->install.runtime};
  if (!cg_link_folder(p->ctx, input.folder))
    return false;
  input.source_dir = source_dir(p);
  return cg_link(p->ctx, &input);
}

// Machine code is made where it is shown and for the program: a plan is known without it.
static bool is_needed(enum dtg_stage stage, enum dtg_stage last) {
  if (stage == DTG_STAGE_CUDA)
    return last == DTG_STAGE_CUDA || last == DTG_STAGE_PTX;
  if (stage == DTG_STAGE_PTX)
    return last == DTG_STAGE_PTX;
  return stage != DTG_STAGE_LLVM || last == DTG_STAGE_LLVM || last == DTG_STAGE_COUNT;
}

bool dtg_pipeline_run(struct dtg_pipeline *p, enum dtg_stage last) {
  for (int stage = 0; stage < DTG_STAGE_COUNT && stage <= (int)last; stage++) {
    if (!is_complete(p, (enum dtg_stage)stage))
      return !dtg_diags_failed(&p->ctx->diags);
    if (is_needed((enum dtg_stage)stage, last) && !run_stage(p, (enum dtg_stage)stage))
      return false;
  }
  return last != DTG_STAGE_COUNT || bundle(p);
}

void dtg_pipeline_dump(struct dtg_pipeline *p, enum dtg_stage stage, struct dtg_strbuf *out) {
  struct dtg_launch_input launch = launch_input(p);
  switch (stage) {
  case DTG_STAGE_TOKENS:
    dtg_tokens_dump(p->ctx, p->file, out);
    break;
  case DTG_STAGE_AST:
    dtg_ast_dump(p->ast, false, out);
    break;
  case DTG_STAGE_MODEL:
    dtg_model_print(p->model, out);
    break;
  case DTG_STAGE_REPLICATE:
    dtg_replication_print(p->replication, out);
    break;
  case DTG_STAGE_GRAPH:
  case DTG_STAGE_GRAD:
  case DTG_STAGE_OPT:
  case DTG_STAGE_PLACE:
    dtg_module_print(p->module, &p->ctx->sources, out);
    break;
  case DTG_STAGE_PARTITION:
    dtg_partition_print(p->partition, out);
    break;
  case DTG_STAGE_SCHEDULE:
    dtg_plan_print(p->plan, out);
    break;
  case DTG_STAGE_KERNELS:
    for (size_t i = 0; i < p->plan->kernels.len; i++)
      cg_kernel_print(p->plan->kernels.data[i], out);
    break;
  case DTG_STAGE_LLVM:
    dtg_strbuf_puts(out, p->llvm.text);
    break;
  case DTG_STAGE_C:
    dtg_strbuf_puts(out, dtg_strbuf_text(&p->host_text));
    break;
  case DTG_STAGE_PLAN:
    dtg_strbuf_puts(out, dtg_strbuf_text(&p->plan_text));
    break;
  case DTG_STAGE_JSON:
    dtg_strbuf_puts(out, dtg_strbuf_text(&p->plan_json));
    break;
  case DTG_STAGE_DOT:
    dtg_report_dot(&p->report, out);
    break;
  case DTG_STAGE_SLURM:
    dtg_launch_slurm(&launch, out);
    break;
  case DTG_STAGE_K8S:
    dtg_launch_k8s(&launch, out);
    break;
  case DTG_STAGE_HOSTFILE:
    dtg_strbuf_puts(out, dtg_strbuf_text(&p->launch_text));
    break;
  case DTG_STAGE_CUDA:
    dtg_strbuf_puts(out, dtg_strbuf_text(&p->cuda_text));
    break;
  case DTG_STAGE_PTX:
    dtg_strbuf_puts(out, dtg_strbuf_text(&p->ptx_text));
    break;
  case DTG_STAGE_COUNT:
    dtg_bug("stage %d has no text", (int)stage);
  }
}

const char *dtg_pipeline_folder(const struct dtg_pipeline *p) {
  if (p->options->output)
    return p->options->output;
  return dtg_arena_printf(&p->ctx->arena, "%s.out", dtg_base_name(p->options->model));
}

const char *dtg_pipeline_program(const struct dtg_pipeline *p) {
  return dtg_arena_printf(&p->ctx->arena, "%s/%s", dtg_pipeline_folder(p), p->name);
}

static const char *program_name(struct dtg_ctx *ctx, const char *model) {
  const char *base = dtg_base_name(model);
  size_t length = strlen(base);
  if (length > 4 && strcmp(base + length - 4, ".dtg") == 0)
    length -= 4;
  return dtg_arena_strndup(&ctx->arena, base, length);
}

void dtg_pipeline_init(struct dtg_pipeline *p, struct dtg_ctx *ctx,
                       const struct dtg_options *options) {
  *p = (struct dtg_pipeline){.ctx = ctx, .options = options};
  p->name = program_name(ctx, options->model);
  if (sodium_init() < 0)
    dtg_fatal("libsodium cannot be initialised");
}

void dtg_pipeline_free(struct dtg_pipeline *p) {
  dtg_strbuf_free(&p->host_text);
  dtg_strbuf_free(&p->plan_text);
  dtg_strbuf_free(&p->plan_json);
  dtg_strbuf_free(&p->launch_text);
  dtg_strbuf_free(&p->cuda_text);
  dtg_strbuf_free(&p->ptx_text);
}
