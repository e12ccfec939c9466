/* What the launcher hands down, and what can be wrong with it. */
#include "runtime/start/inherit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const struct dtr_job jobs[] = {{.name = "ps", .tasks = 1}, {.name = "worker", .tasks = 1}};
static const struct dtr_replication plan = {.job_count = 2, .jobs = jobs};

struct variables {
  const char *listen, *addresses, *generation;
};

static const char *lookup(void *context, const char *name) {
  const struct variables *variables = context;
  return strcmp(name, "DTG_LISTEN_FD") == 0    ? variables->listen
         : strcmp(name, "DTG_ADDRESSES") == 0  ? variables->addresses
         : strcmp(name, "DTG_GENERATION") == 0 ? variables->generation
                                               : NULL;
}

static bool read_them(const struct variables *variables, struct dtr_inherit *inherit,
                      struct dtr_error *error) {
  struct dtr_env env = *dtr_env_real();
  env.context = (void *)variables;
  env.variable = lookup;
  dtr_error_clear(error);
  return dtr_inherit_read(&env, &plan, inherit, error);
}

static void without_a_launcher_there_is_nothing(void **state) {
  (void)state;
  struct dtr_inherit inherit;
  struct dtr_error error;
  assert_true(read_them(&(struct variables){NULL, "", "3"}, &inherit, &error));
  assert_int_equal(inherit.socket, -1);
  assert_int_equal(inherit.generation, 0);
  assert_null(inherit.addresses);
}

static void a_launcher_hands_down_socket_addresses_and_generation(void **state) {
  (void)state;
  char number[16];
  struct dtr_inherit inherit;
  struct dtr_error error;
  int listening = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(listen(listening, 1), 0);
  snprintf(number, sizeof number, "%d", listening);
  assert_true(
      read_them(&(struct variables){number, "127.0.0.1:7,127.0.0.1:8", "2"}, &inherit, &error));
  assert_int_equal(inherit.socket, listening);
  assert_int_equal(inherit.generation, 2);
  assert_int_equal(inherit.address_count, 2);
  assert_string_equal(inherit.addresses[1], "127.0.0.1:8");
  dtr_inherit_free(&inherit);
  close(listening);
}

static void mistakes_are_named(void **state) {
  (void)state;
  char listens[16], silent[16];
  int listening = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
  char silent_message[96];
  assert_int_equal(listen(listening, 1), 0);
  snprintf(listens, sizeof listens, "%d", listening);
  snprintf(silent, sizeof silent, "%d", other);
  snprintf(silent_message, sizeof silent_message,
           "DTG_LISTEN_FD is %d, which is no listening socket", other);
  const struct {
    struct variables variables;
    const char *message;
  } cases[] = {
      {{listens, NULL, NULL}, "the environment has DTG_LISTEN_FD and no DTG_ADDRESSES"},
      {{NULL, "a:1,b:2", NULL}, "the environment has DTG_ADDRESSES and no DTG_LISTEN_FD"},
      {{"three", "a:1,b:2", NULL}, "DTG_LISTEN_FD is `three`, which is no number from 0"},
      {{"99999999999", "a:1,b:2", NULL},
       "DTG_LISTEN_FD is `99999999999`, which is no number from 0"},
      {{silent, "a:1,b:2", NULL}, silent_message},
      {{listens, "a:1", NULL}, "DTG_ADDRESSES has 1 addresses, and the plan has 2 tasks"},
      {{listens, "a:1,b:2", "-1"}, "DTG_GENERATION is `-1`, which is no number from 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct dtr_inherit inherit;
    struct dtr_error error;
    assert_false(read_them(&cases[i].variables, &inherit, &error));
    assert_string_equal(error.message, cases[i].message);
    assert_int_equal(error.status, DTR_STATUS_CONFIG);
  }
  close(listening);
  close(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_launcher_there_is_nothing),
      cmocka_unit_test(a_launcher_hands_down_socket_addresses_and_generation),
      cmocka_unit_test(mistakes_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
