/* A program such as dtgc makes, written by hand: a two-layer classifier with momentum, kernels in
 * C.
 *
 * Purpose: runs the whole runtime without the compiler. Tables are built at run time from a few
 * sizes, so that one source gives many programs. One program exists in a process at a time.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "dtr_abi.h"

struct sample_options {
  int64_t examples, test_examples;
  int64_t width, hidden, classes; /* x: f32[width]; label: i32 below classes */
  /* Labels in the data are below these: above `classes` is a fault. */
  int64_t labels, test_labels;
  int64_t batch, shards;
  int64_t epochs, steps;
  int64_t evaluate_epochs, checkpoint_steps, checkpoint_keep;
  double rate;
  int64_t nan_step; /* the hidden layer gets a NaN in shard `nan_shard` of this step; -1: never */
  int64_t nan_shard;
  double x_scale; /* of the inputs; infinity makes them infinite */
  struct sample_strategy {
    uint32_t ps, workers, cpu; /* tasks; devices of a worker. workers = 0: one device */
    bool in_graph;             /* otherwise a client per worker */
    bool mirrored;             /* otherwise owners are the ps tasks */
    bool split;                /* variables are cut over all owners */
    bool is_async;
    int64_t backup, staleness;
  } strategy;
};

struct sample_options sample_defaults(void);
/* Valid until the next call. */
const struct dtr_program *sample_program(const struct sample_options *options);

/* Of sample_replication.c, for sample.c: tables for the strategy; NULL: one device. `updates`: a
 * kernel per contribution that updates `variables` of it, by blocks of `block` elements. */
struct sample_update {
  uint32_t variable, slot, contribution; /* slot UINT32_MAX: none */
  uint32_t kernel;
  dtr_kernel_fn *fn;
};
const struct dtr_replication *sample_replication(const struct dtr_program *program,
                                                 const struct sample_strategy *strategy,
                                                 const struct sample_update *updates,
                                                 uint32_t count, int64_t block);

#endif
