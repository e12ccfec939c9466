#include "runtime/control/control_parts.h"

#include "runtime/control/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 64, FOR_CONTROL = UINT32_MAX };
static const int64_t heartbeat = 500000000, silence = INT64_C(2000000000),
                     first_patience = 20000000;

bool dtr_address_split(const char *address, char *host, int *port) {
  const char *colon = strrchr(address, ':');
  char *end;
  if (!colon || colon == address || colon[1] < '0' || colon[1] > '9')
    return false;
  long number = strtol(colon + 1, &end, 10);
  const char *first = address;
  size_t length = (size_t)(colon - address);
  if (first[0] == '[' && colon[-1] == ']') { /* "[::1]:2222" */
    first++;
    length -= 2;
  }
  if (*end || number > 65535 || length == 0 || length >= DTR_HOST_BYTES)
    return false;
  memcpy(host, first, length);
  host[length] = '\0';
  *port = (int)number;
  return true;
}

void dtr_control_close(const struct dtr_control *control, int *socket) {
  const struct dtr_env *env = control->options.env;
  if (*socket < 0)
    return;
  env->poll_set(env->context, control->poll, *socket, 0, 0);
  env->file_close(env->context, *socket);
  *socket = -1;
}

void dtr_control_watch(const struct dtr_control *control, int socket, bool writes, uint64_t tag) {
  const struct dtr_env *env = control->options.env;
  env->poll_set(env->context, control->poll, socket, DTR_POLL_READ | (writes ? DTR_POLL_WRITE : 0u),
                tag);
}

/* ---- making ---- */

static bool explain_listen(const struct dtr_control_options *options, const char *address,
                           int result, struct dtr_error *error) {
  const char *name = options->names[options->task];
  if (result == -EADDRINUSE) {
    dtr_error_set(error, DTR_STATUS_CONFIG, "%s cannot listen at %s: another process does", name,
                  address);
    return dtr_error_hint(error, "end the process that uses the port, or name another port in the "
                                 "cluster's addresses");
  }
  if (result == -EADDRNOTAVAIL) {
    dtr_error_set(error, DTR_STATUS_CONFIG,
                  "%s cannot listen at %s: the address is not this host's", name, address);
    return dtr_error_hint(error,
                          "start %s on the host that has the address, or correct the "
                          "cluster's addresses",
                          name);
  }
  dtr_error_set(error, DTR_STATUS_CONFIG, "%s cannot listen at %s: %s", name, address,
                dtr_env_error_text(result));
  return dtr_error_hint(error, "an address is \"HOST:PORT\", with a host that this machine knows");
}

static bool listen_here(struct dtr_control *control, struct dtr_error *error) {
  const struct dtr_control_options *options = &control->options;
  const struct dtr_env *env = options->env;
  const char *address = options->addresses[options->task];
  char host[DTR_HOST_BYTES];
  int port, result;
  if (options->listener >= 0) {
    control->listener = options->listener;
    result = env->socket_adopt(env->context, options->listener);
    return result >= 0 || explain_listen(options, address, result, error);
  }
  result = dtr_address_split(address, host, &port) ? env->socket_listen(env->context, host, port)
                                                   : -DTR_NO_SUCH_HOST;
  if (result < 0)
    return explain_listen(options, address, result, error);
  control->listener = result;
  return true;
}

static bool make_tables(struct dtr_control *control) {
  const struct dtr_control_options *options = &control->options;
  size_t tasks = options->task_count, pairs = options->pair_count;
  control->line_count = (uint32_t)(DTR_CONTROL_GUESTS + tasks + pairs);
  control->peers = calloc(tasks + 1, sizeof *control->peers);
  control->lines = calloc(control->line_count, sizeof *control->lines);
  control->pair_is_dialed = calloc(pairs + 1, sizeof *control->pair_is_dialed);
  control->pair_dial_at = calloc(pairs + 1, sizeof *control->pair_dial_at);
  if (!control->peers || !control->lines || !control->pair_is_dialed || !control->pair_dial_at)
    return false;
  for (uint32_t i = 0; i < control->line_count; i++)
    control->lines[i].socket = -1;
  for (uint32_t t = 0; t < tasks; t++) {
    struct dtr_peer *peer = &control->peers[t];
    peer->socket = -1;
    peer->patience = first_patience;
    if (!options->peers[t])
      continue;
    snprintf(peer->reason, sizeof peer->reason, "it has not been heard of");
    peer->output = malloc(DTR_CONTROL_OUTPUT);
    if (!peer->output)
      return false;
  }
  return true;
}

static bool make_poll(struct dtr_control *control, struct dtr_error *error) {
  const struct dtr_env *env = control->options.env;
  control->poll = env->poll_new(env->context);
  control->alarm = control->poll < 0 ? control->poll : env->alarm_new(env->context);
  int result = control->alarm;
  if (result >= 0)
    result =
        env->poll_set(env->context, control->poll, control->alarm, DTR_POLL_READ, DTR_TAG_ALARM);
  return result >= 0 ||
         dtr_error_system(error, DTR_STATUS_IO, result, "connections cannot be watched");
}

bool dtr_control_new(const struct dtr_control_options *options, struct dtr_control **control,
                     struct dtr_error *error) {
  struct dtr_control *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the control channel");
  made->options = *options;
  made->listener = made->poll = made->alarm = -1;
  made->accept_at = INT64_MAX;
  made->now = dtr_env_now(options->env);
  pthread_mutex_init(&made->lock, NULL);
  bool good =
      make_tables(made) || dtr_error_memory(error, options->task_count, "the control channel");
  if (!good || !make_poll(made, error) || !listen_here(made, error)) {
    dtr_control_free(made);
    return false;
  }
  options->env->poll_set(options->env->context, made->poll, made->listener, DTR_POLL_READ,
                         DTR_TAG_LISTENER);
  *control = made;
  return true;
}

void dtr_control_free(struct dtr_control *control) {
  if (!control)
    return;
  for (uint32_t i = 0; control->lines && i < control->line_count; i++)
    dtr_control_close(control, &control->lines[i].socket);
  for (uint32_t t = 0; control->peers && t < control->options.task_count; t++) {
    dtr_control_close(control, &control->peers[t].socket);
    free(control->peers[t].output);
  }
  dtr_control_close(control, &control->listener);
  dtr_control_close(control, &control->alarm);
  if (control->poll >= 0)
    control->options.env->file_close(control->options.env->context, control->poll);
  pthread_mutex_destroy(&control->lock);
  free(control->peers);
  free(control->lines);
  free(control->pair_is_dialed);
  free(control->pair_dial_at);
  free(control);
}

/* ---- what is due ---- */

static int64_t sooner(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t beat(struct dtr_control *control, uint32_t task) {
  const struct dtr_control_events *events = control->options.events;
  struct dtr_peer *peer = &control->peers[task];
  if (peer->beaten + heartbeat <= control->now) {
    peer->beaten = control->now;
    dtr_peer_put(control, task, DTR_CONTROL_HEARTBEAT, NULL, 0);
  }
  if (peer->heard + silence <= control->now) {
    peer->is_silent = true;
    events->silent(events->context, task, peer->heard);
  }
  dtr_peer_write(control, task);
  return sooner(peer->beaten + heartbeat, peer->is_silent ? INT64_MAX : peer->heard + silence);
}

static int64_t dial(struct dtr_control *control, uint32_t task) {
  struct dtr_peer *peer = &control->peers[task];
  if (!dtr_control_dials(control, task) || peer->is_dialed || control->is_ending)
    return INT64_MAX;
  if (peer->dial_at <= control->now)
    dtr_line_dial(control, task, FOR_CONTROL);
  return peer->is_dialed ? INT64_MAX : peer->dial_at;
}

static int64_t dial_data(struct dtr_control *control) {
  int64_t next = INT64_MAX;
  for (uint32_t i = 0; i < control->options.pair_count; i++) {
    uint32_t task = control->options.pairs[i].task;
    if (!dtr_control_dials(control, task) || !control->peers[task].is_up ||
        control->pair_is_dialed[i] || control->is_ending)
      continue;
    if (control->pair_dial_at[i] <= control->now)
      dtr_line_dial(control, task, i);
    if (!control->pair_is_dialed[i])
      next = sooner(next, control->pair_dial_at[i]);
  }
  return next;
}

static void look_for_drops(struct dtr_control *control) {
  for (uint32_t t = 0; t < control->options.task_count; t++) {
    char why[sizeof control->peers[t].dropped] = "";
    pthread_mutex_lock(&control->lock);
    if (control->peers[t].is_dropped)
      memcpy(why, control->peers[t].dropped, sizeof why);
    control->peers[t].is_dropped = false;
    pthread_mutex_unlock(&control->lock);
    if (why[0]) {
      dtr_peer_read(control, t); /* what it has said before, a farewell perhaps */
      dtr_peer_lose(control, t, why);
    }
  }
}

static int64_t accept_again(struct dtr_control *control) {
  const struct dtr_env *env = control->options.env;
  if (control->accept_at > control->now)
    return control->accept_at;
  control->accept_at = INT64_MAX;
  env->poll_set(env->context, control->poll, control->listener, DTR_POLL_READ, DTR_TAG_LISTENER);
  return INT64_MAX;
}

static void take_event(struct dtr_control *control, const struct dtr_poll_event *event) {
  const struct dtr_env *env = control->options.env;
  uint32_t tasks = control->options.task_count;
  if (event->tag == DTR_TAG_ALARM) {
    env->alarm_clear(env->context, control->alarm);
  } else if (event->tag == DTR_TAG_LISTENER) {
    dtr_lines_accept(control);
  } else if (event->tag < DTR_TAG_FIRST + tasks) {
    uint32_t task = (uint32_t)event->tag - DTR_TAG_FIRST;
    if (event->events & DTR_POLL_READ)
      dtr_peer_read(control, task);
    if (event->events & DTR_POLL_WRITE)
      dtr_peer_write(control, task);
  } else {
    dtr_line_move(control, &control->lines[event->tag - DTR_TAG_FIRST - tasks]);
  }
}

int64_t dtr_control_poll(struct dtr_control *control, int64_t now) {
  const struct dtr_env *env = control->options.env;
  struct dtr_poll_event events[EVENTS];
  control->now = now;
  int count = env->poll_wait(env->context, control->poll, 0, events, EVENTS);
  for (int i = 0; i < count; i++)
    take_event(control, &events[i]);
  look_for_drops(control);
  int64_t next = sooner(accept_again(control), dtr_lines_expire(control));
  for (uint32_t t = 0; t < control->options.task_count; t++)
    next = sooner(next, control->peers[t].is_up ? beat(control, t) : dial(control, t));
  next = sooner(next, dial_data(control));
  return count == EVENTS ? now : next;
}

void dtr_control_wait(struct dtr_control *control, int64_t deadline) {
  const struct dtr_env *env = control->options.env;
  struct dtr_poll_event event;
  env->poll_wait(env->context, control->poll, deadline, &event, 1);
}

void dtr_control_wake(struct dtr_control *control) {
  control->options.env->alarm_ring(control->options.env->context, control->alarm);
}

/* ---- what the process says ---- */

void dtr_control_drop(struct dtr_control *control, uint32_t task, const char *why) {
  pthread_mutex_lock(&control->lock);
  control->peers[task].is_dropped = control->peers[task].is_up;
  snprintf(control->peers[task].dropped, sizeof control->peers[task].dropped, "%s", why);
  pthread_mutex_unlock(&control->lock);
  dtr_control_wake(control);
}

void dtr_control_bye(struct dtr_control *control, int exit_status) {
  unsigned char body[4];
  dtr_bytes_put(body, (uint64_t)exit_status, 4);
  control->is_ending = true;
  for (uint32_t t = 0; t < control->options.task_count; t++) {
    if (!control->peers[t].is_up)
      continue;
    dtr_peer_put(control, t, DTR_CONTROL_BYE, body, sizeof body);
    dtr_peer_write(control, t);
  }
}

bool dtr_control_is_quiet(const struct dtr_control *control) {
  for (uint32_t t = 0; t < control->options.task_count; t++) {
    const struct dtr_peer *peer = &control->peers[t];
    if (peer->is_up && (!peer->has_said_bye || peer->output_count > 0))
      return false;
  }
  return true;
}

bool dtr_control_is_present(const struct dtr_control *control, uint32_t task) {
  return control->peers[task].is_up;
}

const char *dtr_control_reason(const struct dtr_control *control, uint32_t task) {
  return control->peers[task].reason;
}

int64_t dtr_control_strays(const struct dtr_control *control) {
  return control->strays;
}
