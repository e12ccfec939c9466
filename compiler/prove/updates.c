// (c) Every parameter is updated exactly once a step, by its owner, from a complete sum.
#include "compiler/prove/internal.h"

#include "compiler/ir/sparse.h"

#include <string.h>

static const struct dtg_variable *variable_at(const struct dtg_proof *proof, uint32_t v) {
  return &proof->r->module->variables.data[v];
}

// ---- slices ----

static bool check_slice(struct dtg_proof *proof, const struct dtg_slice *s, int64_t begin) {
  const struct dtg_variable *v = variable_at(proof, s->variable);
  int64_t all = dtg_shape_count(&v->type.shape), end = s->first + s->elements;
  if (s->first < begin || s->elements <= 0)
    return dtg_proof_fail(proof, "updates: element %lld of `%s` has two owners",
                          (long long)s->first, v->path);
  if (s->first > begin || end > all)
    return dtg_proof_fail(proof, "updates: element %lld of `%s` has no owner",
                          (long long)(end > all ? end - 1 : begin), v->path);
  int64_t block = dtg_block_elements(&v->type.shape);
  if (s->block != block || (end != all && end % block != 0))
    return dtg_proof_fail(proof, "updates: `%s` is cut at element %lld, inside a block of %lld",
                          v->path, (long long)end, (long long)block);
  size_t index;
  if (!dtg_owner_find(proof->r, s->owner, &index))
    return dtg_proof_fail(proof, "updates: device %u owns elements of `%s` and is no owner",
                          s->owner, v->path);
  return true;
}

static bool check_cover(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  size_t next = 0;
  for (uint32_t v = 0; v < r->module->variables.len; v++) {
    int64_t end = 0;
    if (variable_at(proof, v)->kind == DTG_VARIABLE_SLOT)
      continue;
    for (; next < r->slices.len && r->slices.data[next].variable == v; next++) {
      if (!check_slice(proof, &r->slices.data[next], end))
        return false;
      end += r->slices.data[next].elements;
    }
    if (end != dtg_shape_count(&variable_at(proof, v)->type.shape))
      return dtg_proof_fail(proof, "updates: element %lld of `%s` has no owner", (long long)end,
                            variable_at(proof, v)->path);
  }
  if (next == r->slices.len)
    return true;
  return dtg_proof_fail(proof, "updates: slice %zu is out of order, or of no parameter or state",
                        next);
}

// ---- reductions and roots ----

static const struct dtg_type *root_type(const struct dtg_proof *proof, enum dtg_root_kind kind,
                                        const char *name) {
  const struct dtg_graph *train = proof->r->module->train;
  for (size_t i = 0; i < train->roots.len; i++)
    if (train->roots.data[i].kind == kind && train->roots.data[i].name == name)
      return &dtg_graph_node(train, train->roots.data[i].node)->type;
  return NULL;
}

// A sparse gradient: an index for each row that a shard gathers, and as many rows of the table.
static bool check_table(struct dtg_proof *proof, const struct dtg_sparse *table,
                        const struct dtg_variable *v, const struct dtg_type *type) {
  const struct dtg_type *ids = root_type(proof, DTG_ROOT_ROWS, v->path);
  int64_t rows = v->type.shape.rank ? v->type.shape.dims[0] : 0;
  if (ids && ids->dtype == DTG_I32 && dtg_shape_count(&ids->shape) == table->picks &&
      table->rows == rows && table->rows * table->width == dtg_shape_count(&v->type.shape) &&
      type->dtype == v->type.dtype && dtg_shape_count(&type->shape) == table->picks * table->width)
    return true;
  return dtg_proof_fail(proof, "updates: the rows of `%s` are not %lld of %lld elements", v->path,
                        (long long)table->picks, (long long)table->width);
}

static bool fits(struct dtg_proof *proof, const struct dtg_reduction *d,
                 const struct dtg_variable *v) {
  const struct dtg_sparse *table = dtg_sparse_of(proof->r->module, d->variable);
  if (table && d->kind == DTG_ROOT_GRAD)
    return true; // check_table
  return dtg_shape_count(&v->type.shape) == dtg_shape_count(&d->type.shape);
}

static bool check_reductions(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  uint32_t *count = DTG_NEW_ARRAY(&proof->scratch, uint32_t, r->module->variables.len);
  for (size_t i = 0; i < r->reductions.len; i++) {
    const struct dtg_reduction *d = &r->reductions.data[i];
    bool of_variable = d->kind == DTG_ROOT_GRAD || d->kind == DTG_ROOT_STATE;
    if (!of_variable)
      continue;
    if (d->variable >= r->module->variables.len)
      return dtg_proof_fail(proof, "updates: the sum of `%s` goes to no variable", d->name);
    const struct dtg_variable *v = variable_at(proof, d->variable);
    if (v->path != d->name || !fits(proof, d, v) ||
        v->kind != (d->kind == DTG_ROOT_GRAD ? DTG_VARIABLE_PARAM : DTG_VARIABLE_STATE))
      return dtg_proof_fail(proof, "updates: the sum of `%s` goes to `%s`", d->name, v->path);
    const struct dtg_sparse *table = dtg_sparse_of(r->module, d->variable);
    if (table && !check_table(proof, table, v, &d->type))
      return false;
    count[d->variable]++;
  }
  for (uint32_t v = 0; v < r->module->variables.len; v++)
    if (count[v] > 1 || (count[v] == 0 && variable_at(proof, v)->kind == DTG_VARIABLE_PARAM))
      return dtg_proof_fail(proof, "updates: `%s` is reduced %u times a step",
                            variable_at(proof, v)->path, count[v]);
  return true;
}

// Every parameter has one new value; a slot at most one.
static bool check_roots(struct dtg_proof *proof) {
  const struct dtg_module *module = proof->r->module;
  uint32_t *count = DTG_NEW_ARRAY(&proof->scratch, uint32_t, module->variables.len);
  for (size_t i = 0; i < module->update->roots.len; i++) {
    const struct dtg_root *root = &module->update->roots.data[i];
    uint32_t v = 0;
    while (v < module->variables.len && module->variables.data[v].path != root->name)
      v++;
    if (v == module->variables.len)
      return dtg_proof_fail(proof, "updates: `%s` is updated and is no variable", root->name);
    count[v]++;
  }
  for (uint32_t v = 0; v < module->variables.len; v++)
    if (count[v] > 1 || (count[v] == 0 && variable_at(proof, v)->kind == DTG_VARIABLE_PARAM))
      return dtg_proof_fail(proof, "updates: `%s` is updated %u times a step",
                            variable_at(proof, v)->path, count[v]);
  return true;
}

bool dtg_prove_slices(struct dtg_proof *proof) {
  const struct dtg_module *module = proof->r->module;
  if (!check_cover(proof))
    return false;
  return !module->train || !module->update || (check_reductions(proof) && check_roots(proof));
}

// ---- what is pushed and published ----

struct sizes {
  int64_t *push, *publish;        // by owner: of one partial sum, of one copy
  int64_t *norm;                  // by phase * owners + owner
  bool *push_rows, *publish_rows; // by owner: lists of rows, whose size is a bound
};

// Four bytes for each block of what an owner holds of the exchanged variables.
static void add_norms(struct dtg_proof *proof, struct sizes *sizes) {
  const struct dtg_module *module = proof->r->module;
  size_t owners = proof->r->owners.len, owner;
  if (!module->update)
    return;
  const struct dtg_update_split *split = dtg_update_split_new(
      &proof->scratch, module, dtg_groups_new(&proof->scratch, module->update));
  for (size_t i = 0; i < split->exchanges.len; i++) {
    const struct dtg_update_exchange *e = &split->exchanges.data[i];
    size_t count = 0;
    const struct dtg_slice *slices = dtg_variable_slices(proof->r, e->variable, &count);
    if (e->phase >= proof->p->phases)
      continue;
    for (size_t k = 0; k < count; k++)
      if (dtg_owner_find(proof->r, slices[k].owner, &owner))
        sizes->norm[e->phase * owners + owner] +=
            (slices[k].elements + slices[k].block - 1) / slices[k].block * (int64_t)sizeof(float);
  }
}

// A list of so many rows: their number, and an id and the elements of each.
static int64_t list_bytes(const struct dtg_sparse *table, int64_t most, int64_t rows) {
  return 4 + (most < rows ? most : rows) * (4 + 4 * table->width);
}

static void add_list(const struct dtg_proof *proof, struct sizes *sizes, size_t owner,
                     const struct dtg_sparse *table, int64_t elements) {
  const struct dtg_replication *r = proof->r;
  int64_t rows = elements / table->width;
  sizes->push_rows[owner] = true;
  sizes->push[owner] += list_bytes(table, r->shards / r->replicas * table->picks, rows);
  if (!table->touched || r->relaxed) {
    sizes->publish[owner] += 4 * elements;
    return;
  }
  sizes->publish_rows[owner] = true;
  sizes->publish[owner] += list_bytes(table, r->shards * table->picks, rows);
}

static struct sizes measure(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  size_t owners = r->owners.len, owner;
  bool *reduced = DTG_NEW_ARRAY(&proof->scratch, bool, r->module->variables.len);
  struct sizes sizes = {.push = DTG_NEW_ARRAY(&proof->scratch, int64_t, owners),
                        .publish = DTG_NEW_ARRAY(&proof->scratch, int64_t, owners),
                        .norm = DTG_NEW_ARRAY(&proof->scratch, int64_t, owners * proof->p->phases),
                        .push_rows = DTG_NEW_ARRAY(&proof->scratch, bool, owners),
                        .publish_rows = DTG_NEW_ARRAY(&proof->scratch, bool, owners)};
  for (uint32_t v = 0; v < r->module->variables.len; v++)
    reduced[v] = dtg_proof_is_reduced(proof, v);
  for (size_t i = 0; i < r->slices.len; i++) {
    const struct dtg_slice *s = &r->slices.data[i];
    if (!dtg_owner_find(r, s->owner, &owner))
      continue;
    int64_t bytes =
        s->elements * (int64_t)dtg_dtype_size(variable_at(proof, s->variable)->type.dtype);
    const struct dtg_sparse *table = dtg_sparse_of(r->module, s->variable);
    if (table) {
      add_list(proof, &sizes, owner, table, s->elements);
      continue;
    }
    sizes.publish[owner] += bytes;
    if (reduced[s->variable])
      sizes.push[owner] += bytes;
  }
  add_norms(proof, &sizes);
  return sizes;
}

static bool wrong_bound(struct dtg_proof *proof, const struct dtg_transfer *t) {
  return dtg_proof_fail(proof, "updates: %s has %s", dtg_proof_transfer_text(proof, t),
                        t->at_most ? "a bound, and no rows of a sparse table"
                                   : "one size, and rows of a sparse table");
}

static bool wrong_size(struct dtg_proof *proof, const struct dtg_transfer *t, int64_t bytes) {
  return dtg_proof_fail(proof, "updates: %s has %lld bytes instead of %lld",
                        dtg_proof_transfer_text(proof, t), (long long)t->bytes, (long long)bytes);
}

// Partial sums that reach each owner, in messages of replicas that send that many.
static bool check_pushes(struct dtg_proof *proof, const struct sizes *sizes) {
  const struct dtg_replication *r = proof->r;
  const struct dtg_partial_sums *sums = &r->partial_sums;
  size_t classes = sums->classes.len;
  uint64_t *seen = DTG_NEW_ARRAY(&proof->scratch, uint64_t, classes * r->owners.len);
  for (size_t i = 0; i < proof->p->sends.len; i++) {
    const struct dtg_transfer *t = &proof->p->sends.data[i];
    size_t class = 0;
    if (t->kind != DTG_TRANSFER_PUSH)
      continue;
    while (class < classes && sums->classes.data[class].sums != t->from.sums)
      class ++;
    if (t->from.role != DTG_ROLE_REPLICA || t->to.role != DTG_ROLE_OWNER || class == classes)
      return dtg_proof_fail(proof, "updates: %s is between the wrong ends",
                            dtg_proof_transfer_text(proof, t));
    for (uint32_t k = 0; k < t->to.count; k++) {
      uint32_t owner = t->to.first + k;
      struct dtg_ends one = {DTG_ROLE_OWNER, owner, 1, 0, 1};
      if (t->bytes != sizes->push[owner] * t->from.sums)
        return wrong_size(proof, t, sizes->push[owner] * t->from.sums);
      if (t->at_most != sizes->push_rows[owner])
        return wrong_bound(proof, t);
      seen[owner * classes + class] += dtg_proof_pairs(proof, &t->from, &one);
    }
  }
  for (uint32_t owner = 0; owner < r->owners.len; owner++)
    for (size_t class = 0; class < classes; class ++) {
      uint32_t number = sums->classes.data[class].sums;
      struct dtg_ends all = {DTG_ROLE_REPLICA, 0, r->replicas, number, r->replicas};
      struct dtg_ends one = {DTG_ROLE_OWNER, owner, 1, 0, 1};
      uint64_t wanted = sizes->push[owner] ? dtg_proof_pairs(proof, &all, &one) : 0;
      if (seen[owner * classes + class] != wanted)
        return dtg_proof_fail(
            proof, "updates: owner %u gets the partial sums of %llu replicas of %llu", owner,
            (unsigned long long)seen[owner * classes + class], (unsigned long long)wanted);
    }
  return true;
}

// What every owner sends to `role`, by owner; `bytes` and the wanted messages per owner.
static bool check_from_owners(struct dtg_proof *proof, enum dtg_transfer_kind kind, uint32_t phase,
                              enum dtg_role role, const int64_t *bytes, const bool *rows) {
  const struct dtg_replication *r = proof->r;
  uint64_t *seen = DTG_NEW_ARRAY(&proof->scratch, uint64_t, r->owners.len);
  for (size_t i = 0; i < proof->p->sends.len; i++) {
    const struct dtg_transfer *t = &proof->p->sends.data[i];
    if (t->kind != kind || (kind == DTG_TRANSFER_NORM && t->phase != phase))
      continue;
    if (t->from.role != DTG_ROLE_OWNER || t->to.role != role)
      return dtg_proof_fail(proof, "updates: %s is between the wrong ends",
                            dtg_proof_transfer_text(proof, t));
    for (uint32_t k = 0; k < t->from.count; k++) {
      uint32_t owner = t->from.first + k;
      struct dtg_ends one = {DTG_ROLE_OWNER, owner, 1, 0, 1};
      if (t->bytes != bytes[owner])
        return wrong_size(proof, t, bytes[owner]);
      if (t->at_most != (rows && rows[owner]))
        return wrong_bound(proof, t);
      seen[owner] += dtg_proof_pairs(proof, &one, &t->to);
    }
  }
  uint32_t count = dtg_proof_role_count(proof, role);
  for (uint32_t owner = 0; owner < r->owners.len; owner++) {
    struct dtg_ends one = {DTG_ROLE_OWNER, owner, 1, 0, 1}, all = {role, 0, count, 0, count};
    uint64_t wanted = bytes[owner] ? dtg_proof_pairs(proof, &one, &all) : 0;
    if (seen[owner] == wanted)
      continue;
    return dtg_proof_fail(proof, "updates: owner %u sends %llu messages of %llu in %s", owner,
                          (unsigned long long)seen[owner], (unsigned long long)wanted,
                          dtg_transfer_name(kind));
  }
  return true;
}

// The classes of replicas by their partial sums are what the tree gives.
static bool check_classes(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  int64_t each = r->shards / r->replicas;
  uint64_t members = 0, all = 0;
  for (size_t i = 0; i < r->partial_sums.classes.len; i++) {
    members += r->partial_sums.classes.data[i].replicas;
    all +=
        (uint64_t)r->partial_sums.classes.data[i].replicas * r->partial_sums.classes.data[i].sums;
  }
  if (members != r->replicas || all != (uint64_t)r->partial_sums.all)
    return dtg_proof_fail(proof, "updates: the partial sums of %llu replicas of %u are counted",
                          (unsigned long long)members, r->replicas);
  for (uint32_t i = 0; r->partial_sums.classes.len > 1 && i < r->replicas; i++)
    if (dtg_replica_sums(r, i) != dtg_subtree_count(r->shards, i * each, (i + 1) * each))
      return dtg_proof_fail(proof, "updates: replica %u has another number of partial sums", i);
  return true;
}

bool dtg_prove_updates(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  if (r->single || !r->module->train) {
    if (proof->p->sends.len == 0)
      return true;
    return dtg_proof_fail(proof, "updates: one device sends to itself");
  }
  struct sizes sizes = measure(proof);
  if (!check_classes(proof) || !check_pushes(proof, &sizes) ||
      !check_from_owners(proof, DTG_TRANSFER_PUBLISH, 0, DTG_ROLE_REPLICA, sizes.publish,
                         sizes.publish_rows))
    return false;
  for (uint32_t phase = 0; phase < proof->p->phases; phase++)
    if (!check_from_owners(proof, DTG_TRANSFER_NORM, phase, DTG_ROLE_OWNER,
                           &sizes.norm[phase * r->owners.len], NULL))
      return false;
  return true;
}
