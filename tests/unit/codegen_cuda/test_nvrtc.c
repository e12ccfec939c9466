/* NVRTC takes the kernels of the standard models for every architecture that people train on,
 * without a warning and with next to no register spilled to memory. */
#include "codegen/cuda/cuda.h"
#include "codegen/cuda/nvrtc.h"
#include "compiler/base/strbuf.h"
#include "compiler/pipeline.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const archs[] = {"sm_80", "sm_90", "sm_100"};
enum { ARCHS = sizeof archs / sizeof *archs };

static struct cg_nvrtc *open_or_skip(void) {
  struct cg_nvrtc *nvrtc = NULL;
  struct dtg_strbuf why = {0};
  if (!cg_nvrtc_open(&nvrtc, &why))
    print_message("%s\n", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  if (!nvrtc)
    skip();
  return nvrtc;
}

enum { SPILL_LIMIT = 16 }; /* bytes of a kernel: more than that costs time */

/* "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" a kernel. */
static void check_spills(const char *model, const char *arch, const char *log) {
  int reports = 0;
  for (const char *at = log; (at = strstr(at, " bytes spill stores")); at++, reports++) {
    const char *digits = at;
    while (digits > log && digits[-1] >= '0' && digits[-1] <= '9')
      digits--;
    int bytes = atoi(digits);
    if (bytes > 0)
      print_message("%s, %s: a kernel spills %d bytes\n", model, arch, bytes);
    assert_true(bytes <= SPILL_LIMIT);
  }
  assert_true(reports > 0);
}

static void compile_for(const struct cg_nvrtc *nvrtc, struct dtg_arena *arena, const char *path,
                        const char *text, const char *arch) {
  struct cg_nvrtc_output output;
  struct dtg_strbuf why = {0};
  struct cg_nvrtc_input input = {.text = text, .name = path, .arch = arch};
  if (!cg_nvrtc_compile(nvrtc, arena, &input, &output, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  if (strstr(output.log, "warning"))
    fail_msg("%s, %s: %s", path, arch, output.log);
  check_spills(path, arch, output.log);
  assert_memory_equal(output.code,
                      "\x7f"
                      "ELF",
                      4);
}

/* Models with convolutions have no GPU code yet, and say so. */
static bool is_refused(const struct dtg_ctx *ctx, const char *path) {
  const char *message = ctx->diags.list.data[0]->message;
  if (!strstr(message, "GPU"))
    fail_msg("%s: %s", path, message);
  return true;
}

static void compile_model(const struct cg_nvrtc *nvrtc, const char *path, int arch_count) {
  struct dtg_ctx ctx;
  struct dtg_pipeline pipeline;
  struct dtg_options options = {
      .model = path, .level = 2, .emit = DTG_STAGE_CUDA, .command = DTG_COMMAND_COMPILE};
  dtg_ctx_init(&ctx);
  dtg_pipeline_init(&pipeline, &ctx, &options);
  if (dtg_pipeline_run(&pipeline, DTG_STAGE_CUDA) || !is_refused(&ctx, path))
    for (int i = 0; i < arch_count; i++)
      compile_for(nvrtc, &ctx.arena, path, dtg_strbuf_text(&pipeline.cuda_text), archs[i]);
  dtg_pipeline_free(&pipeline);
  dtg_ctx_free(&ctx);
}

static const char *models_folder(void) {
  static char folder[4096];
  snprintf(folder, sizeof folder, "%s/stdlib-models/models", getenv("DTG_SOURCE_DIR"));
  return folder;
}

static void the_mlp_compiles(void **state) {
  (void)state;
  struct cg_nvrtc *nvrtc = open_or_skip();
  char path[5000];
  snprintf(path, sizeof path, "%s/fashion_mlp.dtg", models_folder());
  compile_model(nvrtc, path, ARCHS);
  cg_nvrtc_close(nvrtc);
}

/* Takes a minute: with the argument `all`. */
static void the_standard_models_compile(void **state) {
  (void)state;
  struct cg_nvrtc *nvrtc = open_or_skip();
  DIR *models = opendir(models_folder());
  int count = 0;
  assert_non_null(models);
  for (struct dirent *entry; (entry = readdir(models));) {
    char path[5000];
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 4, ".dtg") != 0)
      continue;
    snprintf(path, sizeof path, "%s/%s", models_folder(), entry->d_name);
    compile_model(nvrtc, path, ARCHS);
    count++;
  }
  closedir(models);
  cg_nvrtc_close(nvrtc);
  assert_true(count > 0);
}

static void architectures_are_known_or_listed(void **state) {
  (void)state;
  struct cg_nvrtc *nvrtc = open_or_skip();
  struct dtg_strbuf known = {0};
  for (int i = 0; i < ARCHS; i++)
    assert_true(cg_nvrtc_knows(nvrtc, archs[i], &known));
  assert_string_equal(dtg_strbuf_text(&known), "");
  assert_false(cg_nvrtc_knows(nvrtc, "sm_1", &known));
  assert_non_null(strstr(dtg_strbuf_text(&known), "sm_90"));
  dtg_strbuf_free(&known);
  cg_nvrtc_close(nvrtc);
}

static void a_missing_library_is_explained(void **state) {
  (void)state;
  struct cg_nvrtc *nvrtc = NULL;
  struct dtg_strbuf why = {0};
  setenv("DTG_NVRTC", "/nowhere/libnvrtc.so", 1);
  assert_false(cg_nvrtc_open(&nvrtc, &why));
  unsetenv("DTG_NVRTC");
  assert_string_equal(dtg_strbuf_text(&why),
                      "NVRTC, which compiles GPU kernels, was not found; searched: "
                      "/nowhere/libnvrtc.so (DTG_NVRTC)");
  dtg_strbuf_free(&why);
}

int main(int argc, char **argv) {
  bool all = argc > 1 && strcmp(argv[1], "all") == 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_mlp_compiles),
      cmocka_unit_test(architectures_are_known_or_listed),
      cmocka_unit_test(a_missing_library_is_explained),
  };
  const struct CMUnitTest slow[] = {cmocka_unit_test(the_standard_models_compile)};
  return all ? cmocka_run_group_tests(slow, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
