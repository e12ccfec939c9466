/* The update as launches over slices: what an owner, or the only device, runs in a step.
 *
 * Purpose: finds what every launch works on, once at the start, and runs the launches of a phase.
 * A kernel gets the address where element 0 of the whole tensor would be, and only tiles of the
 * rows that are here. Of sparse tables it runs touched rows alone, or passes over the whole table
 * with a dense gradient that is 0 where no row is touched. Ownership: owns its tables and the
 * memory for rows; borrows variables, reduced block and arena. Threads: that of the executor.
 */
#ifndef DTR_UPDATE_H
#define DTR_UPDATE_H

#include "runtime/executor.h"

enum { DTR_UPDATE_EVERY = UINT32_MAX };

/* Elements of a variable that are here, at `memory`. */
struct dtr_update_piece {
  uint32_t variable;
  int64_t first, elements;
  char *memory;
};

/* Elements of a contribution that are reduced here. `layout`: of the reduced block. */
struct dtr_update_share {
  uint32_t contribution;
  int64_t first, elements;
  struct dtr_contribution layout;
};

struct dtr_update_options {
  const struct dtr_program *program;
  uint32_t device; /* whose slices; DTR_UPDATE_EVERY: all */
  uint32_t piece_count, share_count;
  const struct dtr_update_piece *pieces; /* used by dtr_update_new only */
  const struct dtr_update_share *shares; /* likewise */
  struct dtr_scalars *scalars;           /* read when launches run */
  struct dtr_ledger *ledger;             /* counts the memory for rows; NULL: nobody does */
  char *arena;                           /* tables->update_arena_bytes */
};

struct dtr_update;

/* Refuses a launch that uses what is not here. */
bool dtr_update_new(const struct dtr_update_options *options, struct dtr_update **update,
                    struct dtr_error *error);
void dtr_update_free(struct dtr_update *update);

/* Memory for rows, of the slices of one device. */
int64_t dtr_update_bytes(const struct dtr_program *program, uint32_t device);

/* A step: begin with what is reduced, run the phases in order, end. */
void dtr_update_begin(struct dtr_update *update, char *reduced);
/* False: a kernel failed. */
bool dtr_update_phase(struct dtr_update *update, struct dtr_executor *executor, uint32_t phase,
                      struct dtr_fault *fault);
void dtr_update_end(struct dtr_update *update);

/* "a kernel of the optimizer failed (1, 7)" */
bool dtr_update_failed(const struct dtr_fault *fault, struct dtr_error *error);

#endif
