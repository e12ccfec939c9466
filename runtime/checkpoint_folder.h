/* Names and contents of a checkpoint folder; inside of checkpoint_save.c and checkpoint_load.c.
 *
 * Pure functions of their arguments and the file system. No allocation.
 */
#ifndef DTR_CHECKPOINT_FOLDER_H
#define DTR_CHECKPOINT_FOLDER_H

#include "runtime/env.h"
#include "runtime/error.h"

/* "step-000000000500.safetensors" -> 500; false for other names. */
bool dtr_checkpoint_name_parse(const char *name, int64_t *step);
/* The way back, with the folder in front. */
bool dtr_checkpoint_path(const char *folder, int64_t step, char *path, size_t size,
                         struct dtr_error *error);

/* The checkpoints up to step `limit`; oldest and newest are -1 if there are none. */
struct dtr_checkpoint_range {
  int64_t limit, count, oldest, newest;
};
/* A folder that is missing has none. */
bool dtr_checkpoint_range_find(const struct dtr_env *env, const char *folder, int64_t limit,
                               struct dtr_checkpoint_range *range, struct dtr_error *error);

#endif
