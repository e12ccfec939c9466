#include "runtime/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int64_t dtr_memory_round(int64_t bytes) {
  int64_t more;
  if (__builtin_add_overflow(bytes, DTR_ALIGN - 1, &more))
    return INT64_MAX;
  return more / DTR_ALIGN * DTR_ALIGN;
}

void *dtr_memory_new(int64_t bytes) {
  int64_t rounded = dtr_memory_round(bytes);
  if (rounded == INT64_MAX)
    return NULL;
  void *memory = aligned_alloc(DTR_ALIGN, (size_t)rounded);
  if (memory)
    memset(memory, 0, (size_t)rounded);
  return memory;
}

void dtr_memory_free(void *memory) {
  free(memory);
}

/* Reads a small text file of the system; false if it is not there. */
static bool read_text(const struct dtr_env *env, const char *path, char *text, size_t size) {
  int file = env->file_open(env->context, path, DTR_FILE_READ);
  if (file < 0)
    return false;
  size_t used = 0;
  int64_t got;
  while (used + 1 < size &&
         (got = env->file_read(env->context, file, text + used, size - 1 - used)) > 0)
    used += (size_t)got;
  env->file_close(env->context, file);
  text[used] = 0;
  return used > 0;
}

static int64_t read_number(const struct dtr_env *env, const char *path) {
  char text[64], *end;
  if (!read_text(env, path, text, sizeof text))
    return -1;
  long long value = strtoll(text, &end, 10);
  return end == text ? -1 : value; /* "max": no limit */
}

/* What the control group (a container's limit) leaves, or -1. */
static int64_t group_available(const struct dtr_env *env) {
  int64_t limit = read_number(env, "/sys/fs/cgroup/memory.max");
  int64_t used = read_number(env, "/sys/fs/cgroup/memory.current");
  if (limit < 0 || used < 0)
    return -1;
  return limit > used ? limit - used : 0;
}

int64_t dtr_memory_available(const struct dtr_env *env) {
  char text[4096];
  int64_t available = -1, group = group_available(env);
  if (read_text(env, "/proc/meminfo", text, sizeof text)) {
    const char *line = strstr(text, "MemAvailable:");
    if (line)
      available = strtoll(line + strlen("MemAvailable:"), NULL, 10) * 1024;
  }
  if (available < 0 || (group >= 0 && group < available))
    return group < 0 ? available : group;
  return available;
}

const char *dtr_memory_text(int64_t bytes, char *text, size_t size) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = (double)bytes;
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
    value /= 1000;
    unit++;
  }
  snprintf(text, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

bool dtr_memory_check(const struct dtr_env *env, int64_t bytes, const char *who,
                      struct dtr_error *error) {
  char need[32], have[32];
  int64_t available = dtr_memory_available(env);
  if (available < 0 || bytes <= available)
    return true;
  dtr_error_set(error, DTR_STATUS_MEMORY, "%s needs %s of memory, %s are available", who,
                dtr_memory_text(bytes, need, sizeof need),
                dtr_memory_text(available, have, sizeof have));
  return dtr_error_hint(error, "use fewer --threads, a smaller batch or more shards");
}

/* What is left of the limit of the address space, or -1: there is none. */
static int64_t limit_left(const struct dtr_env *env) {
  static const char *const name = "Max address space";
  enum { PAGE = 4096 };
  char text[4096], *end;
  if (!read_text(env, "/proc/self/limits", text, sizeof text))
    return -1;
  const char *line = strstr(text, name);
  int64_t limit = line ? strtoll(line + strlen(name), &end, 10) : 0;
  int64_t pages = read_number(env, "/proc/self/statm");
  if (limit <= 0 || pages < 0) /* "unlimited" */
    return -1;
  return limit > pages * PAGE ? limit - pages * PAGE : 0;
}

bool dtr_memory_check_limit(const struct dtr_env *env, int64_t bytes, int threads, const char *who,
                            struct dtr_error *error) {
  /* Measured: oneDNN with the code that it makes, and a stack for each thread and the data's. */
  static const int64_t library = 24 << 20, stack = 9 << 20;
  char need[32], have[32];
  int64_t left = limit_left(env), all = library + stack * (threads + 1);
  if (__builtin_add_overflow(all, bytes, &all))
    all = INT64_MAX;
  if (left < 0)
    return true;
  mallopt(M_ARENA_MAX, 1); /* each arena reserves 64 MB of it */
  if (all <= left)
    return true;
  dtr_error_set(error, DTR_STATUS_MEMORY,
                "%s with %d threads needs %s of address space, %s are left of its limit", who,
                threads, dtr_memory_text(all, need, sizeof need),
                dtr_memory_text(left, have, sizeof have));
  return dtr_error_hint(error, "raise the limit (ulimit -v), or use fewer --threads");
}
