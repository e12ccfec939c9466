/* The same cases on the rows `loop`, `sim` and `tcp`: what a task may rely on, whoever carries
 * messages. Then what only a simulated network does: time, faults, and finding out who breaks the
 * rules. */
#include "runtime/net/net.h"
#include "runtime/sim/transport_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static const struct dtr_edge edges[] = {
    {0, 1, 8, false}, {1, 0, 16, false}, {0, 1, 64, true}, {0, 1, 0, false}};
enum { EDGES = sizeof edges / sizeof *edges, ENDS = 2 };
static const uint32_t tasks[ENDS] = {0, 1};

/* One row under test, with two ends. */
struct row {
  const char *name;
  const struct dtr_sim_network *network; /* NULL: loop or tcp */
  bool is_tcp;                           /* two processes in one, and a pair of sockets */
  struct dtr_net *nets[ENDS];
  struct dtr_sim_world world;
  struct dtr_loop *loop;
  struct dtr_sim_net *net;
  struct dtr_endpoint a, b;
};

static const struct dtr_sim_network calm = {.latency = 1000};
static const struct dtr_sim_partition cut = {.a = 0, .b = 1, .from = 0, .until = 5000000};
static const struct dtr_sim_network rough = {.latency = 50000,
                                             .jitter = 400000,
                                             .bytes_per_second = 1000000,
                                             .stall = 200000,
                                             .stall_time = 3000000,
                                             .breaks = 300000,
                                             .reconnect = 700000,
                                             .partitions = &cut,
                                             .partition_count = 1};

static struct dtr_net *open_net(uint32_t task, const struct dtr_edge *list, uint32_t count,
                                struct dtr_error *error) {
  struct dtr_net *net = NULL;
  const struct dtr_net_options options = {.env = dtr_env_real(),
                                          .task = task,
                                          .ends = ENDS,
                                          .tasks = tasks,
                                          .edges = list,
                                          .edge_count = count};
  return dtr_net_new(&options, &net, error) ? net : NULL;
}

static void open_tcp(struct row *row) {
  struct dtr_error error;
  int sockets[ENDS];
  dtr_error_clear(&error);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
  for (uint32_t task = 0; task < ENDS; task++) {
    row->nets[task] = open_net(task, edges, EDGES, &error);
    assert_non_null(row->nets[task]);
    dtr_net_connect(row->nets[task], task, 1 - task, sockets[task]);
  }
  row->a = dtr_net_endpoint(row->nets[0], 0);
  row->b = dtr_net_endpoint(row->nets[1], 1);
  dtr_transport_progress(&row->a, 0); /* takes the socket */
  dtr_transport_progress(&row->b, 0);
}

static void open_row(struct row *row) {
  struct dtr_error error;
  dtr_error_clear(&error);
  if (row->is_tcp) {
    open_tcp(row);
    return;
  }
  if (!row->network) {
    assert_true(dtr_loop_new(ENDS, edges, EDGES, &row->loop, &error));
    row->a = dtr_loop_endpoint(row->loop, 0);
    row->b = dtr_loop_endpoint(row->loop, 1);
    return;
  }
  assert_true(
      dtr_sim_net_new(&row->world, row->network, ENDS, tasks, edges, EDGES, &row->net, &error));
  row->a = dtr_sim_net_endpoint(row->net, 0);
  row->b = dtr_sim_net_endpoint(row->net, 1);
}

/* Nobody has broken a rule, unless that was the case. */
static void close_row(struct row *row) {
  if (row->net)
    assert_string_equal(dtr_sim_net_violation(row->net), "");
  dtr_loop_free(row->loop);
  dtr_sim_net_free(row->net);
  for (uint32_t task = 0; task < ENDS; task++)
    dtr_net_free(row->nets[task]);
  row->nets[0] = row->nets[1] = NULL;
  row->loop = NULL;
  row->net = NULL;
}

/* Until all that is under way has arrived. */
static void settle(struct row *row) {
  for (int round = 0; row->is_tcp && round < 3; round++) {
    dtr_transport_progress(&row->a, 0);
    dtr_transport_progress(&row->b, 0);
  }
  while (row->net && dtr_sim_net_next(row->net) != INT64_MAX) {
    row->world.now = dtr_sim_net_next(row->net);
    dtr_sim_net_advance(row->net);
  }
}

#define ERROR(error)      \
  struct dtr_error error; \
  dtr_error_clear(&error)

/* ---- what holds on every row ---- */

static void one_message_at_a_time(struct row *row) {
  ERROR(error);
  int64_t value = 42, other = 43;
  const void *got = NULL;
  assert_string_equal(row->a.row->name, row->is_tcp ? "tcp" : row->network ? "sim" : "loop");
  assert_int_equal(dtr_transport_receive(&row->b, 0, 7, 8, &got, &error), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_sent(&row->a, 0), DTR_TRANSFER_DONE);
  assert_int_equal(dtr_transport_send(&row->a, 0, 7, &value, 8, &error), DTR_TRANSFER_DONE);
  assert_int_equal(dtr_transport_sent(&row->a, 0), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_send(&row->a, 0, 8, &other, 8, &error), DTR_TRANSFER_PENDING);
  settle(row);
  assert_int_equal(dtr_transport_receive(&row->b, 0, 7, 8, &got, &error), DTR_TRANSFER_DONE);
  assert_memory_equal(got, &value, 8);
  assert_int_equal(dtr_transport_receive(&row->b, 0, 7, 8, &got, &error), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_sent(&row->a, 0), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_send(&row->a, 0, 8, &other, 8, &error), DTR_TRANSFER_PENDING);
  dtr_transport_release(&row->b, 0);
  settle(row);
  assert_int_equal(dtr_transport_sent(&row->a, 0), DTR_TRANSFER_DONE);
  assert_false(dtr_error_is_set(&error));
}

static void expect_refusal(enum dtr_transfer result, struct dtr_error *error, const char *text) {
  assert_int_equal(result, DTR_TRANSFER_REFUSED);
  assert_int_equal(error->status, DTR_STATUS_BUG);
  assert_string_equal(error->message, text);
  dtr_error_clear(error);
}

static void what_the_plan_does_not_name_is_refused(struct row *row) {
  ERROR(error);
  char bytes[80] = {0};
  const void *got;
  expect_refusal(dtr_transport_send(&row->a, 1, 0, bytes, 16, &error), &error,
                 "task 0 has no edge 1 to send on");
  expect_refusal(dtr_transport_send(&row->a, 9, 0, bytes, 16, &error), &error,
                 "task 0 has no edge 9 to send on");
  expect_refusal(dtr_transport_receive(&row->b, 1, 0, 16, &got, &error), &error,
                 "task 1 has no edge 1 to receive from");
  expect_refusal(dtr_transport_send(&row->a, 0, 0, bytes, 9, &error), &error,
                 "9 bytes on edge 0, which is planned for 8");
  expect_refusal(dtr_transport_send(&row->a, 0, 0, bytes, 7, &error), &error,
                 "7 bytes on edge 0, which is planned for 8");
  expect_refusal(dtr_transport_send(&row->a, 2, 0, bytes, 65, &error), &error,
                 "65 bytes on edge 2, which is planned for 64");
  assert_int_equal(dtr_transport_send(&row->a, 0, 3, bytes, 8, &error), DTR_TRANSFER_DONE);
  settle(row);
  expect_refusal(dtr_transport_receive(&row->b, 0, 4, 8, &got, &error), &error,
                 "edge 0 carries step 3 in 8 bytes, step 4 in 8 was expected");
  /* A refusal takes nothing away. */
  assert_int_equal(dtr_transport_receive(&row->b, 0, 3, 8, &got, &error), DTR_TRANSFER_DONE);
  dtr_transport_release(&row->b, 0);
}

static void shorter_messages_and_empty_ones(struct row *row) {
  ERROR(error);
  const void *got;
  int64_t step, size;
  assert_false(dtr_transport_peek(&row->b, 2, &step, &size));
  assert_int_equal(dtr_transport_send(&row->a, 2, 5, "abc", 3, &error), DTR_TRANSFER_DONE);
  assert_int_equal(dtr_transport_send(&row->a, 3, 6, NULL, 0, &error), DTR_TRANSFER_DONE);
  settle(row);
  assert_true(dtr_transport_peek(&row->b, 2, &step, &size));
  assert_int_equal(step, 5);
  assert_int_equal(size, 3);
  assert_int_equal(dtr_transport_receive(&row->b, 2, 5, 3, &got, &error), DTR_TRANSFER_DONE);
  assert_memory_equal(got, "abc", 3);
  assert_false(dtr_transport_peek(&row->b, 2, &step, &size));
  assert_int_equal(dtr_transport_receive(&row->b, 3, 6, 0, &got, &error), DTR_TRANSFER_DONE);
  dtr_transport_release(&row->b, 3);
  dtr_transport_release(&row->b, 2);
}

static void a_message_is_withdrawn_or_received(struct row *row) {
  ERROR(error);
  int64_t first = 1, second = 2, step, size;
  const void *got;
  assert_false(dtr_transport_withdraw(&row->a, 0)); /* there is none */
  assert_int_equal(dtr_transport_send(&row->a, 0, 1, &first, 8, &error), DTR_TRANSFER_DONE);
  assert_true(dtr_transport_withdraw(&row->a, 0));
  assert_int_equal(dtr_transport_sent(&row->a, 0), DTR_TRANSFER_DONE);
  assert_int_equal(dtr_transport_send(&row->a, 0, 2, &second, 8, &error), DTR_TRANSFER_DONE);
  settle(row); /* the first must not come after all */
  assert_true(dtr_transport_peek(&row->b, 0, &step, &size));
  assert_int_equal(step, 2);
  assert_int_equal(dtr_transport_receive(&row->b, 0, 2, 8, &got, &error), DTR_TRANSFER_DONE);
  assert_memory_equal(got, &second, 8);
  if (!row->is_tcp)                                   /* which learns of it with its return only */
    assert_false(dtr_transport_withdraw(&row->a, 0)); /* too late */
  dtr_transport_release(&row->b, 0);
  settle(row);
  assert_int_equal(dtr_transport_traffic(&row->a, 0).messages, 1);
  assert_int_equal(dtr_transport_traffic(&row->a, 0).bytes, 8);
}

static void offer(struct row *row, int64_t step, const int64_t *value) {
  ERROR(error);
  assert_int_equal(dtr_transport_send(&row->a, 0, step, value, 8, &error), DTR_TRANSFER_DONE);
}

static void expect(struct row *row, int64_t step, int64_t value) {
  ERROR(error);
  const void *got;
  assert_int_equal(dtr_transport_receive(&row->b, 0, step, 8, &got, &error), DTR_TRANSFER_DONE);
  assert_memory_equal(got, &value, 8);
}

static void expect_nothing(struct row *row) {
  ERROR(error);
  int64_t step, size;
  const void *got;
  assert_false(dtr_transport_peek(&row->b, 0, &step, &size));
  assert_int_equal(dtr_transport_receive(&row->b, 0, 7, 8, &got, &error), DTR_TRANSFER_PENDING);
}

/* The receiver is reset first: what comes from before is refused, and counted once. */
static void older_generations_are_refused(struct row *row) {
  static const int64_t old = 41, new = 42;
  offer(row, 7, &old);
  dtr_transport_reset(&row->b, 0, 1);
  settle(row);
  expect_nothing(row);
  dtr_transport_reset(&row->a, 0, 1);
  offer(row, 7, &new);
  settle(row);
  expect(row, 7, new);
  dtr_transport_release(&row->b, 0);
  settle(row);
  assert_int_equal(dtr_transport_refused(&row->b), 1);
  assert_int_equal(dtr_transport_refused(&row->a), 0);
}

/* The sender is reset first: its edge is free at once, and what it sends waits for the receiver. */
static void newer_generations_wait(struct row *row) {
  ERROR(error);
  static const int64_t old = 41, new = 42, newest = 43;
  offer(row, 7, &old);
  settle(row);
  expect(row, 7, old); /* and it is never given back */
  dtr_transport_reset(&row->a, 0, 3);
  assert_int_equal(dtr_transport_sent(&row->a, 0), DTR_TRANSFER_DONE);
  offer(row, 7, &new);
  settle(row);
  expect_nothing(row);
  assert_int_equal(dtr_transport_send(&row->a, 0, 8, &newest, 8, &error), DTR_TRANSFER_PENDING);
  dtr_transport_reset(&row->b, 0, 3);
  settle(row);
  expect(row, 7, new);
  dtr_transport_release(&row->b, 0);
  settle(row);
  offer(row, 8, &newest);
  settle(row);
  expect(row, 8, newest);
  dtr_transport_release(&row->b, 0);
  settle(row);
  assert_int_equal(dtr_transport_refused(&row->b), 0);
}

static void edges_must_join_ends(struct row *row) {
  static const struct dtr_edge wrong[] = {{0, 2, 8, false}, {2, 1, 8, false}};
  for (size_t i = 0; i < 2; i++) {
    ERROR(error);
    struct dtr_loop *loop;
    struct dtr_sim_net *net;
    if (row->is_tcp)
      assert_null(open_net(0, &wrong[i], 1, &error));
    else
      assert_false(row->network ? dtr_sim_net_new(&row->world, row->network, ENDS, tasks, &wrong[i],
                                                  1, &net, &error)
                                : dtr_loop_new(ENDS, &wrong[i], 1, &loop, &error));
    assert_int_equal(error.status, DTR_STATUS_BUG);
  }
}

static void an_event_before_the_wait_ends_it(struct row *row) {
  ERROR(error);
  int64_t value = 1;
  dtr_transport_progress(&row->b, 0);
  assert_int_equal(dtr_transport_send(&row->a, 0, 0, &value, 8, &error), DTR_TRANSFER_DONE);
  dtr_transport_wait(&row->b, INT64_MAX);
  dtr_transport_progress(&row->b, 0);
  dtr_transport_wait(&row->b, 1); /* long past, or soon */
}

enum { STEPS = 500 };

/* Both ends on one thread, each doing what it can: numbers go out, (n, 2 n) comes back. */
struct talk {
  int64_t asked, answered, heard;
  int64_t question, pair[2];
};

static bool ask(struct row *row, struct talk *talk, struct dtr_error *error) {
  const void *got;
  if (talk->heard < talk->asked) {
    if (dtr_transport_receive(&row->a, 1, talk->heard, 16, &got, error) != DTR_TRANSFER_DONE)
      return false;
    assert_memory_equal(got, (&(int64_t[2]){3 * talk->heard, 6 * talk->heard}), 16);
    dtr_transport_release(&row->a, 1);
    talk->heard++;
    return true;
  }
  if (talk->asked == STEPS || dtr_transport_sent(&row->a, 0) != DTR_TRANSFER_DONE)
    return false;
  talk->question = 3 * talk->asked;
  assert_int_equal(dtr_transport_send(&row->a, 0, talk->asked, &talk->question, 8, error),
                   DTR_TRANSFER_DONE);
  talk->asked++;
  return true;
}

static bool answer(struct row *row, struct talk *talk, struct dtr_error *error) {
  const void *got;
  if (dtr_transport_sent(&row->b, 1) != DTR_TRANSFER_DONE ||
      dtr_transport_receive(&row->b, 0, talk->answered, 8, &got, error) != DTR_TRANSFER_DONE)
    return false;
  memcpy(talk->pair, got, 8);
  talk->pair[1] = 2 * talk->pair[0];
  dtr_transport_release(&row->b, 0);
  assert_int_equal(dtr_transport_send(&row->b, 1, talk->answered, talk->pair, 16, error),
                   DTR_TRANSFER_DONE);
  talk->answered++;
  return true;
}

static void two_ends_talk(struct row *row) {
  ERROR(error);
  struct talk talk = {0};
  while (talk.heard < STEPS) {
    bool moved = ask(row, &talk, &error);
    moved = answer(row, &talk, &error) || moved;
    assert_false(dtr_error_is_set(&error));
    if (moved)
      continue;
    if (row->is_tcp) {
      settle(row);
      continue;
    }
    assert_non_null(row->net); /* on the loop, somebody can always go on */
    assert_true(dtr_sim_net_next(row->net) != INT64_MAX);
    row->world.now = dtr_sim_net_next(row->net);
    dtr_sim_net_advance(row->net);
  }
  settle(row);
  assert_int_equal(dtr_transport_traffic(&row->a, 0).messages, STEPS);
  assert_int_equal(dtr_transport_traffic(&row->b, 1).bytes, 16 * STEPS);
  assert_int_equal(dtr_transport_sent(&row->a, 0), DTR_TRANSFER_DONE);
  assert_int_equal(dtr_transport_sent(&row->b, 1), DTR_TRANSFER_DONE);
}

static void (*const cases[])(struct row *) = {one_message_at_a_time,
                                              what_the_plan_does_not_name_is_refused,
                                              shorter_messages_and_empty_ones,
                                              a_message_is_withdrawn_or_received,
                                              older_generations_are_refused,
                                              newer_generations_wait,
                                              edges_must_join_ends,
                                              an_event_before_the_wait_ends_it,
                                              two_ends_talk};

static void on_row(const char *name, const struct dtr_sim_network *network, uint64_t seed) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct row row = {.name = name, .network = network, .world = {.seed = seed}};
    open_row(&row);
    cases[i](&row);
    close_row(&row);
  }
}

static void the_loop_conforms(void **state) {
  (void)state;
  on_row("loop", NULL, 0);
}

static void connections_conform(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct row row = {.name = "tcp", .is_tcp = true};
    open_row(&row);
    cases[i](&row);
    close_row(&row);
  }
}

static void a_calm_network_conforms(void **state) {
  (void)state;
  on_row("calm", &calm, 1);
}

static void a_rough_network_conforms(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    print_message("seed %llu\n", (unsigned long long)seed);
    on_row("rough", &rough, seed);
  }
}

/* ---- what only the simulated network does ---- */

static struct row simulated(const struct dtr_sim_network *network, uint64_t seed) {
  return (struct row){.name = "sim", .network = network, .world = {.seed = seed}};
}

/* When everything that `a` has sent on edge `edge` has arrived. */
static int64_t time_of(const struct dtr_sim_network *network, uint64_t seed, uint32_t edge,
                       int64_t size) {
  ERROR(error);
  char bytes[64] = {0};
  struct row row = simulated(network, seed);
  open_row(&row);
  dtr_transport_send(&row.a, edge, 0, bytes, size, &error);
  settle(&row);
  int64_t time = row.world.now;
  close_row(&row);
  return time;
}

static void time_is_latency_and_bandwidth(void **state) {
  (void)state;
  static const struct dtr_sim_network slow = {.latency = 1000, .bytes_per_second = 1000000000};
  assert_int_equal(time_of(&calm, 1, 0, 8), 1000);
  assert_int_equal(time_of(&slow, 1, 0, 8), 1008);
  assert_int_equal(time_of(&slow, 1, 2, 64), 1064);
}

static void a_partition_holds_messages(void **state) {
  (void)state;
  static const struct dtr_sim_partition parts[] = {
      {.a = 1, .b = DTR_SIM_ANY, .from = 700, .until = 2000000},
      {.a = 0, .b = 1, .from = 2000000, .until = 3000000}};
  static const struct dtr_sim_network network = {
      .latency = 1000, .partitions = parts, .partition_count = 2};
  assert_int_equal(time_of(&network, 1, 0, 8), 3000000);
}

static void a_seed_is_a_run(void **state) {
  (void)state;
  bool differs = false;
  for (uint64_t seed = 1; seed < 20; seed++) {
    assert_int_equal(time_of(&rough, seed, 0, 8), time_of(&rough, seed, 0, 8));
    differs = differs || time_of(&rough, seed, 0, 8) != time_of(&rough, seed + 1, 0, 8);
  }
  assert_true(differs);
}

static void edges_overtake_each_other(void **state) {
  (void)state;
  bool before = false, after = false;
  static const struct dtr_sim_network network = {.latency = 10, .jitter = 1000};
  for (uint64_t seed = 1; seed < 50; seed++) {
    ERROR(error);
    int64_t value = 0, step, size;
    struct row row = simulated(&network, seed);
    open_row(&row);
    dtr_transport_send(&row.a, 0, 0, &value, 8, &error);
    dtr_transport_send(&row.a, 3, 0, NULL, 0, &error);
    row.world.now = dtr_sim_net_next(row.net);
    dtr_sim_net_advance(row.net);
    *(dtr_transport_peek(&row.b, 0, &step, &size) ? &before : &after) = true;
    settle(&row);
    close_row(&row);
  }
  assert_true(before && after);
}

/* Broken connections: copies are made, and none is delivered twice. */
static void copies_are_recognised(void **state) {
  (void)state;
  ERROR(error);
  struct row row = simulated(&rough, 3);
  open_row(&row);
  two_ends_talk(&row);
  struct dtr_sim_net_counts counts = dtr_sim_net_counts(row.net);
  assert_int_equal(counts.messages, 2 * STEPS);
  assert_true(counts.broken > 0 && counts.duplicates > 0 && counts.stalled > 0 && counts.held > 0);
  assert_int_equal(counts.lost, 0);
  close_row(&row);
}

static void who_breaks_the_rules_is_named(void **state) {
  (void)state;
  ERROR(error);
  int64_t value = 5;
  const void *got;
  struct row row = simulated(&calm, 1);
  open_row(&row);
  dtr_transport_send(&row.a, 0, 9, &value, 8, &error);
  settle(&row);
  dtr_transport_receive(&row.b, 0, 9, 8, &got, &error);
  value = 6;
  dtr_transport_release(&row.b, 0);
  assert_string_equal(dtr_sim_net_violation(row.net),
                      "end 0 wrote to what it had sent on edge 0 in step 9");
  dtr_sim_net_free(row.net);

  open_row(&row);
  dtr_transport_release(&row.b, 0);
  assert_string_equal(dtr_sim_net_violation(row.net),
                      "end 1 gives back edge 0, which it has not taken");
  dtr_sim_net_free(row.net);

  open_row(&row);
  dtr_transport_wait(&row.b, INT64_MAX);
  assert_string_equal(dtr_sim_net_violation(row.net), "end 1 waits for ever");
  dtr_sim_net_free(row.net);
}

static void what_is_given_back_is_poisoned(void **state) {
  (void)state;
  ERROR(error);
  float value = 5, after;
  struct row row = simulated(&calm, 1);
  const void *got;
  open_row(&row);
  dtr_transport_send(&row.a, 2, 0, &value, 4, &error);
  settle(&row);
  assert_int_equal(dtr_transport_receive(&row.b, 2, 0, 4, &got, &error), DTR_TRANSFER_DONE);
  dtr_transport_release(&row.b, 2);
  memcpy(&after, got, sizeof after);
  assert_true(after != after);
  settle(&row);
  close_row(&row);
}

/* A crashed sender's message arrives or not; a crashed receiver's sender is never stuck. */
static void a_crash_loses_messages(void **state) {
  (void)state;
  bool arrived = false, lost = false;
  for (uint64_t seed = 1; seed < 40; seed++) {
    ERROR(error);
    int64_t value = 0, step, size;
    struct row row = simulated(&calm, seed);
    open_row(&row);
    dtr_transport_send(&row.a, 0, 0, &value, 8, &error);
    dtr_sim_net_crash(row.net, 0);
    settle(&row);
    *(dtr_transport_peek(&row.b, 0, &step, &size) ? &arrived : &lost) = true;
    dtr_transport_send(&row.b, 1, 0, (char[16]){0}, 16, &error);
    settle(&row);
    assert_int_equal(dtr_transport_sent(&row.b, 1), DTR_TRANSFER_DONE);
    close_row(&row);
  }
  assert_true(arrived && lost);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_loop_conforms),
      cmocka_unit_test(connections_conform),
      cmocka_unit_test(a_calm_network_conforms),
      cmocka_unit_test(a_rough_network_conforms),
      cmocka_unit_test(time_is_latency_and_bandwidth),
      cmocka_unit_test(a_partition_holds_messages),
      cmocka_unit_test(a_seed_is_a_run),
      cmocka_unit_test(edges_overtake_each_other),
      cmocka_unit_test(copies_are_recognised),
      cmocka_unit_test(who_breaks_the_rules_is_named),
      cmocka_unit_test(what_is_given_back_is_poisoned),
      cmocka_unit_test(a_crash_loses_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
