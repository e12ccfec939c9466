#include "tests/unit/prove/mutations.h"

#include <string.h>

// ---- the copy ----

#define COPY(m, vec)                                                                  \
  do {                                                                                \
    void *copied = dtg_alloc_array(&(m)->arena, (vec)->len + 2, sizeof *(vec)->data); \
    if ((vec)->len)                                                                   \
      memcpy(copied, (vec)->data, (vec)->len * sizeof *(vec)->data);                  \
    (vec)->data = copied;                                                             \
    (vec)->cap = (vec)->len + 2;                                                      \
  } while (0)

void mutation_open(struct mutation *m, struct plan_case *of, uint64_t seed) {
  *m = (struct mutation){.of = of,
                         .partition = *of->partition,
                         .replication = *of->replication,
                         .plan = *of->plan,
                         .random = seed * 0x9e3779b97f4a7c15u + 1,
                         .update = *of->module->update};
  m->partition.replication = &m->replication;
  COPY(m, &m->partition.sends);
  COPY(m, &m->partition.receives);
  COPY(m, &m->partition.parts);
  COPY(m, &m->replication.slices);
  COPY(m, &m->replication.families);
  COPY(m, &m->replication.client_families);
  COPY(m, &m->replication.reductions);
  COPY(m, &m->replication.partial_sums.classes);
  COPY(m, &m->plan.contributions);
  COPY(m, &of->module->update->roots);
  for (size_t i = 0; i < m->partition.parts.len; i++)
    COPY(m, &m->partition.parts.data[i].nodes);
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    COPY(m, &m->plan.functions[i].buffers);
    COPY(m, &m->plan.functions[i].steps);
  }
  size_t variables = of->module->variables.len;
  m->plan.variable_offsets = DTG_NEW_ARRAY(&m->arena, int64_t, variables);
  memcpy(m->plan.variable_offsets, of->plan->variable_offsets, variables * sizeof(int64_t));
}

void mutation_undo(struct mutation *m) {
  *m->of->module->update = m->update;
  if (m->node)
    m->node->device = m->device;
  dtg_arena_free(&m->arena);
}

static uint32_t draw(struct mutation *m, size_t bound) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((m->random >> 33) % bound);
}

// ---- transfers ----

static size_t find_receive(const struct mutation *m, const struct dtg_transfer *send) {
  size_t i = 0;
  while (memcmp(&m->partition.receives.data[i], send, sizeof *send) != 0)
    i++;
  return i;
}

static void remove_row(struct dtg_transfer *rows, size_t *count, size_t at) {
  memmove(&rows[at], &rows[at + 1], (*count - at - 1) * sizeof *rows);
  --*count;
}

static bool pick_send(struct mutation *m, size_t *at) {
  if (m->partition.sends.len == 0)
    return false;
  *at = draw(m, m->partition.sends.len);
  return true;
}

static bool drop_send(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  remove_row(m->partition.sends.data, &m->partition.sends.len, at);
  return true;
}

static bool drop_receive(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  remove_row(m->partition.receives.data, &m->partition.receives.len, at);
  return true;
}

static bool drop_both(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  size_t other = find_receive(m, &m->partition.sends.data[at]);
  remove_row(m->partition.receives.data, &m->partition.receives.len, other);
  remove_row(m->partition.sends.data, &m->partition.sends.len, at);
  return true;
}

static bool double_send(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  dtg_vec_push(&m->arena, &m->partition.sends, m->partition.sends.data[at]);
  return true;
}

static bool double_receive(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  dtg_vec_push(&m->arena, &m->partition.receives, m->partition.receives.data[at]);
  return true;
}

static bool double_both(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  struct dtg_transfer row = m->partition.sends.data[at];
  dtg_vec_push(&m->arena, &m->partition.sends, row);
  dtg_vec_push(&m->arena, &m->partition.receives, row);
  return true;
}

static bool resize_send(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  m->partition.sends.data[at].bytes += 1 + draw(m, 64);
  return true;
}

static bool resize_both(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  size_t other = find_receive(m, &m->partition.sends.data[at]);
  int64_t more = 4 * (1 + draw(m, 64));
  m->partition.sends.data[at].bytes += more;
  m->partition.receives.data[other].bytes += more;
  return true;
}

// Two rows of one kind exchange their partners.
static bool swap_sends(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  struct dtg_transfer *a = &m->partition.sends.data[at];
  for (size_t i = 0; i < m->partition.sends.len; i++) {
    struct dtg_transfer *b = &m->partition.sends.data[i];
    if (b->kind != a->kind || b->phase != a->phase || b->bytes == a->bytes ||
        b->messages != a->messages || b->from.sums != a->from.sums)
      continue;
    int64_t bytes = a->bytes;
    a->bytes = b->bytes;
    b->bytes = bytes;
    return true;
  }
  return false;
}

static bool count_wrong(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  m->partition.sends.data[at].messages += 1 + draw(m, 3);
  return true;
}

static bool send_out_of_range(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  struct dtg_transfer *t = &m->partition.sends.data[at];
  *(draw(m, 2) ? &t->from.first : &t->to.first) += 1000;
  return true;
}

// ---- circles ----

static struct dtg_transfer *find_kind(struct mutation *m, enum dtg_transfer_kind kind) {
  size_t count = m->partition.sends.len, first = count ? draw(m, count) : 0;
  for (size_t i = 0; i < count; i++) {
    struct dtg_transfer *t = &m->partition.sends.data[(first + i) % count];
    if (t->kind == kind)
      return t;
  }
  return NULL;
}

// Changes the send and its receive alike.
static bool set_both(struct mutation *m, struct dtg_transfer *send, struct dtg_transfer row) {
  m->partition.receives.data[find_receive(m, send)] = row;
  *send = row;
  return true;
}

// A replica that pushes only when it has the next version.
static bool push_after_copy(struct mutation *m) {
  struct dtg_transfer *t = find_kind(m, DTG_TRANSFER_PUSH);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.before = DTG_EVENT_COPY;
  return set_both(m, t, row);
}

// A replica that computes only with what comes of this very step.
static bool publish_before_compute(struct mutation *m) {
  struct dtg_transfer *push = find_kind(m, DTG_TRANSFER_PUSH);
  for (size_t i = 0; push && i < m->partition.sends.len; i++) {
    struct dtg_transfer *t = &m->partition.sends.data[i];
    if (t->kind != DTG_TRANSFER_PUBLISH || t->from.first != push->to.first)
      continue;
    struct dtg_transfer row = *t;
    row.after = DTG_EVENT_COMPUTE;
    return set_both(m, t, row);
  }
  return false;
}

// A client that starts a step when it has its loss.
static bool start_after_collect(struct mutation *m) {
  struct dtg_transfer *t = find_kind(m, draw(m, 2) ? DTG_TRANSFER_START : DTG_TRANSFER_FEED);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.before = DTG_EVENT_COLLECT;
  return set_both(m, t, row);
}

static bool reverse_start(struct mutation *m) {
  struct dtg_transfer *t = find_kind(m, DTG_TRANSFER_START);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.from = t->to;
  row.to = t->from;
  row.before = t->after;
  row.after = t->before;
  return set_both(m, t, row);
}

// Owners that wait for each other's block sums before they make their own.
static bool norm_within_phase(struct mutation *m) {
  size_t changed = 0;
  for (size_t i = 0; i < m->partition.sends.len; i++) {
    struct dtg_transfer *t = &m->partition.sends.data[i], row = *t;
    if (t->kind != DTG_TRANSFER_NORM || t->phase != 0)
      continue;
    row.next_phase = row.phase;
    set_both(m, t, row);
    changed++;
  }
  return changed >= 2;
}

static bool norm_of_no_phase(struct mutation *m) {
  struct dtg_transfer *t = find_kind(m, DTG_TRANSFER_NORM);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.next_phase = m->partition.phases;
  return set_both(m, t, row);
}

// ---- updates ----

static bool double_update(struct mutation *m) {
  struct dtg_graph *update = m->of->module->update;
  struct dtg_root root = update->roots.data[draw(m, update->roots.len)];
  dtg_vec_push(&m->arena, &update->roots, root);
  return true;
}

static bool is_param(const struct mutation *m, const char *path) {
  for (size_t v = 0; v < m->of->module->variables.len; v++)
    if (m->of->module->variables.data[v].path == path)
      return m->of->module->variables.data[v].kind == DTG_VARIABLE_PARAM;
  return false;
}

static bool drop_update(struct mutation *m) {
  struct dtg_graph *update = m->of->module->update;
  size_t at = draw(m, update->roots.len);
  if (!is_param(m, update->roots.data[at].name))
    return false;
  update->roots.data[at] = dtg_vec_last(&update->roots);
  update->roots.len--;
  return true;
}

static bool misname_update(struct mutation *m) {
  struct dtg_graph *update = m->of->module->update;
  struct dtg_root *last = &update->roots.data[update->roots.len - 1];
  if (last->name == update->roots.data[0].name)
    return false;
  last->name = update->roots.data[0].name;
  return true;
}

static bool pick_reduction(struct mutation *m, size_t *at) {
  *at = draw(m, m->replication.reductions.len);
  return m->replication.reductions.data[*at].kind == DTG_ROOT_GRAD;
}

static bool double_reduction(struct mutation *m) {
  size_t at;
  if (!pick_reduction(m, &at))
    return false;
  dtg_vec_push(&m->arena, &m->replication.reductions, m->replication.reductions.data[at]);
  return true;
}

static bool drop_reduction(struct mutation *m) {
  size_t at, count = m->replication.reductions.len;
  if (!pick_reduction(m, &at))
    return false;
  m->replication.reductions.data[at] = m->replication.reductions.data[count - 1];
  m->replication.reductions.len--;
  return true;
}

static bool misdirect_reduction(struct mutation *m) {
  size_t at;
  if (!pick_reduction(m, &at))
    return false;
  struct dtg_reduction *d = &m->replication.reductions.data[at];
  d->variable = d->variable == 0 ? 1 : 0;
  return true;
}

static struct dtg_plan_function *pick_function(struct mutation *m) {
  struct dtg_plan_function *f = &m->plan.functions[draw(m, DTG_PLAN_FUNCTIONS)];
  return f->graph && f->steps.len > 1 ? f : NULL;
}

static bool double_step(struct mutation *m) {
  struct dtg_plan_function *f = pick_function(m);
  if (!f)
    return false;
  f->steps.data[0].group = f->steps.data[1 + draw(m, f->steps.len - 1)].group;
  return true;
}

static bool drop_step(struct mutation *m) {
  struct dtg_plan_function *f = pick_function(m);
  if (!f)
    return false;
  f->steps.len--;
  return true;
}

// ---- slices ----

// A slice that another of the same variable follows.
static struct dtg_slice *pick_cut(struct mutation *m) {
  size_t count = m->replication.slices.len, first = draw(m, count);
  for (size_t i = 0; i < count; i++) {
    size_t at = (first + i) % count;
    if (at + 1 < count &&
        m->replication.slices.data[at].variable == m->replication.slices.data[at + 1].variable)
      return &m->replication.slices.data[at];
  }
  return NULL;
}

static bool move_cut(struct mutation *m) {
  struct dtg_slice *s = pick_cut(m);
  if (!s)
    return false;
  int64_t by = 1 + draw(m, (size_t)s->block - 1);
  s[0].elements += by;
  s[1].first += by;
  s[1].elements -= by;
  return true;
}

static bool overlap_slices(struct mutation *m) {
  struct dtg_slice *s = pick_cut(m);
  if (!s)
    return false;
  s[1].first -= s->block;
  s[1].elements += s->block;
  return true;
}

static bool gap_between_slices(struct mutation *m) {
  struct dtg_slice *s = pick_cut(m);
  if (!s)
    return false;
  s[1].first += 1;
  s[1].elements -= 1;
  return true;
}

static bool shorten_slice(struct mutation *m) {
  struct dtg_slice *s = &m->replication.slices.data[draw(m, m->replication.slices.len)];
  if (s->elements < 2)
    return false;
  s->elements--;
  return true;
}

static bool drop_slice(struct mutation *m) {
  size_t count = m->replication.slices.len, at = draw(m, count);
  struct dtg_slice *data = m->replication.slices.data;
  memmove(&data[at], &data[at + 1], (count - at - 1) * sizeof *data);
  m->replication.slices.len--;
  return true;
}

static bool move_slice(struct mutation *m) {
  size_t owners = m->replication.owners.len;
  struct dtg_slice *s = &m->replication.slices.data[draw(m, m->replication.slices.len)];
  if (owners < 2)
    return false;
  uint32_t other = m->replication.owners.data[draw(m, owners)];
  if (other == s->owner)
    return false;
  s->owner = other;
  return true;
}

static bool give_to_no_owner(struct mutation *m) {
  m->replication.slices.data[draw(m, m->replication.slices.len)].owner = 1u << 20;
  return true;
}

// ---- memory ----

static bool is_arena(const struct dtg_plan_buffer *b) {
  return b->at.space == DTG_SPACE_ARENA;
}

// A buffer is moved onto one that lives at the same time, and is neither its heir nor its ancestor.
static bool move_onto_live(struct mutation *m) {
  struct dtg_plan_function *f = pick_function(m);
  if (!f || f->buffers.len < 2)
    return false;
  size_t count = f->buffers.len, first = draw(m, count);
  for (size_t i = 0; i < count; i++) {
    uint32_t a = (uint32_t)((first + i) % count), b = draw(m, count);
    struct dtg_plan_buffer *x = &f->buffers.data[a], *y = &f->buffers.data[b];
    if (a == b || !is_arena(x) || !is_arena(y) || x->bytes == 0 || y->bytes == 0 ||
        x->first_step > y->last_step || y->first_step > x->last_step || x->in_place_of == b ||
        y->in_place_of == a || y->at.offset + x->bytes > f->arena_bytes)
      continue;
    x->at.offset = y->at.offset;
    return true;
  }
  return false;
}

static bool move_out_of_arena(struct mutation *m) {
  struct dtg_plan_function *f = pick_function(m);
  if (!f || f->buffers.len == 0)
    return false;
  struct dtg_plan_buffer *b = &f->buffers.data[draw(m, f->buffers.len)];
  if (!is_arena(b))
    return false;
  b->at.offset = f->arena_bytes - b->bytes + 64;
  return true;
}

static bool change_peak(struct mutation *m) {
  struct dtg_plan_function *f = pick_function(m);
  if (!f)
    return false;
  f->live_peak_bytes -= 64;
  return true;
}

static bool join_variables(struct mutation *m) {
  size_t count = m->of->module->variables.len;
  uint32_t a = draw(m, count), b = draw(m, count);
  if (a == b)
    return false;
  m->plan.variable_offsets[a] = m->plan.variable_offsets[b];
  return true;
}

static bool join_contributions(struct mutation *m) {
  size_t count = m->plan.contributions.len;
  uint32_t a = draw(m, count), b = draw(m, count);
  if (a == b)
    return false;
  m->plan.contributions.data[a].offset = m->plan.contributions.data[b].offset;
  return true;
}

// ---- replicas ----

static bool shift_replicas(struct mutation *m) {
  m->replication.families.data[0].first += 1 + draw(m, 3);
  return true;
}

static bool shift_shards(struct mutation *m) {
  m->replication.shards += m->replication.replicas * (1 + draw(m, 3));
  return true;
}

static bool lose_replica(struct mutation *m) {
  struct dtg_device_set *set = &m->replication.families.data[0].devices;
  uint32_t *count = set->outer > 1 ? &set->outer : &set->inner;
  if (*count < 2)
    return false;
  --*count;
  return true;
}

static bool share_device(struct mutation *m) {
  struct dtg_device_set *set = &m->replication.families.data[0].devices;
  if (set->outer < 2)
    return false;
  set->outer_stride = 0;
  return true;
}

static bool leave_cluster(struct mutation *m) {
  m->replication.families.data[0].devices.base += dtg_cluster_device_count(&m->of->cluster);
  return true;
}

static bool shift_clients(struct mutation *m) {
  m->replication.client_families.data[0].first_replica += 1 + draw(m, 2);
  return true;
}

static bool change_partial_sums(struct mutation *m) {
  if (m->replication.single)
    return false;
  m->replication.partial_sums.classes.data[0].replicas += 1;
  return true;
}

static struct dtg_part *pick_part(struct mutation *m) {
  return &m->partition.parts.data[draw(m, m->partition.parts.len)];
}

static bool drop_node(struct mutation *m) {
  pick_part(m)->nodes.len--;
  return true;
}

static bool double_node(struct mutation *m) {
  struct dtg_part *part = pick_part(m);
  if (part->nodes.len < 2)
    return false;
  part->nodes.data[1 + draw(m, part->nodes.len - 1)] = 0;
  return true;
}

static bool drop_part(struct mutation *m) {
  *pick_part(m) = dtg_vec_last(&m->partition.parts);
  m->partition.parts.len--;
  return true;
}

static bool lose_device(struct mutation *m) {
  pick_part(m)->devices++;
  return true;
}

static bool move_node(struct mutation *m) {
  struct dtg_graph *train = m->of->module->train;
  m->node = dtg_graph_node(train, draw(m, train->nodes.len));
  m->device = m->node->device;
  m->node->device++;
  return true;
}

const struct mutation_kind mutation_kinds[] = {
    {"drop a send", drop_send, {"is waited for and never sent"}},
    {"drop a receive", drop_receive, {"is sent and never received"}},
    {"drop a transfer", drop_both, {"updates: owner ", "messages of "}},
    {"double a send", double_send, {"is sent twice"}},
    {"double a receive", double_receive, {"is received twice"}},
    {"double a transfer", double_both, {"is sent twice"}},
    {"resize a send", resize_send, {"is sent with"}},
    {"resize a transfer", resize_both, {"instead of", "partial sums"}},
    {"swap two sends", swap_sends, {"is sent with"}},
    {"count messages wrong", count_wrong, {"messages where there are"}},
    {"send out of range", send_out_of_range, {"has an end that is not there"}},
    {"push after the copy", push_after_copy, {"the wait graph has a cycle"}},
    {"publish before compute", publish_before_compute, {"the wait graph has a cycle"}},
    {"start after collect", start_after_collect, {"the wait graph has a cycle"}},
    {"reverse a start", reverse_start, {"the wait graph has a cycle"}},
    {"norm within a phase", norm_within_phase, {"the wait graph has a cycle"}},
    {"norm of no phase", norm_of_no_phase, {"a phase that the update does not have"}},
    {"double an update", double_update, {"is updated 2 times"}},
    {"drop an update", drop_update, {"is updated 0 times"}},
    {"misname an update", misname_update, {"is updated 2 times", "is updated 0 times"}},
    {"double a reduction", double_reduction, {"is reduced 2 times"}},
    {"drop a reduction", drop_reduction, {"is reduced 0 times"}},
    {"misdirect a reduction", misdirect_reduction, {"updates: the sum of"}},
    {"double a step", double_step, {"runs twice"}},
    {"drop a step", drop_step, {"never runs"}},
    {"move a cut", move_cut, {"inside a block"}},
    {"overlap slices", overlap_slices, {"has two owners"}},
    {"gap between slices", gap_between_slices, {"has no owner"}},
    {"shorten a slice", shorten_slice, {"has no owner", "inside a block"}},
    {"drop a slice", drop_slice, {"has no owner"}},
    {"move a slice", move_slice, {"instead of", "updates: owner "}},
    {"give to no owner", give_to_no_owner, {"is no owner"}},
    {"move onto a live buffer", move_onto_live, {"live at the same time in the same memory"}},
    {"move out of the arena", move_out_of_arena, {"lies outside"}},
    {"change the peak", change_peak, {"at its peak"}},
    {"join variables", join_variables, {"lie in the same memory", "lies outside its block"}},
    {"join contributions",
     join_contributions,
     {"lie in the same memory", "lies outside its block"}},
    {"shift replicas", shift_replicas, {"is missing or there twice"}},
    {"shift shards", shift_shards, {"replicas: they compute"}},
    {"lose a replica", lose_replica, {"is missing or there twice"}},
    {"share a device", share_device, {"two replicas are on one device"}},
    {"leave the cluster", leave_cluster, {"which is not there"}},
    {"shift clients", shift_clients, {"has two clients or does not exist", "drive"}},
    {"change partial sums", change_partial_sums, {"updates: the partial sums of"}},
    {"drop a node", drop_node, {"is not in its part"}},
    {"double a node", double_node, {"is not in its part"}},
    {"drop a part", drop_part, {"nobody runs", "has two parts"}},
    {"lose a device", lose_device, {"replicas: "}},
    {"move a node", move_node, {"is away from its replica"}},
};
const size_t mutation_kind_count = sizeof mutation_kinds / sizeof *mutation_kinds;
