#include "runtime/sim/disk.h"

#include <stdlib.h>
#include <string.h>

void dtr_sim_volume_free(struct dtr_sim_volume *volume) {
  while (volume->names) {
    struct dtr_sim_name *name = volume->names;
    volume->names = name->next;
    free(name->path);
    free(name);
  }
  while (volume->nodes) {
    struct dtr_sim_node *node = volume->nodes;
    volume->nodes = node->next;
    free(node->bytes);
    free(node->synced);
    free(node);
  }
}

/* ---- names ---- */

bool dtr_sim_path(const char *path, char *canonical, size_t size) {
  size_t used = 0;
  while (path[0] == '.' && path[1] == '/')
    for (path += 2; *path == '/'; path++)
      ;
  if (strcmp(path, ".") == 0)
    path++;
  for (; *path; path++) {
    if (*path == '/' && used > 0 && canonical[used - 1] == '/')
      continue;
    if (used + 1 >= size)
      return false;
    canonical[used++] = *path;
  }
  if (used > 1 && canonical[used - 1] == '/')
    used--;
  canonical[used] = 0;
  return true;
}

void dtr_sim_parent(const char *path, char *parent, size_t size) {
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) : 0;
  if (slash == path)
    length = 1;
  if (length >= size)
    length = size - 1;
  memcpy(parent, path, length);
  parent[length] = 0;
}

struct dtr_sim_name *dtr_sim_name_find(const struct dtr_sim_volume *volume, const char *path) {
  struct dtr_sim_name *name = volume->names;
  while (name && strcmp(name->path, path) != 0)
    name = name->next;
  return name;
}

struct dtr_sim_name *dtr_sim_name_add(struct dtr_sim_volume *volume, const char *path) {
  struct dtr_sim_name *name = dtr_sim_name_find(volume, path);
  if (name)
    return name;
  name = calloc(1, sizeof *name);
  char *copy = strdup(path);
  if (!name || !copy) {
    free(name);
    free(copy);
    return NULL;
  }
  name->path = copy;
  name->next = volume->names;
  volume->names = name;
  return name;
}

bool dtr_sim_folder_exists(const struct dtr_sim_volume *volume, const char *path) {
  if (path[0] == 0 || strcmp(path, "/") == 0)
    return true;
  const struct dtr_sim_name *name = dtr_sim_name_find(volume, path);
  return name && name->now && name->now->is_folder;
}

/* ---- contents ---- */

struct dtr_sim_node *dtr_sim_node_new(struct dtr_sim_volume *volume, bool is_folder) {
  struct dtr_sim_node *node = calloc(1, sizeof *node);
  if (!node)
    return NULL;
  node->is_folder = is_folder;
  node->next = volume->nodes;
  volume->nodes = node;
  return node;
}

bool dtr_sim_node_append(struct dtr_sim_node *node, const void *bytes, int64_t size) {
  if (node->size + size > node->room) {
    int64_t room = 2 * (node->size + size) + 256;
    char *more = realloc(node->bytes, (size_t)room);
    if (!more)
      return false;
    node->bytes = more;
    node->room = room;
  }
  if (size > 0)
    memcpy(node->bytes + node->size, bytes, (size_t)size);
  node->size += size;
  return true;
}

static bool copy_over(char **to, int64_t *to_size, const char *from, int64_t size) {
  char *copy = malloc((size_t)size + 1);
  if (!copy)
    return false;
  if (size > 0)
    memcpy(copy, from, (size_t)size);
  free(*to);
  *to = copy;
  *to_size = size;
  return true;
}

bool dtr_sim_node_sync(struct dtr_sim_node *node) {
  return copy_over(&node->synced, &node->synced_size, node->bytes, node->size);
}

/* ---- a crash ---- */

/* Of what was not synced, a beginning may have reached the platter. */
static void crash_node(struct dtr_sim_node *node, struct dtr_sim_random *random,
                       struct dtr_sim_disk_counts *counts) {
  bool same = node->size == node->synced_size &&
              (node->size == 0 || memcmp(node->bytes, node->synced, (size_t)node->size) == 0);
  if (node->is_folder || same)
    return;
  if (dtr_sim_random_below(random, 2) == 0) {
    counts->torn++;
    node->size = dtr_sim_random_below(random, node->size + 1);
  } else if (copy_over(&node->bytes, &node->size, node->synced, node->synced_size)) {
    node->room = node->size;
    counts->lost++;
  }
  dtr_sim_node_sync(node);
}

static void crash_name(struct dtr_sim_name *name, struct dtr_sim_random *random,
                       struct dtr_sim_disk_counts *counts) {
  if (name->now != name->synced && dtr_sim_random_below(random, 2) == 0) {
    name->now = name->synced;
    counts->lost++;
  }
  name->synced = name->now;
}

/* What a lost folder held is lost with it; folders can hold folders. */
static void drop_orphans(struct dtr_sim_volume *volume) {
  char parent[4096];
  bool any = true;
  while (any) {
    any = false;
    for (struct dtr_sim_name *name = volume->names; name; name = name->next) {
      dtr_sim_parent(name->path, parent, sizeof parent);
      if (!name->now || name->is_imported || dtr_sim_folder_exists(volume, parent))
        continue;
      name->now = name->synced = NULL;
      any = true;
    }
  }
}

void dtr_sim_volume_crash(struct dtr_sim_volume *volume, struct dtr_sim_random *random,
                          struct dtr_sim_disk_counts *counts) {
  counts->crashes++;
  for (struct dtr_sim_node *node = volume->nodes; node; node = node->next)
    crash_node(node, random, counts);
  for (struct dtr_sim_name *name = volume->names; name; name = name->next)
    crash_name(name, random, counts);
  drop_orphans(volume);
}
