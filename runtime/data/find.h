/* Where a data file is: in the model file's folder, in --data-dir, or in the platform's data
 * folders.
 *
 * The platform's folders are those of $DTG_DATA_PATH (separated by colons), $XDG_DATA_HOME/datasets
 * (default ~/.local/share/datasets), DIR/datasets for each DIR of $XDG_DATA_DIRS (default
 * /usr/local/share:/usr/share); each with the folders directly in it, where packages such as
 * dataset-fashion-mnist put their files. The first folder that has the file wins; the same name in
 * two sub-folders of one folder is an error, since nothing says which one is meant.
 */
#ifndef DTR_DATA_FIND_H
#define DTR_DATA_FIND_H

#include "runtime/env.h"
#include "runtime/error.h"

/* `model_dir` NULL or "": the working folder; `data_dir` NULL: none. `found` gets the path. */
bool dtr_data_find(const struct dtr_env *env, const char *path, const char *model_dir,
                   const char *data_dir, char *found, size_t size, struct dtr_error *error);
/* The same, but a folder is taken as well as a file; `is_folder` says which it is. */
bool dtr_data_find_any(const struct dtr_env *env, const char *path, const char *model_dir,
                       const char *data_dir, char *found, size_t size, bool *is_folder,
                       struct dtr_error *error);

#endif
