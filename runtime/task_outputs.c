/* Whether what a run writes can be written, asked before it trains. */
#include "runtime/task_parts.h"
#include "runtime/tensors.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

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
    result = dtr_output_probe(env, path);
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
  if (flags->save && !dtr_output_check(env, "save", flags->save, &task->error))
    return false;
  if (!flags->checkpoint_dir ||
      (flags->resume && env->path_info(env->context, flags->checkpoint_dir, &info) < 0))
    return true;
  return check_folder(task, flags->checkpoint_dir);
}
