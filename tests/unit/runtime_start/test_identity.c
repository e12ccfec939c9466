/* Which task a process is: what launchers set, and what they get wrong. */
#include "runtime/start/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a plan of 2 ps and 3 workers, and an environment of a few variables ---- */

static const struct dtr_job jobs[] = {{.name = "ps", .tasks = 2}, {.name = "worker", .tasks = 3}};
static const struct dtr_replication plan = {.job_count = 2, .jobs = jobs};

enum { VARIABLES = 4 };
struct variables {
  const char *names[VARIABLES], *values[VARIABLES];
};

static const char *lookup(void *context, const char *name) {
  const struct variables *variables = context;
  for (int i = 0; i < VARIABLES && variables->names[i]; i++)
    if (strcmp(variables->names[i], name) == 0)
      return variables->values[i];
  return NULL;
}

static bool find(const struct variables *variables, const char *flag, struct dtr_identity *identity,
                 struct dtr_error *error) {
  struct dtr_env env = *dtr_env_real();
  env.context = (void *)variables;
  env.variable = lookup;
  dtr_error_clear(error);
  return dtr_identity_find(&env, &plan, flag, identity, error);
}

#define CLUSTER "\"cluster\": {\"ps\": [\"a:1\", \"a:2\"], \"worker\": [\"a:3\", \"a:4\", \"a:5\"]}"
#define CHIEF                                                                              \
  "\"cluster\": {\"chief\": [\"a:3\"], \"ps\": [\"a:1\", \"a:2\"], \"worker\": [\"a:4\", " \
  "\"a:5\"]}"

/* ---- who it is ---- */

struct right {
  const char *flag;
  struct variables variables;
  enum dtr_identity_source source;
  uint32_t task;
};

static void sources_are_asked_in_order(void **state) {
  (void)state;
  static const struct right cases[] = {
      {NULL, {{NULL}, {NULL}}, DTR_IDENTITY_NONE, 0},
      {"worker/2", {{"DTG_TASK"}, {"ps/1"}}, DTR_IDENTITY_FLAG, 4},
      {NULL, {{"DTG_TASK", "SLURM_PROCID"}, {"ps/1", "7"}}, DTR_IDENTITY_VARIABLE, 1},
      {NULL,
       {{"TF_CONFIG", "SLURM_PROCID"},
        {"{" CLUSTER ", \"task\": {\"type\": \"worker\", \"index\": 0}}", "7"}},
       DTR_IDENTITY_TF_CONFIG,
       2},
      {NULL,
       {{"TF_CONFIG"}, {"{" CLUSTER ", \"task\": {\"type\": \"ps\", \"index\": \"1\"}}"}},
       DTR_IDENTITY_TF_CONFIG,
       1},
      {NULL, {{"SLURM_PROCID", "SLURM_NTASKS"}, {"3", "5"}}, DTR_IDENTITY_SLURM, 3},
      {NULL, {{"SLURM_PROCID", "SLURM_NTASKS"}, {"0", "1"}}, DTR_IDENTITY_NONE, 0},
      {NULL,
       {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"4", "5"}},
       DTR_IDENTITY_OPEN_MPI,
       4},
      {NULL, {{"DTG_TASK"}, {""}}, DTR_IDENTITY_NONE, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct dtr_identity identity;
    struct dtr_error error;
    assert_true(find(&cases[i].variables, cases[i].flag, &identity, &error));
    assert_int_equal(identity.source, cases[i].source);
    assert_int_equal(identity.task, cases[i].task);
    assert_int_equal(identity.address_count, identity.source == DTR_IDENTITY_TF_CONFIG ? 5 : 0);
    dtr_identity_free(&identity);
  }
}

static void the_chief_is_worker_0_and_the_others_follow(void **state) {
  (void)state;
  static const struct {
    const char *task;
    uint32_t number;
  } cases[] = {{"\"chief\", \"index\": 0", 2},
               {"\"worker\", \"index\": 0", 3},
               {"\"worker\", \"index\": 1", 4},
               {"\"ps\", \"index\": 1", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    struct dtr_identity identity;
    struct dtr_error error;
    snprintf(text, sizeof text, "{" CHIEF ", \"task\": {\"type\": %s}}", cases[i].task);
    struct variables variables = {{"TF_CONFIG"}, {text}};
    assert_true(find(&variables, NULL, &identity, &error));
    assert_int_equal(identity.task, cases[i].number);
    assert_string_equal(identity.addresses[2], "a:3");
    assert_string_equal(identity.addresses[3], "a:4");
    assert_string_equal(identity.addresses[0], "a:1");
    dtr_identity_free(&identity);
  }
}

static void sparse_clusters_and_the_old_name_of_the_chief_are_read(void **state) {
  (void)state;
  struct variables variables = {
      {"TF_CONFIG"},
      {"{\"cluster\": {\"master\": [\"a:3\"], \"ps\": {\"1\": \"a:2\", \"0\": \"a:1\"}, "
       "\"worker\": [\"a:4\", \"a:5\"]}, \"task\": {\"type\": \"master\", \"index\": 0}, "
       "\"environment\": \"cloud\"}"}};
  struct dtr_identity identity;
  struct dtr_error error;
  assert_true(find(&variables, NULL, &identity, &error));
  assert_int_equal(identity.task, 2);
  assert_string_equal(identity.addresses[1], "a:2");
  dtr_identity_free(&identity);
}

/* ---- mistakes ---- */

struct wrong {
  const char *flag;
  struct variables variables;
  enum dtr_status status;
  const char *message, *hint;
};

static void mistakes_are_named(void **state) {
  (void)state;
#define TASK "\"task\": {\"type\": \"worker\", \"index\": 0}"
#define TF(text) NULL, {{"TF_CONFIG"}, {text}}, DTR_STATUS_CONFIG
  static const struct wrong cases[] = {
      {"worker",
       {{NULL}, {NULL}},
       DTR_STATUS_USAGE,
       "--task is `worker`, which is no task",
       "write JOB/INDEX, such as ps/0"},
      {"worker/-1",
       {{NULL}, {NULL}},
       DTR_STATUS_USAGE,
       "--task is `worker/-1`, which is no task",
       "write JOB/INDEX, such as ps/0"},
      {"worker/3",
       {{NULL}, {NULL}},
       DTR_STATUS_USAGE,
       "--task is `worker/3`, and the plan has 3 tasks of job `worker`",
       "indices count from 0; build for a larger cluster to have more"},
      {"wroker/0",
       {{NULL}, {NULL}},
       DTR_STATUS_USAGE,
       "--task names the job `wroker`; the plan has 2 of ps, 3 of worker",
       "is it `worker`?"},
      {NULL,
       {{"DTG_TASK"}, {"eval/0"}},
       DTR_STATUS_CONFIG,
       "DTG_TASK names the job `eval`; the plan has 2 of ps, 3 of worker",
       ""},
      {NULL,
       {{"SLURM_PROCID", "SLURM_NTASKS"}, {"3", "6"}},
       DTR_STATUS_CONFIG,
       "Slurm has started 6 processes, and the plan has 5 tasks: 2 of ps, 3 of worker",
       "start 5, or build for another cluster"},
      {NULL,
       {{"SLURM_PROCID"}, {"3"}},
       DTR_STATUS_CONFIG,
       "the environment has no SLURM_NTASKS",
       "say which task this is with --task or DTG_TASK"},
      {NULL,
       {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"5", "5"}},
       DTR_STATUS_CONFIG,
       "OMPI_COMM_WORLD_RANK is 5 where OMPI_COMM_WORLD_SIZE is 5: ranks count from 0",
       ""},
      {NULL,
       {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"x", "5"}},
       DTR_STATUS_CONFIG,
       "OMPI_COMM_WORLD_RANK is `x`, which is no count",
       "say which task this is with --task or DTG_TASK"},
      {TF("{"), "TF_CONFIG: line 1, column 1: string or '}' expected near end of file", ""},
      {TF("[]"), "TF_CONFIG: it must be a JSON object", ""},
      {TF("{" TASK "}"), "TF_CONFIG: `cluster` must be an object: lists of addresses by job", ""},
      {TF("{\"cluster\": {\"ps\": [\"a:1\", \"a:2\"], \"worker_hosts\": [\"a:3\"]}, " TASK "}"),
       "TF_CONFIG: `cluster.worker_hosts` is no job of the plan, which has 2 of ps, 3 of worker",
       ""},
      {TF("{\"cluster\": {\"ps\": [\"a:1\", \"a:2\"], \"worker\": [\"a:3\"]}, " TASK "}"),
       "TF_CONFIG: `cluster` has 1 of worker; the plan has 2 of ps, 3 of worker",
       "build with a cluster of that shape, or correct TF_CONFIG"},
      {TF("{\"cluster\": {\"ps\": [\"a:1\", \"a\"], \"worker\": [\"a:3\", \"a:4\", \"a:5\"]}, " TASK
          "}"),
       "TF_CONFIG: `cluster.ps[1]` must be an address \"host:port\"", ""},
      {TF("{\"cluster\": {\"ps\": [\"a:1\", \"a:1\"], \"worker\": [\"a:3\", \"a:4\", "
          "\"a:5\"]}, " TASK "}"),
       "TF_CONFIG: `cluster.ps[1]` is `a:1`, the address of another task too", ""},
      {TF("{\"cluster\": {\"ps\": \"a:1\", \"worker\": [\"a:3\", \"a:4\", \"a:5\"]}, " TASK "}"),
       "TF_CONFIG: `cluster.ps` must be a list of addresses", ""},
      {TF("{\"cluster\": {\"chief\": [\"a:3\"], \"master\": [\"a:6\"], \"ps\": [\"a:1\", "
          "\"a:2\"], \"worker\": [\"a:4\", \"a:5\"]}, " TASK "}"),
       "TF_CONFIG: `cluster` has both `chief` and `master`; keep one", ""},
      {TF("{\"cluster\": {\"evaluator\": [\"a:9\"], \"ps\": [\"a:1\", \"a:2\"], \"worker\": "
          "[\"a:3\", \"a:4\", \"a:5\"]}, " TASK "}"),
       "TF_CONFIG: `cluster.evaluator` has no place here: evaluation is part of training",
       "take the evaluator out; `evaluate` in `train` says when the replicas evaluate"},
      {TF("{" CLUSTER "}"), "TF_CONFIG: `task` must be an object with `type` and `index`", ""},
      {TF("{" CLUSTER ", \"task\": {\"index\": 0}}"),
       "TF_CONFIG: `task.type` must be the name of a job", ""},
      {TF("{" CLUSTER ", \"task\": {\"type\": \"worker\"}}"),
       "TF_CONFIG: `task.index` must be a number from 0", ""},
      {TF("{" CLUSTER ", \"task\": {\"type\": \"worker\", \"index\": 3}}"),
       "TF_CONFIG: `task` is worker 3, which is not in `cluster`", ""},
      {TF("{" CHIEF ", \"task\": {\"type\": \"chief\", \"index\": 1}}"),
       "TF_CONFIG: `task` is chief 1, which is not in `cluster`", ""},
      {TF("{" CLUSTER ", \"task\": {\"type\": \"evaluator\", \"index\": 0}}"),
       "TF_CONFIG: `task.type` is `evaluator`: evaluation is part of training here",
       "do not start an evaluator; `evaluate` in `train` says when the replicas evaluate"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct dtr_identity identity;
    struct dtr_error error;
    assert_false(find(&cases[i].variables, cases[i].flag, &identity, &error));
    assert_string_equal(error.message, cases[i].message);
    assert_string_equal(error.hint, cases[i].hint);
    assert_int_equal(error.status, cases[i].status);
  }
}

/* ---- damage ---- */

enum { DAMAGED = 20000 };

/* Right or refused, never worse; memory is watched by the sanitizers. */
static void damaged_texts_are_refused_or_read(void **state) {
  (void)state;
  const char *seed_text = getenv("DTG_SEED");
  uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : 1;
  print_message("DTG_SEED=%llu\n", (unsigned long long)seed);
  static const char good[] = "{" CHIEF ", \"task\": {\"type\": \"worker\", \"index\": 0}}";
  static const char letters[] = "{}[]\",:0123456789aehiprstuw \\";
  for (int round = 0; round < DAMAGED; round++) {
    char text[sizeof good];
    memcpy(text, good, sizeof good);
    for (int change = 0; change < 1 + round % 4; change++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      text[(seed >> 33) % (sizeof good - 1)] = letters[(seed >> 20) % (sizeof letters - 1)];
    }
    struct variables variables = {{"TF_CONFIG"}, {text}};
    struct dtr_identity identity;
    struct dtr_error error;
    if (find(&variables, NULL, &identity, &error)) {
      assert_true(identity.task < 5 && identity.address_count == 5);
      for (uint32_t t = 0; t < 5; t++)
        assert_non_null(identity.addresses[t]);
      dtr_identity_free(&identity);
    } else {
      assert_int_equal(error.status, DTR_STATUS_CONFIG);
      assert_string_not_equal(error.message, "");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sources_are_asked_in_order),
      cmocka_unit_test(the_chief_is_worker_0_and_the_others_follow),
      cmocka_unit_test(sparse_clusters_and_the_old_name_of_the_chief_are_read),
      cmocka_unit_test(mistakes_are_named),
      cmocka_unit_test(damaged_texts_are_refused_or_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
