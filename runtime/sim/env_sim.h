/* The row `sim` of the environment: virtual time and a disk in memory that fails on purpose.
 *
 * Purpose: files that a crash treats as a real disk may: what was written and not synced can be
 * lost or torn, a name that was made or renamed and whose folder was not synced can be the old one.
 * Faults come from the world's seed. Ownership: owns all files; borrows the world and the row
 * below. Threads: one.
 */
#ifndef DTR_ENV_SIM_H
#define DTR_ENV_SIM_H

#include "runtime/env.h"
#include "runtime/error.h"
#include "runtime/sim/world.h"

/* How often calls fail, in a million. */
struct dtr_sim_disk_faults {
  int64_t write, sync, rename, open, read, close; /* EIO; write: ENOSPC or EIO */
  int64_t short_transfer;                         /* moves less than was asked for */
  int64_t slowest;                                /* ns that a call takes at most; 0: none */
  int64_t capacity;                               /* bytes; 0: no limit. Beyond: ENOSPC */
};

struct dtr_sim_disk_counts {
  int64_t calls, failures, short_transfers, crashes, lost, torn;
};

struct dtr_sim_disk;

/* `below` (or NULL) is asked for files to read that this disk lacks, such as data sets; nothing is
 * ever written there but what goes to handles 1 and 2, if `echo`. */
bool dtr_sim_disk_new(struct dtr_sim_world *world, const struct dtr_sim_disk_faults *faults,
                      const struct dtr_env *below, bool echo, struct dtr_sim_disk **disk,
                      struct dtr_error *error);
void dtr_sim_disk_free(struct dtr_sim_disk *disk);

const struct dtr_env *dtr_sim_disk_env(struct dtr_sim_disk *disk);
/* The machine stops: what is not synced is lost, torn or kept, by the seed. Open handles close. */
void dtr_sim_disk_crash(struct dtr_sim_disk *disk);
/* The same in the middle of a task's work, at the `calls`-th call from now: it and all later ones
 * fail, as if they had never been made, until dtr_sim_disk_start. */
void dtr_sim_disk_crash_at(struct dtr_sim_disk *disk, int64_t calls);
bool dtr_sim_disk_has_stopped(const struct dtr_sim_disk *disk);
void dtr_sim_disk_start(struct dtr_sim_disk *disk);
/* From now on: other faults. */
void dtr_sim_disk_set_faults(struct dtr_sim_disk *disk, const struct dtr_sim_disk_faults *faults);
struct dtr_sim_disk_counts dtr_sim_disk_counts(const struct dtr_sim_disk *disk);

/* A file as it is now; NULL: there is none. Valid until it is written again. */
const char *dtr_sim_disk_bytes(const struct dtr_sim_disk *disk, const char *path, int64_t *size);

#endif
