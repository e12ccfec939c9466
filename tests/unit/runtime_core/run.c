#include "run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The env's context is the run; everything but standard output goes to the real row. */
static int64_t catch_write(void *context, int file, const void *bytes, size_t size) {
  struct run *run = context;
  const struct dtr_env *real = dtr_env_real();
  if (file != 1)
    return real->file_write(real->context, file, bytes, size);
  assert_true(run->used + size < sizeof run->out);
  memcpy(run->out + run->used, bytes, size);
  run->used += size;
  run->out[run->used] = 0;
  return (int64_t)size;
}

void run_begin(struct run *run, const struct sample_options *options, int threads) {
  memset(run, 0, sizeof *run);
  run->env = *dtr_env_real();
  assert_null(run->env.context); /* the real row has none, so that ours can stand in its place */
  run->env.context = run;
  run->env.file_write = catch_write;
  run->flags = (struct dtr_flags){.steps = DTR_FLAG_UNSET, .threads = DTR_FLAG_UNSET};
  run->program = sample_program(options);
  run->threads = threads;
}

bool run_poll(struct run *run) {
  if (!run->task) {
    struct dtr_error error;
    struct dtr_task_options options = {.program = run->program,
                                       .env = &run->env,
                                       .flags = &run->flags,
                                       .name = "worker/0",
                                       .model_dir = "",
                                       .threads = run->threads,
                                       .always_share = true};
    dtr_error_clear(&error);
    assert_true(dtr_task_new(&options, &run->task, &error));
  }
  int64_t now = dtr_env_now(&run->env);
  int64_t deadline = dtr_task_poll(run->task, now);
  assert_true(dtr_task_finished(run->task) || deadline == now); /* nothing to wait for */
  return !dtr_task_finished(run->task);
}

int run_finish(struct run *run) {
  while (run_poll(run))
    ;
  return dtr_status_exit(dtr_task_error(run->task)->status);
}

void run_end(struct run *run) {
  dtr_task_free(run->task);
  run->task = NULL;
}
