// Combinations that are refused, each with a legal neighbour; and the maps of those that are not.
#include "tests/unit/replicate/strategy_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *const train = "  batch = 48\n  shards = 12\n  optimizer = sgd(lr = 0.1)\n";

static const struct {
  const char *strategy, *cluster, *message, *hint;
} refused[] = {
    {"replicate between_graph over worker  params on ps", "ps=1,worker=5",
     "5 replicas cannot share 12 shards equally",
     "these numbers of replicas would work: 1, 2, 3, 4, 6, 12; or set `shards` in `train`"},
    {"replicate between_graph over worker  params on ps", "ps=1,worker=13",
     "13 replicas cannot share 12 shards equally",
     "these numbers of replicas would work: 1, 2, 3, 4, 6, 12; or set `shards` in `train`"},
    {"replicate between_graph over worker  params on ps", "worker=2", "the cluster has no job `ps`",
     "add it to the cluster, such as `--cluster ps=1,worker=1`"},
    {"replicate between_graph over trainer  params on ps", "ps=1,worker=2",
     "the cluster has no job `trainer`",
     "add it to the cluster, such as `--cluster trainer=1,worker=1`"},
    {"replicate between_graph over worker  params on ps  update async", "ps=1,worker=1",
     "`update async` needs at least 2 clients, and there is 1",
     "write `update sync`, or replicate between_graph over a job with more tasks"},
    {"replicate between_graph over worker  params on ps  update sync backup 2", "ps=1,worker=2",
     "`backup 2` leaves no contribution of 2 clients", "write `backup 1`"},
    {"replicate between_graph over worker  params on ps  update sync backup 9", "ps=1,worker=4",
     "`backup 9` leaves no contribution of 4 clients", "write `backup 1` to `backup 3`"},
    {"replicate between_graph over worker  params on cpu:0", "worker=2",
     "`params on` a device of the client's task needs exactly one client, and strategy `s` has 2",
     "name a job, such as `on ps`, or write `params mirrored`; or replicate in_graph"},
    {"replicate in_graph over gpu  params on cpu:0", "worker=1:gpu=2",
     "/job:worker/task:0/device:GPU:0 would compute, but dtgc writes no GPU code in this version",
     "leave `gpu` out of the cluster, or name its CPU devices"},
    {"replicate in_graph over gpu  params on cpu:0", "worker=1",
     "the tasks of job `worker` have no gpu",
     "give them one in the cluster, such as `--cluster worker=1:gpu=1`"},
    {"params on /job:ps/task:3", "ps=2,worker=1", "the cluster has no such device", NULL},
    {"params \"c.*\" on ps  params mirrored", "ps=1,worker=1",
     "the pattern \"c.*\" matches no parameter and no state", NULL},
    {"place \"c.*\" on cpu:0", "worker=1", "the pattern \"c.*\" matches no parameter and no layer",
     NULL},
    {"place \"a.*\" on /job:ps/task:0  place \"a.w\" on /job:ps/task:1", "ps=2,worker=1",
     "`a.w` cannot be in two places", "write `prefer` for the one that may give way"},
    {"place \"a\" on /job:ps/task:0", "ps=1,worker=1",
     "\"a\" would compute away from its replica, which dtgc does not do in this version", NULL},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    struct strategy_text text;
    strategy_open(&text, train, refused[i].strategy, refused[i].cluster);
    strategy_expect(&text, refused[i].message, refused[i].hint);
    strategy_close(&text);
  }
}

static void expect_maps(const char *strategy, const char *cluster, uint32_t clients,
                        uint32_t replicas, const char *last) {
  struct strategy_text text;
  strategy_open(&text, train, strategy, cluster);
  assert_non_null(text.partition);
  assert_int_equal(text.replication->clients, clients);
  assert_int_equal(text.replication->replicas, replicas);
  assert_int_equal(dtg_replica_device(text.replication, replicas - 1),
                   strategy_device(&text, last));
  strategy_close(&text);
}

static void test_maps(void **state) {
  (void)state;
  expect_maps("", "ps=1,worker=2", 1, 1, "/job:worker/task:0/device:CPU:0");
  expect_maps("replicate in_graph over worker  params on ps", "ps=1,worker=4", 1, 4,
              "/job:worker/task:3/device:CPU:0");
  expect_maps("replicate in_graph over cpu  params mirrored", "worker=1:cpu=3", 1, 3,
              "/job:worker/task:0/device:CPU:2");
  expect_maps("replicate between_graph over worker  params sharded", "worker=6", 6, 6,
              "/job:worker/task:5/device:CPU:0");
  expect_maps("replicate between_graph over worker, in_graph over cpu  params on ps",
              "ps=2,worker=3:cpu=2", 3, 6, "/job:worker/task:2/device:CPU:1");
  expect_maps("replicate in_graph over worker, in_graph over cpu  params on ps",
              "ps=2,worker=3:cpu=2", 1, 6, "/job:worker/task:2/device:CPU:1");
}

// The chief's client comes first, whatever its task; the others keep their order.
static void test_chief(void **state) {
  (void)state;
  struct strategy_text text;
  strategy_open(&text, train, "replicate between_graph over worker  params mirrored", "worker=4");
  assert_non_null(text.partition);
  text.cluster.chief_task = 2;
  struct dtg_replication *r = dtg_replicate(&text.ctx, text.model, &text.cluster, text.module);
  struct dtg_strbuf why = {0};
  assert_non_null(r);
  assert_true(dtg_replication_verify(r, &why));
  const uint32_t tasks[] = {2, 0, 1, 3};
  for (uint32_t c = 0; c < 4; c++)
    assert_int_equal(dtg_client_task(r, c), tasks[c]);
  for (uint32_t replica = 0; replica < 4; replica++)
    assert_int_equal(dtg_client_task(r, dtg_replica_client(r, replica)), replica);
  strategy_close(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_chief),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
