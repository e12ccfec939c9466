#include "runtime/sim/transport_sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { PURPOSE = 0x7E7, POISON = 0xFF };

enum passage { FREE, FLYING, ARRIVED, TAKEN, RETURNING };

struct message {
  enum passage passage;
  int64_t step, size;
  const void *bytes; /* the sender's */
  uint64_t digest;   /* of them when they were sent */
  char *copy;        /* the receiver's; room for the edge's bytes */
  uint64_t sequence; /* of the message it carries or carried last */
  uint64_t seen;     /* the last one of which a copy has arrived */
  struct dtr_traffic traffic;
  uint32_t generation;                     /* of the message */
  uint32_t from_generation, to_generation; /* of the edge's ends */
  bool is_once;
  uint32_t taken_generation; /* of the last one that was taken */
  int64_t taken_step;
};

struct event {
  int64_t time;
  uint64_t order; /* of those at one time: as they were made */
  uint32_t edge;
  uint64_t sequence; /* of the message that it is about */
  uint32_t generation;
  bool is_return;
};

struct end {
  struct dtr_sim_net *net;
  uint32_t number, task;
  bool has_event, is_gone;
  int64_t refused;
};

struct line {
  uint32_t from, to; /* tasks */
  int64_t free_at;
};

struct dtr_sim_net {
  struct dtr_sim_world *world;
  const struct dtr_sim_network *network;
  uint32_t end_count, edge_count;
  struct dtr_edge *edges;
  struct message *messages;
  struct end *ends;
  struct line *lines; /* [from task, to task] */
  uint32_t task_count;
  struct event *heap;
  size_t event_count, event_room;
  uint64_t orders;
  int64_t crossings; /* messages that have left their task */
  struct dtr_sim_random random;
  struct dtr_sim_net_counts counts;
  char violation[256];
  uint32_t violation_edge;
};

/* ---- rules ---- */

static void __attribute__((format(printf, 3, 4)))
violate(struct dtr_sim_net *net, uint32_t edge, const char *format, ...) {
  va_list arguments;
  if (net->violation[0])
    return;
  net->violation_edge = edge;
  va_start(arguments, format);
  vsnprintf(net->violation, sizeof net->violation, format, arguments);
  va_end(arguments);
}

static bool own(const struct end *end, uint32_t edge, bool sender, struct dtr_error *error) {
  const struct dtr_sim_net *net = end->net;
  if (edge < net->edge_count &&
      (sender ? net->edges[edge].from : net->edges[edge].to) == end->number)
    return true;
  return dtr_error_set(error, DTR_STATUS_BUG, "task %u has no edge %u to %s", end->number, edge,
                       sender ? "send on" : "receive from");
}

static bool right_size(const struct end *end, uint32_t edge, int64_t size,
                       struct dtr_error *error) {
  int64_t planned = end->net->edges[edge].bytes;
  return size == planned || (end->net->edges[edge].at_most && size >= 0 && size < planned) ||
         dtr_error_set(error, DTR_STATUS_BUG, "%lld bytes on edge %u, which is planned for %lld",
                       (long long)size, edge, (long long)planned);
}

/* ---- events: a heap, the earliest first ---- */

static bool is_before(const struct event *a, const struct event *b) {
  return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void swap(struct event *a, struct event *b) {
  struct event other = *a;
  *a = *b;
  *b = other;
}

static void add_event(struct dtr_sim_net *net, int64_t time, uint32_t edge, bool is_return) {
  if (net->event_count == net->event_room) {
    size_t room = 2 * net->event_room + 64;
    struct event *more = realloc(net->heap, room * sizeof *more);
    if (!more)
      abort(); /* a simulation has nobody to tell */
    net->heap = more;
    net->event_room = room;
  }
  size_t at = net->event_count++;
  net->heap[at] = (struct event){.time = time,
                                 .order = net->orders++,
                                 .edge = edge,
                                 .sequence = net->messages[edge].sequence,
                                 .generation = net->messages[edge].generation,
                                 .is_return = is_return};
  for (; at > 0 && is_before(&net->heap[at], &net->heap[(at - 1) / 2]); at = (at - 1) / 2)
    swap(&net->heap[at], &net->heap[(at - 1) / 2]);
}

static struct event take_event(struct dtr_sim_net *net) {
  struct event first = net->heap[0];
  net->heap[0] = net->heap[--net->event_count];
  for (size_t at = 0, child; (child = 2 * at + 1) < net->event_count; at = child) {
    if (child + 1 < net->event_count && is_before(&net->heap[child + 1], &net->heap[child]))
      child++;
    if (!is_before(&net->heap[child], &net->heap[at]))
      break;
    swap(&net->heap[child], &net->heap[at]);
  }
  return first;
}

/* ---- how long a message takes ---- */

static uint32_t task_of(const struct dtr_sim_net *net, uint32_t end) {
  return net->ends[end].task;
}

static bool parts(const struct dtr_sim_partition *partition, uint32_t a, uint32_t b) {
  bool one = partition->a == a || partition->a == DTR_SIM_ANY;
  bool other = partition->b == b || partition->b == DTR_SIM_ANY;
  return one && other;
}

/* Partitions may follow one another, in any order. */
int64_t dtr_sim_network_hold(const struct dtr_sim_network *network, uint32_t from, uint32_t to,
                             int64_t time) {
  bool again = true;
  while (again) {
    again = false;
    for (uint32_t i = 0; i < network->partition_count; i++) {
      const struct dtr_sim_partition *partition = &network->partitions[i];
      if (time < partition->from || time >= partition->until ||
          (!parts(partition, from, to) && !parts(partition, to, from)))
        continue;
      time = partition->until;
      again = true;
    }
  }
  return time;
}

static int64_t hold(struct dtr_sim_net *net, uint32_t from, uint32_t to, int64_t time) {
  int64_t through = dtr_sim_network_hold(net->network, from, to, time);
  net->counts.held += through != time;
  return through;
}

static int64_t pass_line(struct dtr_sim_net *net, uint32_t from, uint32_t to, int64_t size) {
  struct line *line = &net->lines[(size_t)from * net->task_count + to];
  int64_t start = net->world->now + net->world->spent;
  if (line->free_at > start)
    start = line->free_at;
  if (net->network->bytes_per_second > 0)
    start += (int64_t)((double)size / (double)net->network->bytes_per_second * 1e9);
  line->free_at = start;
  return start;
}

static int64_t arrival(struct dtr_sim_net *net, uint32_t from_end, uint32_t to_end, int64_t size) {
  const struct dtr_sim_network *network = net->network;
  uint32_t from = task_of(net, from_end), to = task_of(net, to_end);
  if (from == to) /* memory, not a network */
    return net->world->now + net->world->spent + dtr_sim_random_below(&net->random, 1000);
  int64_t time = pass_line(net, from, to, size) + network->latency;
  if (network->jitter > 0)
    time += dtr_sim_random_below(&net->random, network->jitter);
  if (network->stall_time > 0 && dtr_sim_random_hits(&net->random, network->stall)) {
    time += dtr_sim_random_below(&net->random, network->stall_time);
    net->counts.stalled++;
  }
  return hold(net, from, to, time);
}

/* A connection breaks with the message or, as often, with its receipt: then both copies come. */
static void dispatch(struct dtr_sim_net *net, uint32_t edge, bool is_return) {
  const struct dtr_edge *way = &net->edges[edge];
  uint32_t from = is_return ? way->to : way->from, to = is_return ? way->from : way->to;
  int64_t size = is_return ? 0 : net->messages[edge].size;
  int64_t time = arrival(net, from, to, size);
  if (!is_return && task_of(net, from) != task_of(net, to) &&
      ++net->crossings == net->network->lose)
    return;
  bool breaks = task_of(net, from) != task_of(net, to) &&
                dtr_sim_random_hits(&net->random, net->network->breaks);
  if (!breaks) {
    add_event(net, time, edge, is_return);
    return;
  }
  net->counts.broken++;
  if (dtr_sim_random_below(&net->random, 2) == 0)
    add_event(net, time, edge, is_return);
  add_event(net, hold(net, task_of(net, from), task_of(net, to), time + net->network->reconnect),
            edge, is_return);
}

/* ---- what happens ---- */

static void free_edge(struct dtr_sim_net *net, uint32_t edge) {
  net->messages[edge].passage = FREE;
  net->ends[net->edges[edge].from].has_event = true;
}

static void arrive(struct dtr_sim_net *net, uint32_t edge) {
  struct end *to = &net->ends[net->edges[edge].to];
  if (to->is_gone) { /* nobody will give it back */
    net->counts.lost++;
    free_edge(net, edge);
    return;
  }
  net->messages[edge].passage = ARRIVED;
  to->has_event = true;
}

/* It comes from a generation that its receiver knows to be dead. */
static void refuse(struct dtr_sim_net *net, uint32_t edge) {
  net->ends[net->edges[edge].to].refused++;
  net->counts.refused++;
}

static void happen(struct dtr_sim_net *net, const struct event *event) {
  struct message *message = &net->messages[event->edge];
  bool is_current = event->sequence == message->sequence &&
                    message->passage == (event->is_return ? RETURNING : FLYING);
  bool is_first = !event->is_return && event->sequence > message->seen;
  if (is_first)
    message->seen = event->sequence;
  if (is_current && event->is_return)
    free_edge(net, event->edge);
  else if (is_current)
    arrive(net, event->edge);
  else if (is_first && event->generation < message->to_generation)
    refuse(net, event->edge);
  else
    net->counts.duplicates++; /* a second copy, or one that was taken back */
}

int64_t dtr_sim_net_next(const struct dtr_sim_net *net) {
  return net->event_count > 0 ? net->heap[0].time : INT64_MAX;
}

void dtr_sim_net_advance(struct dtr_sim_net *net) {
  while (dtr_sim_net_next(net) <= net->world->now) {
    struct event event = take_event(net);
    happen(net, &event);
  }
}

bool dtr_sim_net_take_event(struct dtr_sim_net *net, uint32_t end) {
  bool had = net->ends[end].has_event;
  net->ends[end].has_event = false;
  return had;
}

void dtr_sim_net_crash(struct dtr_sim_net *net, uint32_t task) {
  for (uint32_t i = 0; i < net->end_count; i++)
    net->ends[i].is_gone = net->ends[i].is_gone || net->ends[i].task == task;
  for (uint32_t edge = 0; edge < net->edge_count; edge++) {
    struct message *message = &net->messages[edge];
    bool from_gone = net->ends[net->edges[edge].from].is_gone;
    if (message->passage == FREE || (!from_gone && !net->ends[net->edges[edge].to].is_gone))
      continue;
    if (from_gone) /* its memory is gone as well; the receiver has a copy */
      message->bytes = NULL;
    /* What has left a crashed sender may arrive all the same. */
    if (from_gone && message->passage == FLYING && dtr_sim_random_below(&net->random, 2) == 0)
      continue;
    if (from_gone && (message->passage == TAKEN || message->passage == ARRIVED))
      continue;
    net->counts.lost++;
    free_edge(net, edge);
  }
}

void dtr_sim_net_return(struct dtr_sim_net *net, uint32_t task) {
  for (uint32_t i = 0; i < net->end_count; i++)
    if (net->ends[i].task == task)
      net->ends[i].is_gone = false;
}

void dtr_sim_net_take_once(struct dtr_sim_net *net, uint32_t edge) {
  net->messages[edge].is_once = true;
  net->messages[edge].taken_step = -1;
}

/* ---- the row ---- */

static void look_at_step(struct dtr_sim_net *net, uint32_t edge) {
  struct message *message = &net->messages[edge];
  bool grows = message->generation != message->taken_generation
                   ? message->generation > message->taken_generation
                   : message->step > message->taken_step;
  if (message->is_once && !grows)
    violate(net, edge, "step %lld of generation %u is taken twice, or after a later one",
            (long long)message->step, message->generation);
  message->taken_generation = message->generation;
  message->taken_step = message->step;
}

static enum dtr_transfer sim_send(void *self, uint32_t edge, int64_t step, const void *bytes,
                                  int64_t size, struct dtr_error *error) {
  struct end *end = self;
  struct dtr_sim_net *net = end->net;
  if (!own(end, edge, true, error) || !right_size(end, edge, size, error))
    return DTR_TRANSFER_REFUSED;
  struct message *message = &net->messages[edge];
  if (message->passage != FREE)
    return DTR_TRANSFER_PENDING;
  message->passage = FLYING;
  message->sequence++;
  message->generation = message->from_generation;
  message->step = step;
  message->size = size;
  message->bytes = bytes;
  if (size > 0)
    memcpy(message->copy, bytes, (size_t)size);
  message->digest = XXH3_64bits(message->copy, (size_t)size);
  message->traffic.messages++;
  message->traffic.bytes += size;
  net->counts.messages++;
  if (net->edges[edge].from == net->edges[edge].to)
    arrive(net, edge); /* its own memory */
  else
    dispatch(net, edge, false);
  return DTR_TRANSFER_DONE;
}

static enum dtr_transfer sim_sent(void *self, uint32_t edge) {
  struct end *end = self;
  if (edge >= end->net->edge_count || end->net->edges[edge].from != end->number)
    violate(end->net, edge, "end %u asks whether edge %u, which is not its own, has been sent",
            end->number, edge);
  return end->net->messages[edge].passage == FREE ? DTR_TRANSFER_DONE : DTR_TRANSFER_PENDING;
}

/* Whether a message has arrived that is of the receiver's generation; an older one is refused. */
static bool is_visible(struct dtr_sim_net *net, uint32_t edge) {
  struct message *message = &net->messages[edge];
  if (message->passage != ARRIVED)
    return false;
  if (message->generation >= message->to_generation)
    return message->generation == message->to_generation;
  refuse(net, edge);
  free_edge(net, edge);
  return false;
}

static enum dtr_transfer sim_receive(void *self, uint32_t edge, int64_t step, int64_t size,
                                     const void **bytes, struct dtr_error *error) {
  struct end *end = self;
  if (!own(end, edge, false, error) || !right_size(end, edge, size, error))
    return DTR_TRANSFER_REFUSED;
  struct dtr_sim_net *net = end->net;
  struct message *message = &net->messages[edge];
  if (!is_visible(net, edge))
    return DTR_TRANSFER_PENDING;
  if (message->step != step || message->size != size) {
    dtr_error_set(error, DTR_STATUS_BUG,
                  "edge %u carries step %lld in %lld bytes, step %lld in %lld was expected", edge,
                  (long long)message->step, (long long)message->size, (long long)step,
                  (long long)size);
    return DTR_TRANSFER_REFUSED;
  }
  message->passage = TAKEN;
  look_at_step(net, edge);
  *bytes = message->copy;
  return DTR_TRANSFER_DONE;
}

/* The bytes that the sender had to leave alone, and those that the receiver must not write. */
static void check_bytes(struct dtr_sim_net *net, uint32_t edge) {
  const struct message *message = &net->messages[edge];
  const struct dtr_edge *way = &net->edges[edge];
  if (message->size == 0)
    return;
  if (message->bytes && XXH3_64bits(message->bytes, (size_t)message->size) != message->digest)
    violate(net, edge, "end %u wrote to what it had sent on edge %u in step %lld", way->from, edge,
            (long long)message->step);
  if (XXH3_64bits(message->copy, (size_t)message->size) != message->digest)
    violate(net, edge, "end %u wrote to what it received on edge %u in step %lld", way->to, edge,
            (long long)message->step);
}

static void sim_release(void *self, uint32_t edge) {
  struct end *end = self;
  struct dtr_sim_net *net = end->net;
  struct message *message = &net->messages[edge];
  if (edge >= net->edge_count || net->edges[edge].to != end->number || message->passage != TAKEN) {
    violate(net, edge, "end %u gives back edge %u, which it has not taken", end->number, edge);
    return;
  }
  check_bytes(net, edge);
  memset(message->copy, POISON, (size_t)message->size);
  if (net->edges[edge].from == net->edges[edge].to || net->ends[net->edges[edge].from].is_gone) {
    free_edge(net, edge);
    return;
  }
  message->passage = RETURNING;
  dispatch(net, edge, true);
}

static bool sim_peek(void *self, uint32_t edge, int64_t *step, int64_t *size) {
  struct end *end = self;
  const struct message *message = &end->net->messages[edge];
  if (!is_visible(end->net, edge))
    return false;
  *step = message->step;
  *size = message->size;
  return true;
}

static bool sim_withdraw(void *self, uint32_t edge) {
  struct end *end = self;
  struct message *message = &end->net->messages[edge];
  if (message->passage != FLYING && message->passage != ARRIVED)
    return false;
  message->passage = FREE;
  message->sequence++; /* what is under way of it means nothing now */
  message->traffic.messages--;
  message->traffic.bytes -= message->size;
  return true;
}

static void sim_reset(void *self, uint32_t edge, uint32_t generation) {
  struct end *end = self;
  struct dtr_sim_net *net = end->net;
  struct message *message = &net->messages[edge];
  bool from = net->edges[edge].from == end->number, to = net->edges[edge].to == end->number;
  if (!from && !to) {
    violate(net, edge, "end %u resets edge %u, which is not its own", end->number, edge);
    return;
  }
  if (from)
    message->from_generation = generation;
  if (to)
    message->to_generation = generation;
  if (message->passage == FREE || message->generation >= generation)
    return;
  if (to && message->passage == ARRIVED)
    refuse(net, edge);
  if (message->passage != FLYING || from) { /* what flies may still arrive, and is refused then */
    message->passage = FREE;
    message->sequence++;
  }
}

static int64_t sim_refused(void *self) {
  return ((struct end *)self)->refused;
}

static struct dtr_traffic sim_traffic(void *self, uint32_t edge) {
  struct end *end = self;
  return end->net->messages[edge].traffic;
}

static int64_t sim_progress(void *self, int64_t now) {
  struct end *end = self;
  (void)now;
  end->has_event = false;
  dtr_sim_net_advance(end->net);
  return dtr_sim_net_next(end->net);
}

/* Alone on its thread, who waits moves the time. */
static void sim_wait(void *self, int64_t deadline) {
  struct end *end = self;
  struct dtr_sim_net *net = end->net;
  while (!end->has_event && net->world->now < deadline) {
    int64_t next = dtr_sim_net_next(net);
    if (next == INT64_MAX && deadline == INT64_MAX) {
      violate(net, DTR_SIM_ANY, "end %u waits for ever", end->number);
      return;
    }
    if (next > deadline)
      next = deadline;
    if (next > net->world->now)
      net->world->now = next;
    dtr_sim_net_advance(net);
  }
}

static const struct dtr_transport_row row = {.name = "sim",
                                             .send = sim_send,
                                             .sent = sim_sent,
                                             .receive = sim_receive,
                                             .release = sim_release,
                                             .peek = sim_peek,
                                             .withdraw = sim_withdraw,
                                             .reset = sim_reset,
                                             .refused = sim_refused,
                                             .traffic = sim_traffic,
                                             .progress = sim_progress,
                                             .wait = sim_wait};

/* ---- start and end ---- */

static bool allocate(struct dtr_sim_net *net, const struct dtr_edge *edges) {
  net->edges = calloc((size_t)net->edge_count + 1, sizeof *net->edges);
  net->messages = calloc((size_t)net->edge_count + 1, sizeof *net->messages);
  net->ends = calloc((size_t)net->end_count + 1, sizeof *net->ends);
  net->lines = calloc((size_t)net->task_count * net->task_count + 1, sizeof *net->lines);
  if (!net->edges || !net->messages || !net->ends || !net->lines)
    return false;
  memcpy(net->edges, edges, net->edge_count * sizeof *edges);
  for (uint32_t i = 0; i < net->edge_count; i++) {
    net->messages[i].copy = malloc((size_t)net->edges[i].bytes + 1);
    if (!net->messages[i].copy)
      return false;
    memset(net->messages[i].copy, POISON, (size_t)net->edges[i].bytes + 1);
  }
  return true;
}

bool dtr_sim_net_new(struct dtr_sim_world *world, const struct dtr_sim_network *network,
                     uint32_t ends, const uint32_t *tasks, const struct dtr_edge *edges,
                     uint32_t edge_count, struct dtr_sim_net **net, struct dtr_error *error) {
  for (uint32_t i = 0; i < edge_count; i++)
    if (edges[i].from >= ends || edges[i].to >= ends)
      return dtr_error_set(error, DTR_STATUS_BUG, "edge %u leads from task %u to task %u of %u", i,
                           edges[i].from, edges[i].to, ends);
  struct dtr_sim_net *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the simulated network");
  made->world = world;
  made->network = network;
  made->end_count = ends;
  made->edge_count = edge_count;
  made->random = dtr_sim_random_make(world->seed, PURPOSE);
  for (uint32_t i = 0; i < ends; i++)
    if (tasks[i] >= made->task_count)
      made->task_count = tasks[i] + 1;
  if (!allocate(made, edges)) {
    dtr_sim_net_free(made);
    return dtr_error_memory(error, edge_count, "the simulated network");
  }
  for (uint32_t i = 0; i < ends; i++)
    made->ends[i] = (struct end){.net = made, .number = i, .task = tasks[i]};
  *net = made;
  return true;
}

void dtr_sim_net_free(struct dtr_sim_net *net) {
  if (!net)
    return;
  for (uint32_t i = 0; net->messages && i < net->edge_count; i++)
    free(net->messages[i].copy);
  free(net->messages);
  free(net->edges);
  free(net->ends);
  free(net->lines);
  free(net->heap);
  free(net);
}

struct dtr_endpoint dtr_sim_net_endpoint(struct dtr_sim_net *net, uint32_t end) {
  return (struct dtr_endpoint){&row, &net->ends[end]};
}

struct dtr_sim_net_counts dtr_sim_net_counts(const struct dtr_sim_net *net) {
  return net->counts;
}

const char *dtr_sim_net_violation(const struct dtr_sim_net *net) {
  return net->violation;
}

uint32_t dtr_sim_net_violation_edge(const struct dtr_sim_net *net) {
  return net->violation[0] ? net->violation_edge : DTR_SIM_ANY;
}

const char *dtr_sim_net_state(const struct dtr_sim_net *net, uint32_t edge) {
  static const char *const names[] = {[FREE] = "free",
                                      [FLYING] = "under way",
                                      [ARRIVED] = "arrived",
                                      [TAKEN] = "taken",
                                      [RETURNING] = "on its way back"};
  return names[net->messages[edge].passage];
}
