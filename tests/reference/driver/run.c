#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TAIL = 1500 };

/* The end of a file, cut at a line. */
static const char *tail(struct ref_driver *driver, const char *path) {
  char text[TAIL + 1];
  FILE *file = fopen(path, "r");
  if (!file)
    return "";
  fseek(file, 0, SEEK_END);
  long size = ftell(file), from = size > TAIL ? size - TAIL : 0;
  fseek(file, from, SEEK_SET);
  size_t count = fread(text, 1, TAIL, file);
  fclose(file);
  text[count] = '\0';
  char *line = from > 0 ? strchr(text, '\n') : NULL;
  return dtg_arena_strdup(&driver->arena, line ? line + 1 : text);
}

static int spawn(const char *const *arguments, const char *output, pid_t *process) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error)
    return error;
  error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output,
                                           O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  if (!error)
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!error)
    error = posix_spawnp(process, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments,
                         environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

bool ref_run(struct ref_driver *driver, const char *const *arguments, const char *output,
             const char **why) {
  pid_t process;
  int status, error = spawn(arguments, output, &process);
  if (error) {
    *why = ref_format(driver, "cannot start %s: %s", arguments[0], strerror(error));
    return false;
  }
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  *why =
      ref_format(driver, "%s %s %d\n%s", arguments[0],
                 WIFEXITED(status) ? "ended with status" : "was killed by signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), tail(driver, output));
  return false;
}

static const char *stem_of(struct ref_driver *driver, const char *model) {
  const char *slash = strrchr(model, '/'), *name = slash ? slash + 1 : model;
  return dtg_arena_strndup(&driver->arena, name, strcspn(name, "."));
}

bool ref_compile(struct ref_driver *driver, const char *model, const char *out,
                 const char *const *defines, const char **program, const char **why) {
  const char *arguments[REF_MAX_ARGUMENTS] = {driver->dtgc, "-q", model, "-o", out};
  size_t count = 5;
  for (; defines && *defines && count + 2 < REF_MAX_ARGUMENTS; defines++) {
    arguments[count++] = "-D";
    arguments[count++] = *defines;
  }
  if (!ref_run(driver, arguments, ref_format(driver, "%s.dtgc.txt", out), why))
    return false;
  *program = ref_format(driver, "%s/%s", out, stem_of(driver, model));
  return true;
}

bool ref_accepts(struct ref_driver *driver, const char *model) {
  const char *why;
  const char *arguments[] = {driver->dtgc, "check", model, NULL};
  return ref_run(driver, arguments, ref_format(driver, "%s.txt", model), &why);
}

const char *ref_checkpoint(struct ref_driver *driver, const char *folder, int step) {
  return ref_format(driver, "%s/step-%012d.safetensors", folder, step);
}

bool ref_train(struct ref_driver *driver, const struct ref_job *job, const char **why) {
  const char *arguments[REF_MAX_ARGUMENTS] = {
      job->program, "--quiet", "--threads", "1", "--steps", ref_format(driver, "%d", job->steps),
      "--save",     job->save};
  size_t count = 8;
  const struct {
    const char *flag, *value;
  } more[] = {{"--init", job->init},
              {"--data-dir", job->data_dir},
              {"--log", job->log},
              {"--checkpoint-dir", job->checkpoints}};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    if (!more[i].value)
      continue;
    arguments[count++] = more[i].flag;
    arguments[count++] = more[i].value;
  }
  unlink(job->save);
  if (job->log)
    unlink(job->log);
  for (int step = 1; job->checkpoints && step <= job->steps; step++)
    unlink(ref_checkpoint(driver, job->checkpoints, step));
  return ref_run(driver, arguments, ref_format(driver, "%s.txt", job->save), why);
}

bool ref_predict(struct ref_driver *driver, const struct ref_job *job, const char *data,
                 const char **why) {
  const char *arguments[] = {job->program, "--quiet",     "--threads", "1",      "--predict",
                             data,         "--output",    job->save,   "--init", job->init,
                             "--data-dir", job->data_dir, NULL};
  unlink(job->save);
  return ref_run(driver, arguments, ref_format(driver, "%s.txt", job->save), why);
}
