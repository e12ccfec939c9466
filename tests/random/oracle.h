/* The training of a model as its meaning says, in double precision.
 *
 * Purpose: what compiled programs are compared with. It evaluates the graphs that the build and
 * grad stages made, before any optimization, node by node through the references of the op table;
 * it shares data, initial values and random numbers with the programs and nothing else: no fusion,
 * no schedule, no kernels, no threads, no tree.
 *
 * Rounded, every f32 value is rounded to f32, and sums a little more, at random: by how much that
 * changes the results says how much a program may be off.
 *
 * Ownership: an oracle owns its memory; it borrows the model and module. Threads: none.
 */
#ifndef RANDOM_ORACLE_H
#define RANDOM_ORACLE_H

#include "compiler/ir/graph.h"
#include "compiler/sema/model.h"

struct oracle_number {
  const char *name; /* "loss", or the metric's */
  double value;
};

/* What a line of the log has. */
struct oracle_line {
  int64_t step;
  bool evaluation;
  uint32_t count;
  struct oracle_number *numbers;
};

struct oracle {
  struct dtg_arena arena;
  const struct dtg_model *model;
  const struct dtg_module *module; /* with gradients, not optimized */
  uint64_t noise;                  /* 0: exact; else rounded, each number with other noise */
  double **variables;              /* by variable of the module */
  struct dtr_data *data, *test;    /* `test`: NULL without evaluation */
  DTG_VEC(struct oracle_line) lines;
};

/* Ends the process with a message if data or initial values cannot be had. */
void oracle_open(struct oracle *oracle, const struct dtg_model *model,
                 const struct dtg_module *module, uint64_t noise);
void oracle_close(struct oracle *oracle);
/* Training up to `steps`, with its evaluations. */
void oracle_train(struct oracle *oracle, int64_t steps);

#endif
