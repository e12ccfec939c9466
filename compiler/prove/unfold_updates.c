// (b), (c) and (d) one by one: nodes, elements, shards, buffers.
#include "compiler/prove/unfold.h"

#include "compiler/ir/sparse.h"

static const struct dtg_variable *variable_at(const struct dtg_unfolded *u, uint32_t v) {
  return &u->proof->r->module->variables.data[v];
}

// ---- nodes ----

static bool check_graph(struct dtg_unfolded *u, const struct dtg_graph *graph) {
  const struct dtg_partition *p = u->proof->p;
  bool update = graph == u->proof->r->module->update;
  uint32_t wanted = update && u->owners > 0 ? u->owners : u->replicas;
  uint32_t *seen = DTG_NEW_ARRAY(&u->proof->scratch, uint32_t, graph->nodes.len);
  for (size_t i = 0; i < p->parts.len; i++) {
    const struct dtg_part *part = &p->parts.data[i];
    if (part->graph != graph)
      continue;
    if (part->devices != wanted)
      return dtg_proof_fail(u->proof, "replicas: %u devices of %u run the %s graph", part->devices,
                            wanted, graph->name);
    for (size_t k = 0; k < part->nodes.len; k++)
      if (part->nodes.data[k] >= graph->nodes.len || seen[part->nodes.data[k]]++ ||
          (k > 0 && part->nodes.data[k] < part->nodes.data[k - 1]))
        return dtg_proof_fail(
            u->proof, "replicas: a node of the %s graph runs twice or out of order", graph->name);
  }
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    if (seen[n] != 1)
      return dtg_proof_fail(u->proof, "replicas: node %%%u of the %s graph is not in its part", n,
                            graph->name);
    if (!update && dtg_graph_node(graph, n)->device != u->device[u->clients])
      return dtg_proof_fail(
          u->proof, "replicas: node %%%u of the %s graph is away from its replica", n, graph->name);
  }
  return true;
}

static bool check_graphs(struct dtg_unfolded *u) {
  const struct dtg_module *m = u->proof->r->module;
  const struct dtg_graph *graphs[] = {m->train, m->eval, m->tail, m->update};
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    if (graphs[g] && !check_graph(u, graphs[g]))
      return false;
  return true;
}

// ---- elements ----

// 16,384 elements rounded up to whole rows, from the words of the specification.
static int64_t block_of(const struct dtg_shape *shape) {
  int64_t row = 1, rows = 1;
  for (uint32_t i = 1; i < shape->rank; i++)
    row *= shape->dims[i];
  while (rows * row < 16384 && (shape->rank == 0 || rows < shape->dims[0]) && shape->rank > 0)
    rows++;
  return rows * row;
}

// Number of the owner of each element of a variable.
static bool mark_elements(struct dtg_unfolded *u, uint32_t v, uint32_t *owner_of) {
  const struct dtg_replication *r = u->proof->r;
  const struct dtg_shape *shape = &variable_at(u, v)->type.shape;
  int64_t count = dtg_shape_count(shape), block = block_of(shape);
  for (int64_t e = 0; e < count; e++)
    owner_of[e] = UINT32_MAX;
  for (size_t i = 0; i < r->slices.len; i++) {
    const struct dtg_slice *s = &r->slices.data[i];
    uint32_t owner = 0;
    if (s->variable != v)
      continue;
    while (owner < u->owners && r->owners.data[owner] != s->owner)
      owner++;
    if (owner == u->owners || s->elements <= 0 || s->first < 0 || s->first + s->elements > count)
      return dtg_proof_fail(u->proof, "updates: a slice of `%s` has no owner, or no elements",
                            variable_at(u, v)->path);
    if (s->first % block != 0 || s->block != dtg_block_elements(shape))
      return dtg_proof_fail(u->proof, "updates: `%s` is cut inside a block of %lld elements",
                            variable_at(u, v)->path, (long long)block);
    for (int64_t e = s->first; e < s->first + s->elements; e++) {
      if (owner_of[e] != UINT32_MAX)
        return dtg_proof_fail(u->proof, "updates: element %lld of `%s` has two owners",
                              (long long)e, variable_at(u, v)->path);
      owner_of[e] = owner;
    }
  }
  for (int64_t e = 0; e < count; e++)
    if (owner_of[e] == UINT32_MAX)
      return dtg_proof_fail(u->proof, "updates: element %lld of `%s` has no owner", (long long)e,
                            variable_at(u, v)->path);
  return true;
}

struct totals {
  int64_t *push, *publish; // by owner
  int64_t *norm;           // by phase * owners + owner
  bool *lists, *published; // by owner: it gets, and publishes, lists of rows
  uint32_t phases;
};

// Row by row: those of one owner that follow each other are one list.
static void add_list(struct dtg_unfolded *u, const struct dtg_sparse *table,
                     const uint32_t *owner_of, struct totals *totals) {
  const struct dtg_replication *r = u->proof->r;
  int64_t each = r->shards / r->replicas * table->picks, all = r->shards * table->picks;
  int64_t run = 0, list = 0, published = 0;
  for (int64_t row = 0; row < table->rows; row++) {
    uint32_t owner = owner_of[row * table->width];
    bool begins = row == 0 || owner_of[(row - 1) * table->width] != owner;
    run = begins ? 1 : run + 1;
    list = run <= each ? 4 + 4 * table->width : 0;
    published = run <= all ? 4 + 4 * table->width : 0;
    if (!table->touched || r->relaxed)
      published = 4 * table->width;
    else if (begins)
      published += 4;
    totals->lists[owner] = true;
    totals->published[owner] |= table->touched && !r->relaxed;
    totals->push[owner] += list + (begins ? 4 : 0);
    totals->publish[owner] += published;
  }
}

static void add_blocks(struct dtg_unfolded *u, const struct dtg_update_split *split, uint32_t v,
                       const uint32_t *owner_of, struct totals *totals) {
  const struct dtg_shape *shape = &variable_at(u, v)->type.shape;
  int64_t block = block_of(shape);
  for (size_t i = 0; i < split->exchanges.len; i++) {
    const struct dtg_update_exchange *e = &split->exchanges.data[i];
    if (e->variable != v || e->phase >= totals->phases)
      continue;
    for (int64_t at = 0; at < dtg_shape_count(shape); at += block)
      totals->norm[e->phase * u->owners + owner_of[at]] += 4;
  }
}

static bool add_variable(struct dtg_unfolded *u, const struct dtg_update_split *split, uint32_t v,
                         struct totals *totals) {
  int64_t count = dtg_shape_count(&variable_at(u, v)->type.shape);
  int64_t size = (int64_t)dtg_dtype_size(variable_at(u, v)->type.dtype);
  uint32_t *owner_of = DTG_NEW_ARRAY(&u->proof->scratch, uint32_t, count);
  if (!mark_elements(u, v, owner_of))
    return false;
  bool reduced = dtg_proof_is_reduced(u->proof, v);
  const struct dtg_sparse *table = dtg_sparse_of(u->proof->r->module, v);
  if (table)
    add_list(u, table, owner_of, totals);
  for (int64_t e = 0; e < count && !table; e++) {
    totals->publish[owner_of[e]] += size;
    if (reduced)
      totals->push[owner_of[e]] += size;
  }
  if (split)
    add_blocks(u, split, v, owner_of, totals);
  return true;
}

// ---- once per step ----

static uint32_t times_reduced(const struct dtg_replication *r, uint32_t v) {
  uint32_t times = 0;
  for (size_t i = 0; i < r->reductions.len; i++)
    times += r->reductions.data[i].variable == v &&
             r->reductions.data[i].name == r->module->variables.data[v].path &&
             (r->reductions.data[i].kind == DTG_ROOT_GRAD ||
              r->reductions.data[i].kind == DTG_ROOT_STATE);
  return times;
}

static uint32_t times_updated(const struct dtg_module *module, uint32_t v) {
  uint32_t times = 0;
  for (size_t i = 0; i < module->update->roots.len; i++)
    times += module->update->roots.data[i].name == module->variables.data[v].path;
  return times;
}

static bool check_once(struct dtg_unfolded *u) {
  const struct dtg_module *module = u->proof->r->module;
  size_t reduced = 0, updated = 0, wanted = 0;
  if (!module->train || !module->update)
    return true;
  for (uint32_t v = 0; v < module->variables.len; v++) {
    uint32_t sums = times_reduced(u->proof->r, v), news = times_updated(module, v);
    bool param = variable_at(u, v)->kind == DTG_VARIABLE_PARAM;
    reduced += sums;
    updated += news;
    if (sums > 1 || (param && sums == 0))
      return dtg_proof_fail(u->proof, "updates: `%s` is reduced %u times a step",
                            variable_at(u, v)->path, sums);
    if (news > 1 || (param && news == 0))
      return dtg_proof_fail(u->proof, "updates: `%s` is updated %u times a step",
                            variable_at(u, v)->path, news);
  }
  for (size_t i = 0; i < u->proof->r->reductions.len; i++)
    wanted += u->proof->r->reductions.data[i].kind == DTG_ROOT_GRAD ||
              u->proof->r->reductions.data[i].kind == DTG_ROOT_STATE;
  if (reduced == wanted && updated == module->update->roots.len)
    return true;
  return dtg_proof_fail(u->proof, "updates: what is no variable is reduced or updated");
}

// ---- messages ----

static bool expect(struct dtg_unfolded *u, enum dtg_transfer_kind kind, uint32_t phase,
                   uint32_t from, uint32_t to, int64_t bytes, bool rows, size_t *count) {
  if (bytes == 0 || u->device[from] == u->device[to])
    return true;
  const struct dtg_message *m = dtg_unfold_find(u, kind, phase, from, to);
  ++*count;
  if (m && m->bytes == bytes && m->at_most == rows)
    return true;
  return dtg_proof_fail(u->proof,
                        "updates: %s from party %u to party %u is missing or not of %lld bytes",
                        dtg_transfer_name(kind), from, to, (long long)bytes);
}

static bool check_owner(struct dtg_unfolded *u, uint32_t o, const struct totals *totals,
                        size_t count[DTG_TRANSFER_KINDS]) {
  uint32_t owner = u->clients + u->replicas + o;
  for (uint32_t i = 0; i < u->replicas; i++) {
    uint32_t replica = u->clients + i;
    if (!expect(u, DTG_TRANSFER_PUSH, 0, replica, owner, totals->push[o] * u->sums[i],
                totals->lists[o], &count[DTG_TRANSFER_PUSH]) ||
        !expect(u, DTG_TRANSFER_PUBLISH, totals->phases - 1, owner, replica, totals->publish[o],
                totals->published[o], &count[DTG_TRANSFER_PUBLISH]))
      return false;
  }
  for (uint32_t phase = 0; phase < totals->phases; phase++)
    for (uint32_t other = 0; other < u->owners; other++)
      if (other != o &&
          !expect(u, DTG_TRANSFER_NORM, phase, owner, u->clients + u->replicas + other,
                  totals->norm[phase * u->owners + o], false, &count[DTG_TRANSFER_NORM]))
        return false;
  return true;
}

static bool check_messages(struct dtg_unfolded *u, const struct totals *totals) {
  size_t count[DTG_TRANSFER_KINDS] = {0};
  const enum dtg_transfer_kind kinds[] = {DTG_TRANSFER_PUSH, DTG_TRANSFER_NORM,
                                          DTG_TRANSFER_PUBLISH};
  if (u->proof->r->single || !u->proof->r->module->train)
    return u->count == 0 || dtg_proof_fail(u->proof, "updates: one device sends to itself");
  for (uint32_t o = 0; o < u->owners; o++)
    if (!check_owner(u, o, totals, count))
      return false;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (dtg_unfold_count(u, kinds[k]) != count[kinds[k]])
      return dtg_proof_fail(u->proof, "updates: there are %s messages that nobody asked for",
                            dtg_transfer_name(kinds[k]));
  return true;
}

bool dtg_unfold_updates(struct dtg_unfolded *u) {
  const struct dtg_module *module = u->proof->r->module;
  struct dtg_arena *scratch = &u->proof->scratch;
  struct totals totals = {.push = DTG_NEW_ARRAY(scratch, int64_t, u->owners),
                          .publish = DTG_NEW_ARRAY(scratch, int64_t, u->owners),
                          .lists = DTG_NEW_ARRAY(scratch, bool, u->owners),
                          .published = DTG_NEW_ARRAY(scratch, bool, u->owners),
                          .norm = DTG_NEW_ARRAY(scratch, int64_t, u->owners * u->proof->p->phases),
                          .phases = u->proof->p->phases};
  const struct dtg_update_split *split = NULL;
  if (!check_graphs(u) || !check_once(u))
    return false;
  if (module->update)
    split = dtg_update_split_new(scratch, module, dtg_groups_new(scratch, module->update));
  for (size_t i = 0; i < u->proof->r->slices.len; i++) {
    uint32_t v = u->proof->r->slices.data[i].variable;
    if (v >= module->variables.len || variable_at(u, v)->kind == DTG_VARIABLE_SLOT)
      return dtg_proof_fail(u->proof, "updates: slice %zu is of no parameter or state", i);
  }
  for (uint32_t v = 0; v < module->variables.len; v++)
    if (variable_at(u, v)->kind != DTG_VARIABLE_SLOT && !add_variable(u, split, v, &totals))
      return false;
  return check_messages(u, &totals);
}

// ---- memory ----

static bool meet(const struct dtg_plan_buffer *a, const struct dtg_plan_buffer *b) {
  return a->at.space == DTG_SPACE_ARENA && b->at.space == DTG_SPACE_ARENA &&
         a->first_step <= b->last_step && b->first_step <= a->last_step &&
         a->at.offset < b->at.offset + b->bytes && b->at.offset < a->at.offset + a->bytes;
}

static bool takes_over(const struct dtg_plan_function *f, uint32_t a, uint32_t b) {
  const struct dtg_plan_buffer *from = &f->buffers.data[a], *to = &f->buffers.data[b];
  return to->in_place_of == a && from->last_step == to->first_step &&
         from->at.offset == to->at.offset && from->bytes == to->bytes;
}

static bool check_steps(struct dtg_unfolded *u, const struct dtg_plan_function *f) {
  for (uint32_t group = 0; group < f->graph->group_count; group++) {
    uint32_t times = 0;
    for (size_t s = 0; s < f->steps.len; s++)
      times += f->steps.data[s].group == group;
    if (times != 1)
      return dtg_proof_fail(u->proof, "updates: group %u of %s runs %u times", group, f->name,
                            times);
  }
  return f->steps.len == f->graph->group_count ||
         dtg_proof_fail(u->proof, "updates: a step of %s runs no group", f->name);
}

// Bytes that something lives in, step by step: memory taken over in the step belongs to both.
static bool check_peak(struct dtg_unfolded *u, const struct dtg_plan_function *f) {
  int64_t peak = 0;
  for (uint32_t step = 0; step < f->steps.len; step++) {
    int64_t live = 0;
    for (uint32_t i = 0; i < f->buffers.len; i++) {
      const struct dtg_plan_buffer *b = &f->buffers.data[i];
      bool shares = b->in_place_of != DTG_NO_NODE && b->first_step == step;
      if (b->at.space == DTG_SPACE_ARENA && b->first_step <= step && step <= b->last_step &&
          !shares)
        live += b->bytes;
    }
    peak = live > peak ? live : peak;
  }
  return (peak == f->live_peak_bytes && peak <= f->arena_bytes) ||
         dtg_proof_fail(u->proof, "memory: %s needs %lld bytes at its peak, and the plan says %lld",
                        f->name, (long long)peak, (long long)f->live_peak_bytes);
}

static bool check_function(struct dtg_unfolded *u, const struct dtg_plan_function *f) {
  for (uint32_t i = 0; i < f->buffers.len; i++) {
    const struct dtg_plan_buffer *b = &f->buffers.data[i];
    if (b->at.space == DTG_SPACE_ARENA &&
        (b->at.offset < 0 || b->at.offset + b->bytes > f->arena_bytes ||
         b->first_step > b->last_step || b->first_step >= f->steps.len))
      return dtg_proof_fail(u->proof, "memory: buffer %u of %s lies outside its arena or its steps",
                            i, f->name);
    for (uint32_t k = 0; k < i; k++)
      if (meet(b, &f->buffers.data[k]) && !takes_over(f, i, k) && !takes_over(f, k, i))
        return dtg_proof_fail(
            u->proof, "memory: buffers %u and %u of %s live at the same time in the same memory", k,
            i, f->name);
  }
  return check_steps(u, f) && check_peak(u, f);
}

static bool check_variables(struct dtg_unfolded *u) {
  const struct dtg_plan *plan = u->proof->plan;
  for (uint32_t a = 0; a < plan->module->variables.len; a++) {
    int64_t begin = plan->variable_offsets[a],
            end = begin + dtg_type_bytes(&variable_at(u, a)->type);
    bool good = begin >= 0 && end <= plan->variables_bytes;
    for (uint32_t b = 0; b < a && good; b++)
      good = plan->variable_offsets[b] >= end ||
             plan->variable_offsets[b] + dtg_type_bytes(&variable_at(u, b)->type) <= begin;
    if (!good)
      return dtg_proof_fail(u->proof, "memory: variables %u lies in other memory than its own", a);
  }
  return true;
}

static int64_t begin_of(const struct dtg_plan_contribution *c) {
  return c->sparse ? c->rows : c->offset;
}

static int64_t end_of(const struct dtg_plan_contribution *c) {
  return c->offset + (c->sparse ? 4 * c->capacity * c->sparse->width : dtg_type_bytes(&c->type));
}

// Room for every row that some shards of a replica can touch, counted one by one.
static bool has_room(const struct dtg_unfolded *u, const struct dtg_plan_contribution *c) {
  const struct dtg_replication *r = u->proof->r;
  int64_t touched = 0;
  for (int64_t shard = 0; shard < r->shards / r->replicas; shard++)
    touched += c->sparse->picks;
  if (touched > c->sparse->rows)
    touched = c->sparse->rows;
  return c->capacity >= touched && c->capacity >= c->sparse->picks && c->ids >= c->rows + 4 &&
         c->offset >= c->ids + 4 * c->capacity;
}

static bool check_contributions(struct dtg_unfolded *u) {
  const struct dtg_plan *plan = u->proof->plan;
  for (uint32_t a = 0; a < plan->contributions.len; a++) {
    const struct dtg_plan_contribution *x = &plan->contributions.data[a];
    bool good = begin_of(x) >= 0 && end_of(x) <= plan->contribution_bytes;
    if (x->sparse)
      good = good && has_room(u, x);
    for (uint32_t b = 0; b < a && good; b++) {
      const struct dtg_plan_contribution *y = &plan->contributions.data[b];
      good = begin_of(y) >= end_of(x) || end_of(y) <= begin_of(x);
    }
    if (!good)
      return dtg_proof_fail(u->proof, "memory: contributions %u lies in other memory than its own",
                            a);
  }
  return true;
}

bool dtg_unfold_memory(struct dtg_unfolded *u) {
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++)
    if (u->proof->plan->functions[i].graph && !check_function(u, &u->proof->plan->functions[i]))
      return false;
  return check_variables(u) && check_contributions(u);
}
