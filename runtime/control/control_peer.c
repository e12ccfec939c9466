/* A peer that has been let in: frames in both directions. */
#include "runtime/control/control_parts.h"

#include "runtime/control/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- sending ---- */

static void put_bytes(struct dtr_peer *peer, const unsigned char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    peer->output[(peer->output_first + peer->output_count + i) % DTR_CONTROL_OUTPUT] = bytes[i];
  peer->output_count += size;
}

bool dtr_peer_put(struct dtr_control *control, uint32_t task, enum dtr_control_kind kind,
                  const void *body, size_t size) {
  struct dtr_peer *peer = &control->peers[task];
  unsigned char head[DTR_CONTROL_HEAD];
  dtr_bytes_put(head, (uint64_t)kind, 4);
  dtr_bytes_put(head + 4, size, 4);
  pthread_mutex_lock(&control->lock);
  bool fits = size <= DTR_CONTROL_MESSAGE && peer->output &&
              peer->output_count + sizeof head + size <= DTR_CONTROL_OUTPUT;
  if (fits && peer->is_up) {
    put_bytes(peer, head, sizeof head);
    put_bytes(peer, body, size);
  }
  pthread_mutex_unlock(&control->lock);
  return fits;
}

bool dtr_control_send(struct dtr_control *control, uint32_t task, const void *bytes, size_t size) {
  bool good = dtr_peer_put(control, task, DTR_CONTROL_TEXT, bytes, size);
  dtr_control_wake(control);
  return good;
}

static int64_t write_some(struct dtr_control *control, struct dtr_peer *peer) {
  const struct dtr_env *env = control->options.env;
  pthread_mutex_lock(&control->lock);
  size_t count = peer->output_count, whole = DTR_CONTROL_OUTPUT - peer->output_first;
  struct iovec part = {peer->output + peer->output_first, count < whole ? count : whole};
  int64_t written = count > 0 ? env->socket_write(env->context, peer->socket, &part, 1) : 0;
  if (written > 0) {
    peer->output_first = (peer->output_first + (size_t)written) % DTR_CONTROL_OUTPUT;
    peer->output_count -= (size_t)written;
  }
  pthread_mutex_unlock(&control->lock);
  return written;
}

void dtr_peer_write(struct dtr_control *control, uint32_t task) {
  struct dtr_peer *peer = &control->peers[task];
  if (!peer->is_up)
    return;
  int64_t written;
  while ((written = write_some(control, peer)) > 0)
    ;
  if (written < 0 && written != -EAGAIN) {
    dtr_peer_lose(control, task, dtr_env_error_text((int)written));
    return;
  }
  bool waits = written == -EAGAIN;
  if (waits != peer->wants_write)
    dtr_control_watch(control, peer->socket, waits, DTR_TAG_FIRST + task);
  peer->wants_write = waits;
}

/* ---- receiving ---- */

static bool take_frame(struct dtr_control *control, uint32_t task, uint64_t kind,
                       const unsigned char *body, size_t size) {
  const struct dtr_control_events *events = control->options.events;
  struct dtr_peer *peer = &control->peers[task];
  if (kind == DTR_CONTROL_HEARTBEAT && size == 0)
    return true;
  if (kind == DTR_CONTROL_TEXT) {
    events->message(events->context, task, body, size);
    return true;
  }
  if (kind != DTR_CONTROL_BYE || size != 4)
    return false;
  peer->has_said_bye = true;
  events->bye(events->context, task, (int)(dtr_bytes_get(body, 4) & 0xFF));
  return true;
}

/* Works through whole frames. False: what came is none. */
static bool take_frames(struct dtr_control *control, uint32_t task) {
  struct dtr_peer *peer = &control->peers[task];
  size_t at = 0;
  bool good = true;
  while (good && peer->is_up && peer->input_count - at >= DTR_CONTROL_HEAD) {
    uint64_t kind = dtr_bytes_get(peer->input + at, 4),
             size = dtr_bytes_get(peer->input + at + 4, 4);
    if (size > DTR_CONTROL_MESSAGE)
      return false;
    if (peer->input_count - at < DTR_CONTROL_HEAD + size)
      break;
    good = take_frame(control, task, kind, peer->input + at + DTR_CONTROL_HEAD, size);
    at += DTR_CONTROL_HEAD + size;
  }
  if (!peer->is_up)
    return true;
  memmove(peer->input, peer->input + at, peer->input_count - at);
  peer->input_count -= at;
  return good;
}

void dtr_peer_read(struct dtr_control *control, uint32_t task) {
  const struct dtr_env *env = control->options.env;
  const struct dtr_control_events *events = control->options.events;
  struct dtr_peer *peer = &control->peers[task];
  while (peer->is_up) {
    int64_t count = env->socket_read(env->context, peer->socket, peer->input + peer->input_count,
                                     sizeof peer->input - peer->input_count);
    if (count == -EAGAIN)
      return;
    if (count <= 0) {
      dtr_peer_lose(control, task,
                    count == 0 ? "it closed the connection" : dtr_env_error_text((int)count));
      return;
    }
    peer->input_count += (size_t)count;
    peer->heard = control->now;
    if (peer->is_silent)
      events->silent(events->context, task, INT64_MAX);
    peer->is_silent = false;
    if (!take_frames(control, task)) {
      dtr_peer_lose(control, task, "it sent what is no word of the protocol");
      return;
    }
  }
}

/* ---- coming and going ---- */

void dtr_peer_open(struct dtr_control *control, uint32_t task, int socket, uint64_t incarnation) {
  const struct dtr_control_events *events = control->options.events;
  struct dtr_peer *peer = &control->peers[task];
  pthread_mutex_lock(&control->lock);
  peer->socket = socket;
  peer->is_up = true;
  peer->is_silent = peer->has_said_bye = peer->wants_write = peer->is_dropped = false;
  peer->incarnation = incarnation;
  peer->heard = peer->beaten = control->now;
  peer->input_count = peer->output_first = peer->output_count = 0;
  peer->reason[0] = '\0';
  pthread_mutex_unlock(&control->lock);
  dtr_control_watch(control, socket, false, DTR_TAG_FIRST + task);
  events->present(events->context, task, incarnation);
}

void dtr_peer_lose(struct dtr_control *control, uint32_t task, const char *why) {
  const struct dtr_control_events *events = control->options.events;
  struct dtr_peer *peer = &control->peers[task];
  if (!peer->is_up)
    return;
  pthread_mutex_lock(&control->lock);
  peer->is_up = peer->is_dropped = false;
  peer->fenced = peer->incarnation;
  peer->output_count = 0;
  snprintf(peer->reason, sizeof peer->reason, "%s", why);
  dtr_control_close(control, &peer->socket);
  pthread_mutex_unlock(&control->lock);
  dtr_lines_forget(control, task);
  for (uint32_t i = 0; i < control->options.pair_count; i++)
    if (control->options.pairs[i].task == task)
      control->pair_is_dialed[i] = false;
  peer->dial_at = control->now;
  if (!peer->has_said_bye)
    events->lost(events->context, task, peer->incarnation, peer->reason);
}
