/* A connection's sending side: frames take turns. */
#include "runtime/net/net_parts.h"

#include <errno.h>
#include <string.h>

void dtr_link_enqueue(struct dtr_net_end *end, struct dtr_link *link, uint32_t item) {
  (void)end;
  link->queue[(link->queue_first + link->queue_count) % link->queue_room] = item;
  link->queue_count++;
}

static uint32_t dequeue(struct dtr_link *link) {
  uint32_t item = link->queue[link->queue_first];
  link->queue_first = (link->queue_first + 1) % link->queue_room;
  link->queue_count--;
  return item;
}

bool dtr_link_is_idle(const struct dtr_link *link) {
  return link->queue_count == 0 && link->header_left == 0 && link->body_left == 0;
}

static void begin_release(struct dtr_link *link, struct dtr_in *in) {
  dtr_net_frame_pack(&in->release, link->header);
  in->is_release_due = false;
  link->body_left = 0;
  link->writing = DTR_NET_NONE;
}

static void begin_chunk(struct dtr_link *link, const struct dtr_out *out, uint32_t item) {
  int64_t length = out->size - out->sent;
  if (length > DTR_NET_CHUNK)
    length = DTR_NET_CHUNK;
  struct dtr_net_frame frame = {.kind = DTR_NET_FRAME_CHUNK,
                                .edge = out->edge,
                                .generation = out->generation,
                                .sequence = out->sequence,
                                .step = out->step,
                                .size = out->size,
                                .offset = out->sent,
                                .length = length};
  dtr_net_frame_pack(&frame, link->header);
  link->body = out->bytes ? out->bytes + out->sent : NULL;
  link->body_left = length;
  link->writing = item;
}

static void begin_frame(struct dtr_net_end *end, struct dtr_link *link) {
  uint32_t item = dequeue(link);
  if (item >= end->out_count)
    begin_release(link, &end->ins[item - end->out_count]);
  else
    begin_chunk(link, &end->outs[item], item);
  link->header_left = DTR_NET_FRAME_BYTES;
}

/* The message's next chunk waits behind those of others. */
static void end_frame(struct dtr_net_end *end, struct dtr_link *link) {
  if (link->writing == DTR_NET_NONE)
    return;
  struct dtr_out *out = &end->outs[link->writing];
  int64_t length = out->size - out->sent;
  out->sent += length > DTR_NET_CHUNK ? DTR_NET_CHUNK : length;
  if (out->sent < out->size)
    dtr_link_enqueue(end, link, link->writing);
  else
    out->state = DTR_OUT_SENT;
  link->writing = DTR_NET_NONE;
}

/* False: the socket takes no more, or is gone. */
static bool write_some(struct dtr_net_end *end, struct dtr_link *link) {
  const struct dtr_env *env = end->net->options.env;
  struct iovec parts[2];
  int count = 0;
  if (link->header_left > 0)
    parts[count++] = (struct iovec){link->header + DTR_NET_FRAME_BYTES - link->header_left,
                                    (size_t)link->header_left};
  if (link->body_left > 0)
    parts[count++] = (struct iovec){(char *)link->body, (size_t)link->body_left};
  int64_t written = env->socket_write(env->context, link->socket, parts, count);
  if (written == -EAGAIN)
    return false;
  if (written < 0) {
    dtr_link_close(end, link, dtr_env_error_text((int)written));
    return false;
  }
  int64_t of_header = written < link->header_left ? written : link->header_left;
  link->header_left -= of_header;
  link->body += written - of_header;
  link->body_left -= written - of_header;
  return true;
}

void dtr_link_ask(struct dtr_net_end *end, struct dtr_link *link) {
  const struct dtr_env *env = end->net->options.env;
  unsigned events =
      (link->is_parked ? 0u : DTR_POLL_READ) | (link->wants_write ? DTR_POLL_WRITE : 0u);
  if (link->socket < 0 || link->events == events)
    return;
  link->events = events;
  env->poll_set(env->context, end->poll, link->socket, events, (uint64_t)(link - end->links) + 1);
}

void dtr_link_write(struct dtr_net_end *end, struct dtr_link *link) {
  link->wants_write = false;
  while (link->state == DTR_LINK_UP && !link->wants_write) {
    if (link->header_left == 0 && link->body_left == 0) {
      if (link->queue_count == 0)
        break;
      begin_frame(end, link);
    }
    if (!write_some(end, link))
      link->wants_write = true;
    else if (link->header_left == 0 && link->body_left == 0)
      end_frame(end, link);
  }
  dtr_link_ask(end, link);
}

static void leave_queue(struct dtr_link *link, uint32_t item) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < link->queue_count; i++) {
    uint32_t at = link->queue[(link->queue_first + i) % link->queue_room];
    if (at != item)
      link->queue[(link->queue_first + kept++) % link->queue_room] = at;
  }
  link->queue_count = kept;
}

/* A frame that has begun is finished, from a copy: the sender may write on its bytes now. */
void dtr_link_forget(struct dtr_net_end *end, struct dtr_link *link, struct dtr_out *out) {
  uint32_t item = (uint32_t)(out - end->outs);
  if (out->state == DTR_OUT_QUEUED) {
    leave_queue(link, item);
    if (link->writing == item) {
      if (link->body_left > 0)
        memcpy(link->spill, link->body, (size_t)link->body_left);
      link->body = link->spill;
      link->writing = DTR_NET_NONE;
    }
  }
  out->state = DTR_OUT_FREE;
}
