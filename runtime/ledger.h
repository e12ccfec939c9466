/* What a device's arenas take, by class: the plan says the same numbers before the program runs.
 *
 * Purpose: `--memory FILE` writes them, and a test compares them with the plan to the byte. Counted
 * is what a device needs for its variables, kernels, reductions and messages. Data sets and the
 * batches that a client reads ahead are not, nor is what the chief keeps for checkpoints.
 * Ownership: of a device's group, or of the task of one device. Threads: any may count.
 */
#ifndef DTR_LEDGER_H
#define DTR_LEDGER_H

#include "runtime/json.h"

#include <stdatomic.h>
#include <stdint.h>

enum dtr_ledger_class {
  DTR_LEDGER_VARIABLES,  /* a replica's copy, an owner's slices and slots */
  DTR_LEDGER_ARENAS,     /* scratch of the threads, with that of the library */
  DTR_LEDGER_TREE,       /* blocks of a replica's reduction tree */
  DTR_LEDGER_INPUTS,     /* rows that a replica gets from another task */
  DTR_LEDGER_MESSAGES,   /* what is packed to be sent */
  DTR_LEDGER_EVALUATION, /* values of chunks */
  DTR_LEDGER_PUSHED,     /* what replicas have pushed to an owner */
  DTR_LEDGER_UPDATE,     /* scratch of an owner's update */
  DTR_LEDGER_CLASSES
};

struct dtr_ledger {
  _Atomic int64_t now[DTR_LEDGER_CLASSES], all, high; /* high water of `all` */
};

void dtr_ledger_clear(struct dtr_ledger *ledger);
/* Counts `bytes`, rounded up as dtr_memory_new does; negative: given back. NULL: counts nothing. */
void dtr_ledger_add(struct dtr_ledger *ledger, enum dtr_ledger_class class, int64_t bytes);
/* dtr_memory_new that is counted. */
void *dtr_ledger_new(struct dtr_ledger *ledger, enum dtr_ledger_class class, int64_t bytes);
/* {"device": NAME, "variables": N, ..., "high": N} */
void dtr_ledger_write(struct dtr_ledger *ledger, struct dtr_json *json, const char *device);

#endif
