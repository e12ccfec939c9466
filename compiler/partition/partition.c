// Parts, what owners hold, and the transfers of a step.
#include "compiler/partition/internal.h"

#include "compiler/ir/plan.h"
#include "compiler/ir/sparse.h"

#include <string.h>

static void add_part(struct dtg_partitioner *p, const struct dtg_graph *graph) {
  const struct dtg_replication *r = p->r;
  bool update = graph == r->module->update && r->owners.len > 0;
  struct dtg_part part = {.graph = graph,
                          .device = update ? r->owners.data[0] : dtg_replica_device(r, 0),
                          .devices = update ? (uint32_t)r->owners.len : r->replicas};
  for (uint32_t n = 0; n < graph->nodes.len; n++)
    dtg_vec_push(&p->ctx->arena, &part.nodes, n);
  dtg_vec_push(&p->ctx->arena, &p->out->parts, part);
}

// ---- owners ----

static bool is_pushed(const struct dtg_replication *r, uint32_t variable) {
  for (size_t i = 0; i < r->reductions.len; i++)
    if (r->reductions.data[i].variable == variable)
      return true;
  return false;
}

static struct dtg_owner_load *load_of(struct dtg_partitioner *p, uint32_t device) {
  size_t index = 0;
  dtg_owner_find(p->r, device, &index);
  return &p->out->loads.data[index];
}

// A slice of a sparse table: what is sent are rows of it.
static void add_rows(struct dtg_partitioner *p, struct dtg_owner_load *load,
                     const struct dtg_slice *slice, const struct dtg_sparse *table) {
  const struct dtg_replication *r = p->r;
  int64_t rows = slice->elements / table->width, bytes = slice->elements * (int64_t)sizeof(float);
  load->push +=
      dtg_sparse_message_bytes(table, dtg_sparse_most(table, r->shards / r->replicas, rows));
  load->block += dtg_sparse_block_bytes(table, dtg_sparse_capacity(table, r->shards, rows));
  load->rows += dtg_sparse_update_bytes(r->module, table, slice->elements, r->shards);
  load->push_rows = true;
  load->first += bytes;
  if (!dtg_publishes_rows(r, table)) {
    load->publish += bytes;
    load->packed += bytes;
    return;
  }
  int64_t most = dtg_sparse_message_bytes(table, dtg_sparse_most(table, r->shards, rows));
  load->publish_rows = true;
  load->first += DTG_ROW_COUNT_BYTES;
  load->publish += most;
  load->packed += most > bytes + DTG_ROW_COUNT_BYTES ? most : bytes + DTG_ROW_COUNT_BYTES;
}

static void add_slice(struct dtg_partitioner *p, const struct dtg_slice *slice) {
  const struct dtg_module *module = p->r->module;
  struct dtg_owner_load *load = load_of(p, slice->owner);
  int64_t bytes =
      slice->elements * (int64_t)dtg_dtype_size(module->variables.data[slice->variable].type.dtype);
  const struct dtg_sparse *table = dtg_sparse_of(module, slice->variable);
  load->slices++;
  load->values += bytes;
  load->held += dtg_align(bytes);
  if (module->variables.data[slice->variable].kind == DTG_VARIABLE_STATE)
    load->states += bytes;
  if (table) {
    add_rows(p, load, slice, table);
  } else {
    load->publish += bytes;
    load->first += bytes;
    load->packed += bytes;
  }
  if (!table && is_pushed(p->r, slice->variable)) {
    load->push += bytes;
    load->block += dtg_align(bytes);
  }
  for (size_t v = 0; v < module->variables.len; v++)
    if (module->variables.data[v].kind == DTG_VARIABLE_SLOT &&
        module->variables.data[v].param == slice->variable) {
      load->slots += bytes;
      load->held += dtg_align(bytes);
    }
}

static void add_block_sums(struct dtg_partitioner *p, const struct dtg_update_exchange *exchange) {
  size_t count;
  const struct dtg_slice *slices = dtg_variable_slices(p->r, exchange->variable, &count);
  for (size_t i = 0; i < count; i++) {
    int64_t blocks = (slices[i].elements + slices[i].block - 1) / slices[i].block;
    load_of(p, slices[i].owner)->norm.data[exchange->phase] += 4 * blocks;
  }
}

static void load_owners(struct dtg_partitioner *p) {
  const struct dtg_replication *r = p->r;
  struct dtg_arena scratch = {0};
  const struct dtg_update_split *split = NULL;
  if (r->module->update)
    split = dtg_update_split_new(&scratch, r->module, dtg_groups_new(&scratch, r->module->update));
  p->out->phases = split ? split->phases : 1;
  for (size_t i = 0; i < r->owners.len; i++) {
    struct dtg_owner_load load = {.device = r->owners.data[i]};
    for (uint32_t phase = 0; phase < p->out->phases; phase++)
      dtg_vec_push(&p->ctx->arena, &load.norm, 0);
    dtg_vec_push(&p->ctx->arena, &p->out->loads, load);
  }
  for (size_t i = 0; i < r->slices.len; i++)
    add_slice(p, &r->slices.data[i]);
  for (size_t i = 0; split && i < split->exchanges.len; i++)
    add_block_sums(p, &split->exchanges.data[i]);
  dtg_arena_free(&scratch);
}

// ---- transfers ----

struct dtg_ends dtg_ends_of(enum dtg_role role, uint32_t first, uint32_t count) {
  return (struct dtg_ends){.role = role, .first = first, .count = count, .members = count};
}

void dtg_add_transfer(struct dtg_partitioner *p, const struct dtg_transfer *transfer) {
  if (transfer->messages == 0)
    return;
  dtg_vec_push(&p->ctx->arena, &p->out->sends, *transfer);
  dtg_vec_push(&p->ctx->arena, &p->out->receives, *transfer);
}

// The replica on the owner's device, if there is one: they share memory.
static bool replica_at(const struct dtg_replication *r, uint32_t device, uint32_t *replica) {
  return dtg_device_set_find(&r->families.data[0].devices, device, replica);
}

static void add_pushes(struct dtg_partitioner *p, uint32_t owner) {
  const struct dtg_replication *r = p->r;
  const struct dtg_owner_load *load = &p->out->loads.data[owner];
  uint32_t local = UINT32_MAX;
  bool shared = replica_at(r, load->device, &local);
  for (size_t i = 0; i < r->partial_sums.classes.len; i++) {
    const struct dtg_partial_class *class = &r->partial_sums.classes.data[i];
    struct dtg_transfer t = {.kind = DTG_TRANSFER_PUSH,
                             .from = dtg_ends_of(DTG_ROLE_REPLICA, 0, r->replicas),
                             .to = dtg_ends_of(DTG_ROLE_OWNER, owner, 1),
                             .before = DTG_EVENT_COMPUTE,
                             .after = DTG_EVENT_STAGE,
                             .bytes = load->push * class->sums,
                             .at_most = load->push_rows,
                             .messages = class->replicas};
    t.from.sums = class->sums;
    t.from.members = class->replicas;
    if (shared && dtg_replica_sums(r, local) == class->sums)
      t.messages--;
    if (load->push > 0)
      dtg_add_transfer(p, &t);
  }
}

static void add_norms(struct dtg_partitioner *p, uint32_t owner) {
  const struct dtg_owner_load *load = &p->out->loads.data[owner];
  for (uint32_t phase = 0; phase < p->out->phases; phase++) {
    struct dtg_transfer t = {.kind = DTG_TRANSFER_NORM,
                             .from = dtg_ends_of(DTG_ROLE_OWNER, owner, 1),
                             .to = dtg_ends_of(DTG_ROLE_OWNER, 0, (uint32_t)p->out->loads.len),
                             .before = DTG_EVENT_REDUCE,
                             .after = DTG_EVENT_REDUCE,
                             .phase = phase,
                             .next_phase = phase + 1,
                             .bytes = load->norm.data[phase],
                             .messages = p->out->loads.len - 1};
    if (t.bytes > 0)
      dtg_add_transfer(p, &t);
  }
}

static void add_publish(struct dtg_partitioner *p, uint32_t owner) {
  const struct dtg_owner_load *load = &p->out->loads.data[owner];
  uint32_t local;
  struct dtg_transfer t = {.kind = DTG_TRANSFER_PUBLISH,
                           .from = dtg_ends_of(DTG_ROLE_OWNER, owner, 1),
                           .to = dtg_ends_of(DTG_ROLE_REPLICA, 0, p->r->replicas),
                           .before = DTG_EVENT_REDUCE,
                           .after = DTG_EVENT_COPY,
                           .phase = p->out->phases - 1,
                           .bytes = load->publish,
                           .at_most = load->publish_rows,
                           .messages = p->r->replicas};
  if (replica_at(p->r, load->device, &local))
    t.messages--;
  dtg_add_transfer(p, &t);
}

int64_t dtg_loss_bytes(const struct dtg_replication *r) {
  int64_t bytes = 0;
  for (size_t i = 0; i < r->reductions.len; i++)
    if (r->reductions.data[i].variable == DTG_NO_NODE)
      bytes += dtg_type_bytes(&r->reductions.data[i].type);
  return bytes;
}

static int64_t row_bytes(const struct dtg_model *model) {
  int64_t bytes = 0;
  for (size_t i = 0; i < model->inputs.len; i++)
    bytes += dtg_type_bytes(&model->inputs.data[i].type);
  return bytes;
}

// Of the replicas [first, first + count) that have `sums` partial sums.
static uint32_t members(const struct dtg_replication *r, uint32_t first, uint32_t count,
                        uint32_t sums) {
  uint32_t found = 0;
  if (r->partial_sums.classes.len == 1)
    return count;
  for (uint32_t i = first; i < first + count; i++)
    found += dtg_replica_sums(r, i) == sums;
  return found;
}

// The one client and replicas [first, first + count) in other tasks.
static void add_remote(struct dtg_partitioner *p, uint32_t first, uint32_t count) {
  const struct dtg_replication *r = p->r;
  struct dtg_transfer t = {.kind = DTG_TRANSFER_START,
                           .from = dtg_ends_of(DTG_ROLE_CLIENT, 0, 1),
                           .to = dtg_ends_of(DTG_ROLE_REPLICA, first, count),
                           .before = DTG_EVENT_BEGIN,
                           .after = DTG_EVENT_COMPUTE,
                           .messages = count};
  dtg_add_transfer(p, &t);
  t.kind = DTG_TRANSFER_FEED;
  t.bytes = row_bytes(r->model) * (r->model->train.batch / r->replicas);
  dtg_add_transfer(p, &t);
  for (size_t i = 0; i < r->partial_sums.classes.len; i++) {
    uint32_t sums = r->partial_sums.classes.data[i].sums;
    struct dtg_transfer fetch = {.kind = DTG_TRANSFER_FETCH,
                                 .from = dtg_ends_of(DTG_ROLE_REPLICA, first, count),
                                 .to = dtg_ends_of(DTG_ROLE_CLIENT, 0, 1),
                                 .before = DTG_EVENT_COMPUTE,
                                 .after = DTG_EVENT_COLLECT,
                                 .bytes = dtg_loss_bytes(r) * sums};
    fetch.from.sums = sums;
    fetch.messages = fetch.from.members = members(r, first, count, sums);
    dtg_add_transfer(p, &fetch);
  }
}

// Partial sums of a client's replicas, by their number.
static void add_reports(struct dtg_partitioner *p) {
  const struct dtg_replication *r = p->r;
  for (size_t f = 0; f < r->client_families.len; f++) {
    const struct dtg_client_family *family = &r->client_families.data[f];
    for (uint32_t c = family->first == 0 ? 1 : 0; c < family->count;) {
      uint32_t run = family->count - c, sums = 0;
      uint32_t first = family->first_replica + c * family->replicas_each;
      if (r->partial_sums.classes.len > 1)
        run = 1;
      for (uint32_t i = 0; i < family->replicas_each; i++)
        sums += dtg_replica_sums(r, first + i);
      struct dtg_transfer t = {.kind = DTG_TRANSFER_REPORT,
                               .from = dtg_ends_of(DTG_ROLE_CLIENT, family->first + c, run),
                               .to = dtg_ends_of(DTG_ROLE_CLIENT, 0, 1),
                               .before = DTG_EVENT_COLLECT,
                               .after = DTG_EVENT_CHIEF,
                               .bytes = dtg_loss_bytes(r) * sums,
                               .messages = run};
      dtg_add_transfer(p, &t);
      c += run;
    }
  }
}

struct dtg_partition *dtg_partition(struct dtg_ctx *ctx, const struct dtg_replication *r) {
  struct dtg_partitioner p = {ctx, r, DTG_NEW(&ctx->arena, struct dtg_partition)};
  const struct dtg_graph *graphs[] = {r->module->train, r->module->eval, r->module->tail,
                                      r->module->update};
  p.out->replication = r;
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    if (graphs[g])
      add_part(&p, graphs[g]);
  load_owners(&p);
  if (r->single || !r->module->train)
    return p.out;
  if (r->clients == 1)
    dtg_remote_replicas(&p, add_remote);
  else
    add_reports(&p);
  dtg_add_arbiter_transfers(&p);
  for (uint32_t i = 0; i < p.out->loads.len; i++) {
    add_pushes(&p, i);
    add_norms(&p, i);
    add_publish(&p, i);
  }
  dtg_add_begin_transfers(&p);
  dtg_add_evaluation_transfers(&p);
  dtg_add_checkpoint_transfers(&p);
  return p.out;
}
