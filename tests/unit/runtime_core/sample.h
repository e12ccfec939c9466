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
};

struct sample_options sample_defaults(void);
/* Valid until the next call. */
const struct dtr_program *sample_program(const struct sample_options *options);

#endif
