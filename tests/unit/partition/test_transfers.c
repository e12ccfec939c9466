// Transfers: families against all tasks counted one by one, payloads, and that the cost
// does not grow with the tasks.
#include "tests/unit/replicate/strategy_text.h"

#include "compiler/base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_TASKS = 12, BLOCK_SUM_BYTES = 4, PARAMS = 4, BATCH = 48, ROW_BYTES = 784 * 4 + 4 };

// Payload bytes and messages from task to task.
struct bill {
  int64_t bytes[DTG_TRANSFER_KINDS][DTG_MOMENTS][MAX_TASKS][MAX_TASKS];
  int64_t messages[DTG_TRANSFER_KINDS][DTG_MOMENTS][MAX_TASKS][MAX_TASKS];
};

static uint32_t task_of(const struct strategy_text *text, uint32_t device) {
  return dtg_device_task(&text->cluster, device);
}

static void count_at(struct bill *bill, enum dtg_transfer_kind kind, enum dtg_moment moment,
                     uint32_t from, uint32_t to, int64_t bytes) {
  bill->bytes[kind][moment][from][to] += bytes;
  bill->messages[kind][moment][from][to]++;
}

static void count(struct bill *bill, enum dtg_transfer_kind kind, uint32_t from, uint32_t to,
                  int64_t bytes) {
  count_at(bill, kind, DTG_MOMENT_STEP, from, to, bytes);
}

// ---- by the families ----

static uint32_t end_task(const struct strategy_text *text, const struct dtg_ends *ends, uint32_t i,
                         uint32_t *device) {
  const struct dtg_replication *r = text->replication;
  *device = UINT32_MAX - (ends->role == DTG_ROLE_CLIENT ? i : 0); // clients share no device
  if (ends->role == DTG_ROLE_CLIENT)
    return dtg_client_task(r, i);
  *device = ends->role == DTG_ROLE_REPLICA ? dtg_replica_device(r, i) : r->owners.data[i];
  if (ends->role == DTG_ROLE_ARBITER)
    *device = r->owners.data[0];
  return task_of(text, *device);
}

static void expand(const struct strategy_text *text, const struct dtg_transfer *t,
                   struct bill *bill) {
  uint64_t messages = 0;
  for (uint32_t i = t->from.first; i < t->from.first + t->from.count; i++) {
    if (t->from.sums && dtg_replica_sums(text->replication, i) != t->from.sums)
      continue;
    for (uint32_t k = t->to.first; k < t->to.first + t->to.count; k++) {
      uint32_t from_device, to_device;
      uint32_t from = end_task(text, &t->from, i, &from_device);
      uint32_t to = end_task(text, &t->to, k, &to_device);
      if (from_device == to_device)
        continue;
      count_at(bill, t->kind, t->moment, from, to, t->bytes);
      messages++;
    }
  }
  assert_int_equal(messages, t->messages);
}

// ---- by the tasks ----

static int64_t slice_bytes(const struct strategy_text *text, uint32_t owner) {
  int64_t bytes = 0;
  for (size_t i = 0; i < text->replication->slices.len; i++)
    if (text->replication->slices.data[i].owner == owner)
      bytes += text->replication->slices.data[i].elements * 4;
  return bytes;
}

static int64_t block_sums(const struct strategy_text *text, uint32_t owner) {
  int64_t bytes = 0;
  for (size_t i = 0; i < text->replication->slices.len; i++) {
    const struct dtg_slice *s = &text->replication->slices.data[i];
    if (s->owner == owner && s->variable < PARAMS)
      bytes += (s->elements + s->block - 1) / s->block * BLOCK_SUM_BYTES;
  }
  return bytes;
}

static void count_replica(const struct strategy_text *text, uint32_t replica, struct bill *bill) {
  const struct dtg_replication *r = text->replication;
  uint32_t device = dtg_replica_device(r, replica), task = task_of(text, device);
  uint32_t client = dtg_client_task(r, dtg_replica_client(r, replica));
  int64_t sums = dtg_replica_sums(r, replica);
  for (size_t i = 0; i < r->owners.len; i++) {
    uint32_t owner = r->owners.data[i];
    if (owner == device)
      continue;
    count(bill, DTG_TRANSFER_PUSH, task, task_of(text, owner), sums * slice_bytes(text, owner));
    count(bill, DTG_TRANSFER_PUBLISH, task_of(text, owner), task, slice_bytes(text, owner));
  }
  if (client == task)
    return;
  count(bill, DTG_TRANSFER_START, client, task, 0);
  count(bill, DTG_TRANSFER_FEED, client, task, BATCH / r->replicas * ROW_BYTES);
  count(bill, DTG_TRANSFER_FETCH, task, client, sums * 4);
}

// Slices and their slots: `slots` of each parameter.
static int64_t held_bytes(const struct strategy_text *text, uint32_t owner, int slots) {
  int64_t bytes = 0;
  for (size_t i = 0; i < text->replication->slices.len; i++) {
    const struct dtg_slice *s = &text->replication->slices.data[i];
    if (s->owner == owner)
      bytes += s->elements * 4 * (s->variable < PARAMS ? 1 + slots : 1);
  }
  return bytes;
}

static void count_chief(const struct strategy_text *text, int slots, struct bill *bill) {
  const struct dtg_replication *r = text->replication;
  uint32_t chief = dtg_client_task(r, 0);
  for (uint32_t c = 1; c < r->clients; c++)
    count_at(bill, DTG_TRANSFER_BEGIN, DTG_MOMENT_BEGIN, chief, dtg_client_task(r, c), 0);
  for (size_t i = 0; i < r->owners.len; i++) {
    uint32_t task = task_of(text, r->owners.data[i]);
    int64_t bytes = held_bytes(text, r->owners.data[i], slots);
    if (task == chief)
      continue;
    count_at(bill, DTG_TRANSFER_COMMAND, DTG_MOMENT_BEGIN, chief, task, 0);
    count_at(bill, DTG_TRANSFER_SCATTER, DTG_MOMENT_BEGIN, chief, task, bytes);
    count_at(bill, DTG_TRANSFER_COMMAND, DTG_MOMENT_CHECKPOINT, chief, task, 0);
    count_at(bill, DTG_TRANSFER_GATHER, DTG_MOMENT_CHECKPOINT, task, chief, bytes);
  }
}

// Loss alone, 4 bytes a chunk.
static void count_evaluation(const struct strategy_text *text, struct bill *bill) {
  const struct dtg_replication *r = text->replication;
  uint32_t chief = dtg_client_task(r, 0);
  for (uint32_t i = 0; i < r->replicas; i++) {
    uint32_t task = task_of(text, dtg_replica_device(r, i));
    uint32_t client = dtg_client_task(r, dtg_replica_client(r, i));
    if (client != task) {
      count_at(bill, DTG_TRANSFER_START, DTG_MOMENT_EVALUATION, client, task, 0);
      count_at(bill, DTG_TRANSFER_FEED, DTG_MOMENT_EVALUATION, client, task,
               BATCH / r->replicas * ROW_BYTES);
    }
    if (task != chief)
      count_at(bill, DTG_TRANSFER_CHUNK, DTG_MOMENT_EVALUATION, task, chief,
               4 * r->shards / r->replicas);
  }
}

// With backups (`decides`) or a bound (`asks`), the arbiter is on the device of owner 0.
static void count_arbiter(const struct strategy_text *text, struct bill *bill) {
  const struct dtg_replication *r = text->replication;
  const struct dtg_update_rule *rule = &r->strategy->update;
  uint32_t arbiter = task_of(text, r->owners.data[0]);
  for (uint32_t c = 0; c < r->clients && (rule->backup > 0 || rule->staleness > 0); c++) {
    if (dtg_client_task(r, c) == arbiter)
      continue;
    count(bill, DTG_TRANSFER_ASK, dtg_client_task(r, c), arbiter, 0);
    count(bill, DTG_TRANSFER_GRANT, arbiter, dtg_client_task(r, c), 0);
  }
  for (size_t i = 1; i < r->owners.len && rule->backup > 0; i++) {
    count(bill, DTG_TRANSFER_STAGED, task_of(text, r->owners.data[i]), arbiter, 0);
    count(bill, DTG_TRANSFER_DECIDE, arbiter, task_of(text, r->owners.data[i]), 0);
  }
}

static void count_tasks(const struct strategy_text *text, bool clipped, struct bill *bill) {
  const struct dtg_replication *r = text->replication;
  for (uint32_t i = 0; i < r->replicas; i++)
    count_replica(text, i, bill);
  for (size_t i = 0; i < r->owners.len; i++)
    for (size_t k = 0; k < r->owners.len; k++)
      if (clipped && i != k && block_sums(text, r->owners.data[i]) > 0)
        count(bill, DTG_TRANSFER_NORM, task_of(text, r->owners.data[i]),
              task_of(text, r->owners.data[k]), block_sums(text, r->owners.data[i]));
  for (uint32_t c = 1; c < r->clients; c++) {
    int64_t sums = 0;
    for (uint32_t i = 0; i < r->replicas; i++)
      if (dtg_replica_client(r, i) == c)
        sums += dtg_replica_sums(r, i);
    count(bill, DTG_TRANSFER_REPORT, dtg_client_task(r, c), dtg_client_task(r, 0), sums * 4);
  }
}

static const struct {
  const char *strategy, *cluster;
} cases[] = {
    {"replicate between_graph over worker  params on ps", "ps=1,worker=2"},
    {"replicate between_graph over worker  params on ps split >= 64KiB", "ps=3,worker=4"},
    {"replicate in_graph over worker  params on ps", "ps=2,worker=4"},
    {"replicate in_graph over cpu  params on cpu:0", "worker=1:cpu=4"},
    {"replicate between_graph over worker  params mirrored", "worker=4"},
    {"replicate between_graph over worker  params sharded", "worker=3"},
    {"replicate in_graph over worker  params mirrored", "worker=6"},
    {"replicate between_graph over worker, in_graph over cpu  params on ps", "ps=2,worker=3:cpu=2"},
    {"replicate in_graph over worker, in_graph over cpu  params on cpu:0", "ps=2,worker=2:cpu=2"},
    {"replicate between_graph over worker  params \"a.*\" on ps  params mirrored", "ps=2,worker=4"},
    {"params on ps", "ps=2,worker=1"},
};

static void test_expanded(void **state) {
  (void)state;
  // 20 shards are no power of two: replicas send different numbers of partial sums.
  static const char *const trains[] = {
      "  batch = 48\n  shards = 12\n  optimizer = adam(lr = 0.1)\n",
      "  batch = 48\n  shards = 24\n  optimizer = momentum(lr = 0.1)\n"
      "  gradient = clip_by_global_norm(1.0)\n  evaluate = every(epochs = 1, data = d)\n"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t k = 0; k < 2; k++) {
      static struct bill folded, unfolded;
      struct strategy_text text;
      memset(&folded, 0, sizeof folded);
      memset(&unfolded, 0, sizeof unfolded);
      strategy_open(&text, trains[k], cases[i].strategy, cases[i].cluster);
      assert_non_null(text.partition);
      for (size_t t = 0; t < text.partition->sends.len; t++)
        expand(&text, &text.partition->sends.data[t], &folded);
      count_tasks(&text, k == 1, &unfolded);
      count_chief(&text, k == 0 ? 2 : 1, &unfolded);
      if (k == 1)
        count_evaluation(&text, &unfolded);
      assert_memory_equal(&folded, &unfolded, sizeof folded);
      strategy_close(&text);
    }
}

static void test_arbiter(void **state) {
  (void)state;
  static const struct {
    const char *strategy, *cluster;
  } relaxed[] = {
      {"replicate between_graph over worker  params on ps  update sync backup 1", "ps=2,worker=3"},
      {"replicate between_graph over worker  params on ps  update async staleness <= 3",
       "ps=2,worker=4"},
      {"replicate between_graph over worker  params on ps  update async", "ps=2,worker=4"},
      {"replicate between_graph over worker  params on worker  update sync backup 1", "worker=4"}};
  for (size_t i = 0; i < sizeof relaxed / sizeof *relaxed; i++) {
    static struct bill folded, unfolded;
    struct strategy_text text;
    memset(&folded, 0, sizeof folded);
    memset(&unfolded, 0, sizeof unfolded);
    // It evaluates, but the chief alone does.
    strategy_open(&text,
                  "  batch = 48\n  shards = 12\n  optimizer = momentum(lr = 0.1)\n"
                  "  evaluate = every(epochs = 1, data = d)\n",
                  relaxed[i].strategy, relaxed[i].cluster);
    assert_non_null(text.partition);
    for (size_t t = 0; t < text.partition->sends.len; t++)
      expand(&text, &text.partition->sends.data[t], &folded);
    count_tasks(&text, false, &unfolded);
    count_chief(&text, 1, &unfolded);
    count_arbiter(&text, &unfolded);
    assert_memory_equal(&folded, &unfolded, sizeof folded);
    strategy_close(&text);
  }
}

// One device owns and computes all: nothing is sent.
static void test_single(void **state) {
  (void)state;
  struct strategy_text text;
  strategy_open(&text, "  batch = 48\n  shards = 12\n  optimizer = adam(lr = 0.1)\n",
                "params on cpu:0", "worker=1");
  assert_true(text.replication->single);
  assert_int_equal(text.partition->sends.len, 0);
  strategy_close(&text);
}

// ---- the same tables, whatever the number of tasks ----

struct size {
  size_t families, clients, slices, sends, parts, nodes, used;
};

static struct size size_of(const char *train, const char *cluster) {
  struct strategy_text text;
  strategy_open(&text, train, "replicate between_graph over worker  params on ps split >= 64KiB",
                cluster);
  assert_non_null(text.partition);
  const struct dtg_replication *r = text.replication;
  struct size size = {r->families.len,           r->client_families.len,    r->slices.len,
                      text.partition->sends.len, text.partition->parts.len, 0,
                      text.ctx.arena.used};
  for (size_t i = 0; i < text.partition->parts.len; i++)
    size.nodes += text.partition->parts.data[i].nodes.len;
  strategy_close(&text);
  return size;
}

static void expect_no_larger(struct size few, struct size many) {
  assert_int_equal(few.families, many.families);
  assert_int_equal(few.clients, many.clients);
  assert_int_equal(few.slices, many.slices);
  assert_int_equal(few.parts, many.parts);
  assert_int_equal(few.nodes, many.nodes);
  assert_in_range(many.sends, 0, few.sends);
  assert_in_range(many.used, 0, few.used + 1024); // the cluster's text is longer
}

static void test_scale(void **state) {
  (void)state;
  const char *even = "  batch = 20480\n  shards = 10240\n  optimizer = adam(lr = 0.1)\n";
  const char *odd = "  batch = 20000\n  shards = 10000\n  optimizer = adam(lr = 0.1)\n";
  struct size few = size_of(even, "ps=16,worker=10"), many = size_of(even, "ps=16,worker=10240");
  expect_no_larger(few, many);
  assert_int_equal(few.sends, many.sends);
  // Two replicas of 5,000 shards send different numbers of partial sums: two families in place of
  // one.
  expect_no_larger(size_of(odd, "ps=16,worker=2"), size_of(odd, "ps=16,worker=10000"));
}

// ---- damaged transfers ----

static void expect_rejected(struct strategy_text *text, const char *reason) {
  struct dtg_strbuf why = {0};
  assert_false(dtg_partition_verify(text->partition, &why));
  if (!strstr(dtg_strbuf_text(&why), reason))
    fail_msg("expected: %s\ngot: %s", reason, dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
}

static size_t find(const struct dtg_partition *p, enum dtg_transfer_kind kind) {
  size_t i = 0;
  while (p->sends.data[i].kind != kind)
    i++;
  return i;
}

static void open_clipped(struct strategy_text *text) {
  strategy_open(text,
                "  batch = 48\n  shards = 12\n  optimizer = momentum(lr = 0.1)\n"
                "  gradient = clip_by_global_norm(1.0)\n",
                "replicate in_graph over worker  params on ps", "ps=2,worker=3");
  assert_non_null(text->partition);
}

// What both ends agree on may still be wrong: changes both lists.
static void test_wrong_on_both_ends(void **state) {
  (void)state;
  static const struct {
    enum dtg_transfer_kind kind;
    const char *reason;
  } rows[] = {{DTG_TRANSFER_PUSH, "updates from"},     {DTG_TRANSFER_PUBLISH, "publishes to"},
              {DTG_TRANSFER_NORM, "sends block sums"}, {DTG_TRANSFER_FEED, "are started"},
              {DTG_TRANSFER_FETCH, "are started"},     {DTG_TRANSFER_START, "are started"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int change = -1; change <= 1; change += 2) {
      struct strategy_text text;
      open_clipped(&text);
      size_t at = find(text.partition, rows[i].kind);
      text.partition->sends.data[at].messages += (uint64_t)change;
      text.partition->receives.data[at].messages += (uint64_t)change;
      expect_rejected(&text, rows[i].reason);
      strategy_close(&text);
    }
}

static void test_ends_disagree(void **state) {
  (void)state;
  struct strategy_text text;
  open_clipped(&text);
  size_t count = text.partition->sends.len;
  for (size_t i = 0; i < count; i++) {
    struct dtg_transfer *receive = &text.partition->receives.data[i];
    receive->bytes += 4;
    expect_rejected(&text, "are expected");
    receive->bytes -= 4;
    receive->messages++;
    expect_rejected(&text, "are expected");
    receive->messages--;
    receive->to.first++;
    expect_rejected(&text, "is not received");
    receive->to.first--;
  }
  text.partition->receives.len--;
  expect_rejected(&text, "is not received");
  text.partition->receives.len++;
  text.partition->sends.len--;
  expect_rejected(&text, "is not sent");
  strategy_close(&text);
}

static void test_resized(void **state) {
  (void)state;
  static const enum dtg_transfer_kind kinds[] = {DTG_TRANSFER_PUSH, DTG_TRANSFER_PUBLISH,
                                                 DTG_TRANSFER_NORM};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct strategy_text text;
    open_clipped(&text);
    size_t at = find(text.partition, kinds[i]);
    text.partition->sends.data[at].bytes -= 4;
    text.partition->receives.data[at].bytes -= 4;
    expect_rejected(&text, "its slices have");
    strategy_close(&text);
  }
}

// A transfer that leads back in the step closes a circle of waiting.
static void test_cycle(void **state) {
  (void)state;
  static const enum dtg_transfer_kind kinds[] = {DTG_TRANSFER_PUSH, DTG_TRANSFER_PUBLISH,
                                                 DTG_TRANSFER_NORM, DTG_TRANSFER_FEED,
                                                 DTG_TRANSFER_FETCH};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct strategy_text text;
    open_clipped(&text);
    size_t at = find(text.partition, kinds[i]);
    struct dtg_transfer *lists[] = {&text.partition->sends.data[at],
                                    &text.partition->receives.data[at]};
    for (int k = 0; k < 2; k++) {
      enum dtg_event event = lists[k]->before;
      uint32_t phase = lists[k]->phase;
      lists[k]->before = lists[k]->after;
      lists[k]->after = event;
      lists[k]->phase = lists[k]->next_phase;
      lists[k]->next_phase = phase;
    }
    expect_rejected(&text, "wait for each other in a circle");
    strategy_close(&text);
  }
}

// Slices that leave a gap, overlap, or are cut inside a block.
static void test_slices(void **state) {
  (void)state;
  struct strategy_text text;
  struct dtg_strbuf why = {0};
  strategy_open(&text, "  batch = 48\n  shards = 12\n  optimizer = momentum(lr = 0.1)\n",
                "replicate between_graph over worker  params on ps split >= 64KiB",
                "ps=3,worker=2");
  for (size_t i = 0; i < text.replication->slices.len; i++) {
    struct dtg_slice *slice = &text.replication->slices.data[i];
    const struct dtg_slice saved = *slice;
    slice->first += slice->block;
    assert_false(dtg_replication_verify(text.replication, &why));
    *slice = saved;
    slice->elements -= 1;
    assert_false(dtg_replication_verify(text.replication, &why));
    *slice = saved;
    slice->owner = strategy_device(&text, "/job:worker/task:1/device:CPU:0");
    assert_false(dtg_replication_verify(text.replication, &why));
    *slice = saved;
    assert_true(dtg_replication_verify(text.replication, &why));
  }
  dtg_strbuf_free(&why);
  strategy_close(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expanded),
      cmocka_unit_test(test_arbiter),
      cmocka_unit_test(test_single),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_wrong_on_both_ends),
      cmocka_unit_test(test_ends_disagree),
      cmocka_unit_test(test_resized),
      cmocka_unit_test(test_cycle),
      cmocka_unit_test(test_slices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
