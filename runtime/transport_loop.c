/* The row `loop`: tasks are threads of one process, and a message is a pointer. */
#include "runtime/transport.h"

#include "runtime/word.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum slot_state { SLOT_EMPTY, SLOT_OFFERED, SLOT_TAKEN };

/* What an edge carries; sender and receiver hand it to each other by `state`. */
struct slot {
  _Alignas(64) _Atomic int state;
  int64_t step, size;
  const void *bytes;
  struct dtr_traffic traffic; /* the sender's */
  uint32_t generation;        /* of the message */
  _Atomic uint32_t from_generation, to_generation;
};

struct end {
  struct dtr_loop *loop;
  uint32_t task;
  _Alignas(64) struct dtr_word events; /* changes of slots that concern this task */
  uint32_t seen;
  int64_t refused;
};

struct dtr_loop {
  uint32_t tasks, edge_count;
  const struct dtr_edge *edges;
  struct slot *slots;
  struct end *ends;
};

static bool own(const struct end *end, uint32_t edge, bool sender, struct dtr_error *error) {
  const struct dtr_loop *loop = end->loop;
  if (edge < loop->edge_count &&
      (sender ? loop->edges[edge].from : loop->edges[edge].to) == end->task)
    return true;
  return dtr_error_set(error, DTR_STATUS_BUG, "task %u has no edge %u to %s", end->task, edge,
                       sender ? "send on" : "receive from");
}

static bool right_size(const struct end *end, uint32_t edge, int64_t size,
                       struct dtr_error *error) {
  int64_t planned = end->loop->edges[edge].bytes;
  return size == planned || (end->loop->edges[edge].at_most && size >= 0 && size < planned) ||
         dtr_error_set(error, DTR_STATUS_BUG, "%lld bytes on edge %u, which is planned for %lld",
                       (long long)size, edge, (long long)planned);
}

static void tell(struct dtr_loop *loop, uint32_t task) {
  dtr_word_advance(&loop->ends[task].events);
}

static enum dtr_transfer loop_send(void *self, uint32_t edge, int64_t step, const void *bytes,
                                   int64_t size, struct dtr_error *error) {
  struct end *end = self;
  if (!own(end, edge, true, error) || !right_size(end, edge, size, error))
    return DTR_TRANSFER_REFUSED;
  struct slot *slot = &end->loop->slots[edge];
  if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_EMPTY)
    return DTR_TRANSFER_PENDING;
  slot->step = step;
  slot->size = size;
  slot->bytes = bytes;
  slot->generation = atomic_load_explicit(&slot->from_generation, memory_order_relaxed);
  slot->traffic.messages++;
  slot->traffic.bytes += size;
  atomic_store_explicit(&slot->state, SLOT_OFFERED, memory_order_release);
  tell(end->loop, end->loop->edges[edge].to);
  return DTR_TRANSFER_DONE;
}

static enum dtr_transfer loop_sent(void *self, uint32_t edge) {
  struct end *end = self;
  struct slot *slot = &end->loop->slots[edge];
  return atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_EMPTY
             ? DTR_TRANSFER_DONE
             : DTR_TRANSFER_PENDING;
}

/* Whether a message waits that is of the receiver's generation; an older one is refused. */
static bool is_offered(struct end *end, struct slot *slot) {
  if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_OFFERED)
    return false;
  uint32_t expected = atomic_load_explicit(&slot->to_generation, memory_order_relaxed);
  if (slot->generation < expected) {
    int offered = SLOT_OFFERED;
    if (atomic_compare_exchange_strong(&slot->state, &offered, SLOT_EMPTY))
      end->refused++;
    return false;
  }
  return slot->generation == expected;
}

static enum dtr_transfer loop_receive(void *self, uint32_t edge, int64_t step, int64_t size,
                                      const void **bytes, struct dtr_error *error) {
  struct end *end = self;
  if (!own(end, edge, false, error) || !right_size(end, edge, size, error))
    return DTR_TRANSFER_REFUSED;
  struct slot *slot = &end->loop->slots[edge];
  int offered = SLOT_OFFERED; /* the sender may withdraw it at this moment */
  if (!is_offered(end, slot) ||
      !atomic_compare_exchange_strong_explicit(&slot->state, &offered, SLOT_TAKEN,
                                               memory_order_acquire, memory_order_acquire))
    return DTR_TRANSFER_PENDING;
  if (slot->step != step || slot->size != size) {
    dtr_error_set(error, DTR_STATUS_BUG,
                  "edge %u carries step %lld in %lld bytes, step %lld in %lld was expected", edge,
                  (long long)slot->step, (long long)slot->size, (long long)step, (long long)size);
    atomic_store_explicit(&slot->state, SLOT_OFFERED, memory_order_release);
    return DTR_TRANSFER_REFUSED;
  }
  *bytes = slot->bytes;
  return DTR_TRANSFER_DONE;
}

static bool loop_peek(void *self, uint32_t edge, int64_t *step, int64_t *size) {
  struct end *end = self;
  struct slot *slot = &end->loop->slots[edge];
  if (!is_offered(end, slot))
    return false;
  *step = slot->step;
  *size = slot->size;
  return true;
}

static bool loop_withdraw(void *self, uint32_t edge) {
  struct end *end = self;
  struct slot *slot = &end->loop->slots[edge];
  int offered = SLOT_OFFERED;
  if (!atomic_compare_exchange_strong_explicit(&slot->state, &offered, SLOT_EMPTY,
                                               memory_order_acquire, memory_order_acquire))
    return false;
  slot->traffic.messages--;
  slot->traffic.bytes -= slot->size;
  return true;
}

static struct dtr_traffic loop_traffic(void *self, uint32_t edge) {
  struct end *end = self;
  return end->loop->slots[edge].traffic;
}

static void loop_release(void *self, uint32_t edge) {
  struct end *end = self;
  atomic_store_explicit(&end->loop->slots[edge].state, SLOT_EMPTY, memory_order_release);
  tell(end->loop, end->loop->edges[edge].from);
}

static void loop_reset(void *self, uint32_t edge, uint32_t generation) {
  struct end *end = self;
  struct dtr_loop *loop = end->loop;
  struct slot *slot = &loop->slots[edge];
  if (loop->edges[edge].from == end->task)
    atomic_store_explicit(&slot->from_generation, generation, memory_order_relaxed);
  if (loop->edges[edge].to == end->task)
    atomic_store_explicit(&slot->to_generation, generation, memory_order_relaxed);
  int state = atomic_load_explicit(&slot->state, memory_order_acquire);
  if (state == SLOT_EMPTY || slot->generation >= generation)
    return;
  end->refused += state == SLOT_OFFERED && loop->edges[edge].to == end->task;
  atomic_store_explicit(&slot->state, SLOT_EMPTY, memory_order_release);
}

static int64_t loop_refused(void *self) {
  return ((struct end *)self)->refused;
}

/* Nothing moves by itself here. Events from now on end the next wait. */
static int64_t loop_progress(void *self, int64_t now) {
  struct end *end = self;
  (void)now;
  end->seen = dtr_word_get(&end->events);
  return INT64_MAX;
}

static void loop_wait(void *self, int64_t deadline) {
  struct end *end = self;
  dtr_word_wait_until(&end->events, end->seen, deadline);
}

bool dtr_loop_has_event(const struct dtr_endpoint *it) {
  struct end *end = it->self;
  return dtr_word_get(&end->events) != end->seen;
}

static const struct dtr_transport_row row = {.name = "loop",
                                             .send = loop_send,
                                             .sent = loop_sent,
                                             .receive = loop_receive,
                                             .release = loop_release,
                                             .peek = loop_peek,
                                             .withdraw = loop_withdraw,
                                             .reset = loop_reset,
                                             .refused = loop_refused,
                                             .traffic = loop_traffic,
                                             .progress = loop_progress,
                                             .wait = loop_wait};

bool dtr_loop_new(uint32_t tasks, const struct dtr_edge *edges, uint32_t edge_count,
                  struct dtr_loop **loop, struct dtr_error *error) {
  for (uint32_t i = 0; i < edge_count; i++)
    if (edges[i].from >= tasks || edges[i].to >= tasks)
      return dtr_error_set(error, DTR_STATUS_BUG, "edge %u leads from task %u to task %u of %u", i,
                           edges[i].from, edges[i].to, tasks);
  struct dtr_loop *made = calloc(1, sizeof *made);
  size_t slot_bytes = ((size_t)edge_count + 1) * sizeof(struct slot);
  size_t end_bytes = ((size_t)tasks + 1) * sizeof(struct end);
  struct slot *slots = aligned_alloc(64, slot_bytes);
  struct end *ends = aligned_alloc(64, end_bytes);
  if (!made || !slots || !ends) {
    free(made);
    free(slots);
    free(ends);
    return dtr_error_memory(error, (int64_t)(slot_bytes + end_bytes), "the tasks' edges");
  }
  memset(slots, 0, slot_bytes);
  memset(ends, 0, end_bytes);
  *made = (struct dtr_loop){tasks, edge_count, edges, slots, ends};
  for (uint32_t i = 0; i < tasks; i++) {
    ends[i].loop = made;
    ends[i].task = i;
  }
  *loop = made;
  return true;
}

void dtr_loop_free(struct dtr_loop *loop) {
  if (!loop)
    return;
  free(loop->slots);
  free(loop->ends);
  free(loop);
}

struct dtr_endpoint dtr_loop_endpoint(struct dtr_loop *loop, uint32_t task) {
  return (struct dtr_endpoint){&row, &loop->ends[task]};
}
