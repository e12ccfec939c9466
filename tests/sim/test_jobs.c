/* Simulated runs of the hand-written program: the bits of one device, errors that name their place,
 * and a seed that is a run. */
#include "runtime/sim/sim.h"
#include "sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct dtr_sim_result simulate(const struct sample_options *sample, uint64_t seed,
                                      const char *faults) {
  struct dtr_flags flags = {.steps = DTR_FLAG_UNSET, .threads = DTR_FLAG_UNSET};
  struct dtr_sim_options options = {
      .program = sample_program(sample), .flags = &flags, .model_dir = "", .seed = seed};
  struct dtr_sim_result result;
  struct dtr_error error;
  dtr_error_clear(&error);
  assert_true(dtr_sim_faults_parse(faults, &options.faults, &error));
  dtr_sim_run(&options, &result);
  return result;
}

static struct sample_options small(void) {
  struct sample_options options = sample_defaults();
  options.shards = 12;
  options.steps = 12;
  options.checkpoint_steps = 4;
  options.checkpoint_keep = 2;
  return options;
}

static const struct sample_strategy strategies[] = {
    {.ps = 1, .workers = 2, .cpu = 1, .in_graph = true},
    {.ps = 2, .workers = 4, .cpu = 1, .split = true},
    {.ps = 1, .workers = 2, .cpu = 2},
    {.workers = 4, .cpu = 1, .mirrored = true, .split = true},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static void expect_bits(const struct dtr_sim_result *result, const char *digest, size_t strategy,
                        uint64_t seed) {
  if (result->outcome != DTR_SIM_DONE || strcmp(result->digest, digest) != 0)
    fail_msg("strategy %zu, seed %llu: %s", strategy, (unsigned long long)seed,
             result->outcome == DTR_SIM_DONE ? "other bits" : result->error.message);
}

static void every_seed_has_the_bits_of_one_device(void **state) {
  (void)state;
  struct sample_options options = small();
  struct dtr_sim_result one = simulate(&options, 1, "");
  assert_int_equal(one.outcome, DTR_SIM_DONE);
  for (size_t i = 0; i < STRATEGIES; i++) {
    options.strategy = strategies[i];
    for (uint64_t seed = 1; seed <= 15; seed++) {
      struct dtr_sim_result result = simulate(&options, seed, seed % 2 == 0 ? "all" : "");
      expect_bits(&result, one.digest, i, seed);
      assert_true(result.restarts > 0 || result.loss[0] == 0);
    }
  }
}

/* Whatever order contributions come in: they end, and keep to their bound. */
static void relaxed_rules_keep_their_bounds(void **state) {
  (void)state;
  static const struct sample_strategy relaxed[] = {
      {.ps = 1, .workers = 4, .cpu = 1, .backup = 1, .staleness = -1},
      {.ps = 2, .workers = 3, .cpu = 1, .split = true, .is_async = true, .staleness = -1},
      {.ps = 2, .workers = 2, .cpu = 2, .is_async = true, .staleness = 1}};
  struct sample_options options = small();
  for (size_t i = 0; i < sizeof relaxed / sizeof *relaxed; i++) {
    options.strategy = relaxed[i];
    for (uint64_t seed = 1; seed <= 20; seed++) {
      struct dtr_sim_result result = simulate(&options, seed, seed % 2 == 0 ? "all" : "slow-last");
      if (result.outcome != DTR_SIM_DONE)
        fail_msg("rule %zu, seed %llu: %s", i, (unsigned long long)seed, result.error.message);
      assert_true(!relaxed[i].is_async || relaxed[i].staleness < 0 || result.lead <= 1);
    }
  }
}

static void a_seed_is_a_run(void **state) {
  (void)state;
  struct sample_options options = small();
  options.strategy = strategies[1];
  for (uint64_t seed = 1; seed <= 10; seed++) {
    struct dtr_sim_result first = simulate(&options, seed, "all");
    struct dtr_sim_result second = simulate(&options, seed, "all");
    assert_int_equal(first.virtual_time, second.virtual_time);
    assert_int_equal(first.polls, second.polls);
    assert_string_equal(first.loss, second.loss);
    assert_memory_equal(&first.net, &second.net, sizeof first.net);
    assert_memory_equal(&first.disk, &second.disk, sizeof first.disk);
  }
}

/* A NaN ends the run everywhere, with the step, whatever the network does. */
static void failures_end_everybody(void **state) {
  (void)state;
  struct sample_options options = small();
  options.nan_step = 7;
  options.nan_shard = 5;
  for (size_t i = 0; i < STRATEGIES; i++) {
    options.strategy = strategies[i];
    for (uint64_t seed = 1; seed <= 10; seed++) {
      struct dtr_sim_result result = simulate(&options, seed, "delay,stall,break,slow");
      assert_int_equal(result.outcome, DTR_SIM_FAILED);
      assert_int_equal(result.error.status, DTR_STATUS_NUMERIC);
      assert_int_equal(result.error.step,
                       options.nan_step + 1); /* steps of messages count from 1 */
    }
  }
}

static void a_lost_task_is_named(void **state) {
  (void)state;
  struct sample_options options = small();
  int named = 0, crashes = 0;
  options.strategy = strategies[1];
  for (uint64_t seed = 1; seed <= 30; seed++) {
    struct dtr_sim_result result = simulate(&options, seed, "crash");
    assert_int_equal(result.outcome, DTR_SIM_DONE);
    crashes += result.restarts;
    named += strstr(result.loss, " was lost; ") && strstr(result.loss, "waits for") &&
             strstr(result.loss, " of step ");
    assert_true(result.stop_time < 2 * dtr_sim_second);
  }
  assert_true(crashes >= 20);
  assert_true(named >= 15); /* some die while nobody waits for them */
}

/* One task for good: all end within the deadline, and say who waited for it, on which edge and in
 * which step; but for workers that the rule can spare. */
static void a_task_that_does_not_return_ends_the_run(void **state) {
  (void)state;
  struct sample_options options = small();
  int waited = 0, spared = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    bool relaxed = seed % 2 == 0;
    options.strategy = relaxed ? (struct sample_strategy){.ps = 2,
                                                          .workers = 3,
                                                          .cpu = 1,
                                                          .split = true,
                                                          .is_async = true,
                                                          .staleness = 1}
                               : strategies[1];
    struct dtr_sim_result result = simulate(&options, seed, "gone");
    assert_int_equal(result.crashes, 1);
    if (result.outcome == DTR_SIM_DONE) { /* spared, or it was at the end */
      spared += relaxed;
      continue;
    }
    assert_int_equal(result.outcome, DTR_SIM_FAILED);
    assert_true(result.error.status == DTR_STATUS_PEER_LOST ||
                result.error.status == DTR_STATUS_DEADLINE);
    assert_non_null(strstr(result.error.message, " within "));
    assert_true(result.virtual_time < 200 * dtr_sim_second);
    waited += strstr(result.error.message, " was lost and did not return within 60.0 s; ") &&
              strstr(result.error.message, ": waits for ") &&
              strstr(result.error.message, " of step ") && result.error.step >= 1;
  }
  assert_true(waited >= 15);
  assert_true(spared >= 5);
}

/* Both ways back are gone: what the owners hold, and a checkpoint. */
static void what_it_costs_is_counted(void **state) {
  (void)state;
  struct sample_options options = small();
  int64_t stops = 0, again = 0, at_once = 0, returns = 0;
  options.strategy = strategies[1];
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct dtr_sim_result result = simulate(&options, seed, "crash");
    stops += result.costs.stops;
    again += result.costs.steps_again;
    at_once += result.costs.stops > 0 && result.costs.steps_again == 0;
    for (int t = 0; t < DTR_RECOVERY_TASKS; t++)
      returns += result.costs.returns[t];
    assert_int_equal(result.restarts, result.crashes);
  }
  assert_true(stops >= 30 && returns >= 30);
  assert_true(again >= 20);
  assert_true(at_once >= 5);
}

static void a_hang_is_found(void **state) {
  (void)state;
  struct sample_options options = small();
  options.strategy = strategies[1];
  for (uint64_t seed = 1; seed <= 10; seed++) {
    struct dtr_sim_result result = simulate(&options, seed, "lose");
    assert_int_equal(result.outcome, DTR_SIM_WRONG);
    assert_non_null(strstr(result.error.message, "deadlock: nobody can go on"));
    assert_non_null(strstr(result.error.message, "waits for "));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_seed_has_the_bits_of_one_device),
      cmocka_unit_test(relaxed_rules_keep_their_bounds),
      cmocka_unit_test(a_seed_is_a_run),
      cmocka_unit_test(failures_end_everybody),
      cmocka_unit_test(a_lost_task_is_named),
      cmocka_unit_test(a_task_that_does_not_return_ends_the_run),
      cmocka_unit_test(what_it_costs_is_counted),
      cmocka_unit_test(a_hang_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
