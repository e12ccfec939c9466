#include "runtime/data/find.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A search under way, and the text of where it has been. */
struct search {
  const struct dtr_env *env;
  const char *path;
  char *found;
  size_t size;
  struct dtr_error *error;
  bool done;             /* found, or failed for good */
  bool folders;          /* are looked for too */
  char folder[PATH_MAX]; /* of that name, not a file; "" = none */
  char places[900];
};

static void place_append(struct search *search, const char *folder, const char *more) {
  size_t length = strlen(search->places);
  snprintf(search->places + length, sizeof search->places - length, "%s%s%s", length ? ", " : "",
           folder, more);
}

static bool is_wanted(const struct search *search, const char *path) {
  const struct dtr_env *env = search->env;
  struct dtr_file_info info;
  return env->path_info(env->context, path, &info) == 0 && (search->folders || !info.is_directory);
}

static bool join(char *joined, size_t size, const char *folder, const char *path) {
  if (strcmp(folder, ".") == 0)
    return snprintf(joined, size, "%s", path) < (int)size;
  const char *slash = folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/";
  return snprintf(joined, size, "%s%s%s", folder, slash, path) < (int)size;
}

static void folder_try(struct search *search, const char *folder) {
  char path[PATH_MAX];
  if (search->done)
    return;
  if (!join(path, sizeof path, folder, search->path))
    return;
  struct dtr_file_info info;
  if (search->env->path_info(search->env->context, path, &info) < 0)
    return;
  if (info.is_directory && !search->folders) {
    memcpy(search->folder, path, sizeof path);
  } else {
    search->done = true;
    if (snprintf(search->found, search->size, "%s", path) >= (int)search->size)
      dtr_error_system(search->error, DTR_STATUS_IO, ENAMETOOLONG, "%s", path);
  }
}

/* ---- the folders in a folder ---- */

struct sub_search {
  struct search *search;
  const char *root;
  int hits;
  char first[PATH_MAX], second[PATH_MAX];
};

static void sub_folder_try(void *context, const char *name) {
  struct sub_search *sub = context;
  char folder[PATH_MAX], path[PATH_MAX];
  if (!join(folder, sizeof folder, sub->root, name) ||
      !join(path, sizeof path, folder, sub->search->path) || !is_wanted(sub->search, path))
    return;
  /* The two first in the order of their names: folders are listed in no order. */
  if (sub->hits == 0 || strcmp(path, sub->first) < 0) {
    memcpy(sub->second, sub->first, sizeof sub->second);
    memcpy(sub->first, path, sizeof sub->first);
  } else if (sub->hits == 1 || strcmp(path, sub->second) < 0) {
    memcpy(sub->second, path, sizeof sub->second);
  }
  sub->hits++;
}

static void sub_folders_try(struct search *search, const char *root) {
  struct sub_search sub = {.search = search, .root = root};
  const struct dtr_env *env = search->env;
  if (search->done || env->path_list(env->context, root, sub_folder_try, &sub) < 0 || !sub.hits)
    return;
  search->done = true;
  if (sub.hits > 1) {
    dtr_error_set(search->error, DTR_STATUS_DATA, "%s: which one is meant: %s or %s?", search->path,
                  sub.first, sub.second);
    dtr_error_hint(search->error, "name the folder with --data-dir, or write it into the path");
  } else if (snprintf(search->found, search->size, "%s", sub.first) >= (int)search->size) {
    dtr_error_system(search->error, DTR_STATUS_IO, ENAMETOOLONG, "%s", sub.first);
  }
}

/* ---- the platform's folders ---- */

static void root_try(struct search *search, const char *root) {
  place_append(search, root, " and the folders in it");
  folder_try(search, root);
  sub_folders_try(search, root);
}

/* Each part of a list separated by colons, with `suffix` behind it. */
static void roots_try(struct search *search, const char *list, const char *suffix) {
  char root[PATH_MAX];
  while (*list) {
    size_t length = strcspn(list, ":");
    if (length > 0 && length + strlen(suffix) < sizeof root) {
      memcpy(root, list, length);
      strcpy(root + length, suffix);
      root_try(search, root);
    }
    list += length + (list[length] == ':');
  }
}

static const char *variable_or(const struct dtr_env *env, const char *name, const char *otherwise) {
  const char *value = env->variable(env->context, name);
  return value && *value ? value : otherwise;
}

static void platform_try(struct search *search) {
  const struct dtr_env *env = search->env;
  char home_data[PATH_MAX] = "";
  const char *home = variable_or(env, "HOME", "");
  if (*home && !join(home_data, sizeof home_data, home, ".local/share"))
    home_data[0] = 0;
  roots_try(search, variable_or(env, "DTG_DATA_PATH", ""), "");
  roots_try(search, variable_or(env, "XDG_DATA_HOME", home_data), "/datasets");
  roots_try(search, variable_or(env, "XDG_DATA_DIRS", "/usr/local/share:/usr/share"), "/datasets");
}

static bool find(const struct dtr_env *env, const char *path, const char *model_dir,
                 const char *data_dir, char *found, size_t size, bool folders,
                 struct dtr_error *error) {
  struct search search = {
      .env = env, .path = path, .found = found, .size = size, .folders = folders, .error = error};
  if (path[0] == '/') {
    if (is_wanted(&search, path) && snprintf(found, size, "%s", path) < (int)size)
      return true;
    dtr_error_set(error, DTR_STATUS_DATA, "%s: there is no such data file", path);
    return dtr_error_hint(error, "correct the path, or write one that --data-dir can complete");
  }
  const char *folder = model_dir && *model_dir ? model_dir : ".";
  place_append(&search, folder, "");
  folder_try(&search, folder);
  if (data_dir) {
    place_append(&search, data_dir, "");
    folder_try(&search, data_dir);
  }
  platform_try(&search);
  if (search.done)
    return !dtr_error_is_set(error);
  if (search.folder[0])
    dtr_error_set(error, DTR_STATUS_DATA, "%s: there is no such data file: %s is a folder", path,
                  search.folder);
  else
    dtr_error_set(error, DTR_STATUS_DATA, "%s: there is no such data file", path);
  return dtr_error_hint(error, "looked in %s%s", search.places,
                        data_dir ? "" : "; --data-dir names another folder");
}

bool dtr_data_find(const struct dtr_env *env, const char *path, const char *model_dir,
                   const char *data_dir, char *found, size_t size, struct dtr_error *error) {
  return find(env, path, model_dir, data_dir, found, size, false, error);
}

bool dtr_data_find_any(const struct dtr_env *env, const char *path, const char *model_dir,
                       const char *data_dir, char *found, size_t size, bool *is_folder,
                       struct dtr_error *error) {
  struct dtr_file_info info;
  if (!find(env, path, model_dir, data_dir, found, size, true, error))
    return false;
  int result = env->path_info(env->context, found, &info);
  *is_folder = result == 0 && info.is_directory;
  return result == 0 || dtr_error_system(error, DTR_STATUS_IO, result, "cannot read %s", found);
}
