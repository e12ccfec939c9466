/* Two control channels on one thread, over the loopback interface: how they meet, part and refuse;
 * and a thousand strangers. */
#include "runtime/control/control.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { TASKS = 2 };

struct side {
  struct dtr_control *control;
  struct dtr_control_events events;
  bool is_present, is_fatal;
  uint64_t incarnation;
  int data, farewell;
  char lost[160], refused[256], message[64];
};

static void present(void *context, uint32_t task, uint64_t incarnation) {
  struct side *side = context;
  (void)task;
  side->is_present = true;
  side->incarnation = incarnation;
}
static void lost(void *context, uint32_t task, uint64_t incarnation, const char *why) {
  struct side *side = context;
  (void)task;
  (void)incarnation;
  side->is_present = false;
  snprintf(side->lost, sizeof side->lost, "%s", why);
}
static void silent(void *context, uint32_t task, int64_t since) {
  (void)context;
  (void)task;
  (void)since;
}
static void message(void *context, uint32_t from, const void *bytes, size_t size) {
  struct side *side = context;
  (void)from;
  snprintf(side->message, sizeof side->message, "%.*s", (int)size, (const char *)bytes);
}
static void bye(void *context, uint32_t task, int exit_status) {
  (void)task;
  ((struct side *)context)->farewell = exit_status;
}
static void data(void *context, const struct dtr_control_pair *pair, int socket) {
  struct side *side = context;
  (void)pair;
  assert_int_equal(side->data, -1);
  side->data = socket;
}
static void refused(void *context, const char *who, const char *why, bool is_fatal) {
  struct side *side = context;
  (void)who;
  side->is_fatal = side->is_fatal || is_fatal;
  snprintf(side->refused, sizeof side->refused, "%s", why);
}

struct cluster {
  struct side sides[TASKS];
  int listeners[TASKS];
  char addresses[TASKS][64];
  const char *list[TASKS];
};

struct differences {
  const char *plan;
  uint64_t run, incarnation;
  const unsigned char *secret;
  uint32_t task; /* who it says it is */
};

static void listen_all(struct cluster *cluster) {
  const struct dtr_env *env = dtr_env_real();
  memset(cluster, 0, sizeof *cluster);
  for (uint32_t t = 0; t < TASKS; t++) {
    cluster->listeners[t] = env->socket_listen(env->context, "127.0.0.1", 0);
    assert_true(cluster->listeners[t] >= 0);
    snprintf(cluster->addresses[t], sizeof cluster->addresses[t], "127.0.0.1:%d",
             env->socket_port(env->context, cluster->listeners[t]));
    cluster->list[t] = cluster->addresses[t];
  }
}

static void start(struct cluster *cluster, uint32_t t, const struct differences *as) {
  static const char *const names[TASKS] = {"ps/0", "worker/0"};
  static const bool peers[TASKS][TASKS] = {{false, true}, {true, false}};
  static const struct dtr_control_pair pairs[TASKS] = {{0, 1, 1}, {1, 0, 0}};
  struct side *side = &cluster->sides[t];
  struct dtr_error error;
  dtr_error_clear(&error);
  *side = (struct side){.data = -1, .farewell = -1};
  side->events = (struct dtr_control_events){.context = side,
                                             .present = present,
                                             .lost = lost,
                                             .silent = silent,
                                             .message = message,
                                             .bye = bye,
                                             .data = data,
                                             .refused = refused};
  const struct dtr_control_options options = {.env = dtr_env_real(),
                                              .plan_id = as->plan ? as->plan : "0123456789abcdef",
                                              .run = as->run ? as->run : 7,
                                              .incarnation = as->incarnation ? as->incarnation : 1,
                                              .task = t,
                                              .task_count = TASKS,
                                              .names = names,
                                              .addresses = cluster->list,
                                              .peers = peers[t],
                                              .listener = cluster->listeners[t],
                                              .secret = as->secret,
                                              .pairs = &pairs[t],
                                              .pair_count = 1,
                                              .events = &side->events};
  assert_true(dtr_control_new(&options, &side->control, &error));
}

static void turn(struct cluster *cluster) {
  for (uint32_t t = 0; t < TASKS; t++)
    if (cluster->sides[t].control)
      dtr_control_poll(cluster->sides[t].control, dtr_env_now(dtr_env_real()));
}

/* Polls both until the condition holds. */
#define AWAIT(cluster, condition)              \
  for (int turns = 0; !(condition); turns++) { \
    assert_true(turns < 2000000);              \
    turn(cluster);                             \
  }

static void stop(struct cluster *cluster, uint32_t t) {
  dtr_control_free(cluster->sides[t].control);
  cluster->sides[t].control = NULL;
  if (cluster->sides[t].data >= 0)
    close(cluster->sides[t].data);
  cluster->sides[t].data = -1;
}

static const struct differences none = {0};

static void two_tasks_meet_and_part(void **state) {
  (void)state;
  struct cluster cluster;
  struct side *ps = &cluster.sides[0], *worker = &cluster.sides[1];
  static const unsigned char secret[DTR_SECRET_BYTES] = {1, 2, 3};
  const struct differences both = {.secret = secret};
  listen_all(&cluster);
  start(&cluster, 0, &both);
  start(&cluster, 1, &both);
  AWAIT(&cluster, ps->data >= 0 && worker->data >= 0);
  assert_true(ps->is_present && worker->is_present);
  assert_int_equal(write(ps->data, "x", 1), 1); /* the two ends of one connection */
  char byte = 0;
  AWAIT(&cluster, read(worker->data, &byte, 1) == 1);
  assert_int_equal(byte, 'x');
  assert_true(dtr_control_send(ps->control, 1, "hello", 5));
  AWAIT(&cluster, strcmp(worker->message, "hello") == 0);
  assert_false(dtr_control_is_quiet(ps->control));
  dtr_control_bye(worker->control, 3);
  AWAIT(&cluster, ps->farewell == 3);
  dtr_control_bye(ps->control, 0);
  AWAIT(&cluster, dtr_control_is_quiet(ps->control) && dtr_control_is_quiet(worker->control));
  stop(&cluster, 0);
  turn(&cluster);
  assert_string_equal(worker->lost, ""); /* it has said goodbye */
  stop(&cluster, 1);
}

static void a_task_is_lost_and_another_takes_its_place(void **state) {
  (void)state;
  struct cluster cluster;
  struct side *ps = &cluster.sides[0], *worker = &cluster.sides[1];
  listen_all(&cluster);
  start(&cluster, 0, &none);
  start(&cluster, 1, &none);
  AWAIT(&cluster, ps->data >= 0 && worker->data >= 0);
  stop(&cluster, 1);
  AWAIT(&cluster, ps->lost[0]);
  assert_string_equal(ps->lost, "it closed the connection");
  close(ps->data);
  ps->data = -1;
  /* The same start of it is fenced, a later one is not. */
  cluster.listeners[1] = dtr_env_real()->socket_listen(NULL, "127.0.0.1", 0);
  start(&cluster, 1, &none);
  AWAIT(&cluster, worker->is_fatal);
  assert_string_equal(worker->refused,
                      "ps/0 had lost this process of worker/0, and goes on without it");
  stop(&cluster, 1);
  cluster.listeners[1] = dtr_env_real()->socket_listen(NULL, "127.0.0.1", 0);
  start(&cluster, 1, &(struct differences){.incarnation = 2});
  AWAIT(&cluster, ps->data >= 0 && worker->data >= 0);
  assert_int_equal(ps->incarnation, 2);
  stop(&cluster, 0);
  stop(&cluster, 1);
}

static void expect_refusal(const struct differences *as, const char *text) {
  struct cluster cluster;
  struct side *ps = &cluster.sides[0], *worker = &cluster.sides[1];
  listen_all(&cluster);
  start(&cluster, 0, &none);
  start(&cluster, 1, as);
  AWAIT(&cluster, worker->is_fatal && ps->refused[0]);
  assert_string_equal(ps->refused, text);
  assert_string_equal(worker->refused, text);
  assert_false(ps->is_present || worker->is_present || ps->is_fatal);
  stop(&cluster, 0);
  stop(&cluster, 1);
}

static void who_does_not_belong_is_refused_by_both(void **state) {
  (void)state;
  static const unsigned char secret[DTR_SECRET_BYTES] = {1, 2, 3};
  expect_refusal(&(struct differences){.plan = "fedcba9876543210"},
                 "the plan ids differ: worker/0 has fedcba987654, ps/0 has 0123456789ab");
  expect_refusal(&(struct differences){.run = 8},
                 "the runs differ: worker/0 is of run 0000000000000008, ps/0 of run "
                 "0000000000000007");
  expect_refusal(&(struct differences){.secret = secret}, "the cluster secret is another");
}

static void two_processes_are_not_one_task(void **state) {
  (void)state;
  struct cluster cluster;
  struct side *ps = &cluster.sides[0], *worker = &cluster.sides[1];
  listen_all(&cluster);
  start(&cluster, 0, &none);
  start(&cluster, 1, &none);
  AWAIT(&cluster, ps->data >= 0 && worker->data >= 0);
  struct dtr_control *first = worker->control;
  int first_data = worker->data;
  cluster.listeners[1] = dtr_env_real()->socket_listen(NULL, "127.0.0.1", 0);
  start(&cluster, 1, &(struct differences){.incarnation = 9});
  AWAIT(&cluster, worker->is_fatal);
  assert_string_equal(worker->refused, "two processes are worker/0");
  assert_string_equal(ps->lost, "");
  stop(&cluster, 1);
  dtr_control_free(first);
  close(first_data);
  stop(&cluster, 0);
}

static int dial(const struct cluster *cluster) {
  char host[DTR_HOST_BYTES];
  int port;
  assert_true(dtr_address_split(cluster->list[0], host, &port));
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, host, &to.sin_addr);
  int made = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(made, (struct sockaddr *)&to, sizeof to), 0);
  return made;
}

/* Noise, silence, half a hello, a hello and then noise; some stay, some leave at once. */
static void a_thousand_strangers_disturb_nobody(void **state) {
  (void)state;
  enum { STRANGERS = 1000, STAYING = 100 };
  unsigned seed = 20261201;
  struct cluster cluster;
  struct side *ps = &cluster.sides[0], *worker = &cluster.sides[1];
  int staying[STAYING];
  print_message("seed %u\n", seed);
  srand(seed);
  listen_all(&cluster);
  start(&cluster, 0, &none);
  for (int i = 0; i < STRANGERS; i++) {
    unsigned char bytes[400];
    int stranger = dial(&cluster);
    for (size_t b = 0; b < sizeof bytes; b++)
      bytes[b] = (unsigned char)rand();
    struct dtr_hello hello = {.kind = DTR_HELLO_CONTROL, .run = 7, .task = 1, .incarnation = 3};
    snprintf(hello.plan, sizeof hello.plan, "0123456789abcdef");
    if (i % 3 == 0)
      dtr_hello_pack(&hello, bytes);
    size_t size = (size_t)rand() % (sizeof bytes + 1);
    if (write(stranger, bytes, size) < 0)
      print_message("stranger %d is gone\n", i);
    if (i < STAYING)
      staying[i] = stranger;
    else
      close(stranger);
    turn(&cluster);
  }
  start(&cluster, 1, &none);
  AWAIT(&cluster, ps->data >= 0 && worker->data >= 0);
  AWAIT(&cluster, dtr_control_strays(ps->control) >= STRANGERS - STAYING);
  assert_string_equal(ps->lost, "");
  for (int i = 0; i < STAYING; i++)
    close(staying[i]);
  AWAIT(&cluster, dtr_control_strays(ps->control) == STRANGERS);
  stop(&cluster, 0);
  stop(&cluster, 1);
}

static void expect_no_listening(const char *address, const char *message_text) {
  static const bool peers[TASKS] = {false, true};
  static const char *const names[TASKS] = {"ps/0", "worker/0"};
  const char *addresses[TASKS] = {address, "127.0.0.1:1"};
  struct dtr_control *control;
  struct dtr_error error;
  dtr_error_clear(&error);
  const struct dtr_control_options options = {.env = dtr_env_real(),
                                              .plan_id = "p",
                                              .task_count = TASKS,
                                              .names = names,
                                              .addresses = addresses,
                                              .peers = peers,
                                              .listener = -1};
  assert_false(dtr_control_new(&options, &control, &error));
  assert_string_equal(error.message, message_text);
  assert_int_equal(error.status, DTR_STATUS_CONFIG);
}

static void an_address_must_be_free_and_here(void **state) {
  (void)state;
  struct cluster cluster;
  char text[160];
  listen_all(&cluster);
  snprintf(text, sizeof text, "ps/0 cannot listen at %s: another process does", cluster.list[0]);
  expect_no_listening(cluster.list[0], text);
  expect_no_listening("192.0.2.1:4000",
                      "ps/0 cannot listen at 192.0.2.1:4000: the address is not this host's");
  expect_no_listening("no.such.host.invalid:4000",
                      "ps/0 cannot listen at no.such.host.invalid:4000: the host name does not "
                      "resolve");
  close(cluster.listeners[0]);
  close(cluster.listeners[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_tasks_meet_and_part),
      cmocka_unit_test(a_task_is_lost_and_another_takes_its_place),
      cmocka_unit_test(who_does_not_belong_is_refused_by_both),
      cmocka_unit_test(two_processes_are_not_one_task),
      cmocka_unit_test(a_thousand_strangers_disturb_nobody),
      cmocka_unit_test(an_address_must_be_free_and_here),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
