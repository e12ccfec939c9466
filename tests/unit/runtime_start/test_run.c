/* Which run a process is of: alike for all of one, and no earlier run's checkpoints. */
#include "runtime/start/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

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

static struct dtr_env env_of(const struct variables *variables) {
  struct dtr_env env = *dtr_env_real();
  env.context = (void *)variables;
  env.variable = lookup;
  return env;
}

static uint64_t number(const struct variables *variables, enum dtr_identity_source source) {
  struct dtr_env env = env_of(variables);
  return dtr_run_number(&env, source, "plan");
}

static void the_launcher_names_it_first(void **state) {
  (void)state;
  const struct variables none = {{NULL}, {NULL}}, one = {{"DTG_RUN"}, {"one"}},
                         two = {{"DTG_RUN"}, {"two"}},
                         both = {{"DTG_RUN", "SLURM_JOB_ID"}, {"one", "7"}};
  uint64_t plan = number(&none, DTR_IDENTITY_VARIABLE);
  assert_int_equal(plan, number(&none, DTR_IDENTITY_FLAG));
  assert_int_not_equal(plan, number(&one, DTR_IDENTITY_VARIABLE));
  assert_int_not_equal(number(&two, DTR_IDENTITY_VARIABLE), number(&one, DTR_IDENTITY_VARIABLE));
  assert_int_equal(number(&both, DTR_IDENTITY_SLURM), number(&one, DTR_IDENTITY_VARIABLE));
}

static void jobs_steps_and_restarts_are_other_runs(void **state) {
  (void)state;
#define SLURM(job, step, restart)                               \
  {                                                             \
    {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}, { \
      job, step, restart                                        \
    }                                                           \
  }
  const struct variables jobs[] = {SLURM("7", "0", NULL),
                                   SLURM("8", "0", NULL),
                                   SLURM("7", "1", NULL),
                                   SLURM("7", "0", "1"),
                                   {{NULL}, {NULL}}};
  const struct variables mpi[] = {{{"PMIX_NAMESPACE"}, {"1"}}, {{"PMIX_NAMESPACE"}, {"2"}}};
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
    for (size_t j = 0; j < i; j++)
      assert_int_not_equal(number(&jobs[i], DTR_IDENTITY_SLURM),
                           number(&jobs[j], DTR_IDENTITY_SLURM));
  assert_int_not_equal(number(&mpi[0], DTR_IDENTITY_OPEN_MPI),
                       number(&mpi[1], DTR_IDENTITY_OPEN_MPI));
  /* Tasks that were named one by one may be in several steps of one job. */
  assert_int_equal(number(&jobs[0], DTR_IDENTITY_VARIABLE),
                   number(&jobs[2], DTR_IDENTITY_VARIABLE));
}

static void only_a_named_run_has_checkpoints_of_other_processes(void **state) {
  (void)state;
  const struct variables none = {{NULL}, {NULL}}, one = {{"DTG_RUN"}, {"one"}};
  struct dtr_env unnamed = env_of(&none), named = env_of(&one);
  assert_int_equal(dtr_run_checkpoints(&named, 5), 5);
  assert_int_not_equal(dtr_run_checkpoints(&unnamed, 5), dtr_run_checkpoints(&unnamed, 5));
  assert_int_not_equal(dtr_run_checkpoints(&unnamed, 5), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_launcher_names_it_first),
      cmocka_unit_test(jobs_steps_and_restarts_are_other_runs),
      cmocka_unit_test(only_a_named_run_has_checkpoints_of_other_processes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
