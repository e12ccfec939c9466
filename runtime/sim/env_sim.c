#include "runtime/sim/env_sim.h"

#include "runtime/sim/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLES = 256, FIRST_HANDLE = 3, PATH_SIZE = 4096, PURPOSE = 0xD15C };

/* A date that says at once that it is not real: 2000-01-01. */
static const int64_t epoch = INT64_C(946684800) * 1000000000;

struct handle {
  struct dtr_sim_node *node; /* NULL: free */
  int64_t at;
  bool writes;
};

struct dtr_sim_disk {
  struct dtr_sim_world *world;
  struct dtr_sim_disk_faults faults;
  const struct dtr_env *below;
  bool echo;
  struct dtr_env env;
  struct dtr_sim_volume volume;
  struct dtr_sim_random random;
  struct dtr_sim_disk_counts counts;
  int64_t crash_at; /* count of calls; 0: never */
  bool has_stopped;
  struct handle handles[HANDLES];
};

/* ---- faults ---- */

static bool fails(struct dtr_sim_disk *disk, int64_t per_million) {
  disk->counts.calls++;
  if (disk->counts.calls == disk->crash_at) {
    dtr_sim_disk_crash(disk);
    disk->has_stopped = true;
  }
  if (disk->has_stopped)
    return true;
  if (disk->faults.slowest > 0)
    disk->world->spent += dtr_sim_random_below(&disk->random, disk->faults.slowest);
  if (!dtr_sim_random_hits(&disk->random, per_million))
    return false;
  disk->counts.failures++;
  return true;
}

static size_t transfer(struct dtr_sim_disk *disk, size_t size) {
  if (size < 2 || !dtr_sim_random_hits(&disk->random, disk->faults.short_transfer))
    return size;
  disk->counts.short_transfers++;
  return (size_t)dtr_sim_random_below(&disk->random, (int64_t)size - 1) + 1;
}

/* ---- time ---- */

static int64_t sim_now(void *context) {
  const struct dtr_sim_world *world = ((struct dtr_sim_disk *)context)->world;
  return world->now + world->spent;
}

static int64_t sim_wall_time(void *context) {
  return epoch + sim_now(context);
}

/* ---- files ---- */

static struct handle *open_handle(struct dtr_sim_disk *disk, int file) {
  if (file < FIRST_HANDLE || file >= FIRST_HANDLE + HANDLES)
    return NULL;
  struct handle *handle = &disk->handles[file - FIRST_HANDLE];
  return handle->node ? handle : NULL;
}

/* Reads a file of the row below into this disk, as if it had always been there. */
static struct dtr_sim_node *import_file(struct dtr_sim_disk *disk, const char *path) {
  const struct dtr_env *below = disk->below;
  char part[16384];
  int file = below ? below->file_open(below->context, path, DTR_FILE_READ) : -ENOENT;
  if (file < 0)
    return NULL;
  struct dtr_sim_node *node = dtr_sim_node_new(&disk->volume, false);
  int64_t count = 0;
  while (node && (count = below->file_read(below->context, file, part, sizeof part)) > 0)
    if (!dtr_sim_node_append(node, part, count))
      count = -ENOMEM;
  below->file_close(below->context, file);
  struct dtr_sim_name *name =
      node && count == 0 && dtr_sim_node_sync(node) ? dtr_sim_name_add(&disk->volume, path) : NULL;
  if (!name)
    return NULL;
  name->now = name->synced = node;
  name->is_imported = true;
  return node;
}

static int find_to_read(struct dtr_sim_disk *disk, const char *path, struct dtr_sim_node **node) {
  struct dtr_sim_name *name = dtr_sim_name_find(&disk->volume, path);
  *node = name ? name->now : import_file(disk, path);
  return *node ? 0 : -ENOENT;
}

static int find_to_write(struct dtr_sim_disk *disk, const char *path, enum dtr_file_mode mode,
                         struct dtr_sim_node **node) {
  char parent[PATH_SIZE];
  dtr_sim_parent(path, parent, sizeof parent);
  if (!dtr_sim_folder_exists(&disk->volume, parent))
    return -ENOENT;
  struct dtr_sim_name *name = dtr_sim_name_add(&disk->volume, path);
  if (!name)
    return -ENOMEM;
  if (name->now && name->now->is_folder)
    return -EISDIR;
  if (!name->now)
    name->now = dtr_sim_node_new(&disk->volume, false);
  if (name->now && mode == DTR_FILE_CREATE)
    name->now->size = 0;
  *node = name->now;
  return *node ? 0 : -ENOMEM;
}

static int sim_file_open(void *context, const char *given, enum dtr_file_mode mode) {
  struct dtr_sim_disk *disk = context;
  char path[PATH_SIZE];
  struct dtr_sim_node *node;
  int free_handle = 0;
  if (!dtr_sim_path(given, path, sizeof path))
    return -ENAMETOOLONG;
  if (fails(disk, disk->faults.open))
    return -EIO;
  while (free_handle < HANDLES && disk->handles[free_handle].node)
    free_handle++;
  if (free_handle == HANDLES)
    return -EMFILE;
  int result = mode == DTR_FILE_READ ? find_to_read(disk, path, &node)
                                     : find_to_write(disk, path, mode, &node);
  if (result < 0)
    return result;
  disk->handles[free_handle] = (struct handle){.node = node, .writes = mode != DTR_FILE_READ};
  return FIRST_HANDLE + free_handle;
}

static int sim_file_close(void *context, int file) {
  struct dtr_sim_disk *disk = context;
  struct handle *handle = open_handle(disk, file);
  if (!handle)
    return -EBADF;
  handle->node = NULL;
  return fails(disk, disk->faults.close) ? -EIO : 0;
}

static int64_t read_at(struct dtr_sim_disk *disk, const struct handle *handle, void *bytes,
                       size_t size, int64_t offset) {
  int64_t rest = handle->node->size - offset;
  if (fails(disk, disk->faults.read))
    return -EIO;
  if (handle->node->is_folder)
    return -EISDIR;
  if (rest <= 0)
    return 0;
  if ((int64_t)size > rest)
    size = (size_t)rest;
  size = transfer(disk, size);
  memcpy(bytes, handle->node->bytes + offset, size);
  return (int64_t)size;
}

static int64_t sim_file_read(void *context, int file, void *bytes, size_t size) {
  struct handle *handle = open_handle(context, file);
  if (!handle)
    return -EBADF;
  int64_t count = read_at(context, handle, bytes, size, handle->at);
  if (count > 0)
    handle->at += count;
  return count;
}

static int64_t sim_file_pread(void *context, int file, void *bytes, size_t size, int64_t offset) {
  struct handle *handle = open_handle(context, file);
  return handle ? read_at(context, handle, bytes, size, offset) : -EBADF;
}

static int64_t used(const struct dtr_sim_disk *disk) {
  int64_t sum = 0;
  for (const struct dtr_sim_name *name = disk->volume.names; name; name = name->next)
    sum += name->now ? name->now->size : 0;
  return sum;
}

static int64_t sim_file_write(void *context, int file, const void *bytes, size_t size) {
  struct dtr_sim_disk *disk = context;
  struct handle *handle = open_handle(disk, file);
  if (file == 1 || file == 2)
    return disk->echo && disk->below
               ? disk->below->file_write(disk->below->context, file, bytes, size)
               : (int64_t)size;
  if (!handle || !handle->writes)
    return -EBADF;
  if (fails(disk, disk->faults.write))
    return dtr_sim_random_below(&disk->random, 2) == 0 ? -ENOSPC : -EIO;
  size = transfer(disk, size);
  if (disk->faults.capacity > 0 && used(disk) + (int64_t)size > disk->faults.capacity) {
    disk->counts.failures++;
    return -ENOSPC;
  }
  return dtr_sim_node_append(handle->node, bytes, (int64_t)size) ? (int64_t)size : -ENOMEM;
}

static int sim_file_sync(void *context, int file) {
  struct dtr_sim_disk *disk = context;
  struct handle *handle = open_handle(disk, file);
  if (!handle)
    return -EBADF;
  if (fails(disk, disk->faults.sync))
    return -EIO;
  return dtr_sim_node_sync(handle->node) ? 0 : -ENOMEM;
}

static int sim_file_info(void *context, int file, struct dtr_file_info *info) {
  const struct handle *handle = open_handle(context, file);
  if (!handle)
    return -EBADF;
  *info = (struct dtr_file_info){.size = handle->node->size,
                                 .is_directory = handle->node->is_folder,
                                 .is_regular = !handle->node->is_folder};
  return 0;
}

/* ---- names ---- */

static int sim_path_info(void *context, const char *given, struct dtr_file_info *info) {
  struct dtr_sim_disk *disk = context;
  char path[PATH_SIZE];
  if (!dtr_sim_path(given, path, sizeof path))
    return -ENAMETOOLONG;
  const struct dtr_sim_name *name = dtr_sim_name_find(&disk->volume, path);
  if (name && name->now)
    *info = (struct dtr_file_info){.size = name->now->size,
                                   .is_directory = name->now->is_folder,
                                   .is_regular = !name->now->is_folder};
  else if (dtr_sim_folder_exists(&disk->volume, path))
    *info = (struct dtr_file_info){.is_directory = true};
  else if (!name && disk->below)
    return disk->below->path_info(disk->below->context, given, info);
  else
    return -ENOENT;
  return 0;
}

/* One process has this disk. */
static int sim_path_lock(void *context, const char *path) {
  (void)context;
  (void)path;
  return -ENOTSUP;
}

static int sim_path_rename(void *context, const char *from, const char *to) {
  struct dtr_sim_disk *disk = context;
  char source[PATH_SIZE], target[PATH_SIZE], parent[PATH_SIZE];
  if (!dtr_sim_path(from, source, sizeof source) || !dtr_sim_path(to, target, sizeof target))
    return -ENAMETOOLONG;
  dtr_sim_parent(target, parent, sizeof parent);
  struct dtr_sim_name *name = dtr_sim_name_find(&disk->volume, source);
  if (!name || !name->now || !dtr_sim_folder_exists(&disk->volume, parent))
    return -ENOENT;
  if (fails(disk, disk->faults.rename))
    return -EIO;
  struct dtr_sim_name *other = dtr_sim_name_add(&disk->volume, target);
  if (!other)
    return -ENOMEM;
  if (other == name)
    return 0;
  other->now = name->now;
  name->now = NULL;
  return 0;
}

static int sim_path_unlink(void *context, const char *given) {
  struct dtr_sim_disk *disk = context;
  char path[PATH_SIZE];
  if (!dtr_sim_path(given, path, sizeof path))
    return -ENAMETOOLONG;
  struct dtr_sim_name *name = dtr_sim_name_find(&disk->volume, path);
  if (!name || !name->now)
    return -ENOENT;
  if (name->now->is_folder)
    return -EISDIR;
  if (fails(disk, disk->faults.rename))
    return -EIO;
  name->now = NULL;
  return 0;
}

static int sim_path_mkdir(void *context, const char *given) {
  struct dtr_sim_disk *disk = context;
  char path[PATH_SIZE], parent[PATH_SIZE];
  if (!dtr_sim_path(given, path, sizeof path))
    return -ENAMETOOLONG;
  dtr_sim_parent(path, parent, sizeof parent);
  if (dtr_sim_folder_exists(&disk->volume, path))
    return -EEXIST;
  if (!dtr_sim_folder_exists(&disk->volume, parent))
    return -ENOENT;
  struct dtr_sim_name *name = dtr_sim_name_add(&disk->volume, path);
  if (!name)
    return -ENOMEM;
  if (name->now)
    return -EEXIST;
  if (fails(disk, disk->faults.open))
    return -EIO;
  name->now = dtr_sim_node_new(&disk->volume, true);
  return name->now ? 0 : -ENOMEM;
}

static int sim_path_list(void *context, const char *given, dtr_list_visitor *visit,
                         void *visitor_context) {
  struct dtr_sim_disk *disk = context;
  char path[PATH_SIZE], parent[PATH_SIZE];
  if (!dtr_sim_path(given, path, sizeof path))
    return -ENAMETOOLONG;
  /* A folder that was never made here is a real one, also when a file in it has been read. */
  const struct dtr_sim_name *own = dtr_sim_name_find(&disk->volume, path);
  if (path[0] && !(own && own->now) && disk->below)
    return disk->below->path_list(disk->below->context, given, visit, visitor_context);
  if (!dtr_sim_folder_exists(&disk->volume, path))
    return -ENOENT;
  if (fails(disk, disk->faults.read))
    return -EIO;
  for (const struct dtr_sim_name *name = disk->volume.names; name; name = name->next) {
    dtr_sim_parent(name->path, parent, sizeof parent);
    const char *slash = strrchr(name->path, '/');
    if (name->now && strcmp(parent, path) == 0)
      visit(visitor_context, slash ? slash + 1 : name->path);
  }
  return 0;
}

static int sim_path_sync(void *context, const char *given) {
  struct dtr_sim_disk *disk = context;
  char path[PATH_SIZE], parent[PATH_SIZE];
  if (!dtr_sim_path(given, path, sizeof path))
    return -ENAMETOOLONG;
  if (!dtr_sim_folder_exists(&disk->volume, path))
    return -ENOENT;
  if (fails(disk, disk->faults.sync))
    return -EIO;
  for (struct dtr_sim_name *name = disk->volume.names; name; name = name->next) {
    dtr_sim_parent(name->path, parent, sizeof parent);
    if (strcmp(parent, path) == 0)
      name->synced = name->now;
  }
  return 0;
}

static const char *sim_variable(void *context, const char *name) {
  const struct dtr_env *below = ((struct dtr_sim_disk *)context)->below;
  return below ? below->variable(below->context, name) : NULL;
}

/* ---- the disk ---- */

static struct dtr_env table(struct dtr_sim_disk *disk) {
  return (struct dtr_env){
      .context = disk,
      .now = sim_now,
      .wall_time = sim_wall_time,
      .file_open = sim_file_open,
      .file_close = sim_file_close,
      .file_read = sim_file_read,
      .file_pread = sim_file_pread,
      .file_write = sim_file_write,
      .file_sync = sim_file_sync,
      .file_info = sim_file_info,
      .path_info = sim_path_info,
      .path_rename = sim_path_rename,
      .path_unlink = sim_path_unlink,
      .path_mkdir = sim_path_mkdir,
      .path_list = sim_path_list,
      .path_sync = sim_path_sync,
      .path_lock = sim_path_lock,
      .variable = sim_variable,
  };
}

bool dtr_sim_disk_new(struct dtr_sim_world *world, const struct dtr_sim_disk_faults *faults,
                      const struct dtr_env *below, bool echo, struct dtr_sim_disk **disk,
                      struct dtr_error *error) {
  struct dtr_sim_disk *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the simulated disk");
  made->world = world;
  made->faults = *faults;
  made->below = below;
  made->echo = echo;
  made->env = table(made);
  made->random = dtr_sim_random_make(world->seed, PURPOSE);
  *disk = made;
  return true;
}

void dtr_sim_disk_free(struct dtr_sim_disk *disk) {
  if (!disk)
    return;
  dtr_sim_volume_free(&disk->volume);
  free(disk);
}

const struct dtr_env *dtr_sim_disk_env(struct dtr_sim_disk *disk) {
  return &disk->env;
}

void dtr_sim_disk_crash(struct dtr_sim_disk *disk) {
  memset(disk->handles, 0, sizeof disk->handles);
  dtr_sim_volume_crash(&disk->volume, &disk->random, &disk->counts);
}

void dtr_sim_disk_crash_at(struct dtr_sim_disk *disk, int64_t calls) {
  disk->crash_at = disk->counts.calls + calls;
}

bool dtr_sim_disk_has_stopped(const struct dtr_sim_disk *disk) {
  return disk->has_stopped;
}

void dtr_sim_disk_start(struct dtr_sim_disk *disk) {
  disk->has_stopped = false;
  disk->crash_at = 0;
}

void dtr_sim_disk_set_faults(struct dtr_sim_disk *disk, const struct dtr_sim_disk_faults *faults) {
  disk->faults = *faults;
}

struct dtr_sim_disk_counts dtr_sim_disk_counts(const struct dtr_sim_disk *disk) {
  return disk->counts;
}

const char *dtr_sim_disk_bytes(const struct dtr_sim_disk *disk, const char *given, int64_t *size) {
  char path[PATH_SIZE];
  const struct dtr_sim_name *name =
      dtr_sim_path(given, path, sizeof path) ? dtr_sim_name_find(&disk->volume, path) : NULL;
  if (!name || !name->now || name->now->is_folder)
    return NULL;
  *size = name->now->size;
  return name->now->bytes ? name->now->bytes : "";
}
