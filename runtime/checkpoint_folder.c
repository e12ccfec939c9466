#include "runtime/checkpoint_folder.h"

#include "runtime/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NAME_DIGITS = 12 };

bool dtr_checkpoint_name_parse(const char *name, int64_t *step) {
  int64_t number = 0;
  if (strncmp(name, "step-", 5) != 0)
    return false;
  const char *at = name + 5;
  for (; *at >= '0' && *at <= '9'; at++)
    if (at - name > 22 || __builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, *at - '0', &number))
      return false;
  ptrdiff_t digits = at - name - 5;
  if (digits < NAME_DIGITS || (digits > NAME_DIGITS && name[5] == '0') ||
      strcmp(at, ".safetensors") != 0)
    return false;
  *step = number;
  return true;
}

bool dtr_checkpoint_path(const char *folder, int64_t step, char *path, size_t size,
                         struct dtr_error *error) {
  int length = snprintf(path, size, "%s/step-%0*" PRId64 ".safetensors", folder, NAME_DIGITS, step);
  if (length >= (int)size)
    return dtr_error_system(error, DTR_STATUS_IO, ENAMETOOLONG, "%s", folder);
  return true;
}

static void range_extend(void *context, const char *name) {
  struct dtr_checkpoint_range *range = context;
  int64_t step;
  if (!dtr_checkpoint_name_parse(name, &step) || step > range->limit)
    return;
  if (range->count == 0 || step < range->oldest)
    range->oldest = step;
  if (range->count == 0 || step > range->newest)
    range->newest = step;
  range->count++;
}

bool dtr_checkpoint_range_find(const struct dtr_env *env, const char *folder, int64_t limit,
                               struct dtr_checkpoint_range *range, struct dtr_error *error) {
  *range = (struct dtr_checkpoint_range){.limit = limit, .oldest = -1, .newest = -1};
  int result = env->path_list(env->context, folder, range_extend, range);
  if (result < 0 && result != -ENOENT)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot list the checkpoints in %s",
                            folder);
  return true;
}

bool dtr_checkpoint_newest(const struct dtr_env *env, const char *folder, int64_t *step,
                           struct dtr_error *error) {
  struct dtr_checkpoint_range range;
  if (!dtr_checkpoint_range_find(env, folder, INT64_MAX, &range, error))
    return false;
  *step = range.newest;
  return true;
}
