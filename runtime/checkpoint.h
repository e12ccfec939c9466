/* Saved variables: checkpoints of a run, and plain tensor files for --save and --init.
 *
 * A checkpoint is one safetensors file "step-000000000500.safetensors" in the checkpoint folder:
 * every variable of the program under its path, and in the metadata the step, epoch, seed, model id
 * and an XXH3 64 checksum of each tensor. It says nothing of the plan: it loads under any strategy.
 * Written under a temporary name, synced, renamed, and the folder synced: a crash or a full disk
 * leaves the older ones as they were.
 * `variables` is the program's block (variables_bytes, laid out by its table). Threads: nobody
 * writes the block meanwhile. Loading changes it only when the whole file is good.
 */
#ifndef DTR_CHECKPOINT_H
#define DTR_CHECKPOINT_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"

struct dtr_checkpoint_state {
  int64_t step;  /* steps done; the next one has this number */
  int64_t epoch; /* epochs done */
  int64_t seed;
  uint64_t run; /* number of the run that goes back to it when a task is lost; 0: none */
};

/* Where remarks go that are not failures ("... is damaged (...); using ..."). NULL function:
 * nowhere. */
struct dtr_remarks {
  void (*write)(void *context, const char *text);
  void *context;
};

/* The step of the newest file in the folder, whether valid or not; -1 if there is none. */
bool dtr_checkpoint_newest(const struct dtr_env *env, const char *folder, int64_t *step,
                           struct dtr_error *error);

/* Writes the checkpoints of a run; all memory is taken when it is made. Borrows its arguments. */
struct dtr_checkpoint_writer;
bool dtr_checkpoint_writer_make(const struct dtr_env *env, const struct dtr_program *program,
                                const char *folder, int64_t keep, const char *variables,
                                struct dtr_checkpoint_writer **writer, struct dtr_error *error);
void dtr_checkpoint_writer_free(struct dtr_checkpoint_writer *writer);
/* Makes the folder if need be, writes, then removes all but the newest `keep` (0 = keep all) of
 * those at or before this step: later ones are another run's. `written` (may be NULL,
 * `written_size` bytes) gets the path. */
bool dtr_checkpoint_writer_save(struct dtr_checkpoint_writer *writer,
                                const struct dtr_checkpoint_state *state, char *written,
                                size_t written_size, struct dtr_error *error);
/* The three in one, for a single checkpoint. */
bool dtr_checkpoint_save(const struct dtr_env *env, const struct dtr_program *program,
                         const char *folder, int64_t keep, const char *variables,
                         const struct dtr_checkpoint_state *state, char *written,
                         size_t written_size, struct dtr_error *error);

/* The newest valid checkpoint in `folder`. A damaged one is remarked upon and the one before it is
 * used. A good one of another model, or with other tensors than the program's, is an error at once,
 * and so is a folder without any valid one. `used` as `written` above. */
bool dtr_checkpoint_load(const struct dtr_env *env, const struct dtr_program *program,
                         const char *folder, char *variables, struct dtr_remarks remarks,
                         struct dtr_checkpoint_state *state, char *used, size_t used_size,
                         struct dtr_error *error);

/* The newest valid checkpoint that run `run` has written. `found` false: there is none, and
 * `variables` are as before. */
bool dtr_checkpoint_load_run(const struct dtr_env *env, const struct dtr_program *program,
                             const char *folder, uint64_t run, char *variables,
                             struct dtr_remarks remarks, struct dtr_checkpoint_state *state,
                             bool *found, struct dtr_error *error);

/* --save: all variables under their paths, no metadata; temporary name and rename as above. */
bool dtr_tensors_save(const struct dtr_env *env, const struct dtr_program *program,
                      const char *path, const char *variables, struct dtr_error *error);
/* --init: replaces initial values (already in the block) by those of the file, by name. Every
 * parameter must be there with its shape and type; states and slots may be missing. Tensors that
 * the model lacks are remarked upon. */
bool dtr_tensors_init(const struct dtr_env *env, const struct dtr_program *program,
                      const char *path, char *variables, struct dtr_remarks remarks,
                      struct dtr_error *error);

#endif
