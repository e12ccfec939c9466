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
  m->sparse = of->module->sparse.data;
  COPY(m, &of->module->sparse);
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
  m->of->module->sparse.data = m->sparse;
  m->of->module->sparse.cap = m->of->module->sparse.len;
  if (m->node)
    m->node->device = m->device;
  dtg_arena_free(&m->arena);
}

uint32_t mutation_draw(struct mutation *m, size_t bound) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((m->random >> 33) % bound);
}

// ---- updates ----

static bool double_update(struct mutation *m) {
  struct dtg_graph *update = m->of->module->update;
  struct dtg_root root = update->roots.data[mutation_draw(m, update->roots.len)];
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
  size_t at = mutation_draw(m, update->roots.len);
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
  *at = mutation_draw(m, m->replication.reductions.len);
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
  struct dtg_plan_function *f = &m->plan.functions[mutation_draw(m, DTG_PLAN_FUNCTIONS)];
  return f->graph && f->steps.len > 1 ? f : NULL;
}

static bool double_step(struct mutation *m) {
  struct dtg_plan_function *f = pick_function(m);
  if (!f)
    return false;
  f->steps.data[0].group = f->steps.data[1 + mutation_draw(m, f->steps.len - 1)].group;
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
  size_t count = m->replication.slices.len, first = mutation_draw(m, count);
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
  int64_t most = s[1].elements < s->block ? s[1].elements : s->block;
  int64_t by = 1 + mutation_draw(m, (size_t)most - 1);
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
  struct dtg_slice *s = &m->replication.slices.data[mutation_draw(m, m->replication.slices.len)];
  if (s->elements < 2)
    return false;
  s->elements--;
  return true;
}

static bool drop_slice(struct mutation *m) {
  size_t count = m->replication.slices.len, at = mutation_draw(m, count);
  struct dtg_slice *data = m->replication.slices.data;
  memmove(&data[at], &data[at + 1], (count - at - 1) * sizeof *data);
  m->replication.slices.len--;
  return true;
}

static bool move_slice(struct mutation *m) {
  size_t owners = m->replication.owners.len;
  struct dtg_slice *s = &m->replication.slices.data[mutation_draw(m, m->replication.slices.len)];
  if (owners < 2)
    return false;
  uint32_t other = m->replication.owners.data[mutation_draw(m, owners)];
  if (other == s->owner)
    return false;
  s->owner = other;
  return true;
}

static bool give_to_no_owner(struct mutation *m) {
  m->replication.slices.data[mutation_draw(m, m->replication.slices.len)].owner = 1u << 20;
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
  size_t count = f->buffers.len, first = mutation_draw(m, count);
  for (size_t i = 0; i < count; i++) {
    uint32_t a = (uint32_t)((first + i) % count), b = mutation_draw(m, count);
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
  struct dtg_plan_buffer *b = &f->buffers.data[mutation_draw(m, f->buffers.len)];
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
  uint32_t a = mutation_draw(m, count), b = mutation_draw(m, count);
  if (a == b)
    return false;
  m->plan.variable_offsets[a] = m->plan.variable_offsets[b];
  return true;
}

static bool join_contributions(struct mutation *m) {
  size_t count = m->plan.contributions.len;
  uint32_t a = mutation_draw(m, count), b = mutation_draw(m, count);
  if (a == b)
    return false;
  m->plan.contributions.data[a].offset = m->plan.contributions.data[b].offset;
  return true;
}

static bool squeeze_rows(struct mutation *m) {
  for (size_t i = 0; i < m->plan.contributions.len; i++) {
    struct dtg_plan_contribution *c = &m->plan.contributions.data[i];
    if (!c->sparse)
      continue;
    int64_t most = m->replication.shards / m->replication.replicas * c->sparse->picks;
    c->capacity = (most < c->sparse->rows ? most : c->sparse->rows) - 1;
    return true;
  }
  return false;
}

// What is said of a sparse table is not what the graph has.
static bool gather_more(struct mutation *m) {
  struct dtg_sparse *table = m->of->module->sparse.data;
  if (m->partition.sends.len == 0 || m->of->module->sparse.len == 0)
    return false;
  table->picks += 1 + mutation_draw(m, 3);
  return true;
}

// ---- replicas ----

static bool shift_replicas(struct mutation *m) {
  m->replication.families.data[0].first += 1 + mutation_draw(m, 3);
  return true;
}

static bool shift_shards(struct mutation *m) {
  m->replication.shards += m->replication.replicas * (1 + mutation_draw(m, 3));
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
  m->replication.client_families.data[0].first_replica += 1 + mutation_draw(m, 2);
  return true;
}

static bool change_partial_sums(struct mutation *m) {
  if (m->replication.single)
    return false;
  m->replication.partial_sums.classes.data[0].replicas += 1;
  return true;
}

static struct dtg_part *pick_part(struct mutation *m) {
  return &m->partition.parts.data[mutation_draw(m, m->partition.parts.len)];
}

static bool drop_node(struct mutation *m) {
  pick_part(m)->nodes.len--;
  return true;
}

static bool double_node(struct mutation *m) {
  struct dtg_part *part = pick_part(m);
  if (part->nodes.len < 2)
    return false;
  part->nodes.data[1 + mutation_draw(m, part->nodes.len - 1)] = 0;
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
  m->node = dtg_graph_node(train, mutation_draw(m, train->nodes.len));
  m->device = m->node->device;
  m->node->device++;
  return true;
}

static const struct mutation_kind kinds[] = {
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
     {"lie in the same memory", "lies outside its block", "have no room"}},
    {"squeeze rows", squeeze_rows, {"have no room"}},
    {"gather more rows", gather_more, {"updates: the rows of"}},
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
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t mutation_kind_count(void) {
  return KINDS + mutation_message_kind_count;
}

const struct mutation_kind *mutation_kind_at(size_t index) {
  return index < KINDS ? &kinds[index] : &mutation_message_kinds[index - KINDS];
}
