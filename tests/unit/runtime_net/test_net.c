/* What only connections have: chunks that take turns, messages taken back half-way, peers that send
 * what they must not, and peers that are gone. */
#include "runtime/net/frame.h"
#include "runtime/net/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 9 * DTR_NET_CHUNK + 77, ENDS = 2, EDGES = 3 };
static const struct dtr_edge edges[EDGES] = {
    {0, 1, LARGE, false}, {0, 1, 8, true}, {1, 0, 16, false}};
static const uint32_t tasks[ENDS] = {0, 1};

struct pair {
  struct dtr_net *nets[ENDS];
  struct dtr_endpoint a, b;
  char why[128]; /* b's connection ended */
};

static void broken(void *context, uint32_t task, const char *why) {
  struct pair *pair = context;
  (void)task;
  snprintf(pair->why, sizeof pair->why, "%s", why);
}

static struct dtr_net *open_net(struct pair *pair, uint32_t task) {
  struct dtr_net *net;
  struct dtr_error error;
  const struct dtr_net_options options = {.env = dtr_env_real(),
                                          .task = task,
                                          .ends = ENDS,
                                          .tasks = tasks,
                                          .edges = edges,
                                          .edge_count = EDGES,
                                          .context = pair,
                                          .broken = task == 1 ? broken : NULL};
  dtr_error_clear(&error);
  assert_true(dtr_net_new(&options, &net, &error));
  return net;
}

static void join(struct pair *pair) {
  int sockets[ENDS];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
  for (uint32_t task = 0; task < ENDS; task++)
    dtr_net_connect(pair->nets[task], task, 1 - task, sockets[task]);
}

static void open_pair(struct pair *pair) {
  *pair = (struct pair){0};
  for (uint32_t task = 0; task < ENDS; task++)
    pair->nets[task] = open_net(pair, task);
  pair->a = dtr_net_endpoint(pair->nets[0], 0);
  pair->b = dtr_net_endpoint(pair->nets[1], 1);
}

static void close_pair(struct pair *pair) {
  dtr_net_free(pair->nets[0]);
  dtr_net_free(pair->nets[1]);
}

static void move(struct pair *pair) {
  dtr_transport_progress(&pair->a, 0);
  dtr_transport_progress(&pair->b, 0);
}

static char *large(int seed) {
  char *bytes = malloc(LARGE);
  for (int i = 0; i < LARGE; i++)
    bytes[i] = (char)(i * 31 + i / 1000 + seed);
  return bytes;
}

static const void *take(struct pair *pair, uint32_t edge, int64_t step, int64_t size) {
  struct dtr_error error;
  const void *got = NULL;
  int turns = 0;
  dtr_error_clear(&error);
  while (dtr_transport_receive(&pair->b, edge, step, size, &got, &error) == DTR_TRANSFER_PENDING) {
    move(pair);
    assert_true(turns++ < 10000);
  }
  assert_false(dtr_error_is_set(&error));
  return got;
}

static void send_ok(const struct dtr_endpoint *end, uint32_t edge, int64_t step, const void *bytes,
                    int64_t size) {
  struct dtr_error error;
  dtr_error_clear(&error);
  assert_int_equal(dtr_transport_send(end, edge, step, bytes, size, &error), DTR_TRANSFER_DONE);
}

/* What is sent before there is a connection waits for it; a small message passes a large one. */
static void large_messages_let_small_ones_pass(void **state) {
  (void)state;
  struct pair pair;
  struct dtr_error error;
  const void *got;
  int64_t step, size;
  char *bytes = large(1);
  open_pair(&pair);
  dtr_error_clear(&error);
  send_ok(&pair.a, 0, 5, bytes, LARGE);
  send_ok(&pair.a, 1, 5, "small", 5);
  join(&pair);
  got = take(&pair, 1, 5, 5);
  assert_memory_equal(got, "small", 5);
  assert_false(dtr_transport_peek(&pair.b, 0, &step, &size));
  got = take(&pair, 0, 5, LARGE);
  assert_memory_equal(got, bytes, LARGE);
  assert_int_equal(dtr_transport_sent(&pair.a, 0), DTR_TRANSFER_PENDING);
  dtr_transport_release(&pair.b, 0);
  move(&pair);
  move(&pair);
  assert_int_equal(dtr_transport_sent(&pair.a, 0), DTR_TRANSFER_DONE);
  free(bytes);
  close_pair(&pair);
}

/* The sender's memory is its own again at once, although a chunk was half written. */
static void a_message_is_taken_back_half_way(void **state) {
  (void)state;
  struct pair pair;
  char *first = large(1), *second = large(2);
  open_pair(&pair);
  join(&pair);
  dtr_transport_progress(&pair.a, 0);
  send_ok(&pair.a, 0, 5, first, LARGE);
  dtr_transport_progress(&pair.a, 0);
  dtr_transport_progress(&pair.b, 0);
  assert_true(dtr_transport_withdraw(&pair.a, 0));
  memset(first, 'x', LARGE);
  send_ok(&pair.a, 0, 6, second, LARGE);
  assert_memory_equal(take(&pair, 0, 6, LARGE), second, LARGE);
  assert_int_equal(dtr_transport_traffic(&pair.a, 0).messages, 1);
  assert_string_equal(pair.why, "");
  free(first);
  free(second);
  close_pair(&pair);
}

/* The same by a reset of the sender; the receiver still holds the message before. */
static void a_reset_waits_for_who_holds_a_message(void **state) {
  (void)state;
  struct pair pair;
  char *first = large(1), *second = large(2);
  open_pair(&pair);
  join(&pair);
  send_ok(&pair.a, 0, 5, first, LARGE);
  const void *held = take(&pair, 0, 5, LARGE);
  dtr_transport_reset(&pair.a, 0, 2);
  send_ok(&pair.a, 0, 5, second, LARGE);
  for (int i = 0; i < 50; i++)
    move(&pair);
  assert_memory_equal(held, first, LARGE); /* nothing writes on what is taken */
  dtr_transport_reset(&pair.b, 0, 2);
  assert_memory_equal(take(&pair, 0, 5, LARGE), second, LARGE);
  free(first);
  free(second);
  close_pair(&pair);
}

static void the_lost_get_nothing(void **state) {
  (void)state;
  struct pair pair;
  char *bytes = large(1);
  open_pair(&pair);
  join(&pair);
  move(&pair);
  send_ok(&pair.a, 0, 5, bytes, LARGE);
  dtr_net_lose(pair.nets[0], 1);
  dtr_transport_progress(&pair.a, 0);
  assert_int_equal(dtr_transport_sent(&pair.a, 0), DTR_TRANSFER_DONE);
  send_ok(&pair.a, 0, 6, bytes, LARGE); /* vanishes */
  assert_int_equal(dtr_transport_sent(&pair.a, 0), DTR_TRANSFER_DONE);
  for (int i = 0; i < 50; i++) /* what had come before, and the end */
    dtr_transport_progress(&pair.b, 0);
  assert_string_equal(pair.why, "it closed the connection");
  /* Both come back: a new generation on a new connection. */
  for (uint32_t edge = 0; edge < EDGES; edge++) {
    dtr_transport_reset(&pair.a, edge, 2);
    dtr_transport_reset(&pair.b, edge, 2);
  }
  send_ok(&pair.a, 0, 7, bytes, LARGE);
  join(&pair);
  assert_memory_equal(take(&pair, 0, 7, LARGE), bytes, LARGE);
  free(bytes);
  close_pair(&pair);
}

/* ---- peers that break the rules ---- */

static const struct dtr_net_frame good = {
    .kind = DTR_NET_FRAME_CHUNK, .edge = 1, .sequence = 1, .step = 3, .size = 4, .length = 4};

/* What b says of a peer that sends `size` bytes. */
static void hear(struct pair *pair, const void *bytes, size_t size) {
  int sockets[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
  open_pair(pair);
  dtr_net_connect(pair->nets[1], 1, 0, sockets[1]);
  assert_int_equal(write(sockets[0], bytes, size), size);
  for (int i = 0; i < 4; i++)
    dtr_transport_progress(&pair->b, 0);
  close(sockets[0]);
}

static void expect_end(struct dtr_net_frame frame, const char *why) {
  struct pair pair;
  unsigned char bytes[DTR_NET_FRAME_BYTES + 4] = {0};
  dtr_net_frame_pack(&frame, bytes);
  hear(&pair, bytes, sizeof bytes);
  assert_string_equal(pair.why, why);
  assert_int_equal(dtr_net_violations(pair.nets[1]), why[0] != '\0');
  close_pair(&pair);
}

static void whoever_breaks_the_plan_is_left(void **state) {
  (void)state;
  struct dtr_net_frame frame = good;
  static const char unplanned[] = "it sent a message that the plan does not name";
  expect_end(frame, "");
  frame.edge = 2; /* it leads the other way */
  expect_end(frame, unplanned);
  frame.edge = 77;
  expect_end(frame, unplanned);
  frame = good;
  frame.size = 9;
  expect_end(frame, unplanned);
  frame = good;
  frame.edge = 0; /* too small for that edge */
  expect_end(frame, unplanned);
  frame = good;
  frame.offset = 2;
  expect_end(frame, "it sent what is no frame");
  frame = (struct dtr_net_frame){
      .kind = DTR_NET_FRAME_CHUNK, .edge = 0, .size = LARGE, .offset = DTR_NET_CHUNK, .length = 4};
  expect_end(frame, "the parts of a message do not fit together");
  frame = (struct dtr_net_frame){.kind = DTR_NET_FRAME_RELEASE, .edge = 0};
  expect_end(frame, "it gave back what was not sent");
  frame = good;
  frame.length = INT64_MAX;
  expect_end(frame, "it sent what is no frame");
  frame.length = -1;
  expect_end(frame, "it sent what is no frame");
}

/* Frames with one field spoilt, and plain noise: never more than an end of the connection. */
static void noise_ends_a_connection_at_most(void **state) {
  (void)state;
  unsigned seed = 20261201;
  print_message("seed %u\n", seed);
  srand(seed);
  for (int round = 0; round < 400; round++) {
    struct pair pair;
    unsigned char bytes[6 * (DTR_NET_FRAME_BYTES + 4)];
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (unsigned char)rand();
    for (int f = 0; f < 6 && round % 4 != 0; f++) {
      unsigned char *at = bytes + f * (DTR_NET_FRAME_BYTES + 4);
      struct dtr_net_frame frame = good;
      frame.sequence = (uint32_t)f;
      frame.edge = (uint32_t)(rand() % 4);
      dtr_net_frame_pack(&frame, at);
      if (rand() % 3 == 0)
        at[rand() % DTR_NET_FRAME_BYTES] ^= (unsigned char)(1 << rand() % 8);
    }
    hear(&pair, bytes, sizeof bytes);
    close_pair(&pair);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_messages_let_small_ones_pass),
      cmocka_unit_test(a_message_is_taken_back_half_way),
      cmocka_unit_test(a_reset_waits_for_who_holds_a_message),
      cmocka_unit_test(the_lost_get_nothing),
      cmocka_unit_test(whoever_breaks_the_plan_is_left),
      cmocka_unit_test(noise_ends_a_connection_at_most),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
