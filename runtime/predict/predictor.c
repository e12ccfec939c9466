#include "runtime/predict/predictor.h"

#include "runtime/memory.h"

#include <stdlib.h>
#include <string.h>

struct dtr_predictor {
  struct dtr_executor *executor;
  const struct dtr_row_source *source;
  int64_t block_bytes;   /* loss and metrics of a call, which nobody reads */
  int64_t scratch_bytes; /* of a thread: the source's, then the block */
  char *scratch;         /* [thread] */
  char *zeros;           /* rows of any input that no output needs */
  char **feeds;          /* [thread][input] */

  /* The run under way. */
  struct dtr_scalars scalars;
  int64_t count, whole, chunks;
  char *const *outputs;
  _Atomic int64_t dealt;
  _Atomic int64_t failed; /* lowest chunk with a failed check; INT64_MAX = none */
};

struct chunk {
  int64_t first, rows;
  const struct dtr_part *part;
  bool is_tail;
};

static int64_t maximum(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static bool allocate(struct dtr_predictor *predictor, struct dtr_error *error) {
  const struct dtr_executor *executor = predictor->executor;
  const struct dtr_program *program = executor->program;
  int64_t zeros = DTR_ALIGN, threads = executor->threads, bytes;
  for (uint32_t i = 0; i < program->input_count; i++)
    zeros = maximum(zeros, program->inputs[i].row_bytes * program->eval.batch);
  predictor->block_bytes = (1 + (int64_t)program->metric_count) * DTR_ALIGN;
  predictor->scratch_bytes =
      dtr_memory_round(predictor->source->scratch_bytes) + dtr_memory_round(predictor->block_bytes);
  if (__builtin_mul_overflow(predictor->scratch_bytes, threads, &bytes))
    return dtr_error_memory(error, INT64_MAX, "prediction");
  predictor->scratch = dtr_memory_new(bytes);
  predictor->zeros = dtr_memory_new(dtr_memory_round(zeros));
  predictor->feeds = calloc((size_t)threads * (program->input_count + 1), sizeof(char *));
  if (!predictor->scratch || !predictor->zeros || !predictor->feeds)
    return dtr_error_memory(error, bytes + zeros, "prediction");
  memset(predictor->zeros, 0, (size_t)zeros);
  return true;
}

bool dtr_predictor_new(struct dtr_executor *executor, const struct dtr_row_source *source,
                       struct dtr_predictor **predictor, struct dtr_error *error) {
  struct dtr_predictor *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, sizeof *made, "prediction");
  made->executor = executor;
  made->source = source;
  if (!allocate(made, error)) {
    dtr_predictor_free(made);
    return false;
  }
  *predictor = made;
  return true;
}

void dtr_predictor_free(struct dtr_predictor *predictor) {
  if (!predictor)
    return;
  dtr_memory_free(predictor->scratch);
  dtr_memory_free(predictor->zeros);
  free(predictor->feeds);
  free(predictor);
}

static struct chunk chunk_at(const struct dtr_predictor *predictor, int64_t index) {
  const struct dtr_program *program = predictor->executor->program;
  int64_t batch = program->eval.batch;
  if (index < predictor->whole)
    return (struct chunk){index * batch, batch, &program->eval, false};
  return (struct chunk){predictor->whole * batch + (index - predictor->whole), 1, &program->tail,
                        true};
}

static char *thread_scratch(const struct dtr_predictor *predictor, int thread) {
  return predictor->scratch + thread * predictor->scratch_bytes;
}

static char *thread_block(const struct dtr_predictor *predictor, int thread) {
  return thread_scratch(predictor, thread) + predictor->scratch_bytes -
         dtr_memory_round(predictor->block_bytes);
}

static char **view(const struct dtr_predictor *predictor, int thread, const struct chunk *chunk) {
  uint32_t inputs = predictor->executor->program->input_count;
  char **feeds = predictor->feeds + (size_t)thread * inputs;
  for (uint32_t i = 0; i < inputs; i++)
    feeds[i] = predictor->zeros;
  predictor->source->view(predictor->source->context, chunk->first, chunk->rows,
                          thread_scratch(predictor, thread), feeds);
  return feeds;
}

static const char *value_at(const struct dtr_predictor *predictor, int thread,
                            const struct dtr_place *place, char *const *feeds) {
  switch (place->space) {
  case DTR_SPACE_ARENA:
    return predictor->executor->workers[thread].arena + place->offset;
  case DTR_SPACE_VARIABLE:
    return predictor->executor->variables + place->offset;
  case DTR_SPACE_FEED:
    return feeds[place->index];
  default:
    return thread_block(predictor, thread) + place->offset;
  }
}

static void outputs_take(const struct dtr_predictor *predictor, int thread,
                         const struct chunk *chunk, char *const *feeds) {
  const struct dtr_program *program = predictor->executor->program;
  for (uint32_t i = 0; i < program->output_count; i++) {
    const struct dtr_output *output = &program->outputs[i];
    if (!predictor->outputs[i] || !output->by_example)
      continue;
    const char *from =
        value_at(predictor, thread, chunk->is_tail ? &output->tail : &output->eval, feeds);
    memcpy(predictor->outputs[i] + chunk->first * output->row_bytes, from,
           (size_t)(chunk->rows * output->row_bytes));
  }
}

static void note_failure(struct dtr_predictor *predictor, int64_t index) {
  int64_t lowest = atomic_load(&predictor->failed);
  while (index < lowest && !atomic_compare_exchange_weak(&predictor->failed, &lowest, index))
    ;
}

static void run_chunks(void *context, int thread) {
  struct dtr_predictor *predictor = context;
  for (;;) {
    int64_t index = atomic_fetch_add_explicit(&predictor->dealt, 1, memory_order_relaxed);
    if (index >= predictor->chunks || index > atomic_load(&predictor->failed))
      return;
    struct chunk chunk = chunk_at(predictor, index);
    struct dtr_fault fault;
    char **feeds = view(predictor, thread, &chunk);
    if (dtr_executor_call(predictor->executor, thread, chunk.part, feeds,
                          thread_block(predictor, thread), &predictor->scalars, &fault))
      outputs_take(predictor, thread, &chunk, feeds);
    else
      note_failure(predictor, index);
  }
}

bool dtr_predictor_run(struct dtr_predictor *predictor, const struct dtr_scalars *scalars,
                       int64_t count, char *const *outputs) {
  int64_t batch = predictor->executor->program->eval.batch;
  predictor->scalars = *scalars;
  predictor->scalars.shard = 0;
  predictor->count = count;
  predictor->whole = count / batch;
  predictor->chunks = predictor->whole + count % batch;
  predictor->outputs = outputs;
  atomic_store(&predictor->dealt, 0);
  atomic_store(&predictor->failed, INT64_MAX);
  dtr_pool_share(predictor->executor->pool, run_chunks, predictor);
  return atomic_load(&predictor->failed) == INT64_MAX;
}

bool dtr_predictor_explain(struct dtr_predictor *predictor, const struct dtr_data *data,
                           struct dtr_error *error) {
  struct chunk chunk = chunk_at(predictor, atomic_load(&predictor->failed));
  struct dtr_watch watch;
  struct dtr_fault fault;
  dtr_executor_examine(predictor->executor, chunk.part, view(predictor, 0, &chunk),
                       thread_block(predictor, 0), &predictor->scalars, &watch, &fault);
  struct dtr_rows rows = {
      .data = data, .epoch = DTR_NATURAL_ORDER, .first = chunk.first, .count = chunk.rows};
  return dtr_report_fault(predictor->executor->program, &watch, &fault, &rows, error);
}
