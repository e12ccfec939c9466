/* A connection's receiving side. What the plan does not name closes it. */
#include "runtime/net/net_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void violate(struct dtr_net_end *end, struct dtr_link *link, const char *what) {
  atomic_fetch_add_explicit(&end->net->violations, 1, memory_order_relaxed);
  dtr_link_close(end, link, what);
}

/* The edge leads from the other end to this one. */
static struct dtr_in *find_in(struct dtr_net_end *end, const struct dtr_link *link, uint32_t edge) {
  const struct dtr_net_options *options = &end->net->options;
  if (edge >= options->edge_count || options->edges[edge].from != link->other ||
      options->edges[edge].to != end->number)
    return NULL;
  return &end->ins[end->net->slot[edge]];
}

static struct dtr_out *find_out(struct dtr_net_end *end, const struct dtr_link *link,
                                uint32_t edge) {
  const struct dtr_net_options *options = &end->net->options;
  if (edge >= options->edge_count || options->edges[edge].from != end->number ||
      options->edges[edge].to != link->other)
    return NULL;
  return &end->outs[end->net->slot[edge]];
}

static void take_release(struct dtr_net_end *end, struct dtr_link *link) {
  struct dtr_out *out = find_out(end, link, link->frame.edge);
  if (!out) {
    violate(end, link, "it gave back what was not sent");
    return;
  }
  if (link->frame.generation == out->generation && link->frame.sequence == out->sequence &&
      out->state == DTR_OUT_SENT)
    out->state = DTR_OUT_FREE;
}

static bool is_planned(const struct dtr_net_end *end, const struct dtr_net_frame *frame) {
  const struct dtr_edge *edge = &end->net->options.edges[frame->edge];
  return frame->size == edge->bytes || (edge->at_most && frame->size < edge->bytes);
}

/* The first chunk of a message takes the place of one that was never taken; a later one goes on. */
static bool begin_chunk(struct dtr_net_end *end, struct dtr_link *link) {
  const struct dtr_net_frame *frame = &link->frame;
  struct dtr_in *in = find_in(end, link, frame->edge);
  if (!in || !is_planned(end, frame)) {
    violate(end, link, "it sent a message that the plan does not name");
    return false;
  }
  link->in = in;
  link->chunk_left = frame->length;
  link->is_dropped = frame->generation < in->generation;
  if (link->is_dropped) {
    end->refused += frame->offset == 0;
    return true;
  }
  if (frame->offset == 0) {
    link->is_parked = in->state == DTR_IN_TAKEN;
    if (link->is_parked)
      return true;
    in->state = DTR_IN_ARRIVING;
    in->sent_generation = frame->generation;
    in->sequence = frame->sequence;
    in->step = frame->step;
    in->size = frame->size;
    in->got = 0;
  }
  if (in->state == DTR_IN_ARRIVING && frame->offset == in->got && frame->size == in->size &&
      frame->sequence == in->sequence && frame->generation == in->sent_generation)
    return true;
  violate(end, link, "the parts of a message do not fit together");
  return false;
}

static void end_chunk(struct dtr_link *link) {
  struct dtr_in *in = link->in;
  link->in_chunk = false;
  if (link->is_dropped)
    return;
  in->got += link->frame.length;
  if (in->got == in->size)
    in->state = DTR_IN_ARRIVED;
}

/* Where the next bytes of the chunk go. A reset may have come in its middle. */
static char *place(const struct dtr_link *link) {
  return link->in->buffer + link->frame.offset + link->frame.length - link->chunk_left;
}

static void consume(struct dtr_link *link, int64_t count) {
  link->input_first += count;
  link->input_count -= count;
  if (link->input_count == 0)
    link->input_first = 0;
}

/* Works through what was read. False: more is needed, or the connection stands still. */
static bool advance(struct dtr_net_end *end, struct dtr_link *link) {
  if (link->is_parked) {
    link->in_chunk = begin_chunk(end, link);
    if (link->is_parked)
      return false;
  }
  if (!link->in_chunk) {
    if (link->input_count < DTR_NET_FRAME_BYTES)
      return false;
    if (!dtr_net_frame_unpack(link->input + link->input_first, &link->frame)) {
      violate(end, link, "it sent what is no frame");
      return false;
    }
    consume(link, DTR_NET_FRAME_BYTES);
    if (link->frame.kind == DTR_NET_FRAME_RELEASE) {
      take_release(end, link);
      return link->state == DTR_LINK_UP;
    }
    link->in_chunk = begin_chunk(end, link);
    if (link->is_parked || !link->in_chunk)
      return false;
  }
  int64_t count = link->chunk_left < link->input_count ? link->chunk_left : link->input_count;
  if (count > 0 && !link->is_dropped)
    memcpy(place(link), link->input + link->input_first, (size_t)count);
  consume(link, count);
  link->chunk_left -= count;
  if (link->chunk_left > 0)
    return false;
  end_chunk(link);
  return true;
}

/* Room at the end of the input for what comes next. */
static void make_room(struct dtr_link *link) {
  if (link->input_first > 0 && link->input_count > 0)
    memmove(link->input, link->input + link->input_first, (size_t)link->input_count);
  link->input_first = 0;
}

/* Large chunks go straight to their place. */
static int64_t read_some(struct dtr_net_end *end, struct dtr_link *link, int64_t *asked) {
  const struct dtr_env *env = end->net->options.env;
  if (link->in_chunk && !link->is_dropped && link->input_count == 0 &&
      link->chunk_left >= DTR_NET_INPUT / 4) {
    *asked = link->chunk_left;
    int64_t count = env->socket_read(env->context, link->socket, place(link), (size_t)*asked);
    if (count > 0 && (link->chunk_left -= count) == 0)
      end_chunk(link);
    return count;
  }
  make_room(link);
  *asked = DTR_NET_INPUT - link->input_count;
  int64_t count =
      env->socket_read(env->context, link->socket, link->input + link->input_count, (size_t)*asked);
  if (count > 0)
    link->input_count += count;
  return count;
}

void dtr_link_read(struct dtr_net_end *end, struct dtr_link *link) {
  while (link->state == DTR_LINK_UP) {
    while (advance(end, link))
      ;
    if (link->state != DTR_LINK_UP || link->is_parked)
      break;
    int64_t asked, count = read_some(end, link, &asked);
    if (count == -EAGAIN)
      break;
    if (count <= 0) {
      dtr_link_close(end, link,
                     count == 0 ? "it closed the connection" : dtr_env_error_text((int)count));
      break;
    }
    if (count < asked) { /* there is no more now */
      while (advance(end, link))
        ;
      break;
    }
  }
  dtr_link_ask(end, link);
}
