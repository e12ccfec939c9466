// The two forms of a cluster spec: what is read, exact messages for what is not, and seeded damage.
#include "compiler/cluster/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__
// libconfig 1.5 leaks the text of a string that a syntax error cuts short.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libconfig.so\n";
}
#endif

static const char *const good =
    "jobs: {\n"
    "  ps:     { tasks = [ \"10.0.0.1:2222\", \"10.0.0.2:2222\" ]; cpu = 1; memory = \"16GB\"; };\n"
    "  worker: { tasks = [ \"10.0.0.3:2222\", \"10.0.0.4:2222\" ]; threads = 8; gpu = 2;\n"
    "            gpu_arch = \"sm_90\"; gpu_memory = \"141GB\"; };\n"
    "};\n"
    "links: { bandwidth = \"100Gb/s\"; latency = \"5us\"; };\n"
    "chief = \"/job:worker/task:1\";\n"
    "cpu_arch = \"x86-64-v3\";\n";

// Reads `text` as a file; the rendered diagnostics go to `messages`.
static bool read_text(const char *text, size_t size, struct dtg_ctx *ctx, struct dtg_cluster *out,
                      struct dtg_strbuf *messages) {
  char path[] = "cluster-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, size), (ssize_t)size);
  close(fd);
  bool result = dtg_cluster_read(ctx, path, "x86-64-v2", out);
  dtg_diags_render(&ctx->diags, messages);
  // The temporary name is no part of a message's meaning.
  for (char *at; (at = strstr(messages->data ? messages->data : (char *)"", path));)
    memcpy(at, "cluster.config", strlen(path));
  unlink(path);
  return result;
}

static void expect_error(const char *text, const char *message) {
  struct dtg_ctx ctx;
  struct dtg_cluster cluster;
  struct dtg_strbuf out = {0};
  dtg_ctx_init(&ctx);
  assert_false(read_text(text, strlen(text), &ctx, &cluster, &out));
  assert_string_equal(dtg_strbuf_text(&out), message);
  dtg_strbuf_free(&out);
  dtg_ctx_free(&ctx);
}

static void reads_a_file(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  struct dtg_cluster cluster;
  struct dtg_strbuf out = {0};
  dtg_ctx_init(&ctx);
  assert_true(read_text(good, strlen(good), &ctx, &cluster, &out));
  assert_int_equal(cluster.job_count, 2);
  assert_string_equal(cluster.jobs[0].name, "ps");
  assert_int_equal(cluster.jobs[0].memory, 16000000000);
  assert_int_equal(cluster.jobs[1].task_count, 2);
  assert_int_equal(cluster.jobs[1].threads, 8);
  assert_string_equal(cluster.jobs[1].gpu_archs[0], "sm_90");
  assert_int_equal(cluster.chief_job, 1);
  assert_int_equal(cluster.chief_task, 1);
  assert_string_equal(cluster.cpu_arch, "x86-64-v3");
  assert_true(cluster.bandwidth == 12.5e9);
  assert_true(cluster.latency > 4.999e-6 && cluster.latency < 5.001e-6);
  assert_int_equal(dtg_cluster_device_count(&cluster), 8);
  assert_string_equal(dtg_cluster_device_name(&ctx.arena, &cluster, 1),
                      "/job:ps/task:1/device:CPU:0");
  assert_string_equal(dtg_cluster_device_name(&ctx.arena, &cluster, 7),
                      "/job:worker/task:1/device:GPU:1");
  assert_int_equal(dtg_cluster_default_device(&cluster), 6);
  dtg_strbuf_free(&out);
  dtg_ctx_free(&ctx);
}

static void names_what_is_wrong(void **state) {
  (void)state;
  expect_error("jobs: { worker: { taks = [ \"a:1\" ]; }; };\n",
               "cluster.config:1:19: error: unknown key `taks` in job `worker`\n"
               "    1 | jobs: { worker: { taks = [ \"a:1\" ]; }; };\n"
               "      |                   ^~~~\n"
               "  hint: did you mean `tasks`?\n"
               "cluster.config:1:9: error: job `worker` names no tasks\n"
               "    1 | jobs: { worker: { taks = [ \"a:1\" ]; }; };\n"
               "      |         ^~~~~~\n"
               "  hint: add `tasks = [ \"10.0.0.1:2222\" ];`, one address for each task\n");
  expect_error("jobs: { ps: { tasks = [ \"a:1\", \"b:1\" ]; };\n"
               "        worker: { tasks = [ \"b:1\" ]; }; };\n",
               "cluster.config:2:9: error: two tasks have the address `b:1`\n"
               "    2 |         worker: { tasks = [ \"b:1\" ]; }; };\n"
               "      |         ^~~~~~\n"
               "  note: they are /job:ps/task:1 and /job:worker/task:0\n");
  expect_error("jobs: { worker: { tasks = [ \"a:70000\" ]; }; };\n",
               "cluster.config:1:30: error: task 0 of job `worker`: `a:70000` is no address\n"
               "    1 | jobs: { worker: { tasks = [ \"a:70000\" ]; }; };\n"
               "      |                              ^~~~~~~\n"
               "  hint: an address is \"HOST:PORT\" with a port from 1 to 65535\n");
  expect_error("jobs: { worker: { tasks = [ \"a:1\" ]; cpu = \"two\"; }; };\n",
               "cluster.config:1:38: error: `cpu` must be a whole number, 0 or more\n"
               "    1 | jobs: { worker: { tasks = [ \"a:1\" ]; cpu = \"two\"; }; };\n"
               "      |                                      ^~~\n");
  expect_error("jobs: { worker: { tasks = [ \"a:1\" ]; }; };\ncpu_arch = \"x86-64-v5\";\n",
               "cluster.config:2:1: error: unknown cpu_arch `x86-64-v5`\n"
               "    2 | cpu_arch = \"x86-64-v5\";\n"
               "      | ^~~~~~~~\n"
               "  hint: did you mean `x86-64-v2`? known are x86-64, x86-64-v2, x86-64-v3, "
               "x86-64-v4 and native\n");
  expect_error("jobs: { worker: \n",
               "cluster.config:2:1: error: the cluster spec cannot be read: syntax error\n"
               "    2 | \n"
               "      | ^\n"
               "  hint: libconfig's form is `name = value;` and `name: { ... };`\n");
  expect_error("links: { };\n",
               "cluster.config:1:1: error: the cluster has no jobs\n"
               "    1 | links: { };\n"
               "      | ^\n"
               "  hint: add `jobs: { worker: { tasks = [ \"10.0.0.1:2222\" ]; }; };`\n");
  expect_error("jobs: { worker: { tasks = [ \"a:1\" ]; }; };\nchief = \"/job:worker/task:1\";\n",
               "cluster.config:2:1: error: `/job:worker/task:1` is no task of this cluster\n"
               "    2 | chief = \"/job:worker/task:1\";\n"
               "      | ^~~~~\n"
               "  hint: write a task that `jobs` lists, such as \"/job:worker/task:0\"\n");
}

static void reads_the_inline_form(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  struct dtg_cluster cluster;
  dtg_ctx_init(&ctx);
  assert_true(dtg_cluster_load(&ctx, "ps=1,worker=2:cpu=2:gpu=1", "x86-64-v2", &cluster));
  assert_int_equal(cluster.job_count, 2);
  assert_int_equal(cluster.jobs[1].cpu, 2);
  assert_int_equal(cluster.jobs[1].gpu, 1);
  assert_int_equal(cluster.chief_job, 1);
  assert_int_equal(dtg_cluster_device_count(&cluster), 7);
  assert_string_equal(dtg_cluster_device_name(&ctx.arena, &cluster, 6),
                      "/job:worker/task:1/device:GPU:0");
  assert_string_equal(cluster.cpu_arch, "x86-64-v2");
  dtg_ctx_free(&ctx);
}

static void inline_error(const char *text, const char *message) {
  struct dtg_ctx ctx;
  struct dtg_cluster cluster;
  struct dtg_strbuf out = {0};
  dtg_ctx_init(&ctx);
  assert_false(dtg_cluster_inline(&ctx, text, "x86-64-v2", &cluster));
  dtg_diags_render(&ctx.diags, &out);
  assert_string_equal(dtg_strbuf_text(&out), message);
  dtg_strbuf_free(&out);
  dtg_ctx_free(&ctx);
}

static void names_what_is_wrong_inline(void **state) {
  (void)state;
  inline_error("worker=2:gpus=1", "--cluster:1:10: error: unknown key `gpus` of a job\n"
                                  "    1 | worker=2:gpus=1\n"
                                  "      |          ^~~~~~\n"
                                  "  hint: did you mean `gpu`?\n");
  inline_error("worker=", "--cluster:1:8: error: `` is no number of worker\n"
                          "    1 | worker=\n"
                          "      |        ^\n"
                          "  hint: write a whole number up to 1048576\n");
  inline_error("ps=1,ps=2", "--cluster:1:6: error: job `ps` is given twice\n"
                            "    1 | ps=1,ps=2\n"
                            "      |      ^~~~\n");
  inline_error("worker=0", "--cluster:1:1: error: job `worker` has no tasks\n"
                           "    1 | worker=0\n"
                           "      | ^~~~~~~~\n");
}

static void survives_damage(void **state) {
  (void)state;
  const unsigned seed = 20260;
  printf("seed %u\n", seed);
  srand(seed);
  size_t size = strlen(good), rejected = 0;
  for (int round = 0; round < 400; round++) {
    char *text = malloc(size);
    memcpy(text, good, size);
    for (int k = 0; k < 1 + round % 4; k++)
      text[(size_t)rand() % size] = (char)rand();
    struct dtg_ctx ctx;
    struct dtg_cluster cluster;
    struct dtg_strbuf out = {0};
    dtg_ctx_init(&ctx);
    bool read = read_text(text, size, &ctx, &cluster, &out);
    assert_true(read == (ctx.diags.errors == 0));
    rejected += !read;
    dtg_strbuf_free(&out);
    dtg_ctx_free(&ctx);
    free(text);
  }
  assert_true(rejected > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_a_file),          cmocka_unit_test(names_what_is_wrong),
      cmocka_unit_test(reads_the_inline_form), cmocka_unit_test(names_what_is_wrong_inline),
      cmocka_unit_test(survives_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
