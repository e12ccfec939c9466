#include "runtime/env.h"

#include "runtime/env_network.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_read(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t real_now(void *context) {
  (void)context;
  return clock_read(CLOCK_MONOTONIC);
}

static int64_t real_wall_time(void *context) {
  (void)context;
  return clock_read(CLOCK_REALTIME);
}

static int real_file_open(void *context, const char *path, enum dtr_file_mode mode) {
  static const int flags[] = {
      [DTR_FILE_READ] = O_RDONLY | O_NONBLOCK,
      [DTR_FILE_CREATE] = O_WRONLY | O_CREAT | O_TRUNC,
      [DTR_FILE_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
  };
  (void)context;
  int file = open(path, flags[mode] | O_CLOEXEC, 0666);
  return file < 0 ? -errno : file;
}

static int real_file_close(void *context, int file) {
  (void)context;
  return close(file) < 0 ? -errno : 0;
}

static int64_t real_file_read(void *context, int file, void *bytes, size_t size) {
  (void)context;
  ssize_t count;
  do
    count = read(file, bytes, size);
  while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}

static int64_t real_file_pread(void *context, int file, void *bytes, size_t size, int64_t offset) {
  (void)context;
  ssize_t count;
  do
    count = pread(file, bytes, size, offset);
  while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}

static int64_t real_file_write(void *context, int file, const void *bytes, size_t size) {
  (void)context;
  ssize_t count;
  do
    count = write(file, bytes, size);
  while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}

static int real_file_sync(void *context, int file) {
  (void)context;
  return fsync(file) < 0 ? -errno : 0;
}

static void info_fill(const struct stat *status, struct dtr_file_info *info) {
  info->size = status->st_size;
  info->is_directory = S_ISDIR(status->st_mode);
  info->is_regular = S_ISREG(status->st_mode);
  info->mode = status->st_mode & 07777;
}

static int real_file_info(void *context, int file, struct dtr_file_info *info) {
  (void)context;
  struct stat status;
  if (fstat(file, &status) < 0)
    return -errno;
  info_fill(&status, info);
  return 0;
}

static int real_path_info(void *context, const char *path, struct dtr_file_info *info) {
  (void)context;
  struct stat status;
  if (stat(path, &status) < 0)
    return -errno;
  info_fill(&status, info);
  return 0;
}

static int real_path_rename(void *context, const char *from, const char *to) {
  (void)context;
  return rename(from, to) < 0 ? -errno : 0;
}

static int real_path_unlink(void *context, const char *path) {
  (void)context;
  return unlink(path) < 0 ? -errno : 0;
}

static int real_path_mkdir(void *context, const char *path) {
  (void)context;
  return mkdir(path, 0777) < 0 ? -errno : 0;
}

static int real_path_list(void *context, const char *path, dtr_list_visitor *visit,
                          void *visitor_context) {
  (void)context;
  DIR *folder = opendir(path);
  if (!folder)
    return -errno;
  int result = 0;
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(folder);
    if (!entry) {
      result = -errno;
      break;
    }
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      visit(visitor_context, entry->d_name);
  }
  closedir(folder);
  return result;
}

static int real_path_sync(void *context, const char *path) {
  (void)context;
  int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return -errno;
  /* Some file systems cannot sync a folder and say EINVAL; their entries are as safe as they get.
   */
  int result = fsync(file) < 0 && errno != EINVAL ? -errno : 0;
  close(file);
  return result;
}

static int real_path_lock(void *context, const char *path) {
  (void)context;
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return -errno;
  if (flock(file, LOCK_EX | LOCK_NB) == 0)
    return file;
  int result = -errno;
  close(file);
  return result;
}

static const char *real_variable(void *context, const char *name) {
  (void)context;
  return getenv(name);
}

static const struct dtr_env real_row = {
    .now = real_now,
    .wall_time = real_wall_time,
    .file_open = real_file_open,
    .file_close = real_file_close,
    .file_read = real_file_read,
    .file_pread = real_file_pread,
    .file_write = real_file_write,
    .file_sync = real_file_sync,
    .file_info = real_file_info,
    .path_info = real_path_info,
    .path_rename = real_path_rename,
    .path_unlink = real_path_unlink,
    .path_mkdir = real_path_mkdir,
    .path_list = real_path_list,
    .path_sync = real_path_sync,
    .path_lock = real_path_lock,
    .variable = real_variable,
    .socket_listen = dtr_socket_listen,
    .socket_adopt = dtr_socket_adopt,
    .socket_port = dtr_socket_port,
    .socket_accept = dtr_socket_accept,
    .socket_connect = dtr_socket_connect,
    .socket_status = dtr_socket_status,
    .socket_read = dtr_socket_read,
    .socket_write = dtr_socket_write,
    .poll_new = dtr_poll_new,
    .poll_set = dtr_poll_set,
    .poll_wait = dtr_poll_wait,
    .alarm_new = dtr_alarm_new,
    .alarm_ring = dtr_alarm_ring,
    .alarm_clear = dtr_alarm_clear,
    .random = dtr_random,
};

const struct dtr_env *dtr_env_real(void) {
  return &real_row;
}

int64_t dtr_env_now(const struct dtr_env *env) {
  return env->now(env->context);
}

const char *dtr_env_error_text(int error) {
  if (error < 0)
    error = -error;
  return error == DTR_NO_SUCH_HOST ? "the host name does not resolve" : strerror(error);
}

int dtr_env_pread_all(const struct dtr_env *env, int file, void *bytes, size_t size,
                      int64_t offset) {
  char *at = bytes;
  while (size > 0) {
    int64_t count = env->file_pread(env->context, file, at, size, offset);
    if (count < 0)
      return (int)count;
    if (count == 0)
      return -ENODATA;
    at += count;
    offset += count;
    size -= (size_t)count;
  }
  return 0;
}

int dtr_env_write_all(const struct dtr_env *env, int file, const void *bytes, size_t size) {
  const char *at = bytes;
  while (size > 0) {
    int64_t count = env->file_write(env->context, file, at, size);
    if (count < 0)
      return (int)count;
    if (count == 0)
      return -EIO;
    at += count;
    size -= (size_t)count;
  }
  return 0;
}

/* One folder of the way: an existing one is fine, whatever mkdir says of it. */
static int folder_make(const struct dtr_env *env, const char *path) {
  int result = env->path_mkdir(env->context, path);
  if (result == 0)
    return 0;
  struct dtr_file_info info;
  if (env->path_info(env->context, path, &info) == 0)
    return info.is_directory ? 0 : -ENOTDIR;
  return result;
}

int dtr_env_mkdir_all(const struct dtr_env *env, const char *path) {
  char part[PATH_MAX];
  size_t length = strlen(path);
  if (length == 0)
    return -ENOENT;
  if (length >= sizeof part)
    return -ENAMETOOLONG;
  for (size_t i = 1; i < length; i++) {
    if (path[i] != '/' || path[i - 1] == '/')
      continue;
    memcpy(part, path, i);
    part[i] = 0;
    int result = folder_make(env, part);
    if (result < 0)
      return result;
  }
  return folder_make(env, path);
}
