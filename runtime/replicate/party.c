#include "runtime/replicate/party.h"

void dtr_party_init(struct dtr_party *party, const struct dtr_program *program,
                    const struct dtr_channels *channels, const struct dtr_endpoint *end,
                    const struct dtr_env *env, uint32_t number) {
  *party = (struct dtr_party){.program = program,
                              .map = channels->map,
                              .channels = channels,
                              .end = end,
                              .env = env,
                              .number = number,
                              .waits_for = DTR_NONE};
  dtr_error_clear(&party->error);
}

static bool outcome(struct dtr_party *party, enum dtr_transfer result, uint32_t edge,
                    int64_t step) {
  if (result == DTR_TRANSFER_DONE) {
    atomic_store_explicit(&party->waits_for, DTR_NONE, memory_order_relaxed);
    return true;
  }
  if (result == DTR_TRANSFER_REFUSED)
    return dtr_party_fail(party);
  atomic_store_explicit(&party->waits_for, edge, memory_order_relaxed);
  atomic_store_explicit(&party->waits_step, step, memory_order_relaxed);
  return false;
}

bool dtr_party_send(struct dtr_party *party, uint32_t edge, int64_t step, const void *bytes,
                    int64_t size) {
  return outcome(party, dtr_transport_send(party->end, edge, step, bytes, size, &party->error),
                 edge, step);
}

bool dtr_party_receive(struct dtr_party *party, uint32_t edge, int64_t step, int64_t size,
                       const void **bytes) {
  return outcome(party, dtr_transport_receive(party->end, edge, step, size, bytes, &party->error),
                 edge, step);
}

bool dtr_party_receive_any(struct dtr_party *party, uint32_t edge, int64_t *step, int64_t *size,
                           const void **bytes) {
  if (dtr_transport_peek(party->end, edge, step, size))
    return dtr_party_receive(party, edge, *step, *size, bytes);
  outcome(party, DTR_TRANSFER_PENDING, edge, party->step);
  return false;
}

bool dtr_party_receive_rows(struct dtr_party *party, uint32_t edge, int64_t step, int64_t *size,
                            const void **bytes) {
  int64_t other;
  *size = dtr_channel_bytes(party->channels, edge);
  if (party->channels->edges[edge].at_most && !dtr_transport_peek(party->end, edge, &other, size))
    return outcome(party, DTR_TRANSFER_PENDING, edge, step);
  return dtr_party_receive(party, edge, step, *size, bytes);
}

bool dtr_party_refuse_rows(struct dtr_party *party, uint32_t edge) {
  const struct dtr_channel *channel = &party->channels->channels[edge];
  char from[96];
  dtr_party_text(party->map, channel->from, from, sizeof from);
  dtr_error_set(&party->error, DTR_STATUS_REFUSED,
                "a %s of %s holds rows that are out of order, too many, or not of its tables",
                dtr_channel_name(channel->kind), from);
  dtr_error_step(&party->error, party->step + 1);
  return dtr_party_fail(party);
}

void dtr_party_release(struct dtr_party *party, uint32_t edge) {
  dtr_transport_release(party->end, edge);
}

bool dtr_party_is_sent(struct dtr_party *party, uint32_t edge) {
  return outcome(party, dtr_transport_sent(party->end, edge), edge, party->step);
}

bool dtr_party_fail(struct dtr_party *party) {
  dtr_error_task(&party->error, party->map->tasks[dtr_party_task(party->map, party->number)].name);
  party->is_failed = true;
  return false;
}

bool dtr_party_is_over(struct dtr_party *party, bool *progress) {
  const void *bytes;
  int64_t step, size;
  uint32_t done = dtr_channel(party->channels, DTR_CHANNEL_DONE, party->number, 0);
  if (party->is_finished)
    return true;
  if (dtr_transport_peek(party->end, done, &step, &size) &&
      dtr_party_receive(party, done, step, size, &bytes)) {
    dtr_party_release(party, done);
    party->is_finished = true;
    *progress = true;
    return true;
  }
  if (party->is_failed && !party->has_told) {
    uint32_t trouble = dtr_channel(party->channels, DTR_CHANNEL_TROUBLE, party->number, 0);
    party->has_told =
        dtr_party_send(party, trouble, party->step, &party->error, sizeof party->error);
    *progress = true;
  }
  return party->is_failed;
}

void dtr_party_describe(const struct dtr_party *party, char *text, size_t size) {
  char self[96], other[96] = "";
  uint32_t edge = atomic_load_explicit(&party->waits_for, memory_order_relaxed);
  dtr_party_text(party->map, party->number, self, sizeof self);
  if (party->is_finished) {
    snprintf(text, size, "%s: has finished", self);
    return;
  }
  if (edge == DTR_NONE) {
    snprintf(text, size, "%s: computes, waits for nobody", self);
    return;
  }
  const struct dtr_channel *channel = &party->channels->channels[edge];
  bool receives = channel->to == party->number;
  dtr_party_text(party->map, receives ? channel->from : channel->to, other, sizeof other);
  snprintf(text, size, "%s: waits for %s %s (%s of step %lld)", self, other,
           receives ? "to send" : "to receive", dtr_channel_name(channel->kind),
           (long long)atomic_load_explicit(&party->waits_step, memory_order_relaxed));
}
