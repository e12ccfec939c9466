// (a) Nobody waits in a circle, within a step and into the next one.
#include "compiler/prove/internal.h"

// Events of two steps; REDUCE once per phase. A cycle among single replicas, clients and owners is
// a cycle of these classes too, so that none here means none there.
struct waits {
  struct dtg_proof *proof;
  uint32_t phases, each, count; // events of a step, and of both
  bool *edges;                  // [from * count + to]
  uint8_t *state;               // 0: not seen, 1: on the way, 2: done
};

static uint32_t event_index(const struct waits *w, uint32_t step, enum dtg_event event,
                            uint32_t phase) {
  uint32_t index = event < DTG_EVENT_REDUCE   ? (uint32_t)event
                   : event > DTG_EVENT_REDUCE ? (uint32_t)event + w->phases - 1
                                              : DTG_EVENT_REDUCE + phase;
  return step * w->each + index;
}

static const char *event_text(const struct waits *w, uint32_t index) {
  static const char *const names[DTG_EVENT_COUNT] = {
      "begin",  "compute", "reduce", "copy", "collect", "report", "ask",  "grant", "stage",
      "decide", "load",    "first",  "wave", "chunks",  "values", "save", "give",  "saved"};
  uint32_t event = index % w->each;
  if (event >= DTG_EVENT_REDUCE && event < DTG_EVENT_REDUCE + w->phases)
    return w->phases == 1
               ? "reduce"
               : dtg_arena_printf(&w->proof->scratch, "reduce %u", event - DTG_EVENT_REDUCE);
  return names[event < DTG_EVENT_REDUCE ? event : event - w->phases + 1];
}

static void link_events(struct waits *w, uint32_t from, uint32_t to) {
  w->edges[from * w->count + to] = true;
}

static void link_in_step(struct waits *w, enum dtg_event from, uint32_t phase, enum dtg_event to,
                         uint32_t next_phase) {
  for (uint32_t step = 0; step < 2; step++)
    link_events(w, event_index(w, step, from, phase), event_index(w, step, to, next_phase));
}

// What each does one after the other; and what those that share a device or a task hand to each
// other without a message.
static void link_roles(struct waits *w) {
  uint32_t last = w->phases - 1;
  size_t count;
  const struct dtg_order *orders = dtg_orders(&count);
  for (size_t i = 0; i < count; i++) {
    const struct dtg_order *o = &orders[i];
    uint32_t phase = o->last_phase ? last : 0;
    if (o->next_step)
      link_events(w, event_index(w, 0, o->before, phase), event_index(w, 1, o->after, 0));
    else
      link_in_step(w, o->before, phase, o->after, 0);
  }
  for (uint32_t phase = 0; phase < last; phase++)
    link_in_step(w, DTG_EVENT_REDUCE, phase, DTG_EVENT_REDUCE, phase + 1);
}

static bool link_transfers(struct waits *w) {
  for (size_t i = 0; i < w->proof->p->sends.len; i++) {
    const struct dtg_transfer *t = &w->proof->p->sends.data[i];
    if ((t->before == DTG_EVENT_REDUCE && t->phase >= w->phases) ||
        (t->after == DTG_EVENT_REDUCE && t->next_phase >= w->phases))
      return dtg_proof_fail(w->proof, "waits: %s belongs to a phase that the update does not have",
                            dtg_proof_transfer_text(w->proof, t));
    link_in_step(w, t->before, t->phase, t->after, t->next_phase);
  }
  return true;
}

// Depth first; a way back to an event that is on the way is a circle, told in its order.
static bool visit(struct waits *w, uint32_t event, uint32_t *way, uint32_t depth) {
  way[depth] = event;
  w->state[event] = 1;
  for (uint32_t next = 0; next < w->count; next++) {
    if (!w->edges[event * w->count + next] || w->state[next] == 2)
      continue;
    if (w->state[next] == 0) {
      if (!visit(w, next, way, depth + 1))
        return false;
      continue;
    }
    uint32_t first = depth;
    while (way[first] != next)
      first--;
    dtg_strbuf_puts(w->proof->why, "waits: the wait graph has a cycle: ");
    for (uint32_t i = first; i <= depth; i++)
      dtg_strbuf_printf(w->proof->why, "%s -> ", event_text(w, way[i]));
    return dtg_proof_fail(w->proof, "%s", event_text(w, next));
  }
  w->state[event] = 2;
  return true;
}

bool dtg_prove_waits(struct dtg_proof *proof) {
  struct waits w = {.proof = proof, .phases = proof->p->phases};
  if (w.phases == 0)
    return dtg_proof_fail(proof, "waits: the update has no phase");
  w.each = DTG_EVENT_COUNT - 1 + w.phases;
  w.count = 2 * w.each;
  w.edges = DTG_NEW_ARRAY(&proof->scratch, bool, (size_t)w.count *w.count);
  w.state = DTG_NEW_ARRAY(&proof->scratch, uint8_t, w.count);
  uint32_t *way = DTG_NEW_ARRAY(&proof->scratch, uint32_t, w.count);
  link_roles(&w);
  if (!link_transfers(&w))
    return false;
  for (uint32_t event = 0; event < w.count; event++)
    if (w.state[event] == 0 && !visit(&w, event, way, 0))
      return false;
  return true;
}
