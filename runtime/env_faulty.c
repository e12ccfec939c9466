#include "runtime/env.h"

/* Counts a call and says whether it is one that fails. */
static bool fault_hits(const struct dtr_env_fault *fault, int64_t nth, int64_t *calls) {
  ++*calls;
  if (nth == 0)
    return false;
  return fault->sticky ? *calls >= nth : *calls == nth;
}

static size_t transfer_cut(const struct dtr_env_fault *fault, size_t size) {
  return fault->longest_transfer && size > fault->longest_transfer ? fault->longest_transfer : size;
}

static int64_t faulty_now(void *context) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->now(below->context);
}

static int64_t faulty_wall_time(void *context) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->wall_time(below->context);
}

static int faulty_file_open(void *context, const char *path, enum dtr_file_mode mode) {
  struct dtr_env_fault *fault = context;
  if (fault_hits(fault, fault->fail_open, &fault->opens))
    return -fault->error;
  return fault->below->file_open(fault->below->context, path, mode);
}

/* Closes for real in any case, as the system does when it reports a late failure. */
static int faulty_file_close(void *context, int file) {
  struct dtr_env_fault *fault = context;
  int result = fault->below->file_close(fault->below->context, file);
  return fault_hits(fault, fault->fail_close, &fault->closes) ? -fault->error : result;
}

static int64_t faulty_file_read(void *context, int file, void *bytes, size_t size) {
  struct dtr_env_fault *fault = context;
  if (fault_hits(fault, fault->fail_read, &fault->reads))
    return -fault->error;
  return fault->below->file_read(fault->below->context, file, bytes, transfer_cut(fault, size));
}

static int64_t faulty_file_pread(void *context, int file, void *bytes, size_t size,
                                 int64_t offset) {
  struct dtr_env_fault *fault = context;
  if (fault_hits(fault, fault->fail_read, &fault->reads))
    return -fault->error;
  return fault->below->file_pread(fault->below->context, file, bytes, transfer_cut(fault, size),
                                  offset);
}

static int64_t faulty_file_write(void *context, int file, const void *bytes, size_t size) {
  struct dtr_env_fault *fault = context;
  if (fault_hits(fault, fault->fail_write, &fault->writes))
    return -fault->error;
  return fault->below->file_write(fault->below->context, file, bytes, transfer_cut(fault, size));
}

static int faulty_file_sync(void *context, int file) {
  struct dtr_env_fault *fault = context;
  if (fault_hits(fault, fault->fail_sync, &fault->syncs))
    return -fault->error;
  return fault->below->file_sync(fault->below->context, file);
}

static int faulty_file_info(void *context, int file, struct dtr_file_info *info) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->file_info(below->context, file, info);
}

static int faulty_path_info(void *context, const char *path, struct dtr_file_info *info) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->path_info(below->context, path, info);
}

static int faulty_path_rename(void *context, const char *from, const char *to) {
  struct dtr_env_fault *fault = context;
  if (fault_hits(fault, fault->fail_rename, &fault->renames))
    return -fault->error;
  return fault->below->path_rename(fault->below->context, from, to);
}

static int faulty_path_unlink(void *context, const char *path) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->path_unlink(below->context, path);
}

static int faulty_path_mkdir(void *context, const char *path) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->path_mkdir(below->context, path);
}

static int faulty_path_list(void *context, const char *path, dtr_list_visitor *visit,
                            void *visitor_context) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->path_list(below->context, path, visit, visitor_context);
}

static int faulty_path_sync(void *context, const char *path) {
  struct dtr_env_fault *fault = context;
  if (fault_hits(fault, fault->fail_sync, &fault->syncs))
    return -fault->error;
  return fault->below->path_sync(fault->below->context, path);
}

static int faulty_path_lock(void *context, const char *path) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->path_lock(below->context, path);
}

static const char *faulty_variable(void *context, const char *name) {
  const struct dtr_env *below = ((struct dtr_env_fault *)context)->below;
  return below->variable(below->context, name);
}

struct dtr_env dtr_env_faulty(struct dtr_env_fault *fault) {
  return (struct dtr_env){
      .context = fault,
      .now = faulty_now,
      .wall_time = faulty_wall_time,
      .file_open = faulty_file_open,
      .file_close = faulty_file_close,
      .file_read = faulty_file_read,
      .file_pread = faulty_file_pread,
      .file_write = faulty_file_write,
      .file_sync = faulty_file_sync,
      .file_info = faulty_file_info,
      .path_info = faulty_path_info,
      .path_rename = faulty_path_rename,
      .path_unlink = faulty_path_unlink,
      .path_mkdir = faulty_path_mkdir,
      .path_list = faulty_path_list,
      .path_sync = faulty_path_sync,
      .path_lock = faulty_path_lock,
      .variable = faulty_variable,
  };
}
