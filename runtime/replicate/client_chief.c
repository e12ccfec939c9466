/* What the chief alone does. */
#include "runtime/replicate/client_parts.h"

#include "runtime/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- start and end ---- */

static bool make_tree(struct dtr_client *client, struct dtr_error *error) {
  const struct dtr_program *program = client->party.program;
  const struct dtr_map *map = client->party.map;
  uint32_t width = 1 + program->metric_count;
  client->chief->table = calloc(width, sizeof *client->chief->table);
  if (!client->chief->table)
    return dtr_error_memory(error, width, "the results");
  for (uint32_t i = 0; i < width; i++) {
    client->chief->table[i] = program->contributions[i];
    client->chief->table[i].offset = (int64_t)i * DTR_ALIGN;
  }
  struct dtr_tree_part top = {
      .shards = program->train.shards, .leaves = map->leaves, .leaf_count = map->leaf_count};
  return dtr_tree_new_part(client->chief->table, width, (int64_t)width * DTR_ALIGN, &top, 1, 0,
                           &client->chief->tree, error);
}

static bool wants_variables(const struct dtr_client *client) {
  const struct dtr_flags *flags = client->task->options.flags;
  return flags->init || flags->resume || flags->checkpoint_dir || flags->save;
}

static bool make_variables(struct dtr_client *client, struct dtr_error *error) {
  const struct dtr_program *program = client->party.program;
  const struct dtr_flags *flags = client->task->options.flags;
  const struct dtr_map *map = client->party.map;
  if (!wants_variables(client))
    return true;
  client->task->variables = dtr_memory_new(program->variables_bytes + DTR_ALIGN);
  if (!client->task->variables)
    return dtr_error_memory(error, program->variables_bytes, "the parameters");
  bool scatters =
      flags->init || flags->resume || (flags->checkpoint_dir && client->task->options.run != 0);
  for (uint32_t o = 0; scatters && o < map->owner_count; o++) {
    client->chief->scatter[o] = dtr_memory_new(map->owners[o].gather_bytes + 1);
    if (!client->chief->scatter[o])
      return dtr_error_memory(error, map->owners[o].gather_bytes, "the parameters");
  }
  return true;
}

bool dtr_chief_new(struct dtr_client *client, struct dtr_error *error) {
  const struct dtr_map *map = client->party.map;
  const struct dtr_program *program = client->party.program;
  uint32_t width = 1 + program->metric_count;
  struct dtr_chief *chief = calloc(1, sizeof *chief);
  client->chief = chief;
  if (!chief)
    return dtr_error_memory(error, (int64_t)sizeof *chief, "the chief");
  chief->gathered_step = DTR_NO_STEP;
  chief->commands = calloc((size_t)map->owner_count + 1, sizeof *chief->commands);
  chief->scatter = calloc((size_t)map->owner_count + 1, sizeof *chief->scatter);
  chief->skipped = calloc((size_t)map->client_count + 1, sizeof *chief->skipped);
  chief->have = calloc((size_t)dtr_party_count(map) + 1, sizeof *chief->have);
  chief->has_ended = calloc((size_t)map->client_count + 1, sizeof *chief->has_ended);
  chief->is_gone = calloc((size_t)map->client_count + 1, sizeof *chief->is_gone);
  chief->values = calloc((size_t)program->train.shards * width, sizeof *chief->values);
  chief->levels = calloc((size_t)(DTR_STREAM_LEVELS + 1) * width, sizeof *chief->levels);
  if (!chief->commands || !chief->scatter || !chief->skipped || !chief->have || !chief->has_ended ||
      !chief->is_gone || !chief->values || !chief->levels)
    return dtr_error_memory(error, map->owner_count, "the chief");
  chief->means = chief->levels + (size_t)DTR_STREAM_LEVELS * width;
  return make_tree(client, error) && make_variables(client, error);
}

void dtr_chief_free(struct dtr_client *client) {
  struct dtr_chief *chief = client->chief;
  if (!chief)
    return;
  for (uint32_t o = 0; chief->scatter && o < client->party.map->owner_count; o++)
    dtr_memory_free(chief->scatter[o]);
  dtr_tree_free(chief->tree);
  if (client->task)
    dtr_memory_free(client->task->variables);
  free(chief->commands);
  free(chief->scatter);
  free(chief->have);
  free(chief->has_ended);
  free(chief->is_gone);
  free(chief->skipped);
  free(chief->values);
  free(chief->levels);
  free(chief->table);
  free(chief);
}

/* ---- pieces and the program's block ---- */

static void copy_pieces(struct dtr_client *client, uint32_t index, char *message, bool pack) {
  const struct dtr_owner_map *owner = &client->party.map->owners[index];
  for (uint32_t i = 0; i < owner->piece_count; i++) {
    const struct dtr_piece *piece = &owner->pieces[i];
    const struct dtr_variable *variable = &client->party.program->variables[piece->variable];
    char *values = client->task->variables + variable->offset +
                   piece->first * (piece->bytes / piece->elements);
    memcpy(pack ? message : values, pack ? values : message, (size_t)piece->bytes);
    message += piece->bytes;
  }
}

/* ---- the beginning ---- */

static void remark(void *context, const char *text) {
  struct dtr_task *task = context;
  dtr_progress_warn(&task->progress, text);
}

/* The last checkpoint of this run; `*scatter` false: there is none. */
static bool load_checkpoint(struct dtr_task *task, bool *scatter) {
  const struct dtr_task_options *options = &task->options;
  struct dtr_remarks remarks = {.write = remark, .context = task};
  struct dtr_checkpoint_state state;
  if (!options->flags->checkpoint_dir ||
      !dtr_checkpoint_load_run(options->env, task->program, options->flags->checkpoint_dir,
                               options->run, task->variables, remarks, &state, scatter,
                               &task->error))
    return !dtr_error_is_set(&task->error);
  if (*scatter)
    task->step = task->saved_step = state.step;
  return true;
}

static bool load_beginning(struct dtr_task *task, bool *scatter) {
  *scatter = task->options.flags->init || task->options.flags->resume;
  task->step = 0;
  return !*scatter || dtr_task_load(task);
}

static bool load_values(struct dtr_task *task, struct dtr_recovery_message *order, bool *scatter) {
  *scatter = false;
  if (order && order->source == DTR_RECOVERY_LIVE) {
    task->step = order->step;
    return true;
  }
  if (order && order->source == DTR_RECOVERY_CHECKPOINT) {
    if (!load_checkpoint(task, scatter))
      return false;
    if (*scatter)
      return true;
    order->source = DTR_RECOVERY_BEGINNING;
  }
  return load_beginning(task, scatter);
}

/* A chief that goes on has shown and logged the steps before. */
static void begin_task(struct dtr_client *client) {
  struct dtr_task *task = client->task;
  int64_t first = task->first_step, now = dtr_env_now(task->options.env);
  if (!client->is_again) {
    dtr_task_begin(task);
    return;
  }
  task->first_step = first < task->step ? first : task->step;
  task->scalars.step = task->step;
  dtr_progress_begin(&task->progress, task->step, task->end_step, now);
  dtr_log_begin(&task->log, now);
}

bool dtr_chief_load(struct dtr_client *client, struct dtr_recovery_message *order) {
  struct dtr_task *task = client->task;
  struct dtr_chief *chief = client->chief;
  const struct dtr_map *map = client->party.map;
  const struct dtr_replica_map *first = &map->replicas[client->map->first_replica];
  bool scatter, live = order && order->source == DTR_RECOVERY_LIVE;
  if (!dtr_task_plan_steps(task) || !load_values(task, order, &scatter))
    return false;
  if (task->data && !dtr_task_open_feed(task, first->shards.first,
                                        client->map->replica_count * first->shards.count))
    return false;
  begin_task(client);
  if (live && client->is_again) /* what was due may not have been done */
    dtr_task_schedule(task);
  if (order)
    order->step = task->step;
  chief->begin = (struct dtr_command){.kind = DTR_COMMAND_BEGIN,
                                      .step = task->step,
                                      .scatter = scatter,
                                      .live = live,
                                      .evaluate = task->evaluate_due,
                                      .scalars = task->scalars};
  for (uint32_t o = 0; o < map->owner_count; o++) {
    chief->commands[o] = chief->begin;
    if (scatter)
      copy_pieces(client, o, chief->scatter[o], true);
  }
  chief->is_loaded = true;
  return true;
}

static bool tell_owner(struct dtr_client *client, uint32_t owner) {
  struct dtr_party *party = &client->party;
  uint32_t command = dtr_channel(party->channels, DTR_CHANNEL_COMMAND, owner, 0);
  uint32_t scatter = dtr_channel(party->channels, DTR_CHANNEL_SCATTER, owner, 0);
  int64_t step = client->task->step;
  return dtr_party_send(party, command, step, &client->chief->commands[owner],
                        sizeof(struct dtr_command)) &&
         (!client->chief->begin.scatter ||
          dtr_party_send(party, scatter, step, client->chief->scatter[owner],
                         party->map->owners[owner].gather_bytes));
}

/* All edges are free at the beginning: nothing here is pending for long. */
bool dtr_chief_begin(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_chief *chief = client->chief;
  uint32_t owners = party->map->owner_count;
  if (!chief->is_loaded && !dtr_chief_load(client, NULL))
    return dtr_client_fail(client);
  for (; chief->next < owners; chief->next++)
    if (!tell_owner(client, chief->next))
      return false;
  for (; chief->next < owners + party->map->client_count; chief->next++) {
    uint32_t other = chief->next - owners;
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_BEGIN, other, 0);
    if (other != client->index &&
        !dtr_party_send(party, edge, client->task->step, &chief->begin, sizeof chief->begin))
      return false;
  }
  dtr_client_start_loop(client);
  return true;
}

/* ---- results of a step ---- */

void dtr_chief_put(struct dtr_client *client, uint32_t first_leaf, uint32_t count,
                   const char *bytes) {
  uint32_t width = 1 + client->party.program->metric_count;
  for (uint32_t leaf = first_leaf; leaf < first_leaf + count; leaf++) {
    char *block = dtr_tree_take(client->chief->tree);
    for (uint32_t i = 0; i < width; i++, bytes += sizeof(float))
      memcpy(block + i * DTR_ALIGN, bytes, sizeof(float));
    dtr_tree_put(client->chief->tree, leaf, block);
  }
}

static bool count_step(struct dtr_client *client) {
  struct dtr_task *task = client->task;
  const struct dtr_map *map = client->party.map;
  float shards = (float)client->party.program->train.shards;
  if (map->rule != DTR_RULE_SYNC) { /* others make other steps: the chief tells of its own shards */
    shards = (float)dtr_map_client_shards(map, 0).count;
    for (uint32_t leaf = (uint32_t)client->own_leaves; leaf < map->leaf_count; leaf++)
      dtr_tree_skip(client->chief->tree, leaf);
  }
  char *block = dtr_tree_result(client->chief->tree);
  for (uint32_t i = 0; i <= client->party.program->metric_count; i++) {
    float sum;
    memcpy(&sum, block + i * DTR_ALIGN, sizeof sum);
    task->results[i] = (double)(sum / shards);
  }
  dtr_tree_return(client->chief->tree, block);
  if (!isfinite(task->results[0])) {
    struct dtr_finding finding = {.origin = DTR_ORIGIN_SUM, .value = task->results[0]};
    dtr_report_not_finite(task->program, task->results[0], &finding, &task->error);
    dtr_error_step(&task->error, task->step + 1);
    return dtr_client_fail(client);
  }
  dtr_task_count_step(task, task->batch->epoch);
  dtr_client_go_on(client);
  return true;
}

bool dtr_chief_results(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_chief *chief = client->chief;
  const struct dtr_map *map = party->map;
  bool progress = false;
  for (uint32_t c = 1; chief->missing > 0 && c < map->client_count && !party->is_failed; c++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_FORWARD, c, 0);
    int64_t bytes = dtr_channel_bytes(party->channels, edge);
    const void *message;
    if (chief->have[c] || !dtr_party_receive(party, edge, party->step, bytes, &message))
      continue;
    dtr_chief_put(client, map->replicas[map->clients[c].first_replica].first_leaf,
                  (uint32_t)(bytes / dtr_map_fetch_bytes(map)), message);
    dtr_party_release(party, edge);
    chief->have[c] = true;
    chief->missing--;
    progress = true;
  }
  return chief->missing == 0 && !party->is_failed ? count_step(client) : progress;
}

/* ---- evaluation ---- */

static void begin_wave(struct dtr_client *client) {
  struct dtr_chief *chief = client->chief;
  const struct dtr_map *map = client->party.map;
  chief->missing = 0;
  for (uint32_t r = 0; r < dtr_client_evaluators(map); r++) {
    chief->have[r] =
        dtr_replica_chunks(map, r, chief->wave, client->wave_size, client->chunks) == 0;
    chief->missing += !chief->have[r];
  }
}

void dtr_chief_begin_evaluation(struct dtr_client *client) {
  client->chief->wave = 0;
  dtr_stream_begin(&client->chief->stream, 1 + client->party.program->metric_count,
                   client->chief->levels);
  begin_wave(client);
}

/* In the order of chunks, whatever order they came in. */
static void end_wave(struct dtr_client *client) {
  const struct dtr_program *program = client->party.program;
  struct dtr_chief *chief = client->chief;
  int64_t size = client->wave_size, width = 1 + program->metric_count;
  for (int64_t i = 0; i < size && chief->wave * size + i < client->chunks; i++)
    dtr_stream_add(&chief->stream, chief->values + i * width, 1,
                   (double)dtr_chunk_rows(program, client->whole, chief->wave * size + i).count);
  chief->wave++;
  if (chief->wave < client->waves) {
    begin_wave(client);
    return;
  }
  dtr_stream_means(&chief->stream, chief->means);
  client->task->evaluation = chief->means;
}

bool dtr_chief_chunks(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_chief *chief = client->chief;
  int64_t width = 1 + party->program->metric_count;
  bool progress = false;
  for (uint32_t r = 0; r < dtr_client_evaluators(party->map) && !party->is_failed; r++) {
    if (chief->wave == client->waves || chief->have[r])
      continue;
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_CHUNK, r, 0);
    int64_t bytes =
        dtr_replica_chunks(party->map, r, chief->wave, client->wave_size, client->chunks) * width *
        (int64_t)sizeof(float);
    const void *message;
    if (!dtr_party_receive(party, edge, chief->wave, bytes, &message))
      continue;
    memcpy(chief->values + party->map->replicas[r].shards.first * width, message, (size_t)bytes);
    dtr_party_release(party, edge);
    chief->have[r] = true;
    chief->missing--;
    progress = true;
  }
  if (chief->missing == 0 && chief->wave < client->waves && !party->is_failed) {
    end_wave(client);
    return true;
  }
  return progress;
}

/* ---- gathering ---- */

void dtr_chief_begin_gather(struct dtr_client *client) {
  struct dtr_chief *chief = client->chief;
  uint32_t owners = client->party.map->owner_count;
  client->state = DTR_CLIENT_GATHER;
  chief->next = 0;
  chief->missing = owners;
  memset(chief->have, 0, owners * sizeof *chief->have);
}

/* The reply to the command before may have overtaken its receipt. */
bool dtr_chief_command(struct dtr_client *client, uint32_t owner, enum dtr_command_kind kind) {
  struct dtr_party *party = &client->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_COMMAND, owner, 0);
  struct dtr_command *command = &client->chief->commands[owner];
  if (!dtr_party_is_sent(party, edge))
    return false;
  *command = (struct dtr_command){.kind = kind, .step = client->task->step};
  return dtr_party_send(party, edge, client->task->step, command, sizeof *command);
}

static bool end_gather(struct dtr_client *client) {
  client->chief->gathered_step = client->task->step;
  if (client->chief->is_saving)
    dtr_task_checkpoint(client->task);
  if (dtr_error_is_set(&client->task->error))
    return dtr_client_fail(client);
  dtr_client_go_on(client);
  return true;
}

bool dtr_chief_gather(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_chief *chief = client->chief;
  int64_t step = client->task->step;
  bool progress = false;
  for (; chief->next < party->map->owner_count; chief->next++, progress = true)
    if (!dtr_chief_command(client, chief->next, DTR_COMMAND_GATHER))
      break;
  for (uint32_t o = 0; o < party->map->owner_count && !party->is_failed; o++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_GATHER, o, 0);
    const void *message;
    if (chief->have[o] ||
        !dtr_party_receive(party, edge, step, party->map->owners[o].gather_bytes, &message))
      continue;
    copy_pieces(client, o, (char *)message, false);
    dtr_party_release(party, edge);
    chief->have[o] = true;
    chief->missing--;
    progress = true;
  }
  return chief->missing == 0 && !party->is_failed ? end_gather(client) : progress;
}

/* ---- the end ---- */

bool dtr_chief_end(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  uint32_t parties = dtr_party_count(party->map);
  bool progress = false;
  for (; client->chief->next < parties; client->chief->next++, progress = true) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_DONE, client->chief->next, 0);
    if (client->chief->next != party->number &&
        !dtr_party_send(party, edge, client->task->step, NULL, 0))
      return progress;
  }
  party->is_finished = true;
  return true;
}
