/* Runs dtgc and the programs that it makes.
 *
 * Output of a process goes to a file beside what it makes and is shown only if it fails.
 * Ownership: texts belong to the driver's arena.
 */
#ifndef REF_RUN_H
#define REF_RUN_H

#include "driver.h"

enum { REF_MAX_ARGUMENTS = 24 };

/* Arguments end with NULL. True for exit status 0; else `why` says what happened, with the last
 * lines of the output. */
bool ref_run(struct ref_driver *driver, const char *const *arguments, const char *output,
             const char **why);

/* Has dtgc compile `model` into the folder `out`; `defines` ("name=value", ends with NULL) may be
 * NULL. Sets the path of the program. */
bool ref_compile(struct ref_driver *driver, const char *model, const char *out,
                 const char *const *defines, const char **program, const char **why);
/* Whether `dtgc check` accepts the file. */
bool ref_accepts(struct ref_driver *driver, const char *model);

/* Runs a program for `steps` steps from the tensors of `init` and saves them to `save`. `init`,
 * `data_dir`, `log` and `checkpoints` may be NULL. Files that the run is to write are removed
 * first. `checkpoints` is a folder; that the program writes one after each step is up to its model
 * file. */
struct ref_job {
  const char *program, *init, *data_dir, *log, *save, *checkpoints;
  int steps;
};
const char *ref_checkpoint(struct ref_driver *driver, const char *folder, int step);
bool ref_train(struct ref_driver *driver, const struct ref_job *job, const char **why);
/* Writes the program's outputs for the data set `data`, with the tensors of job->init, to
 * job->save; uses job->data_dir too. */
bool ref_predict(struct ref_driver *driver, const struct ref_job *job, const char *data,
                 const char **why);

#endif
