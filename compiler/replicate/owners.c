// The owner map: `place`, then `params` (the first match wins), then the replicas themselves.
#include "compiler/base/bug.h"
#include "compiler/ir/sparse.h"
#include "compiler/replicate/internal.h"
#include "compiler/replicate/pattern.h"

#include <stdlib.h>
#include <string.h>

struct rule {
  struct dtg_device_set where;
  bool exists; // false: a `prefer` for a device that the cluster lacks
};

struct owner_map {
  struct dtg_replicate *r;
  struct rule *params, *places; // as in the strategy
  DTG_VEC(struct dtg_owner_unit) units;
  struct dtg_cause *causes; // per variable
  enum dtg_owner_kind *kinds;
};

static const struct dtg_variable *variable_at(const struct owner_map *m, uint32_t v) {
  return &m->r->out->module->variables.data[v];
}

static bool matches_variable(const struct owner_map *m, const char *pattern) {
  for (uint32_t v = 0; v < m->r->out->module->variables.len; v++)
    if (dtg_pattern_match(pattern, variable_at(m, v)->path))
      return true;
  return strcmp(pattern, "**") == 0;
}

static bool check_pattern(const struct owner_map *m, const struct dtg_owner_rule *rule) {
  if (matches_variable(m, rule->pattern))
    return true;
  struct dtg_diag *diag =
      dtg_error(&m->r->ctx->diags, rule->span,
                "the pattern \"%s\" matches no parameter and no state", rule->pattern);
  dtg_diag_hint(diag, "dtgc --emit=graph lists the paths; `*` stays within one part of a path, "
                      "`**` crosses");
  return false;
}

// `on cpu:0` is a device of the client's task: which one, if there are several clients?
static bool check_relative(const struct owner_map *m, const struct dtg_device_ref *ref,
                           struct dtg_span span, const char *what) {
  const struct dtg_replication *out = m->r->out;
  if (ref->job || out->clients == 1)
    return true;
  struct dtg_diag *diag =
      dtg_error(&m->r->ctx->diags, span,
                "%s a device of the client's task needs exactly one client, and strategy "
                "`%s` has %u",
                what, out->strategy->name, out->clients);
  dtg_diag_note(diag, out->client_families.data[0].cause.span,
                "between_graph makes one client a task");
  dtg_diag_hint(diag,
                "name a job, such as `on ps`, or write `params mirrored`; or replicate in_graph");
  return false;
}

static bool resolve_params(struct owner_map *m) {
  const struct dtg_replication *out = m->r->out;
  bool good = true;
  m->params = DTG_NEW_ARRAY(m->r->scratch, struct rule, out->strategy->owners.len);
  for (size_t i = 0; i < out->strategy->owners.len; i++) {
    const struct dtg_owner_rule *rule = &out->strategy->owners.data[i];
    m->params[i] = (struct rule){out->families.data[0].devices, true};
    good = check_pattern(m, rule) && good;
    if (rule->kind != DTG_OWNERS_ON)
      continue;
    good = check_relative(m, &rule->device, rule->span, "`params on`") &&
           dtg_replicate_resolve(m->r, &rule->device, &m->params[i].where) && good;
  }
  return good;
}

static bool resolve_places(struct owner_map *m) {
  const struct dtg_strategy *strategy = m->r->out->strategy;
  bool good = true;
  m->places = DTG_NEW_ARRAY(m->r->scratch, struct rule, strategy->places.len);
  for (size_t i = 0; i < strategy->places.len; i++) {
    const struct dtg_place_rule *rule = &strategy->places.data[i];
    if (!matches_variable(m, rule->pattern))
      continue; // for ops: stage 8
    bool fits = (rule->device.job || m->r->out->clients == 1) &&
                dtg_replicate_find(m->r, &rule->device, &m->places[i].where);
    m->places[i].exists = fits || rule->must;
    if (!m->places[i].exists)
      continue;
    good = check_relative(m, &rule->device, rule->span, "a parameter on") &&
           dtg_replicate_resolve(m->r, &rule->device, &m->places[i].where) && good;
  }
  return good;
}

static bool same_set(const struct dtg_device_set *a, const struct dtg_device_set *b) {
  return a->base == b->base && a->outer == b->outer && a->inner == b->inner &&
         (a->outer == 1 || a->outer_stride == b->outer_stride);
}

// The `place` rule of a variable: SIZE_MAX if there is none. False if two contradict each other.
static bool find_place(const struct owner_map *m, uint32_t v, size_t *found) {
  const struct dtg_strategy *strategy = m->r->out->strategy;
  *found = SIZE_MAX;
  for (size_t i = 0; i < strategy->places.len; i++) {
    const struct dtg_place_rule *rule = &strategy->places.data[i];
    if (!rule->must || !dtg_pattern_match(rule->pattern, variable_at(m, v)->path))
      continue;
    if (*found == SIZE_MAX)
      *found = i;
    if (same_set(&m->places[i].where, &m->places[*found].where))
      continue;
    struct dtg_diag *diag = dtg_error(&m->r->ctx->diags, rule->span, "`%s` cannot be in two places",
                                      variable_at(m, v)->path);
    dtg_diag_note(diag, strategy->places.data[*found].span, "\"%s\" wants it on %s",
                  strategy->places.data[*found].pattern,
                  dtg_replicate_device_name(m->r, m->places[*found].where.base));
    dtg_diag_note(diag, rule->span, "\"%s\" wants it on %s", rule->pattern,
                  dtg_replicate_device_name(m->r, m->places[i].where.base));
    dtg_diag_hint(diag, "write `prefer` for the one that may give way");
    return false;
  }
  return true;
}

static bool is_among(const struct dtg_device_set *some, const struct dtg_device_set *all) {
  uint32_t number;
  return dtg_device_set_count(some) == 1 && dtg_device_set_find(all, some->base, &number);
}

// A `prefer` counts where the `params` rule leaves the choice.
static size_t find_prefer(const struct owner_map *m, uint32_t v,
                          const struct dtg_device_set *where) {
  const struct dtg_strategy *strategy = m->r->out->strategy;
  for (size_t i = 0; i < strategy->places.len; i++)
    if (!strategy->places.data[i].must && m->places[i].exists &&
        dtg_pattern_match(strategy->places.data[i].pattern, variable_at(m, v)->path) &&
        is_among(&m->places[i].where, where))
      return i;
  return SIZE_MAX;
}

static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// The same of a sparse table, whose messages are rows: as many as there can be.
static int64_t weigh_rows(const struct owner_map *m, const struct dtg_sparse *table,
                          int64_t elements, int64_t held) {
  const struct dtg_replication *out = m->r->out;
  int64_t rows = elements / table->width;
  int64_t push =
      dtg_sparse_message_bytes(table, dtg_sparse_most(table, out->shards / out->replicas, rows));
  int64_t publish = elements * (int64_t)sizeof(float);
  if (dtg_publishes_rows(out, table))
    publish = dtg_sparse_message_bytes(table, dtg_sparse_most(table, out->shards, rows));
  return add(held, add(multiply(push, out->partial_sums.all), multiply(publish, out->replicas)));
}

// Value and slots, what the replicas push and what is published to them in a step.
static int64_t weigh(const struct owner_map *m, uint32_t v, int64_t elements) {
  const struct dtg_replication *out = m->r->out;
  int64_t bytes = elements * (int64_t)dtg_dtype_size(variable_at(m, v)->type.dtype), copies = 1;
  for (uint32_t s = 0; s < out->module->variables.len; s++)
    copies += variable_at(m, s)->kind == DTG_VARIABLE_SLOT && variable_at(m, s)->param == v;
  const struct dtg_sparse *table = dtg_sparse_of(out->module, v);
  if (table)
    return weigh_rows(m, table, elements, multiply(bytes, copies));
  return multiply(bytes, add(add(copies, out->partial_sums.all), out->replicas));
}

static void add_units(struct owner_map *m, struct dtg_owner_unit unit, int64_t pieces) {
  const struct dtg_shape *shape = &variable_at(m, unit.variable)->type.shape;
  int64_t count = dtg_shape_count(shape), block = dtg_block_elements(shape);
  int64_t blocks = dtg_block_count(shape);
  for (int64_t i = 0; i < pieces; i++) {
    int64_t end = i + 1 == pieces ? count : blocks * (i + 1) / pieces * block;
    unit.first = blocks * i / pieces * block;
    unit.elements = end - unit.first;
    unit.weight = weigh(m, unit.variable, unit.elements);
    dtg_vec_push(m->r->scratch, &m->units, unit);
  }
}

// `split >= SIZE`; where the replicas own, all that has several blocks is shared among them, so
// that reducing and publishing is a reduce-scatter and an all-gather.
static bool wants_pieces(const struct dtg_owner_rule *rule, const struct dtg_type *type) {
  if (!rule || rule->kind != DTG_OWNERS_ON)
    return true;
  return rule->split > 0 && dtg_type_bytes(type) >= rule->split;
}

static int64_t pieces_of(const struct owner_map *m, const struct dtg_owner_rule *rule,
                         const struct dtg_owner_unit *unit) {
  const struct dtg_type *type = &variable_at(m, unit->variable)->type;
  const struct dtg_update_split *split = m->r->split;
  if (!wants_pieces(rule, type) || !split || split->whole[unit->variable])
    return 1;
  int64_t blocks = dtg_block_count(&type->shape), devices = dtg_device_set_count(&unit->where);
  return blocks < devices ? blocks : devices;
}

static const struct dtg_owner_rule *find_params(const struct owner_map *m, uint32_t v,
                                                size_t *index) {
  const struct dtg_strategy *strategy = m->r->out->strategy;
  for (*index = 0; *index < strategy->owners.len; ++*index)
    if (dtg_pattern_match(strategy->owners.data[*index].pattern, variable_at(m, v)->path))
      return &strategy->owners.data[*index];
  return NULL;
}

static bool add_variable(struct owner_map *m, uint32_t v) {
  const struct dtg_replication *out = m->r->out;
  struct dtg_owner_unit unit = {.variable = v, .rule = UINT32_MAX};
  size_t place, params;
  if (!find_place(m, v, &place))
    return false;
  const struct dtg_owner_rule *rule = find_params(m, v, &params);
  unit.where = rule ? m->params[params].where : out->families.data[0].devices;
  m->kinds[v] = rule ? rule->kind : DTG_OWNERS_MIRRORED;
  m->causes[v] = rule ? (struct dtg_cause){"params", rule->span}
                      : (struct dtg_cause){"default-owner", out->strategy->span};
  if (place == SIZE_MAX)
    place = find_prefer(m, v, &unit.where);
  if (place != SIZE_MAX) {
    const struct dtg_place_rule *at = &out->strategy->places.data[place];
    unit.where = m->places[place].where;
    m->kinds[v] = DTG_OWNERS_ON;
    m->causes[v] = (struct dtg_cause){at->must ? "place" : "prefer", at->span};
  } else if (rule) {
    unit.rule = (uint32_t)params;
    unit.round_robin = rule->round_robin;
  }
  add_units(m, unit, pieces_of(m, rule, &unit));
  return true;
}

// Neighbours with one owner are one slice.
static void add_slices(struct owner_map *m) {
  struct dtg_replication *out = m->r->out;
  for (size_t i = 0; i < m->units.len; i++) {
    const struct dtg_owner_unit *unit = &m->units.data[i];
    struct dtg_slice *last = out->slices.len ? &dtg_vec_last(&out->slices) : NULL;
    if (last && last->variable == unit->variable && last->owner == unit->owner) {
      last->elements += unit->elements;
      continue;
    }
    struct dtg_slice slice = {unit->variable,
                              unit->first,
                              unit->elements,
                              dtg_block_elements(&variable_at(m, unit->variable)->type.shape),
                              unit->owner,
                              m->kinds[unit->variable],
                              m->causes[unit->variable]};
    dtg_vec_push(&m->r->ctx->arena, &out->slices, slice);
  }
}

static int by_number(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static void list_owners(struct dtg_replicate *r) {
  struct dtg_replication *out = r->out;
  uint32_t *all = DTG_NEW_ARRAY(r->scratch, uint32_t, out->slices.len);
  for (size_t i = 0; i < out->slices.len; i++)
    all[i] = out->slices.data[i].owner;
  qsort(all, out->slices.len, sizeof *all, by_number);
  for (size_t i = 0; i < out->slices.len; i++)
    if (i == 0 || all[i] != all[i - 1])
      dtg_vec_push(&r->ctx->arena, &out->owners, all[i]);
}

static bool check_split(const struct dtg_replicate *r) {
  const struct dtg_update_split *split = r->split;
  if (!split || !split->why || r->out->single)
    return true;
  const struct dtg_node *node = dtg_graph_node(r->out->module->update, split->trouble);
  struct dtg_diag *diag = dtg_error(&r->ctx->diags, node->span,
                                    "this update cannot be cut among owners: %s", split->why);
  dtg_diag_note(diag, r->out->strategy->span, "strategy `%s` has %u replica%s and %zu owner%s",
                r->out->strategy->name, r->out->replicas, r->out->replicas == 1 ? "" : "s",
                r->out->owners.len, r->out->owners.len == 1 ? "" : "s");
  dtg_diag_hint(diag, "use a strategy without `replicate` and `params`");
  return false;
}

bool dtg_replicate_owners(struct dtg_replicate *r) {
  struct owner_map m = {.r = r};
  struct dtg_replication *out = r->out;
  bool good = resolve_params(&m);
  if (!resolve_places(&m) || !good)
    return false;
  m.causes = DTG_NEW_ARRAY(r->scratch, struct dtg_cause, out->module->variables.len);
  m.kinds = DTG_NEW_ARRAY(r->scratch, enum dtg_owner_kind, out->module->variables.len);
  for (uint32_t v = 0; v < out->module->variables.len; v++)
    if (variable_at(&m, v)->kind != DTG_VARIABLE_SLOT && !add_variable(&m, v))
      return false;
  dtg_owner_balance(r->scratch, m.units.data, m.units.len);
  add_slices(&m);
  list_owners(r);
  uint32_t replica = dtg_replica_device(out, 0);
  out->single = out->replicas == 1 &&
                (out->owners.len == 0 || (out->owners.len == 1 && out->owners.data[0] == replica));
  return check_split(r);
}
