// (a) one by one: who waits for whom, and who must be started, fed and asked.
#include "compiler/prove/unfold.h"

struct edge {
  uint32_t from, to;
};

// Events of every party in two steps.
struct graph {
  struct dtg_unfolded *u;
  uint32_t phases, each; // events of a party and step
  DTG_VEC(struct edge) edges;
};

static uint32_t node(const struct graph *g, uint32_t step, uint32_t party, enum dtg_event event,
                     uint32_t phase) {
  uint32_t index = event == DTG_EVENT_REDUCE ? DTG_EVENT_COUNT + phase : (uint32_t)event;
  return (step * g->u->parties + party) * g->each + index;
}

static void add(struct graph *g, uint32_t from, uint32_t to) {
  struct edge edge = {from, to};
  dtg_vec_push(&g->u->proof->scratch, &g->edges, edge);
}

static void add_in_step(struct graph *g, uint32_t from, enum dtg_event before, uint32_t phase,
                        uint32_t to, enum dtg_event after, uint32_t next_phase) {
  for (uint32_t step = 0; step < 2; step++)
    add(g, node(g, step, from, before, phase), node(g, step, to, after, next_phase));
}

static void add_next(struct graph *g, uint32_t party, enum dtg_event before, uint32_t phase,
                     enum dtg_event after) {
  add(g, node(g, 0, party, before, phase), node(g, 1, party, after, 0));
}

// What only the chief does.
static void add_chief(struct graph *g) {
  add_in_step(g, 0, DTG_EVENT_LOAD, 0, 0, DTG_EVENT_BEGIN, 0);
  add_in_step(g, 0, DTG_EVENT_CHIEF, 0, 0, DTG_EVENT_WAVE, 0);
  add_in_step(g, 0, DTG_EVENT_WAVE, 0, 0, DTG_EVENT_VALUES, 0);
  add_in_step(g, 0, DTG_EVENT_CHIEF, 0, 0, DTG_EVENT_SAVE, 0);
  add_in_step(g, 0, DTG_EVENT_VALUES, 0, 0, DTG_EVENT_SAVE, 0);
  add_in_step(g, 0, DTG_EVENT_SAVE, 0, 0, DTG_EVENT_SAVED, 0);
  add_next(g, 0, DTG_EVENT_VALUES, 0, DTG_EVENT_BEGIN);
  add_next(g, 0, DTG_EVENT_SAVED, 0, DTG_EVENT_BEGIN);
}

static void add_parties(struct graph *g) {
  const struct dtg_unfolded *u = g->u;
  uint32_t last = g->phases - 1;
  for (uint32_t c = 0; c < u->clients; c++) {
    add_in_step(g, c, DTG_EVENT_ASK, 0, c, DTG_EVENT_BEGIN, 0);
    add_in_step(g, c, DTG_EVENT_BEGIN, 0, c, DTG_EVENT_COLLECT, 0);
    add_in_step(g, c, DTG_EVENT_COLLECT, 0, c, DTG_EVENT_CHIEF, 0);
    add_in_step(g, c, DTG_EVENT_COLLECT, 0, c, DTG_EVENT_WAVE, 0);
    add_next(g, c, DTG_EVENT_COLLECT, 0, DTG_EVENT_BEGIN);
    add_next(g, c, DTG_EVENT_COLLECT, 0, DTG_EVENT_ASK);
    add_next(g, c, DTG_EVENT_WAVE, 0, DTG_EVENT_BEGIN);
  }
  for (uint32_t i = 0; i < u->replicas; i++) {
    uint32_t party = u->clients + i;
    add_in_step(g, party, DTG_EVENT_COMPUTE, 0, party, DTG_EVENT_COPY, 0);
    add_in_step(g, party, DTG_EVENT_COPY, 0, party, DTG_EVENT_CHUNKS, 0);
    add_next(g, party, DTG_EVENT_COPY, 0, DTG_EVENT_COMPUTE);
    add_next(g, party, DTG_EVENT_CHUNKS, 0, DTG_EVENT_COMPUTE);
  }
  for (uint32_t i = 0; i < u->owners; i++) {
    uint32_t party = u->clients + u->replicas + i;
    add_in_step(g, party, DTG_EVENT_FIRST, 0, party, DTG_EVENT_STAGE, 0);
    add_in_step(g, party, DTG_EVENT_STAGE, 0, party, DTG_EVENT_REDUCE, 0);
    for (uint32_t phase = 0; phase < last; phase++)
      add_in_step(g, party, DTG_EVENT_REDUCE, phase, party, DTG_EVENT_REDUCE, phase + 1);
    add_in_step(g, party, DTG_EVENT_REDUCE, last, party, DTG_EVENT_GIVE, 0);
    add_next(g, party, DTG_EVENT_REDUCE, last, DTG_EVENT_STAGE);
    add_next(g, party, DTG_EVENT_GIVE, 0, DTG_EVENT_STAGE);
  }
}

// What a replica shares with its client's task and with an owner on its device.
static void add_shared(struct graph *g) {
  const struct dtg_unfolded *u = g->u;
  for (uint32_t i = 0; i < u->replicas; i++) {
    uint32_t party = u->clients + i, client = u->client[i];
    if (u->task[party] == u->task[client]) {
      add_in_step(g, client, DTG_EVENT_BEGIN, 0, party, DTG_EVENT_COMPUTE, 0);
      add_in_step(g, party, DTG_EVENT_COMPUTE, 0, client, DTG_EVENT_COLLECT, 0);
      add_in_step(g, client, DTG_EVENT_WAVE, 0, party, DTG_EVENT_CHUNKS, 0);
    }
    if (u->task[party] == u->task[0])
      add_in_step(g, party, DTG_EVENT_CHUNKS, 0, 0, DTG_EVENT_VALUES, 0);
    for (uint32_t o = 0; o < u->owners; o++) {
      uint32_t owner = u->clients + u->replicas + o;
      if (u->device[owner] != u->device[party])
        continue;
      add_in_step(g, owner, DTG_EVENT_FIRST, 0, party, DTG_EVENT_COMPUTE, 0);
      add_in_step(g, party, DTG_EVENT_COMPUTE, 0, owner, DTG_EVENT_STAGE, 0);
      add_in_step(g, owner, DTG_EVENT_REDUCE, g->phases - 1, party, DTG_EVENT_COPY, 0);
    }
  }
}

// What owners share with the chief's task, and the arbiter with owner 0 and a client of its task.
static void add_shared_control(struct graph *g) {
  const struct dtg_unfolded *u = g->u;
  for (uint32_t o = 0; o < u->owners; o++) {
    uint32_t owner = u->clients + u->replicas + o;
    if (u->task[owner] != u->task[0])
      continue;
    add_in_step(g, 0, DTG_EVENT_LOAD, 0, owner, DTG_EVENT_FIRST, 0);
    add_in_step(g, 0, DTG_EVENT_SAVE, 0, owner, DTG_EVENT_GIVE, 0);
    add_in_step(g, owner, DTG_EVENT_GIVE, 0, 0, DTG_EVENT_SAVED, 0);
  }
  if (u->arbiter == DTG_NO_NODE)
    return;
  uint32_t first = u->clients + u->replicas;
  add_in_step(g, first, DTG_EVENT_STAGE, 0, u->arbiter, DTG_EVENT_DECIDE, 0);
  add_in_step(g, u->arbiter, DTG_EVENT_DECIDE, 0, first, DTG_EVENT_REDUCE, 0);
  for (uint32_t c = 0; c < u->clients; c++) {
    if (u->task[c] != u->task[u->arbiter])
      continue;
    add_in_step(g, c, DTG_EVENT_ASK, 0, u->arbiter, DTG_EVENT_GRANT, 0);
    add_in_step(g, u->arbiter, DTG_EVENT_GRANT, 0, c, DTG_EVENT_BEGIN, 0);
  }
}

static bool add_messages(struct graph *g) {
  for (size_t i = 0; i < g->u->count; i++) {
    const struct dtg_message *m = &g->u->messages[i];
    if ((m->before == DTG_EVENT_REDUCE && m->phase >= g->phases) ||
        (m->after == DTG_EVENT_REDUCE && m->next_phase >= g->phases))
      return dtg_proof_fail(g->u->proof,
                            "waits: a message of a phase that the update does not have");
    add_in_step(g, m->from, m->before, m->phase, m->to, m->after, m->next_phase);
    if (m->kind == DTG_TRANSFER_PUBLISH) // the first version
      add_in_step(g, m->from, DTG_EVENT_FIRST, 0, m->to, DTG_EVENT_COMPUTE, 0);
  }
  return true;
}

// Events that wait for nothing are taken away until none is left; what stays waits in a circle.
static bool take_away(struct graph *g, uint32_t nodes) {
  struct dtg_arena *scratch = &g->u->proof->scratch;
  uint32_t *start = DTG_NEW_ARRAY(scratch, uint32_t, nodes + 1);
  uint32_t *next = DTG_NEW_ARRAY(scratch, uint32_t, g->edges.len);
  uint32_t *waits = DTG_NEW_ARRAY(scratch, uint32_t, nodes);
  uint32_t *ready = DTG_NEW_ARRAY(scratch, uint32_t, nodes);
  uint32_t count = 0, done = 0;
  for (size_t i = 0; i < g->edges.len; i++) {
    start[g->edges.data[i].from + 1]++;
    waits[g->edges.data[i].to]++;
  }
  for (uint32_t n = 0; n < nodes; n++)
    start[n + 1] += start[n];
  for (size_t i = g->edges.len; i-- > 0;) {
    uint32_t from = g->edges.data[i].from;
    next[--start[from + 1]] = g->edges.data[i].to;
  }
  // start[n + 1] is now where the edges of n begin.
  for (uint32_t n = 0; n < nodes; n++)
    if (!waits[n])
      ready[count++] = n;
  for (; done < count; done++) {
    uint32_t n = ready[done];
    uint32_t end = n + 2 <= nodes ? start[n + 2] : (uint32_t)g->edges.len;
    for (uint32_t i = start[n + 1]; i < end; i++)
      if (--waits[next[i]] == 0)
        ready[count++] = next[i];
  }
  if (done == nodes)
    return true;
  return dtg_proof_fail(g->u->proof, "waits: the wait graph has a cycle among %u events",
                        nodes - done);
}

bool dtg_unfold_waits(struct dtg_unfolded *u) {
  struct graph g = {.u = u, .phases = u->proof->p->phases};
  if (g.phases == 0)
    return dtg_proof_fail(u->proof, "waits: the update has no phase");
  g.each = DTG_EVENT_COUNT + g.phases;
  add_chief(&g);
  add_parties(&g);
  add_shared(&g);
  add_shared_control(&g);
  return add_messages(&g) && take_away(&g, 2 * u->parties * g.each);
}
