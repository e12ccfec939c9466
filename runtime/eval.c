#include "runtime/eval.h"

#include "runtime/memory.h"
#include "runtime/report.h"

#include <stdlib.h>

/* Metrics are 64 bytes apart in the block of an evaluation function. */
enum { STRIDE = DTR_ALIGN / (int)sizeof(float) };

/* A wave grows until it takes long enough to be worth waking threads for, and stays short enough
 * for a signal to be heard soon. */
enum { FIRST_CHUNKS = 8, MOST_CHUNKS = 128, SHORT_WAVE = 2 * 1000 * 1000 /* ns */ };

struct chunk {
  int64_t first, examples; /* positions in natural order */
  const struct dtr_part *part;
};

struct dtr_evaluator {
  struct dtr_executor *executor;
  const struct dtr_data *data;
  struct dtr_scalars scalars;
  uint32_t width; /* loss and metrics */
  int64_t whole, chunks, next;
  int64_t wave, most; /* chunks of a wave: now, and at most */
  int64_t wave_end;
  _Atomic int64_t dealt;
  _Atomic int64_t failed; /* lowest chunk with a failed check; INT64_MAX = none */
  int64_t scratch_bytes;
  char *scratch; /* [thread] rows that had to be gathered */
  char **feeds;  /* [thread][input] */
  float *values; /* [chunk of the wave][width][STRIDE] */
  struct dtr_stream stream;
  double *levels, *means;
};

static struct chunk chunk_at(const struct dtr_evaluator *evaluator, int64_t index) {
  const struct dtr_program *program = evaluator->executor->program;
  int64_t batch = program->eval.batch;
  if (index < evaluator->whole)
    return (struct chunk){index * batch, batch, &program->eval};
  return (struct chunk){evaluator->whole * batch + (index - evaluator->whole), 1, &program->tail};
}

static bool allocate(struct dtr_evaluator *evaluator, struct dtr_error *error) {
  int threads = evaluator->executor->threads;
  int64_t block = (int64_t)evaluator->width * DTR_ALIGN;
  evaluator->scratch = dtr_memory_new(evaluator->scratch_bytes * threads + DTR_ALIGN);
  evaluator->feeds =
      calloc((size_t)threads * (evaluator->executor->program->input_count + 1), sizeof(char *));
  evaluator->values = dtr_memory_new(block * evaluator->most);
  evaluator->levels = calloc((size_t)(DTR_STREAM_LEVELS + 1) * evaluator->width, sizeof(double));
  if (!evaluator->scratch || !evaluator->feeds || !evaluator->values || !evaluator->levels)
    return dtr_error_memory(error, evaluator->scratch_bytes * threads, "evaluation");
  evaluator->means = evaluator->levels + (size_t)DTR_STREAM_LEVELS * evaluator->width;
  return true;
}

bool dtr_evaluator_new(struct dtr_executor *executor, const struct dtr_data *data,
                       struct dtr_evaluator **evaluator, struct dtr_error *error) {
  struct dtr_evaluator *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "evaluation");
  int64_t batch = executor->program->eval.batch, count = dtr_data_count(data);
  made->executor = executor;
  made->data = data;
  made->width = 1 + executor->program->metric_count;
  made->whole = count / batch;
  made->chunks = made->whole + count % batch;
  made->wave = (int64_t)executor->threads * FIRST_CHUNKS;
  made->most = (int64_t)executor->threads * MOST_CHUNKS;
  made->scratch_bytes = dtr_memory_round(dtr_data_scratch(data, made->whole > 0 ? batch : 1));
  if (!allocate(made, error)) {
    dtr_evaluator_free(made);
    return false;
  }
  *evaluator = made;
  return true;
}

void dtr_evaluator_free(struct dtr_evaluator *evaluator) {
  if (!evaluator)
    return;
  dtr_memory_free(evaluator->scratch);
  dtr_memory_free(evaluator->values);
  free(evaluator->feeds);
  free(evaluator->levels);
  free(evaluator);
}

void dtr_evaluator_begin(struct dtr_evaluator *evaluator, const struct dtr_scalars *scalars) {
  evaluator->scalars = *scalars;
  evaluator->scalars.shard = 0;
  evaluator->next = 0;
  atomic_store(&evaluator->failed, INT64_MAX);
  dtr_stream_begin(&evaluator->stream, evaluator->width, evaluator->levels);
}

static char **view(struct dtr_evaluator *evaluator, int thread, const struct chunk *chunk) {
  char **feeds = evaluator->feeds + (size_t)thread * evaluator->executor->program->input_count;
  dtr_data_view(evaluator->data, DTR_NATURAL_ORDER, chunk->first, chunk->examples,
                evaluator->scratch + thread * evaluator->scratch_bytes, feeds);
  return feeds;
}

static float *values_of(struct dtr_evaluator *evaluator, int64_t index) {
  return evaluator->values + (index - evaluator->next) * evaluator->width * STRIDE;
}

static void note_failure(struct dtr_evaluator *evaluator, int64_t index) {
  int64_t lowest = atomic_load(&evaluator->failed);
  while (index < lowest && !atomic_compare_exchange_weak(&evaluator->failed, &lowest, index))
    ;
}

static void run_chunks(void *context, int thread) {
  struct dtr_evaluator *evaluator = context;
  for (;;) {
    int64_t index = atomic_fetch_add_explicit(&evaluator->dealt, 1, memory_order_relaxed);
    if (index >= evaluator->wave_end)
      return;
    struct chunk chunk = chunk_at(evaluator, index);
    struct dtr_fault fault;
    if (!dtr_executor_call(evaluator->executor, thread, chunk.part, view(evaluator, thread, &chunk),
                           (char *)values_of(evaluator, index), &evaluator->scalars, &fault))
      note_failure(evaluator, index);
  }
}

enum dtr_eval_state dtr_evaluator_advance(struct dtr_evaluator *evaluator) {
  int64_t left = evaluator->chunks - evaluator->next;
  int64_t count = left < evaluator->wave ? left : evaluator->wave;
  evaluator->wave_end = evaluator->next + count;
  int64_t begin = dtr_env_now(evaluator->executor->env);
  atomic_store(&evaluator->dealt, evaluator->next);
  dtr_pool_share(evaluator->executor->pool, run_chunks, evaluator);
  if (dtr_env_now(evaluator->executor->env) - begin < SHORT_WAVE &&
      evaluator->wave * 2 <= evaluator->most)
    evaluator->wave *= 2;
  if (atomic_load(&evaluator->failed) != INT64_MAX)
    return DTR_EVAL_FAULT;
  for (int64_t i = evaluator->next; i < evaluator->wave_end; i++)
    dtr_stream_add(&evaluator->stream, values_of(evaluator, i), STRIDE,
                   (double)chunk_at(evaluator, i).examples);
  evaluator->next = evaluator->wave_end;
  if (evaluator->next < evaluator->chunks)
    return DTR_EVAL_MORE;
  dtr_stream_means(&evaluator->stream, evaluator->means);
  return DTR_EVAL_DONE;
}

const double *dtr_evaluator_results(const struct dtr_evaluator *evaluator) {
  return evaluator->means;
}

int64_t dtr_evaluator_examples(const struct dtr_evaluator *evaluator) {
  return dtr_data_count(evaluator->data);
}

bool dtr_evaluator_explain(struct dtr_evaluator *evaluator, struct dtr_error *error) {
  struct chunk chunk = chunk_at(evaluator, atomic_load(&evaluator->failed));
  struct dtr_watch watch;
  struct dtr_fault fault;
  dtr_executor_examine(evaluator->executor, chunk.part, view(evaluator, 0, &chunk),
                       (char *)evaluator->values, &evaluator->scalars, &watch, &fault);
  struct dtr_rows rows = {.data = evaluator->data,
                          .epoch = DTR_NATURAL_ORDER,
                          .first = chunk.first,
                          .count = chunk.examples};
  return dtr_report_fault(evaluator->executor->program, &watch, &fault, &rows, error);
}
