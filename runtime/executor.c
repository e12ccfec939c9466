#include "runtime/executor.h"

#include "runtime/memory.h"
#include "runtime/rows.h"
#include "runtime/update.h"
#include "runtime/value.h"

#include <stdlib.h>
#include <string.h>

static int64_t maximum(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Of a thread. With owners the update has an arena of its own. */
static int64_t arena_bytes(const struct dtr_executor_options *options) {
  const struct dtr_program *program = options->program;
  if (options->threads_only)
    return 0;
  int64_t bytes = maximum(program->shard.arena_bytes, program->eval.arena_bytes);
  bytes = maximum(bytes, program->tail.arena_bytes);
  if (!program->replication)
    bytes = maximum(bytes, program->update.arena_bytes);
  return dtr_memory_round(bytes);
}

/* With owners a device keeps no slots but those of its own slices. */
static int64_t variables_bytes(const struct dtr_executor_options *options) {
  const struct dtr_program *program = options->program;
  bool has_slots =
      !program->replication || program->replication->is_single || options->all_variables;
  int64_t bytes = 0;
  for (uint32_t v = 0; v < program->variable_count; v++) {
    const struct dtr_variable *variable = &program->variables[v];
    if (has_slots || variable->kind != DTR_VARIABLE_SLOT)
      bytes = maximum(bytes, variable->offset + dtr_memory_round(variable->elements *
                                                                 dtr_dtype_bytes(variable->dtype)));
  }
  return bytes;
}

/* A thread that runs shards sorts what they have gathered. */
static int64_t sort_bytes(const struct dtr_executor_options *options) {
  if (options->threads_only || options->evaluate_only)
    return 0;
  return dtr_rows_scratch(options->program->contributions, options->program->contribution_count);
}

/* The update of sparse parameters on the only device. */
static bool updates_by_slices(const struct dtr_executor_options *options) {
  const struct dtr_replication *tables = options->program->replication;
  return tables && tables->is_single && !options->threads_only && !options->evaluate_only;
}

static struct dtr_span shards_of(const struct dtr_executor_options *options) {
  return options->shards.count > 0 ? options->shards
                                   : (struct dtr_span){0, options->program->train.shards};
}

static struct dtr_tree_part tree_of(const struct dtr_executor_options *options) {
  return (struct dtr_tree_part){.shards = options->program->train.shards,
                                .block = shards_of(options)};
}

static int leaders_of(const struct dtr_executor_options *options) {
  int64_t shards = shards_of(options).count;
  return shards < options->threads ? (int)shards : options->threads;
}

int64_t dtr_executor_bytes(const struct dtr_executor_options *options) {
  const struct dtr_program *program = options->program;
  int64_t arenas, blocks = 0, bytes;
  bool overflow =
      __builtin_mul_overflow(arena_bytes(options) + sort_bytes(options), options->threads, &arenas);
  if (options->threads_only)
    return overflow ? INT64_MAX : arenas;
  struct dtr_tree_part part = tree_of(options);
  if (!options->evaluate_only)
    overflow |= __builtin_mul_overflow(dtr_tree_part_blocks(&part, leaders_of(options)),
                                       dtr_memory_round(program->contribution_bytes), &blocks);
  if (updates_by_slices(options))
    blocks += dtr_memory_round(program->replication->update_arena_bytes) +
              dtr_update_bytes(program, DTR_UPDATE_EVERY);
  overflow |= __builtin_add_overflow(arenas, blocks, &bytes);
  overflow |= __builtin_add_overflow(bytes, variables_bytes(options), &bytes);
  return overflow ? INT64_MAX : bytes;
}

/* ---- start and end ---- */

/* Each thread touches its arena first and makes its own library handles. */
static void start_worker(void *context, int thread) {
  struct dtr_executor *executor = context;
  const struct dtr_program *program = executor->program;
  struct dtr_worker *worker = &executor->workers[thread];
  worker->arena = dtr_ledger_new(executor->ledger, DTR_LEDGER_ARENAS, executor->arena_bytes);
  if (executor->sort_bytes > 0)
    worker->sorting = dtr_ledger_new(executor->ledger, DTR_LEDGER_ARENAS, executor->sort_bytes);
  if (!worker->arena || (executor->sort_bytes > 0 && !worker->sorting)) {
    snprintf(worker->why, sizeof worker->why, "no memory for an arena of %lld bytes",
             (long long)(executor->arena_bytes + executor->sort_bytes));
    return;
  }
  struct dtr_library_calls calls = dtr_library_calls_of(program);
  if (!executor->threads_only)
    worker->library = dtr_library_new(&calls, program->cpu_arch, worker->why, sizeof worker->why);
}

/* Team i of n has the threads [i * T / n, (i + 1) * T / n). */
static int team_first(const struct dtr_executor *executor, int team) {
  return (int)((int64_t)team * executor->threads / executor->leaders);
}

static void prepare_frame(struct dtr_executor *executor, int thread) {
  struct dtr_worker *worker = &executor->workers[thread];
  worker->team =
      (struct dtr_team){.pool = executor->pool, .first = thread, .count = 1, .owner = executor};
  worker->frame = (struct dtr_frame){.arena = worker->arena,
                                     .variables = executor->variables,
                                     .scalars = &worker->scalars,
                                     .program = executor->program,
                                     .library = worker->library};
}

/* The frame is plain when there is nothing to share and nothing to record. */
static void use_team(struct dtr_executor *executor, int thread, int count) {
  struct dtr_worker *worker = &executor->workers[thread];
  worker->team.count = count;
  worker->frame.plain = count == 1 && !executor->trace;
  worker->frame.team = worker->frame.plain ? NULL : &worker->team;
  worker->frame.watch = NULL;
  worker->frame.fault = (struct dtr_fault){0};
}

static bool start_workers(struct dtr_executor *executor, struct dtr_error *error) {
  int64_t bytes = (int64_t)sizeof(struct dtr_worker) * executor->threads;
  executor->workers = dtr_memory_new(bytes);
  if (!executor->workers)
    return dtr_error_memory(error, bytes, "the threads");
  if (!dtr_pool_new(executor->threads, &executor->pool, error))
    return false;
  dtr_pool_all(executor->pool, start_worker, executor);
  for (int t = 0; t < executor->threads; t++) {
    const struct dtr_worker *worker = &executor->workers[t];
    if (worker->why[0] && (!worker->arena || (executor->sort_bytes > 0 && !worker->sorting))) {
      dtr_error_set(error, DTR_STATUS_MEMORY, "%s", worker->why);
      return dtr_error_hint(error, "use fewer --threads, a smaller batch or more shards");
    }
    if (worker->why[0])
      return dtr_error_set(error, DTR_STATUS_CONFIG, "%s", worker->why);
    prepare_frame(executor, t);
  }
  return true;
}

/* Whole tensors are the slices of the only device. */
static bool start_update(struct dtr_executor *executor, struct dtr_error *error) {
  const struct dtr_program *program = executor->program;
  struct dtr_update_piece *pieces = calloc((size_t)program->variable_count + 1, sizeof *pieces);
  struct dtr_update_share *shares = calloc((size_t)program->contribution_count + 1, sizeof *shares);
  executor->update_arena =
      dtr_ledger_new(executor->ledger, DTR_LEDGER_UPDATE, program->replication->update_arena_bytes);
  bool good = pieces && shares && executor->update_arena;
  for (uint32_t v = 0; good && v < program->variable_count; v++)
    pieces[v] = (struct dtr_update_piece){v, 0, program->variables[v].elements,
                                          executor->variables + program->variables[v].offset};
  for (uint32_t i = 0; good && i < program->contribution_count; i++)
    shares[i] = (struct dtr_update_share){i, 0, program->contributions[i].elements,
                                          program->contributions[i]};
  struct dtr_update_options options = {.program = program,
                                       .device = DTR_UPDATE_EVERY,
                                       .piece_count = program->variable_count,
                                       .share_count = program->contribution_count,
                                       .pieces = pieces,
                                       .shares = shares,
                                       .scalars = &executor->update_scalars,
                                       .ledger = executor->ledger,
                                       .arena = executor->update_arena};
  if (!good)
    dtr_error_memory(error, program->replication->update_arena_bytes, "the update");
  good = good && dtr_update_new(&options, &executor->update, error);
  free(pieces);
  free(shares);
  return good;
}

static bool start(struct dtr_executor *executor, const struct dtr_executor_options *options,
                  struct dtr_error *error) {
  const struct dtr_program *program = options->program;
  int64_t bytes = dtr_executor_bytes(options);
  if (!dtr_memory_check(options->env, bytes, program->name, error) ||
      !dtr_memory_check_limit(options->env, bytes, options->threads, program->name, error))
    return false;
  if (options->threads_only)
    return start_workers(executor, error);
  executor->variables =
      dtr_ledger_new(executor->ledger, DTR_LEDGER_VARIABLES, variables_bytes(options));
  if (!executor->variables)
    return dtr_error_memory(error, variables_bytes(options), "the parameters");
  if (!start_workers(executor, error) ||
      (updates_by_slices(options) && !start_update(executor, error)))
    return false;
  struct dtr_tree_part part = tree_of(options);
  if (!options->evaluate_only)
    dtr_ledger_add(executor->ledger, DTR_LEDGER_TREE,
                   dtr_tree_part_blocks(&part, executor->leaders) *
                       dtr_memory_round(program->contribution_bytes));
  return options->evaluate_only ||
         dtr_tree_new_part(program->contributions, program->contribution_count,
                           dtr_memory_round(program->contribution_bytes), &part, executor->leaders,
                           dtr_pool_spins(executor->pool), &executor->tree, error);
}

bool dtr_executor_new(const struct dtr_executor_options *options, struct dtr_executor **executor,
                      struct dtr_error *error) {
  struct dtr_executor *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the executor");
  *made = (struct dtr_executor){.program = options->program,
                                .env = options->env,
                                .trace = options->trace,
                                .threads = options->threads,
                                .leaders = leaders_of(options),
                                .shards = shards_of(options),
                                .trace_first = options->trace_first,
                                .always_share = options->always_share,
                                .threads_only = options->threads_only,
                                .ledger = options->ledger,
                                .arena_bytes = arena_bytes(options),
                                .sort_bytes = sort_bytes(options)};
  if (!start(made, options, error)) {
    dtr_executor_free(made);
    return false;
  }
  *executor = made;
  return true;
}

void dtr_executor_free(struct dtr_executor *executor) {
  if (!executor)
    return;
  dtr_pool_free(executor->pool);
  for (int t = 0; executor->workers && t < executor->threads; t++) {
    dtr_library_free(executor->workers[t].library);
    dtr_memory_free(executor->workers[t].arena);
    dtr_memory_free(executor->workers[t].sorting);
  }
  dtr_memory_free(executor->workers);
  dtr_tree_free(executor->tree);
  dtr_update_free(executor->update);
  dtr_memory_free(executor->update_arena);
  dtr_memory_free(executor->variables);
  free(executor);
}

/* ---- training ---- */

struct round {
  struct dtr_executor *executor;
  const struct dtr_batch *batch;
  const struct dtr_scalars *scalars;
  _Atomic int64_t next; /* shard */
  int64_t end;
};

static void sort_rows(const struct dtr_program *program, struct dtr_worker *worker, char *block) {
  for (uint32_t i = 0; worker->sorting && i < program->contribution_count; i++)
    if (dtr_rows_is(&program->contributions[i]))
      dtr_rows_sort(&program->contributions[i], block, worker->sorting);
}

static void run_shard(struct dtr_executor *executor, struct dtr_worker *worker,
                      const struct dtr_batch *batch, int64_t shard, char *block) {
  struct dtr_frame *frame = &worker->frame;
  int64_t begin = executor->trace ? dtr_trace_now(executor->trace) : 0;
  worker->scalars.shard = shard;
  frame->contribution = block;
  frame->feeds = dtr_batch_feeds(batch, shard);
  executor->program->shard.run(frame);
  sort_rows(executor->program, worker, block);
  if (executor->trace)
    dtr_trace_add(executor->trace, executor->trace_first + worker->team.first, "shard", NULL,
                  batch->step, begin);
  dtr_tree_put(executor->tree, shard, block);
}

/* Runs on the leader of a team until no shard is left. The block comes first: see dtr_tree_take;
 * but not when all shards are dealt, as the last block may be the result. */
static void run_shards(void *context, int thread) {
  struct round *round = context;
  struct dtr_executor *executor = round->executor;
  struct dtr_worker *worker = &executor->workers[thread];
  worker->scalars = *round->scalars;
  while (atomic_load_explicit(&round->next, memory_order_relaxed) < round->end) {
    char *block = dtr_tree_take(executor->tree);
    int64_t shard = atomic_fetch_add_explicit(&round->next, 1, memory_order_relaxed);
    if (shard >= round->end) {
      dtr_tree_return(executor->tree, block);
      return;
    }
    run_shard(executor, worker, round->batch, shard, block);
  }
}

/* Without other threads: in order, and nothing is shared. */
static void run_shards_alone(struct dtr_executor *executor, const struct dtr_batch *batch,
                             const struct dtr_scalars *scalars) {
  struct dtr_worker *worker = &executor->workers[0];
  worker->scalars = *scalars;
  struct dtr_span shards = executor->shards;
  for (int64_t shard = shards.first; shard < shards.first + shards.count; shard++)
    run_shard(executor, worker, batch, shard, dtr_tree_take(executor->tree));
}

static void run_shards_together(struct dtr_executor *executor, const struct dtr_batch *batch,
                                const struct dtr_scalars *scalars) {
  struct dtr_span shards = executor->shards;
  struct round round = {.executor = executor,
                        .batch = batch,
                        .scalars = scalars,
                        .next = shards.first,
                        .end = shards.first + shards.count};
  for (int i = 1; i < executor->leaders; i++)
    dtr_pool_post(executor->pool, team_first(executor, i), run_shards, &round);
  run_shards(&round, 0);
  for (int i = 1; i < executor->leaders; i++)
    dtr_pool_settle(executor->pool, team_first(executor, i));
}

/* Asked at the beginning of a phase; `begin` gets its time. One thread has no choice. */
static bool decide(struct dtr_executor *executor, struct dtr_choice *choice, int64_t *begin) {
  if (executor->threads == 1)
    return false;
  *begin = dtr_env_now(executor->env);
  return executor->always_share || dtr_choice_together(choice);
}

static void learn(struct dtr_executor *executor, struct dtr_choice *choice, bool together,
                  int64_t begin) {
  if (executor->threads > 1)
    dtr_choice_note(choice, together, dtr_env_now(executor->env) - begin);
}

static bool any_fault(const struct dtr_executor *executor, int leaders) {
  for (int i = 0; i < leaders; i++)
    if (executor->workers[team_first(executor, i)].frame.fault.code != DTR_FAULT_NONE)
      return true;
  return false;
}

bool dtr_executor_block(struct dtr_executor *executor, const struct dtr_batch *batch,
                        const struct dtr_scalars *scalars) {
  int64_t begin = 0;
  bool together = decide(executor, &executor->share_shards, &begin);
  if (together) {
    for (int i = 0; i < executor->leaders; i++) {
      int first = team_first(executor, i);
      use_team(executor, first, team_first(executor, i + 1) - first);
    }
    run_shards_together(executor, batch, scalars);
  } else {
    use_team(executor, 0, 1);
    run_shards_alone(executor, batch, scalars);
  }
  learn(executor, &executor->share_shards, together, begin);
  if (!any_fault(executor, together ? executor->leaders : 1))
    return true;
  dtr_tree_reset(executor->tree);
  return false;
}

char *dtr_executor_partial(struct dtr_executor *executor, uint32_t index) {
  return dtr_tree_partial(executor->tree, index);
}

char *dtr_executor_shards(struct dtr_executor *executor, const struct dtr_batch *batch,
                          const struct dtr_scalars *scalars) {
  return dtr_executor_block(executor, batch, scalars) ? dtr_tree_result(executor->tree) : NULL;
}

void dtr_executor_release(struct dtr_executor *executor, char *contribution) {
  dtr_tree_return(executor->tree, contribution);
}

struct dtr_frame *dtr_executor_update_begin(struct dtr_executor *executor, char *arena,
                                            const struct dtr_scalars *scalars) {
  struct dtr_worker *worker = &executor->workers[0];
  executor->update_together = decide(executor, &executor->share_update, &executor->update_began);
  worker->scalars = *scalars;
  use_team(executor, 0, executor->update_together ? executor->threads : 1);
  worker->frame.arena = arena;
  worker->frame.feeds = NULL;
  return &worker->frame;
}

bool dtr_executor_update_end(struct dtr_executor *executor, struct dtr_fault *fault) {
  struct dtr_worker *worker = &executor->workers[0];
  learn(executor, &executor->share_update, executor->update_together, executor->update_began);
  worker->frame.arena = worker->arena;
  if (worker->frame.fault.code == DTR_FAULT_NONE)
    return true;
  *fault = worker->frame.fault;
  return false;
}

static bool update_by_slices(struct dtr_executor *executor, char *contribution,
                             const struct dtr_scalars *scalars, struct dtr_fault *fault) {
  bool good = true;
  executor->update_scalars = *scalars;
  dtr_update_begin(executor->update, contribution);
  for (uint32_t phase = 0; good && phase < executor->program->replication->phase_count; phase++)
    good = dtr_update_phase(executor->update, executor, phase, fault);
  dtr_update_end(executor->update);
  return good;
}

bool dtr_executor_update(struct dtr_executor *executor, char *contribution,
                         const struct dtr_scalars *scalars, struct dtr_fault *fault) {
  struct dtr_worker *worker = &executor->workers[0];
  int64_t begin = 0;
  if (executor->update)
    return update_by_slices(executor, contribution, scalars, fault);
  bool together = decide(executor, &executor->share_update, &begin);
  worker->scalars = *scalars;
  use_team(executor, 0, together ? executor->threads : 1);
  worker->frame.contribution = contribution;
  worker->frame.feeds = NULL;
  executor->program->update.run(&worker->frame);
  learn(executor, &executor->share_update, together, begin);
  if (worker->frame.fault.code == DTR_FAULT_NONE)
    return true;
  *fault = worker->frame.fault;
  return false;
}

/* ---- single calls ---- */

bool dtr_executor_call(struct dtr_executor *executor, int thread, const struct dtr_part *part,
                       char *const *feeds, char *contribution, const struct dtr_scalars *scalars,
                       struct dtr_fault *fault) {
  struct dtr_worker *worker = &executor->workers[thread];
  worker->scalars = *scalars;
  use_team(executor, thread, 1);
  worker->frame.contribution = contribution;
  worker->frame.feeds = feeds;
  part->run(&worker->frame);
  if (worker->frame.fault.code == DTR_FAULT_NONE)
    return true;
  *fault = worker->frame.fault;
  return false;
}

bool dtr_executor_examine(struct dtr_executor *executor, const struct dtr_part *part,
                          char *const *feeds, char *contribution, const struct dtr_scalars *scalars,
                          struct dtr_watch *watch, struct dtr_fault *fault) {
  struct dtr_worker *worker = &executor->workers[0];
  char *block = contribution ? contribution : dtr_tree_take(executor->tree);
  *watch = (struct dtr_watch){0};
  worker->scalars = *scalars;
  use_team(executor, 0, 1);
  worker->frame.plain = false;
  worker->frame.watch = watch;
  worker->frame.contribution = block;
  worker->frame.feeds = feeds;
  part->run(&worker->frame);
  *fault = worker->frame.fault;
  if (!contribution)
    dtr_tree_return(executor->tree, block);
  return watch->found_value || watch->found_fault;
}
