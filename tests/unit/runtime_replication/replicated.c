#include "replicated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Everything but standard output goes to the real row. */
static int64_t catch_write(void *context, int file, const void *bytes, size_t size) {
  struct replicated *run = context;
  const struct dtr_env *real = dtr_env_real();
  if (file != 1)
    return real->file_write(real->context, file, bytes, size);
  assert_true(run->used + size < sizeof run->out);
  memcpy(run->out + run->used, bytes, size);
  run->used += size;
  run->out[run->used] = 0;
  return (int64_t)size;
}

void replicated_begin(struct replicated *run, const struct sample_options *options, int threads) {
  memset(run, 0, sizeof *run);
  run->env = *dtr_env_real();
  run->env.context = run;
  run->env.file_write = catch_write;
  run->flags = (struct dtr_flags){.steps = DTR_FLAG_UNSET, .threads = DTR_FLAG_UNSET};
  run->program = sample_program(options);
  run->threads = threads;
}

bool replicated_make(struct replicated *run, struct dtr_error *error) {
  dtr_error_clear(error);
  if (!run->program->replication) {
    struct dtr_task_options options = {.program = run->program,
                                       .env = &run->env,
                                       .flags = &run->flags,
                                       .name = "worker/0",
                                       .model_dir = "",
                                       .threads = run->threads,
                                       .always_share = true};
    return dtr_task_new(&options, &run->single, error);
  }
  struct dtr_job_options options = {.program = run->program,
                                    .env = &run->env,
                                    .flags = &run->flags,
                                    .model_dir = "",
                                    .threads = run->threads,
                                    .always_share = true};
  return dtr_job_new(&options, &run->job, error);
}

struct dtr_task *replicated_task(struct replicated *run) {
  return run->job ? dtr_job_chief(run->job) : run->single;
}

static void make(struct replicated *run) {
  struct dtr_error error;
  if (run->job || run->single)
    return;
  if (!replicated_make(run, &error))
    fail_msg("%s", error.message);
}

static int status_of(struct replicated *run) {
  return dtr_status_exit(dtr_task_error(replicated_task(run))->status);
}

int replicated_finish(struct replicated *run) {
  make(run);
  if (run->single) {
    while (!dtr_task_finished(run->single))
      dtr_task_poll(run->single, dtr_env_now(&run->env));
  } else {
    dtr_job_drive(run->job);
    dtr_job_finish(run->job);
  }
  return status_of(run);
}

int replicated_finish_alone(struct replicated *run, uint64_t seed) {
  return replicated_finish_with_slow(run, seed, -1);
}

int replicated_finish_with_slow(struct replicated *run, uint64_t seed, int slow) {
  make(run);
  uint32_t groups = dtr_job_groups(run->job), idle = 0;
  bool over = false;
  while (!over) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t group = (uint32_t)(seed >> 33) % groups;
    if ((int)group == slow && (seed >> 59) % 16 != 0)
      continue;
    idle = dtr_job_poll(run->job, group) ? 0 : idle + 1;
    assert_true(idle < 1000 * groups); /* nothing hangs */
    over = true;
    for (uint32_t g = 0; g < groups; g++)
      over = over && dtr_job_is_over(run->job, g);
  }
  dtr_job_finish(run->job);
  return status_of(run);
}

void replicated_end(struct replicated *run) {
  dtr_job_free(run->job);
  dtr_task_free(run->single);
  run->job = NULL;
  run->single = NULL;
}
