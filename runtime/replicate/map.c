#include "runtime/replicate/map.h"

#include "runtime/memory.h"
#include "runtime/rows.h"
#include "runtime/value.h"

#include <stdlib.h>
#include <string.h>

static bool wrong(struct dtr_error *error, const char *what, uint32_t index) {
  return dtr_error_set(error, DTR_STATUS_BUG, "the replication tables are wrong: %s %u", what,
                       index);
}

/* ---- tasks and devices ---- */

static void count_tasks(struct dtr_map *map, const struct dtr_replication *tables) {
  for (uint32_t j = 0; j < tables->job_count; j++) {
    map->task_count += tables->jobs[j].tasks;
    map->device_count += tables->jobs[j].tasks * (tables->jobs[j].cpu + tables->jobs[j].gpu);
  }
}

static void set_tasks(struct dtr_map *map, const struct dtr_replication *tables) {
  uint32_t task = 0, device = 0;
  for (uint32_t j = 0; j < tables->job_count; j++) {
    const struct dtr_job *job = &tables->jobs[j];
    for (uint32_t t = 0; t < job->tasks; t++, task++) {
      uint32_t devices = job->cpu + job->gpu;
      map->tasks[task] = (struct dtr_task_map){
          .first_device = device, .device_count = devices, .threads = job->threads};
      snprintf(map->tasks[task].name, sizeof map->tasks[task].name, "%s/%u", job->name, t);
      for (uint32_t d = 0; d < devices; d++, device++)
        map->devices[device] = (struct dtr_device_map){
            .task = task, .index = d, .replica = DTR_NONE, .owner = DTR_NONE};
    }
  }
}

/* A task's CPUs come before its GPUs. */
static bool is_cpu(const struct dtr_map *map, const struct dtr_replication *tables,
                   uint32_t device) {
  uint32_t task = map->devices[device].task;
  for (uint32_t j = 0; j < tables->job_count; j++) {
    if (task < tables->jobs[j].tasks)
      return map->devices[device].index < tables->jobs[j].cpu;
    task -= tables->jobs[j].tasks;
  }
  return false;
}

static bool check_device(const struct dtr_map *map, const struct dtr_replication *tables,
                         uint32_t device, struct dtr_error *error) {
  if (device >= map->device_count)
    return wrong(error, "there is no device", device);
  if (is_cpu(map, tables, device))
    return true;
  return dtr_error_set(error, DTR_STATUS_CONFIG,
                       "device %u of task %s is a GPU; this program runs "
                       "on CPUs",
                       map->devices[device].index, map->tasks[map->devices[device].task].name);
}

/* ---- replicas and clients ---- */

static bool set_replica(struct dtr_map *map, const struct dtr_replication *tables, uint32_t replica,
                        uint32_t device, struct dtr_error *error) {
  int64_t shards = map->program->train.shards, count = map->replica_count;
  if (replica >= map->replica_count)
    return wrong(error, "there is no replica", replica);
  if (!check_device(map, tables, device, error))
    return false;
  if (map->devices[device].replica != DTR_NONE)
    return wrong(error, "two replicas on device", device);
  map->devices[device].replica = replica;
  int64_t first = replica * shards / count;
  map->replicas[replica] = (struct dtr_replica_map){
      .device = device,
      .client = DTR_NONE,
      .shards = {.first = first, .count = (replica + 1) * shards / count - first}};
  return true;
}

static bool set_replicas(struct dtr_map *map, const struct dtr_replication *tables,
                         struct dtr_error *error) {
  uint32_t all = 0;
  for (uint32_t f = 0; f < tables->replica_family_count; f++) {
    const struct dtr_replica_family *family = &tables->replica_families[f];
    for (uint32_t q = 0; q < family->outer * family->inner; q++, all++) {
      uint32_t device = family->base + q / family->inner * family->outer_stride +
                        q % family->inner * family->inner_stride;
      if (!set_replica(map, tables, family->first + q, device, error))
        return false;
    }
  }
  return all == map->replica_count || wrong(error, "the families do not make the replicas", all);
}

static bool set_client(struct dtr_map *map, const struct dtr_client_family *family, uint32_t index,
                       struct dtr_error *error) {
  uint32_t client = family->first + index, each = family->replicas_each;
  struct dtr_client_map made = {.task = family->task + index * family->task_stride,
                                .first_replica = family->first_replica + index * each,
                                .replica_count = each};
  if (client >= map->client_count)
    return wrong(error, "there is no client", client);
  if (made.task >= map->task_count || map->tasks[made.task].device_count == 0)
    return wrong(error, "no task for client", client);
  map->clients[client] = made;
  for (uint32_t r = made.first_replica; r < made.first_replica + each; r++) {
    if (r >= map->replica_count || map->replicas[r].client != DTR_NONE)
      return wrong(error, "client with a wrong replica", client);
    map->replicas[r].client = client;
  }
  return true;
}

static bool set_clients(struct dtr_map *map, const struct dtr_replication *tables,
                        struct dtr_error *error) {
  for (uint32_t f = 0; f < tables->client_family_count; f++)
    for (uint32_t i = 0; i < tables->client_families[f].count; i++)
      if (!set_client(map, &tables->client_families[f], i, error))
        return false;
  for (uint32_t r = 0; r < map->replica_count; r++)
    if (map->replicas[r].client == DTR_NONE)
      return wrong(error, "no client for replica", r);
  return true;
}

static bool set_leaves(struct dtr_map *map, struct dtr_error *error) {
  int64_t shards = map->program->train.shards;
  for (uint32_t r = 0; r < map->replica_count; r++) {
    struct dtr_replica_map *replica = &map->replicas[r];
    replica->first_leaf = map->leaf_count;
    replica->leaf_count = dtr_tree_subtrees(shards, replica->shards, NULL);
    map->leaf_count += replica->leaf_count;
    if (replica->shards.count == 0)
      return wrong(error, "no shards for replica", r);
  }
  map->leaves = calloc((size_t)map->leaf_count + 1, sizeof *map->leaves);
  if (!map->leaves)
    return dtr_error_memory(error, map->leaf_count * (int64_t)sizeof *map->leaves, "the replicas");
  for (uint32_t r = 0; r < map->replica_count; r++)
    dtr_tree_subtrees(shards, map->replicas[r].shards, map->leaves + map->replicas[r].first_leaf);
  return true;
}

/* ---- owners ---- */

static uint32_t find_contribution(const struct dtr_program *program, const char *path) {
  for (uint32_t i = 0; i < program->contribution_count; i++) {
    const struct dtr_contribution *c = &program->contributions[i];
    bool reduced = c->kind == DTR_CONTRIBUTION_GRAD || c->kind == DTR_CONTRIBUTION_STATE;
    if (reduced && strcmp(c->name, path) == 0)
      return i;
  }
  return DTR_NONE;
}

/* "fc1.w:v" is a slot of "fc1.w". */
static bool is_slot_of(const struct dtr_variable *slot, const struct dtr_variable *variable) {
  size_t length = strlen(variable->path);
  return slot->kind == DTR_VARIABLE_SLOT && strncmp(slot->path, variable->path, length) == 0 &&
         slot->path[length] == ':';
}

/* Bytes of a leaf's rows in a message, and their place in a block of the tree. */
static void lay_out_rows(struct dtr_map *map, struct dtr_owner_map *owner,
                         const struct dtr_slice *slice, struct dtr_share *share) {
  struct dtr_row_list *list = &share->layout.list;
  int64_t shards = map->program->train.shards, rows = slice->elements / list->width;
  share->most = dtr_rows_most(list, shards / map->replica_count, rows);
  share->bytes = dtr_rows_message_bytes(list, share->most);
  list->capacity = dtr_rows_capacity(list, shards, rows, slice->block / list->width);
  list->count = share->offset;
  list->ids = list->count + dtr_memory_round(DTR_ROW_COUNT_BYTES);
  share->layout.offset = list->ids + dtr_memory_round(list->capacity * DTR_ROW_ID_BYTES);
  owner->block_bytes += dtr_rows_block_bytes(list, list->capacity);
  owner->pushes_rows = true;
}

/* In sync every replica reads every version: where the other rows of a table stay as they are, the
 * touched ones are enough. The first version has all. */
static int64_t published_bytes(const struct dtr_map *map, struct dtr_owner_map *owner,
                               const struct dtr_slice *slice, struct dtr_piece *piece) {
  const struct dtr_share *share =
      owner->share_count ? &owner->shares[owner->share_count - 1] : NULL;
  if (map->rule != DTR_RULE_SYNC || !share || share->slice != slice ||
      share->layout.list.kind != DTR_ROWS_TOUCHED)
    return piece->bytes;
  const struct dtr_row_list *list = &share->layout.list;
  int64_t rows = dtr_rows_message_bytes(
      list, dtr_rows_most(list, map->program->train.shards, slice->elements / list->width));
  piece->rows = owner->share_count - 1;
  owner->publishes_rows = true;
  return rows > piece->bytes + DTR_ROW_COUNT_BYTES ? rows : piece->bytes + DTR_ROW_COUNT_BYTES;
}

static void add_piece(struct dtr_map *map, struct dtr_owner_map *owner, uint32_t index,
                      const struct dtr_slice *slice) {
  const struct dtr_variable *variable = &map->program->variables[index];
  struct dtr_piece *piece = (struct dtr_piece *)&owner->pieces[owner->piece_count++];
  *piece = (struct dtr_piece){.variable = index,
                              .first = slice->first,
                              .elements = slice->elements,
                              .bytes = slice->elements * dtr_dtype_bytes(variable->dtype),
                              .offset = owner->memory_bytes,
                              .is_published = index == slice->variable,
                              .rows = DTR_NONE};
  owner->memory_bytes += dtr_memory_round(piece->bytes);
  owner->gather_bytes += piece->bytes;
  if (piece->is_published)
    owner->publish_bytes += published_bytes(map, owner, slice, piece);
}

static void add_share(struct dtr_map *map, struct dtr_owner_map *owner,
                      const struct dtr_slice *slice) {
  uint32_t index = find_contribution(map->program, map->program->variables[slice->variable].path);
  if (index == DTR_NONE)
    return;
  struct dtr_share *share = (struct dtr_share *)&owner->shares[owner->share_count++];
  const struct dtr_contribution *c = &map->program->contributions[index];
  *share = (struct dtr_share){.slice = slice,
                              .contribution = index,
                              .first = slice->first,
                              .elements = slice->elements,
                              .bytes = slice->elements * dtr_dtype_bytes(c->dtype),
                              .offset = owner->block_bytes,
                              .layout = *c};
  share->layout.elements = share->elements;
  share->layout.offset = share->offset;
  if (dtr_rows_is(c))
    lay_out_rows(map, owner, slice, share);
  else
    owner->block_bytes += dtr_memory_round(share->bytes);
  owner->share_bytes += share->bytes;
}

static void fill_owner(struct dtr_map *map, const struct dtr_replication *tables,
                       struct dtr_owner_map *owner) {
  const struct dtr_program *program = map->program;
  for (uint32_t s = 0; s < tables->slice_count; s++) {
    const struct dtr_slice *slice = &tables->slices[s];
    if (slice->owner != owner->device)
      continue;
    add_share(map, owner, slice);
    add_piece(map, owner, slice->variable, slice);
    for (uint32_t v = 0; v < program->variable_count; v++)
      if (is_slot_of(&program->variables[v], &program->variables[slice->variable]))
        add_piece(map, owner, v, slice);
  }
}

static bool check_slices(struct dtr_map *map, const struct dtr_replication *tables,
                         struct dtr_error *error) {
  for (uint32_t s = 0; s < tables->slice_count; s++) {
    const struct dtr_slice *slice = &tables->slices[s];
    if (slice->variable >= map->program->variable_count ||
        map->program->variables[slice->variable].kind == DTR_VARIABLE_SLOT || slice->block < 1 ||
        slice->first < 0 || slice->elements < 1 || slice->first % slice->block != 0 ||
        slice->elements > map->program->variables[slice->variable].elements - slice->first)
      return wrong(error, "slice", s);
    if (!check_device(map, tables, slice->owner, error))
      return false;
    map->devices[slice->owner].owner = 0; /* numbered below */
  }
  return true;
}

static bool set_owners(struct dtr_map *map, const struct dtr_replication *tables,
                       struct dtr_error *error) {
  size_t most = (size_t)tables->slice_count * 2 + map->program->variable_count;
  for (uint32_t s = 0; s < tables->slice_count; s++) /* a slice and its variable's slots */
    for (uint32_t v = 0; v < map->program->variable_count; v++)
      most += is_slot_of(&map->program->variables[v],
                         &map->program->variables[tables->slices[s].variable]);
  map->pieces = calloc(most + 1, sizeof *map->pieces);
  map->shares = calloc((size_t)tables->slice_count + 1, sizeof *map->shares);
  map->owners = calloc((size_t)map->device_count + 1, sizeof *map->owners);
  if (!map->pieces || !map->shares || !map->owners)
    return dtr_error_memory(error, (int64_t)(most * sizeof *map->pieces), "the owners");
  uint32_t pieces = 0, shares = 0;
  for (uint32_t d = 0; d < map->device_count; d++) {
    if (map->devices[d].owner == DTR_NONE)
      continue;
    struct dtr_owner_map *owner = &map->owners[map->owner_count];
    map->devices[d].owner = map->owner_count++;
    *owner = (struct dtr_owner_map){
        .device = d, .pieces = map->pieces + pieces, .shares = map->shares + shares};
    fill_owner(map, tables, owner);
    pieces += owner->piece_count;
    shares += owner->share_count;
  }
  return true;
}

/* ---- all ---- */

static bool allocate(struct dtr_map *map, const struct dtr_replication *tables,
                     struct dtr_error *error) {
  count_tasks(map, tables);
  map->replica_count = tables->replicas;
  for (uint32_t f = 0; f < tables->client_family_count; f++)
    map->client_count += tables->client_families[f].count;
  map->tasks = calloc((size_t)map->task_count + 1, sizeof *map->tasks);
  map->devices = calloc((size_t)map->device_count + 1, sizeof *map->devices);
  map->replicas = calloc((size_t)map->replica_count + 1, sizeof *map->replicas);
  map->clients = calloc((size_t)map->client_count + 1, sizeof *map->clients);
  if (map->tasks && map->devices && map->replicas && map->clients)
    return true;
  return dtr_error_memory(error, (int64_t)sizeof *map->devices * map->device_count, "the tasks");
}

/* Blocks of shards are equal: sizes of messages, and what a wave holds, follow from that. */
static bool check_shards(const struct dtr_program *program, struct dtr_error *error) {
  uint32_t replicas = program->replication->replicas;
  if (replicas > 0 && program->train.shards % replicas == 0)
    return true;
  return dtr_error_set(error, DTR_STATUS_BUG,
                       "the replication tables are wrong: %u replicas cannot have %lld shards in "
                       "equal blocks",
                       replicas, (long long)program->train.shards);
}

bool dtr_map_new(const struct dtr_program *program, struct dtr_map **map, struct dtr_error *error) {
  const struct dtr_replication *tables = program->replication;
  struct dtr_map *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the tasks");
  made->program = program;
  made->rule = tables->is_async     ? DTR_RULE_ASYNC
               : tables->backup > 0 ? DTR_RULE_BACKUP
                                    : DTR_RULE_SYNC;
  made->is_ordered = tables->is_async && tables->exchange_count > 0;
  made->asks = tables->backup > 0 || (tables->is_async && tables->staleness >= 0);
  bool good = check_shards(program, error) && allocate(made, tables, error);
  if (good) {
    set_tasks(made, tables);
    good = set_replicas(made, tables, error) && set_clients(made, tables, error) &&
           set_leaves(made, error) && check_slices(made, tables, error) &&
           set_owners(made, tables, error);
  }
  if (!good) {
    dtr_map_free(made);
    return false;
  }
  *map = made;
  return true;
}

bool dtr_map_has_work(const struct dtr_map *map, uint32_t task) {
  const struct dtr_task_map *t = &map->tasks[task];
  for (uint32_t c = 0; c < map->client_count; c++)
    if (map->clients[c].task == task)
      return true;
  for (uint32_t d = t->first_device; d < t->first_device + t->device_count; d++)
    if (map->devices[d].replica != DTR_NONE || map->devices[d].owner != DTR_NONE)
      return true;
  return false;
}

void dtr_map_free(struct dtr_map *map) {
  if (!map)
    return;
  free(map->tasks);
  free(map->devices);
  free(map->replicas);
  free(map->clients);
  free(map->owners);
  free(map->leaves);
  free(map->pieces);
  free(map->shares);
  free(map);
}

bool dtr_map_is_local(const struct dtr_map *map, uint32_t replica) {
  const struct dtr_replica_map *r = &map->replicas[replica];
  return map->devices[r->device].task == map->clients[r->client].task;
}

struct dtr_span dtr_map_client_shards(const struct dtr_map *map, uint32_t client) {
  const struct dtr_client_map *c = &map->clients[client];
  const struct dtr_span *first = &map->replicas[c->first_replica].shards;
  const struct dtr_span *last = &map->replicas[c->first_replica + c->replica_count - 1].shards;
  return (struct dtr_span){first->first, last->first + last->count - first->first};
}

int64_t dtr_map_fetch_bytes(const struct dtr_map *map) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i <= map->program->metric_count; i++)
    bytes += dtr_dtype_bytes(map->program->contributions[i].dtype);
  return bytes;
}

int64_t dtr_map_row_bytes(const struct dtr_map *map) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < map->program->input_count; i++)
    bytes += map->program->inputs[i].row_bytes;
  return bytes;
}
