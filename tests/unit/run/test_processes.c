/* The launcher: what tasks get, what it passes on, who is started again, and that nobody is left.
 */
#include "compiler/run/processes.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a cluster of one ps and two workers, whose tasks are a shell script ---- */

static struct dtg_job jobs[] = {{.name = "ps", .task_count = 1},
                                {.name = "worker", .task_count = 2}};
static const struct dtg_cluster cluster = {
    .job_count = 2, .jobs = jobs, .chief_job = 1, .chief_task = 0, .local = true};

struct outcome {
  int status;
  char out[4096], err[4096];
};

static void take(FILE *file, char *text, size_t size) {
  fflush(file);
  rewind(file);
  text[fread(text, 1, size - 1, file)] = '\0';
  fclose(file);
}

/* In a child, because the launcher waits for every child of its process. */
static void launch_with(const char *script, int64_t restarts, int64_t grace,
                        struct outcome *outcome) {
  FILE *out = tmpfile(), *err = tmpfile();
  int status;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    struct dtg_run_input input = {
        .cluster = &cluster, .argv = argv, .restarts = restarts, .grace = grace};
    struct dtg_ctx ctx;
    alarm(60); /* a launcher that hangs is a failure */
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    dtg_ctx_init(&ctx);
    status = dtg_run_processes(&ctx, &input);
    dtg_ctx_free(&ctx);
    fflush(NULL);
    _exit(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? status : 99);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  take(out, outcome->out, sizeof outcome->out);
  take(err, outcome->err, sizeof outcome->err);
}

static void launch(const char *script, int64_t restarts, struct outcome *outcome) {
  launch_with(script, restarts, 0, outcome);
}

#define CONTAINS(text, part) assert_non_null(strstr(text, part))
#define LACKS(text, part) assert_null(strstr(text, part))

static void tasks_get_name_socket_and_addresses(void **state) {
  (void)state;
  struct outcome outcome;
  launch("echo \"$DTG_TASK $DTG_GENERATION $DTG_ADDRESSES\"; "
         "readlink /proc/self/fd/$DTG_LISTEN_FD >&2",
         0, &outcome);
  assert_int_equal(outcome.status, 0);
  CONTAINS(outcome.out, "worker/0 0 127.0.0.1:");
  LACKS(outcome.out, "worker/1");
  CONTAINS(outcome.err, "[ps/0] ps/0 0 127.0.0.1:");
  CONTAINS(outcome.err, "[worker/1] worker/1 0 127.0.0.1:");
  CONTAINS(outcome.err, "[worker/1] socket:[");
  int commas = 0;
  for (const char *c = outcome.out; *c; c++)
    commas += *c == ',';
  assert_int_equal(commas, 2);
}

static void lines_stay_whole_and_the_last_one_is_not_lost(void **state) {
  (void)state;
  struct outcome outcome;
  launch("[ $DTG_TASK = worker/1 ] && printf 'one\\ntwo\\nwithout an end'; exit 0", 0, &outcome);
  assert_int_equal(outcome.status, 0);
  assert_string_equal(outcome.err, "[worker/1] one\n[worker/1] two\n[worker/1] without an end\n");
}

static void the_status_is_the_chiefs(void **state) {
  (void)state;
  struct outcome outcome;
  launch("[ $DTG_TASK = worker/0 ] && exit 4; exit 0", 0, &outcome);
  assert_int_equal(outcome.status, 4);
  launch("[ $DTG_TASK = worker/1 ] && exit 4; exit 0", 0, &outcome);
  assert_int_equal(outcome.status, 0);
  assert_string_equal(outcome.err, "dtgc: worker/1 ended with exit status 4\n");
  launch("[ $DTG_TASK = worker/0 ] && kill -9 $$; exit 0", 0, &outcome);
  assert_int_equal(outcome.status, 3);
  assert_string_equal(outcome.err, "dtgc: worker/0 was killed by SIGKILL\n");
}

/* The chief ends when the last generation of ps/0 has told it so, through a named pipe. */
static void who_was_killed_is_started_again_so_often(void **state) {
  (void)state;
  struct outcome outcome;
  char folder[] = "/tmp/dtg_run_XXXXXX", path[64], script[512];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/pipe", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  snprintf(script, sizeof script,
           "case $DTG_TASK in worker/0) read word <%s;; ps/0) [ $DTG_GENERATION -lt 2 ] && kill -9 "
           "$$; echo generation $DTG_GENERATION; echo done >%s;; esac",
           path, path);
  launch(script, 2, &outcome);
  unlink(path);
  rmdir(folder);
  assert_int_equal(outcome.status, 0);
  CONTAINS(outcome.err, "dtgc: ps/0 was killed by SIGKILL; it is started again (1 of 2)\n");
  CONTAINS(outcome.err, "dtgc: ps/0 was killed by SIGKILL; it is started again (2 of 2)\n");
  CONTAINS(outcome.err, "[ps/0] generation 2\n");
}

static void an_error_of_its_own_is_not_tried_again(void **state) {
  (void)state;
  struct outcome outcome;
  launch("[ $DTG_TASK = ps/0 ] && exit 1; exit 0", 5, &outcome);
  assert_int_equal(outcome.status, 0);
  assert_string_equal(outcome.err, "dtgc: ps/0 ended with exit status 1\n");
}

/* The tasks die with a launcher that is killed: the last end of their pipe closes. */
static void nobody_outlives_a_killed_launcher(void **state) {
  (void)state;
  int ends[2];
  char number[16], byte;
  assert_int_equal(pipe(ends), 0);
  snprintf(number, sizeof number, "%d", ends[1]);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    const char *argv[] = {"/bin/sh", "-c", "echo ready >&$0; kill -STOP $$", number, NULL};
    struct dtg_run_input input = {.cluster = &cluster, .argv = argv};
    struct dtg_ctx ctx;
    close(ends[0]);
    dtg_ctx_init(&ctx);
    _exit(dtg_run_processes(&ctx, &input));
  }
  close(ends[1]);
  size_t lines = 0;
  while (lines < 3 && read(ends[0], &byte, 1) == 1)
    lines += byte == '\n';
  assert_int_equal(lines, 3);
  kill(pid, SIGKILL);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  alarm(60);
  assert_int_equal(read(ends[0], &byte, 1), 0);
  alarm(0);
  close(ends[0]);
}

static void tasks_of_a_run_have_its_name(void **state) {
  (void)state;
  struct outcome first, second;
  const char *script = "case $DTG_TASK in worker/0) echo $DTG_RUN;; ps/0) echo $DTG_RUN;; esac";
  launch(script, 0, &first);
  launch(script, 0, &second);
  assert_int_equal(strlen(first.out), 33);
  CONTAINS(first.err, first.out);
  CONTAINS(second.err, second.out);
  assert_string_not_equal(first.out, second.out);
}

/* Reading what nobody writes: without an end of its own. */
static void who_ignores_signals_is_killed(void **state) {
  (void)state;
  struct outcome outcome;
  char folder[] = "/tmp/dtg_run_XXXXXX", path[64], script[512];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/pipe", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  snprintf(script, sizeof script,
           "trap '' TERM INT; [ $DTG_TASK = worker/0 ] && kill -TERM $PPID; read word <>%s", path);
  launch_with(script, 5, 50, &outcome);
  assert_int_equal(outcome.status, 3);
  CONTAINS(outcome.err, "dtgc: worker/0 did not end when it was asked to, and is stopped\n");
  LACKS(outcome.err, "started again");
  snprintf(script, sizeof script,
           "trap '' TERM INT; [ $DTG_TASK = worker/0 ] && exit 0; read word <>%s", path);
  launch_with(script, 0, 50, &outcome);
  assert_int_equal(outcome.status, 0);
  CONTAINS(outcome.err, "dtgc: ps/0 did not end with the chief, and is stopped\n");
  unlink(path);
  rmdir(folder);
}

static void far_clusters_are_refused(void **state) {
  (void)state;
  static const char *const addresses[] = {"127.0.0.1:1", "10.0.0.1:2"};
  struct dtg_job far = {.name = "worker", .task_count = 2, .addresses = addresses};
  struct dtg_cluster other = {.job_count = 1, .jobs = &far};
  struct dtg_run_input input = {.cluster = &other};
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  assert_false(dtg_run_check(&ctx, &input));
  assert_string_equal(ctx.diags.list.data[0]->message,
                      "--processes starts tasks on this machine, and job `worker` has the address "
                      "`10.0.0.1:2`");
  far.task_count = 1;
  assert_true(dtg_run_check(&ctx, &input));
  far.addresses = NULL;
  far.task_count = DTG_RUN_MAX_TASKS + 1;
  assert_false(dtg_run_check(&ctx, &input));
  dtg_ctx_free(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_get_name_socket_and_addresses),
      cmocka_unit_test(lines_stay_whole_and_the_last_one_is_not_lost),
      cmocka_unit_test(the_status_is_the_chiefs),
      cmocka_unit_test(who_was_killed_is_started_again_so_often),
      cmocka_unit_test(an_error_of_its_own_is_not_tried_again),
      cmocka_unit_test(nobody_outlives_a_killed_launcher),
      cmocka_unit_test(tasks_of_a_run_have_its_name),
      cmocka_unit_test(who_ignores_signals_is_killed),
      cmocka_unit_test(far_clusters_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
