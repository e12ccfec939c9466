/* Whether what a run writes can be written, asked before it trains. */
#include "runtime/task_parts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Makes a file beside those to come and removes it: 0 or a negative errno. */
static int probe(const struct dtr_env *env, const char *path) {
  char name[PATH_MAX];
  if (snprintf(name, sizeof name, "%s.probe", path) >= (int)sizeof name)
    return -ENAMETOOLONG;
  int file = env->file_open(env->context, name, DTR_FILE_CREATE);
  if (file < 0)
    return file;
  int result = env->file_close(env->context, file);
  env->path_unlink(env->context, name);
  return result;
}

/* ---- --save ---- */

/* "" for a name alone. */
static void folder_of(const char *path, char *folder, size_t size) {
  const char *slash = strrchr(path, '/');
  snprintf(folder, size, "%.*s", slash ? (int)(slash - path) + (slash == path) : 0, path);
}

/* A file is replaced by renaming, so what is no file of its own would be lost. */
static bool check_save(struct dtr_task *task, const char *path) {
  const struct dtr_env *env = task->options.env;
  struct dtr_file_info info;
  char folder[PATH_MAX];
  folder_of(path, folder, sizeof folder);
  if (folder[0] && (env->path_info(env->context, folder, &info) < 0 || !info.is_directory)) {
    dtr_error_set(&task->error, DTR_STATUS_IO, "--save %s: there is no folder %s", path, folder);
    return dtr_error_hint(&task->error, "make the folder first");
  }
  if (env->path_info(env->context, path, &info) == 0 && !info.is_regular) {
    dtr_error_set(&task->error, DTR_STATUS_IO, "--save %s: it is %s", path,
                  info.is_directory ? "a folder" : "a pipe or a device, not a file");
    return dtr_error_hint(&task->error, "name a file");
  }
  int result = probe(env, path);
  if (result == 0)
    return true;
  dtr_error_system(&task->error, DTR_STATUS_IO, result, "--save %s: cannot write there", path);
  return dtr_error_hint(&task->error, "name a file in a folder that you may write to");
}

/* ---- --checkpoint-dir ---- */

/* Two programs in one folder would remove each other's checkpoints. */
static bool lock(struct dtr_task *task, const char *folder) {
  const struct dtr_env *env = task->options.env;
  int handle = env->path_lock(env->context, folder);
  if (handle == -EWOULDBLOCK) {
    dtr_error_set(&task->error, DTR_STATUS_IO,
                  "--checkpoint-dir %s: another program writes its checkpoints there", folder);
    return dtr_error_hint(&task->error, "wait for its end, or name a folder of this run's own");
  }
  task->checkpoint_lock = handle;
  return true;
}

/* A fresh run leaves later checkpoints of an earlier one alone, and --resume takes the newest. */
static bool warn_of_others(struct dtr_task *task, const char *folder) {
  int64_t newest;
  char text[PATH_MAX + 128];
  if (!dtr_checkpoint_newest(task->options.env, folder, &newest, &task->error))
    return false;
  if (newest < 0)
    return true;
  snprintf(text, sizeof text,
           "%s has checkpoints of an earlier run, up to step %lld: --resume would go on from there",
           folder, (long long)newest);
  dtr_progress_warn(&task->progress, text);
  return true;
}

static bool check_folder(struct dtr_task *task, const char *folder) {
  const struct dtr_env *env = task->options.env;
  char path[PATH_MAX];
  int result = dtr_env_mkdir_all(env, folder);
  if (result == 0 && snprintf(path, sizeof path, "%s/step", folder) >= (int)sizeof path)
    result = -ENAMETOOLONG;
  if (result == 0)
    result = probe(env, path);
  if (result < 0) {
    dtr_error_system(&task->error, DTR_STATUS_IO, result, "--checkpoint-dir %s: cannot write there",
                     folder);
    return dtr_error_hint(&task->error, "name a folder that you may write to");
  }
  return lock(task, folder) && (task->options.flags->resume || warn_of_others(task, folder));
}

/* A folder to resume from is not made: that it is missing is said when it is read. */
bool dtr_task_check_outputs(struct dtr_task *task) {
  const struct dtr_flags *flags = task->options.flags;
  const struct dtr_env *env = task->options.env;
  struct dtr_file_info info;
  if (flags->eval_only)
    return true;
  if (flags->save && !check_save(task, flags->save))
    return false;
  if (!flags->checkpoint_dir ||
      (flags->resume && env->path_info(env->context, flags->checkpoint_dir, &info) < 0))
    return true;
  return check_folder(task, flags->checkpoint_dir);
}
