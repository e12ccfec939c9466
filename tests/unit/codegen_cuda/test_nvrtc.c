/* NVRTC takes the kernels of the standard models for every architecture that people train on,
 * without a warning and without a register spilled to memory. */
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

/* "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" a kernel. */
static size_t count_spills(const char *model, const char *arch, const char *log) {
  size_t spills = 0, reports = 0;
  for (const char *at = log; (at = strstr(at, " bytes spill stores")); at++, reports++) {
    const char *digit = at - 1;
    if (digit[0] == '0' && digit[-1] == ' ')
      continue;
    spills++;
    print_message("%s, %s: %.60s\n", model, arch, digit - 30);
  }
  assert_true(reports > 0);
  return spills;
}

static void compile_model(const struct cg_nvrtc *nvrtc, const char *path) {
  struct dtg_ctx ctx;
  struct dtg_pipeline pipeline;
  struct dtg_options options = {
      .model = path, .level = 2, .emit = DTG_STAGE_CUDA, .command = DTG_COMMAND_COMPILE};
  struct dtg_strbuf why = {0};
  dtg_ctx_init(&ctx);
  dtg_pipeline_init(&pipeline, &ctx, &options);
  assert_true(dtg_pipeline_run(&pipeline, DTG_STAGE_CUDA));
  for (int i = 0; i < ARCHS; i++) {
    struct cg_nvrtc_output output;
    struct cg_nvrtc_input input = {
        .text = dtg_strbuf_text(&pipeline.cuda_text), .name = path, .arch = archs[i]};
    if (!cg_nvrtc_compile(nvrtc, &ctx.arena, &input, &output, &why))
      fail_msg("%s", dtg_strbuf_text(&why));
    if (strstr(output.log, "warning"))
      fail_msg("%s, %s: %s", path, archs[i], output.log);
    assert_int_equal(count_spills(path, archs[i], output.log), 0);
    assert_memory_equal(output.code,
                        "\x7f"
                        "ELF",
                        4);
  }
  dtg_pipeline_free(&pipeline);
  dtg_ctx_free(&ctx);
}

static void the_standard_models_compile(void **state) {
  (void)state;
  struct cg_nvrtc *nvrtc = open_or_skip();
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/stdlib-models/models", getenv("DTG_SOURCE_DIR"));
  DIR *models = opendir(folder);
  int count = 0;
  assert_non_null(models);
  for (struct dirent *entry; (entry = readdir(models));) {
    char path[5000];
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 4, ".dtg") != 0)
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    compile_model(nvrtc, path);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_standard_models_compile),
      cmocka_unit_test(architectures_are_known_or_listed),
      cmocka_unit_test(a_missing_library_is_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
