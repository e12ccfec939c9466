/* Connections in their handshake: strangers who knock, and those that this task dials. */
#include "runtime/control/control_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int64_t longest_handshake = INT64_C(5) * 1000000000;
enum { FOR_CONTROL = UINT32_MAX };

static uint64_t tag_of(const struct dtr_control *control, const struct dtr_line *line) {
  return DTR_TAG_FIRST + control->options.task_count + (uint64_t)(line - control->lines);
}

static struct dtr_hello own_hello(const struct dtr_control *control) {
  const struct dtr_control_options *options = &control->options;
  struct dtr_hello hello = {
      .run = options->run, .task = options->task, .incarnation = options->incarnation};
  snprintf(hello.plan, sizeof hello.plan, "%s", options->plan_id);
  options->env->random(options->env->context, hello.nonce, sizeof hello.nonce);
  return hello;
}

/* ---- who is welcome ---- */

static const char *name_of(const struct dtr_control *control, uint32_t task) {
  return task < control->options.task_count ? control->options.names[task] : "no task of the plan";
}

static bool same_run(const struct dtr_control *control, const struct dtr_hello *hello, char *text,
                     size_t size) {
  const struct dtr_control_options *options = &control->options;
  if (strncmp(hello->plan, options->plan_id, DTR_PLAN_BYTES) != 0) {
    snprintf(text, size, "the plan ids differ: %s has %.12s, %s has %.12s",
             name_of(control, hello->task), hello->plan, options->names[options->task],
             options->plan_id);
    return false;
  }
  if (hello->run != options->run) {
    snprintf(text, size, "the runs differ: %s is of run %016llx, %s of run %016llx",
             name_of(control, hello->task), (unsigned long long)hello->run,
             options->names[options->task], (unsigned long long)options->run);
    return false;
  }
  return true;
}

static bool right_names(const struct dtr_control *control, const struct dtr_hello *hello,
                        char *text, size_t size) {
  const struct dtr_control_options *options = &control->options;
  if (hello->task == options->task) {
    snprintf(text, size, "two processes are %s", name_of(control, hello->task));
    return false;
  }
  if (hello->peer != options->task) {
    snprintf(text, size, "it looks for %s, and this is %s", name_of(control, hello->peer),
             options->names[options->task]);
    return false;
  }
  if (hello->task >= options->task_count || !options->peers[hello->task]) {
    snprintf(text, size, "%s has nothing to do with task %u", options->names[options->task],
             hello->task);
    return false;
  }
  return true;
}

static bool admit_control(struct dtr_control *control, const struct dtr_hello *hello, char *text,
                          size_t size) {
  struct dtr_peer *peer = &control->peers[hello->task];
  if (peer->is_up) /* its end may not have been noticed yet */
    dtr_peer_read(control, hello->task);
  if (peer->is_up) {
    snprintf(text, size, "two processes are %s", name_of(control, hello->task));
    return false;
  }
  if (hello->incarnation <= peer->fenced) {
    snprintf(text, size, "%s had lost this process of %s, and goes on without it",
             control->options.names[control->options.task], name_of(control, hello->task));
    return false;
  }
  return true;
}

static bool admit_data(struct dtr_control *control, const struct dtr_hello *hello, char *text,
                       size_t size) {
  const struct dtr_peer *peer = &control->peers[hello->task];
  if (!peer->is_up || peer->incarnation != hello->incarnation ||
      hello->peer_incarnation != control->options.incarnation) {
    snprintf(text, size, "data of %s comes before its control connection",
             name_of(control, hello->task));
    return false;
  }
  for (uint32_t i = 0; i < control->options.pair_count; i++) {
    const struct dtr_control_pair *pair = &control->options.pairs[i];
    if (pair->task == hello->task && pair->end == hello->other && pair->other == hello->end)
      return true;
  }
  snprintf(text, size, "the plan has no connection between ends %u and %u", hello->end,
           hello->other);
  return false;
}

static bool admit_guest(void *context, const struct dtr_hello *hello, char *text, size_t size) {
  struct dtr_control *control = context;
  if (!same_run(control, hello, text, size) || !right_names(control, hello, text, size))
    return false;
  if (hello->task < control->options.task) {
    snprintf(text, size, "%s is dialed by %s, not the other way round",
             name_of(control, hello->task), control->options.names[control->options.task]);
    return false;
  }
  return hello->kind == DTR_HELLO_CONTROL ? admit_control(control, hello, text, size)
                                          : admit_data(control, hello, text, size);
}

/* Who listens must be whom this task has dialed. */
static bool admit_listener(void *context, const struct dtr_hello *hello, char *text, size_t size) {
  struct dtr_control *control = context;
  if (!same_run(control, hello, text, size) || !right_names(control, hello, text, size))
    return false;
  const struct dtr_peer *peer = &control->peers[hello->task];
  if (hello->kind == DTR_HELLO_CONTROL && hello->incarnation <= peer->fenced) {
    snprintf(text, size, "%s had lost this process of %s, and goes on without it",
             control->options.names[control->options.task], name_of(control, hello->task));
    return false;
  }
  return true;
}

/* ---- opening and closing ---- */

static void end_line(struct dtr_control *control, struct dtr_line *line) {
  dtr_control_close(control, &line->socket);
}

static struct dtr_line *free_guest(struct dtr_control *control) {
  struct dtr_line *oldest = &control->lines[0];
  for (uint32_t i = 0; i < DTR_CONTROL_GUESTS; i++) {
    if (control->lines[i].socket < 0)
      return &control->lines[i];
    if (control->lines[i].order < oldest->order)
      oldest = &control->lines[i];
  }
  control->strays++;
  end_line(control, oldest);
  return oldest;
}

static void begin(struct dtr_control *control, struct dtr_line *line, bool is_dialing) {
  line->is_dialing = is_dialing;
  line->wants_write = false;
  line->deadline = control->now + longest_handshake;
  line->order = control->orders++;
  line->handshake = (struct dtr_handshake){.own = own_hello(control),
                                           .context = control,
                                           .admit = is_dialing ? admit_listener : admit_guest};
  if (control->options.secret)
    memcpy(line->handshake.secret, control->options.secret, DTR_SECRET_BYTES);
}

void dtr_lines_accept(struct dtr_control *control) {
  const struct dtr_env *env = control->options.env;
  char from[80];
  int socket;
  while ((socket = env->socket_accept(env->context, control->listener, from, sizeof from)) >= 0) {
    struct dtr_line *line = free_guest(control);
    line->socket = socket;
    line->is_connecting = false;
    line->task = UINT32_MAX;
    line->pair = FOR_CONTROL;
    snprintf(line->from, sizeof line->from, "%s", from);
    begin(control, line, false);
    dtr_handshake_begin(&line->handshake, false);
    dtr_control_watch(control, socket, false, tag_of(control, line));
  }
  /* Out of descriptors: those in their handshake end soon. */
  if (socket == -EMFILE || socket == -ENFILE || socket == -ENOBUFS || socket == -ENOMEM) {
    control->accept_at = control->now + 100000000;
    env->poll_set(env->context, control->poll, control->listener, 0, DTR_TAG_LISTENER);
  }
}

static void remember(struct dtr_control *control, const struct dtr_line *line, const char *why) {
  struct dtr_peer *peer = &control->peers[line->task];
  if (!peer->is_up)
    snprintf(peer->reason, sizeof peer->reason, "%s", why);
}

/* Tried again, later each time. */
static void retry(struct dtr_control *control, struct dtr_line *line, const char *why) {
  struct dtr_peer *peer = &control->peers[line->task];
  remember(control, line, why);
  if (line->pair == FOR_CONTROL) {
    peer->is_dialed = false;
    peer->dial_at = control->now + peer->patience;
    peer->patience = 2 * peer->patience > 500000000 ? 500000000 : 2 * peer->patience;
  } else {
    control->pair_is_dialed[line->pair] = false;
    control->pair_dial_at[line->pair] = control->now + 50000000;
  }
  end_line(control, line);
}

static struct dtr_line *free_dialing(struct dtr_control *control) {
  for (uint32_t i = DTR_CONTROL_GUESTS; i < control->line_count; i++)
    if (control->lines[i].socket < 0)
      return &control->lines[i];
  return NULL;
}

void dtr_line_dial(struct dtr_control *control, uint32_t task, uint32_t pair) {
  const struct dtr_control_options *options = &control->options;
  char host[DTR_HOST_BYTES], from[DTR_HOST_BYTES];
  int port, own_port;
  struct dtr_line *line = free_dialing(control);
  if (!line || !dtr_address_split(options->addresses[task], host, &port))
    return;
  line->task = task;
  line->pair = pair;
  bool has_own = options->addresses[options->task] &&
                 dtr_address_split(options->addresses[options->task], from, &own_port);
  int socket =
      options->env->socket_connect(options->env->context, host, port, has_own ? from : NULL);
  if (pair == FOR_CONTROL)
    control->peers[task].is_dialed = true;
  else
    control->pair_is_dialed[pair] = true;
  line->socket = -1;
  if (socket < 0) {
    retry(control, line, dtr_env_error_text(socket));
    return;
  }
  line->socket = socket;
  line->is_connecting = true;
  snprintf(line->from, sizeof line->from, "%s", options->names[task]);
  begin(control, line, true);
  struct dtr_hello *own = &line->handshake.own;
  own->kind = pair == FOR_CONTROL ? DTR_HELLO_CONTROL : DTR_HELLO_DATA;
  own->peer = task;
  if (pair != FOR_CONTROL) {
    own->peer_incarnation = control->peers[task].incarnation;
    own->end = options->pairs[pair].end;
    own->other = options->pairs[pair].other;
  }
  dtr_handshake_begin(&line->handshake, true);
  dtr_control_watch(control, socket, true, tag_of(control, line));
}

void dtr_lines_forget(struct dtr_control *control, uint32_t task) {
  for (uint32_t i = DTR_CONTROL_GUESTS; i < control->line_count; i++)
    if (control->lines[i].socket >= 0 && control->lines[i].task == task)
      end_line(control, &control->lines[i]);
  control->peers[task].is_dialed = false;
}

/* ---- moving on ---- */

static void hand_over_data(struct dtr_control *control, const struct dtr_hello *own, int socket) {
  const struct dtr_control_events *events = control->options.events;
  for (uint32_t i = 0; i < control->options.pair_count; i++) {
    const struct dtr_control_pair *pair = &control->options.pairs[i];
    if (pair->task == own->peer && pair->end == own->end && pair->other == own->other) {
      events->data(events->context, pair, socket);
      return;
    }
  }
}

static void finish(struct dtr_control *control, struct dtr_line *line) {
  const struct dtr_env *env = control->options.env;
  const struct dtr_hello *theirs = &line->handshake.theirs;
  int socket = line->socket;
  line->socket = -1;
  env->poll_set(env->context, control->poll, socket, 0, 0);
  if (line->handshake.own.kind == DTR_HELLO_DATA) {
    hand_over_data(control, &line->handshake.own, socket);
    return;
  }
  if (control->peers[theirs->task].is_up) { /* another was faster */
    env->file_close(env->context, socket);
    return;
  }
  control->peers[theirs->task].is_dialed = false;
  dtr_peer_open(control, theirs->task, socket, theirs->incarnation);
}

static void stop(struct dtr_control *control, struct dtr_line *line) {
  const struct dtr_control_events *events = control->options.events;
  struct dtr_handshake *handshake = &line->handshake;
  bool by_peer = handshake->state == DTR_HANDSHAKE_REFUSED;
  control->strays += !line->is_dialing;
  if (handshake->state == DTR_HANDSHAKE_GARBAGE) {
    if (line->is_dialing)
      retry(control, line, "it answers with what is no word of the protocol");
    else
      end_line(control, line);
    return;
  }
  /* A data connection may come too early or too late: that is no enmity. */
  bool is_fatal = line->is_dialing && line->pair == FOR_CONTROL;
  bool is_data = handshake->own.kind == DTR_HELLO_DATA || handshake->theirs.kind == DTR_HELLO_DATA;
  char text[DTR_REFUSAL_BYTES];
  snprintf(text, sizeof text, "%s", handshake->text);
  char who[80];
  snprintf(who, sizeof who, "%s", line->from);
  if (line->is_dialing)
    retry(control, line, text);
  else
    end_line(control, line);
  if (!is_data || is_fatal)
    events->refused(events->context, who, text, is_fatal);
  (void)by_peer;
}

static bool is_stopped(const struct dtr_line *line) {
  enum dtr_handshake_state state = line->handshake.state;
  return state == DTR_HANDSHAKE_GARBAGE || state == DTR_HANDSHAKE_REFUSED ||
         (state == DTR_HANDSHAKE_REFUSING && line->handshake.output_count == 0);
}

static void break_off(struct dtr_control *control, struct dtr_line *line, const char *why) {
  if (line->is_dialing) {
    retry(control, line, why);
    return;
  }
  control->strays++;
  end_line(control, line);
}

/* False: not now, or it is over. */
static bool write_some(struct dtr_control *control, struct dtr_line *line) {
  const struct dtr_env *env = control->options.env;
  struct dtr_handshake *handshake = &line->handshake;
  while (handshake->output_count > 0) {
    struct iovec part = {handshake->output, handshake->output_count};
    int64_t written = env->socket_write(env->context, line->socket, &part, 1);
    if (written == -EAGAIN)
      return false;
    if (written < 0) {
      break_off(control, line, dtr_env_error_text((int)written));
      return false;
    }
    dtr_handshake_sent(handshake, (size_t)written);
  }
  return true;
}

static bool read_some(struct dtr_control *control, struct dtr_line *line) {
  const struct dtr_env *env = control->options.env;
  unsigned char bytes[DTR_HANDSHAKE_ROOM];
  size_t wants = dtr_handshake_wants(&line->handshake);
  if (wants == 0)
    return false;
  int64_t count = env->socket_read(env->context, line->socket, bytes, wants);
  if (count == -EAGAIN)
    return false;
  if (count <= 0) {
    break_off(control, line,
              count == 0 ? "it closed the connection" : dtr_env_error_text((int)count));
    return false;
  }
  dtr_handshake_input(&line->handshake, bytes, (size_t)count);
  return true;
}

void dtr_line_move(struct dtr_control *control, struct dtr_line *line) {
  const struct dtr_env *env = control->options.env;
  if (line->socket < 0)
    return;
  if (line->is_connecting) {
    int status = env->socket_status(env->context, line->socket);
    if (status < 0) {
      retry(control, line, dtr_env_error_text(status));
      return;
    }
    line->is_connecting = false;
  }
  bool again = true;
  while (again && line->socket >= 0) {
    bool written = write_some(control, line);
    if (line->socket < 0)
      return;
    if (line->handshake.state == DTR_HANDSHAKE_DONE && written) {
      finish(control, line);
      return;
    }
    if (is_stopped(line)) {
      stop(control, line);
      return;
    }
    again = read_some(control, line);
  }
  if (line->socket >= 0)
    dtr_control_watch(control, line->socket, line->handshake.output_count > 0,
                      tag_of(control, line));
}

int64_t dtr_lines_expire(struct dtr_control *control) {
  int64_t next = INT64_MAX;
  for (uint32_t i = 0; i < control->line_count; i++) {
    struct dtr_line *line = &control->lines[i];
    if (line->socket < 0)
      continue;
    if (line->deadline <= control->now)
      break_off(control, line, "it does not answer");
    else if (line->deadline < next)
      next = line->deadline;
  }
  return next;
}
