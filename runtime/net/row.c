#include "runtime/net/row.h"

#include <errno.h>
#include <string.h>

enum { EVENTS = 64 };

static bool own(const struct dtr_net_end *end, uint32_t edge, bool sender,
                struct dtr_error *error) {
  const struct dtr_net_options *options = &end->net->options;
  if (edge < options->edge_count &&
      (sender ? options->edges[edge].from : options->edges[edge].to) == end->number)
    return true;
  return dtr_error_set(error, DTR_STATUS_BUG, "task %u has no edge %u to %s", end->number, edge,
                       sender ? "send on" : "receive from");
}

static bool right_size(const struct dtr_net_end *end, uint32_t edge, int64_t size,
                       struct dtr_error *error) {
  const struct dtr_edge *planned = &end->net->options.edges[edge];
  return size == planned->bytes || (planned->at_most && size >= 0 && size < planned->bytes) ||
         dtr_error_set(error, DTR_STATUS_BUG, "%lld bytes on edge %u, which is planned for %lld",
                       (long long)size, edge, (long long)planned->bytes);
}

/* ---- edges within this task: the row `loop`, and a ring for who sleeps among sockets ---- */

static void tell(struct dtr_net_end *end, uint32_t other) {
  struct dtr_net_end *to = &end->net->ends[other];
  const struct dtr_env *env = end->net->options.env;
  if (to != end && atomic_load_explicit(&to->is_asleep, memory_order_seq_cst))
    env->alarm_ring(env->context, to->alarm);
}

static bool is_local(const struct dtr_net_end *end, uint32_t edge) {
  return edge < end->net->options.edge_count && dtr_net_is_local(end->net, edge);
}

static struct dtr_out *out_of(struct dtr_net_end *end, uint32_t edge) {
  return &end->outs[end->net->slot[edge]];
}

static struct dtr_in *in_of(struct dtr_net_end *end, uint32_t edge) {
  return &end->ins[end->net->slot[edge]];
}

/* ---- sending ---- */

static enum dtr_transfer net_send(void *self, uint32_t edge, int64_t step, const void *bytes,
                                  int64_t size, struct dtr_error *error) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge)) {
    enum dtr_transfer result = dtr_transport_send(&end->loop, edge, step, bytes, size, error);
    if (result == DTR_TRANSFER_DONE)
      tell(end, end->net->options.edges[edge].to);
    return result;
  }
  if (!own(end, edge, true, error) || !right_size(end, edge, size, error))
    return DTR_TRANSFER_REFUSED;
  struct dtr_out *out = out_of(end, edge);
  struct dtr_link *link = &end->links[out->link];
  if (out->state != DTR_OUT_FREE)
    return DTR_TRANSFER_PENDING;
  if (link->state == DTR_LINK_LOST)
    return DTR_TRANSFER_DONE;
  out->state = DTR_OUT_QUEUED;
  out->sequence++;
  out->step = step;
  out->size = size;
  out->bytes = bytes;
  out->sent = 0;
  out->traffic.messages++;
  out->traffic.bytes += size;
  dtr_link_enqueue(end, link, (uint32_t)(out - end->outs));
  if (!link->wants_write)
    dtr_link_write(end, link);
  return DTR_TRANSFER_DONE;
}

static enum dtr_transfer net_sent(void *self, uint32_t edge) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge))
    return dtr_transport_sent(&end->loop, edge);
  return out_of(end, edge)->state == DTR_OUT_FREE ? DTR_TRANSFER_DONE : DTR_TRANSFER_PENDING;
}

/* The receiver may have taken it at this moment; then it gets the next one after it. */
static bool net_withdraw(void *self, uint32_t edge) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge))
    return dtr_transport_withdraw(&end->loop, edge);
  struct dtr_out *out = out_of(end, edge);
  if (out->state == DTR_OUT_FREE)
    return false;
  dtr_link_forget(end, &end->links[out->link], out);
  out->traffic.messages--;
  out->traffic.bytes -= out->size;
  return true;
}

/* ---- receiving ---- */

static bool is_visible(struct dtr_net_end *end, struct dtr_in *in) {
  if (in->state != DTR_IN_ARRIVED)
    return false;
  if (in->sent_generation < in->generation) {
    in->state = DTR_IN_FREE;
    end->refused++;
  }
  return in->state == DTR_IN_ARRIVED && in->sent_generation == in->generation;
}

static enum dtr_transfer net_receive(void *self, uint32_t edge, int64_t step, int64_t size,
                                     const void **bytes, struct dtr_error *error) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge))
    return dtr_transport_receive(&end->loop, edge, step, size, bytes, error);
  if (!own(end, edge, false, error) || !right_size(end, edge, size, error))
    return DTR_TRANSFER_REFUSED;
  struct dtr_in *in = in_of(end, edge);
  if (!is_visible(end, in))
    return DTR_TRANSFER_PENDING;
  if (in->step != step || in->size != size) {
    dtr_error_set(error, DTR_STATUS_BUG,
                  "edge %u carries step %lld in %lld bytes, step %lld in %lld was expected", edge,
                  (long long)in->step, (long long)in->size, (long long)step, (long long)size);
    return DTR_TRANSFER_REFUSED;
  }
  in->state = DTR_IN_TAKEN;
  *bytes = in->buffer;
  return DTR_TRANSFER_DONE;
}

static bool net_peek(void *self, uint32_t edge, int64_t *step, int64_t *size) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge))
    return dtr_transport_peek(&end->loop, edge, step, size);
  struct dtr_in *in = in_of(end, edge);
  if (!is_visible(end, in))
    return false;
  *step = in->step;
  *size = in->size;
  return true;
}

/* The receipt leaves with the next message to the same end, or before this one sleeps. */
static void net_release(void *self, uint32_t edge) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge)) {
    dtr_transport_release(&end->loop, edge);
    tell(end, end->net->options.edges[edge].from);
    return;
  }
  struct dtr_in *in = in_of(end, edge);
  struct dtr_link *link = &end->links[in->link];
  if (in->state != DTR_IN_TAKEN)
    return; /* reset meanwhile */
  in->state = DTR_IN_FREE;
  in->release = (struct dtr_net_frame){.kind = DTR_NET_FRAME_RELEASE,
                                       .edge = edge,
                                       .generation = in->sent_generation,
                                       .sequence = in->sequence,
                                       .step = in->step};
  if (link->state == DTR_LINK_UP && !in->is_release_due) {
    in->is_release_due = true;
    dtr_link_enqueue(end, link, end->out_count + (uint32_t)(in - end->ins));
  }
}

/* ---- generations ---- */

static void reset_out(struct dtr_net_end *end, struct dtr_out *out, uint32_t generation) {
  struct dtr_link *link = &end->links[out->link];
  if (out->state != DTR_OUT_FREE && out->generation < generation)
    dtr_link_forget(end, link, out);
  out->generation = generation;
  if (link->state == DTR_LINK_LOST)
    link->state = DTR_LINK_AWAITED;
}

static void reset_in(struct dtr_net_end *end, struct dtr_in *in, uint32_t generation) {
  struct dtr_link *link = &end->links[in->link];
  in->generation = generation;
  if (in->state == DTR_IN_FREE || in->sent_generation >= generation)
    return;
  end->refused += in->state == DTR_IN_ARRIVED;
  if (in->state == DTR_IN_ARRIVING && link->in_chunk && link->in == in)
    link->is_dropped = true;
  in->state = DTR_IN_FREE;
}

static void net_reset(void *self, uint32_t edge, uint32_t generation) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge)) {
    dtr_transport_reset(&end->loop, edge, generation);
    return;
  }
  if (end->net->options.edges[edge].from == end->number)
    reset_out(end, out_of(end, edge), generation);
  else
    reset_in(end, in_of(end, edge), generation);
}

static int64_t net_refused(void *self) {
  struct dtr_net_end *end = self;
  return end->refused + dtr_transport_refused(&end->loop);
}

static struct dtr_traffic net_traffic(void *self, uint32_t edge) {
  struct dtr_net_end *end = self;
  if (is_local(end, edge))
    return dtr_transport_traffic(&end->loop, edge);
  struct dtr_net_end *from = &end->net->ends[end->net->options.edges[edge].from];
  return from->is_here ? out_of(from, edge)->traffic : (struct dtr_traffic){0, 0};
}

/* ---- progress ---- */

/* How many events there were. */
static int look(struct dtr_net_end *end, int64_t deadline) {
  const struct dtr_env *env = end->net->options.env;
  struct dtr_poll_event events[EVENTS];
  int count = env->poll_wait(env->context, end->poll, deadline, events, EVENTS);
  for (int i = 0; i < count; i++) {
    if (events[i].tag == 0) {
      env->alarm_clear(env->context, end->alarm);
      continue;
    }
    struct dtr_link *link = &end->links[events[i].tag - 1];
    if (events[i].events & DTR_POLL_READ)
      dtr_link_read(end, link);
    if (events[i].events & DTR_POLL_WRITE)
      dtr_link_write(end, link);
  }
  return count;
}

/* A peer that answers at once is heard without a sleep. */
static bool spin(struct dtr_net_end *end) {
  const struct dtr_env *env = end->net->options.env;
  int64_t until = end->net->options.spin > 0 ? env->now(env->context) + end->net->options.spin : 0;
  while (until > 0) {
    if (dtr_loop_has_event(&end->loop) || look(end, 0) != 0)
      return true;
    if (env->now(env->context) >= until)
      break;
  }
  return false;
}

static void flush(struct dtr_net_end *end) {
  for (uint32_t i = 0; i < end->link_count; i++) {
    struct dtr_link *link = &end->links[i];
    if (link->is_parked)
      dtr_link_read(end, link);
    if (link->state == DTR_LINK_UP && !link->wants_write && !dtr_link_is_idle(link))
      dtr_link_write(end, link);
  }
}

static int64_t net_progress(void *self, int64_t now) {
  struct dtr_net_end *end = self;
  (void)now;
  dtr_transport_progress(&end->loop, 0);
  dtr_net_take_mail(end);
  flush(end);
  look(end, 0);
  return INT64_MAX;
}

/* Events of the loop row after its last progress end the wait, as those of sockets do. */
static void net_wait(void *self, int64_t deadline) {
  struct dtr_net_end *end = self;
  flush(end);
  if (spin(end))
    return;
  atomic_store_explicit(&end->is_asleep, true, memory_order_seq_cst);
  if (!dtr_loop_has_event(&end->loop) &&
      !atomic_load_explicit(&end->net->is_abandoned, memory_order_acquire))
    look(end, deadline);
  atomic_store_explicit(&end->is_asleep, false, memory_order_relaxed);
}

bool dtr_net_drain(struct dtr_net *net, uint32_t number, int64_t deadline) {
  struct dtr_net_end *end = &net->ends[number];
  const struct dtr_env *env = net->options.env;
  for (;;) {
    bool is_idle = true;
    net_progress(end, 0);
    for (uint32_t i = 0; i < end->link_count; i++)
      is_idle = is_idle && (end->links[i].state != DTR_LINK_UP || dtr_link_is_idle(&end->links[i]));
    if (is_idle || atomic_load_explicit(&net->is_abandoned, memory_order_acquire))
      return true;
    if (env->now(env->context) >= deadline)
      return false;
    net_wait(end, deadline);
  }
}

static const struct dtr_transport_row row = {.name = "tcp",
                                             .send = net_send,
                                             .sent = net_sent,
                                             .receive = net_receive,
                                             .release = net_release,
                                             .peek = net_peek,
                                             .withdraw = net_withdraw,
                                             .reset = net_reset,
                                             .refused = net_refused,
                                             .traffic = net_traffic,
                                             .progress = net_progress,
                                             .wait = net_wait};

const struct dtr_transport_row *dtr_net_row(void) {
  return &row;
}
