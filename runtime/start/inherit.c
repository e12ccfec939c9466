#include "runtime/start/inherit.h"

#include "runtime/start/identity.h"
#include "runtime/start/words.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool read_number(const char *name, const char *text, int64_t most, int64_t *number,
                        struct dtr_error *error) {
  if (dtr_parse_number(text, number) && *number <= most)
    return true;
  return dtr_error_set(error, DTR_STATUS_CONFIG, "%s is `%.40s`, which is no number from 0", name,
                       text);
}

static bool read_socket(const char *text, int *socket, struct dtr_error *error) {
  int64_t number;
  int listens = 0;
  socklen_t size = sizeof listens;
  if (!read_number("DTG_LISTEN_FD", text, INT_MAX, &number, error))
    return false;
  if (getsockopt((int)number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) {
    dtr_error_set(error, DTR_STATUS_CONFIG, "DTG_LISTEN_FD is %d, which is no listening socket",
                  (int)number);
    return dtr_error_hint(error, "dtgc run --processes sets it; a program started by hand needs "
                                 "--task and --cluster instead");
  }
  *socket = (int)number;
  return true;
}

static bool take_address(struct dtr_inherit *inherit, const char *text, size_t length) {
  char *copy = strndup(text, length);
  if (copy)
    inherit->addresses[inherit->address_count++] = copy;
  return copy;
}

static bool read_addresses(const char *text, uint32_t tasks, struct dtr_inherit *inherit,
                           struct dtr_error *error) {
  uint32_t count = 1;
  if (strnlen(text, DTR_INHERIT_LIMIT) == DTR_INHERIT_LIMIT)
    return dtr_error_set(error, DTR_STATUS_CONFIG, "DTG_ADDRESSES is longer than %d bytes",
                         DTR_INHERIT_LIMIT);
  for (const char *c = text; *c; c++)
    count += *c == ',';
  if (count != tasks)
    return dtr_error_set(error, DTR_STATUS_CONFIG,
                         "DTG_ADDRESSES has %u addresses, and the plan has %u tasks", count, tasks);
  inherit->addresses = calloc(tasks, sizeof *inherit->addresses);
  if (!inherit->addresses)
    return dtr_error_memory(error, tasks * (int64_t)sizeof(char *), "the addresses");
  while (true) {
    size_t length = strcspn(text, ",");
    if (!take_address(inherit, text, length))
      return dtr_error_memory(error, (int64_t)length, "the addresses");
    if (text[length] == '\0')
      return true;
    text += length + 1;
  }
}

bool dtr_inherit_read(const struct dtr_env *env, const struct dtr_replication *replication,
                      struct dtr_inherit *inherit, struct dtr_error *error) {
  const char *listen = dtr_variable(env, "DTG_LISTEN_FD");
  const char *addresses = dtr_variable(env, "DTG_ADDRESSES");
  const char *generation = dtr_variable(env, "DTG_GENERATION");
  struct dtr_inherit got = {.socket = -1};
  bool good = true;
  if (listen || addresses) {
    if (!listen || !addresses)
      return dtr_error_set(error, DTR_STATUS_CONFIG, "the environment has %s and no %s",
                           listen ? "DTG_LISTEN_FD" : "DTG_ADDRESSES",
                           listen ? "DTG_ADDRESSES" : "DTG_LISTEN_FD");
    good = read_socket(listen, &got.socket, error) &&
           (!generation ||
            read_number("DTG_GENERATION", generation, INT64_MAX - 1, &got.generation, error)) &&
           read_addresses(addresses, dtr_plan_task_count(replication), &got, error);
  }
  if (good)
    *inherit = got;
  else
    dtr_inherit_free(&got);
  return good;
}

void dtr_inherit_free(struct dtr_inherit *inherit) {
  for (uint32_t i = 0; i < inherit->address_count; i++)
    free(inherit->addresses[i]);
  free(inherit->addresses);
  *inherit = (struct dtr_inherit){.socket = -1};
}
