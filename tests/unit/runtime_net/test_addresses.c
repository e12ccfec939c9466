/* The addresses of a cluster file: what fits the plan, and each mistake with its line. */
#include "runtime/start/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct dtr_job jobs[] = {{.name = "ps", .tasks = 1}, {.name = "worker", .tasks = 2}};
static const struct dtr_replication plan = {.job_count = 2, .jobs = jobs};

static void addresses_come_in_the_plans_order(void **state) {
  (void)state;
  struct dtr_error error;
  char **addresses;
  dtr_error_clear(&error);
  assert_true(
      dtr_addresses_parse("jobs: { worker: { tasks = [\"b:2\", \"[::1]:3\"]; threads = 8; };\n"
                          "ps: { tasks = (\"a:1\"); }; };\nlinks: { latency = \"5us\"; };",
                          "c.cfg", &plan, &addresses, &error));
  assert_string_equal(addresses[0], "a:1");
  assert_string_equal(addresses[1], "b:2");
  assert_string_equal(addresses[2], "[::1]:3");
  dtr_addresses_free(addresses, 3);
}

static void mistakes_have_a_line(void **state) {
  (void)state;
  static const struct {
    const char *text, *where, *message;
  } cases[] = {
      {"jobs: {\n  ps = ;\n", "c.cfg:2", "not a cluster file: syntax error"},
      {"", "c.cfg", "the cluster has no group `jobs`"},
      {"jobs: {\n ps: { tasks = [\"a:1\"]; };\n};", "c.cfg:1",
       "`jobs` has no job `worker`; the plan has 1 of ps, 2 of worker"},
      {"jobs: { ps: { tasks = [\"a:1\"]; };\n worker: { tasks = [\"b:2\"]; }; };", "c.cfg:2",
       "job `worker` has 1 addresses in `tasks`; the plan has 1 of ps, 2 of worker"},
      {"jobs: { ps: { tasks = [\"a:1\"]; };\n worker: { tasks =\n [\"b:2\", \"c\"]; }; };",
       "c.cfg:3", "task 1 of job `worker`: `c` is no address"},
      {"jobs: { ps: { tasks = [\"a:0\"]; }; };", "c.cfg:1",
       "task 0 of job `ps`: `a:0` is no address"},
      {"jobs: { ps: { tasks = (1); }; };", "c.cfg:1", "task 0 of job `ps`: `?` is no address"},
      {"jobs: { ps: { tasks = [\"a:1\"]; };\nmaster: { tasks = [\"b:2\"]; }; };", "c.cfg:2",
       "`jobs` has a job `master` that the plan does not have: it has 1 of ps, 2 of worker"},
      {"jobs: { ps: { tasks = [\"a:1\"]; }; worker: { tasks = [\"b:2\", \"a:1\"]; }; };", "c.cfg",
       "two tasks have the address `a:1`"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct dtr_error error;
    char **addresses;
    dtr_error_clear(&error);
    assert_false(dtr_addresses_parse(cases[i].text, "c.cfg", &plan, &addresses, &error));
    assert_string_equal(error.message, cases[i].message);
    assert_string_equal(error.where, cases[i].where);
    assert_int_equal(error.status, DTR_STATUS_CONFIG);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses_come_in_the_plans_order),
      cmocka_unit_test(mistakes_have_a_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
