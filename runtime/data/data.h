/* Data sets: the columns that a model's inputs are fed from, resident in memory.
 *
 * Opening reads every file of a `struct dtr_dataset` of the program's tables, checks it
 * against the model's inputs, converts it to their element type and applies take, skip and shuffle.
 * An opened set never changes. Ownership: made by dtr_data_open, freed by dtr_data_close; the
 * tables it was made from must outlive it. Threads: an opened set is read by any number of threads.
 *
 * Words: an *example* is a row of the files, numbered from 0 as it lies there. A *position* counts
 * the examples that remain after the transforms, in the order of an epoch.
 *
 * Transforms: a shuffle followed by take or skip decides which examples the set has, so it is the
 * same in every epoch (`shuffle(seed = 7) |> take(n)` and `shuffle(seed = 7) |> skip(n)` never
 * overlap). With any shuffle in the chain, the order of the remaining examples is new in every
 * epoch of training, keyed by (seed of the last shuffle, epoch). Evaluation takes them in natural
 * order.
 *
 * Element types: a column may be stored in a type that the input's type holds without loss
 * (u8 bool i8 i16 -> i32, i32 -> i64, u8 i16 -> f32, f32 -> f64, i32 -> f64, ...). Anything else is
 * an error, except that every csv number must be exactly representable, cell by cell, for integer
 * inputs, and is rounded once for float inputs. For bool inputs all values must be 0 or 1.
 */
#ifndef DTR_DATA_DATA_H
#define DTR_DATA_DATA_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"

struct dtr_data;

struct dtr_data_options {
  const char *model_dir; /* folder of the model file; NULL or "" = the working folder */
  const char *data_dir;  /* --data-dir or NULL */
  int64_t seed;          /* training seed, for shuffle() without one */
  uint32_t input_count;  /* inputs to feed; each needs a column of its name */
  const struct dtr_input *inputs;
};

/* Errors (status DATA, IO, MEMORY, with the column's source span): a missing file (with the places
 * where it was looked for), a damaged or unsupported one, another shape or type than the input's,
 * columns of unequal length, no examples, an input without a column. */
bool dtr_data_open(const struct dtr_env *env, const struct dtr_dataset *dataset,
                   const struct dtr_data_options *options, struct dtr_data **data,
                   struct dtr_error *error);
void dtr_data_close(struct dtr_data *data);

const char *dtr_data_name(const struct dtr_data *data);
uint32_t dtr_data_input_count(const struct dtr_data *data);
int64_t dtr_data_count(const struct dtr_data *data); /* examples after the transforms, >= 1 */

enum { DTR_NATURAL_ORDER = -1 };
/* The example at `position` of `epoch` (or DTR_NATURAL_ORDER). */
int64_t dtr_data_example(const struct dtr_data *data, int64_t epoch, int64_t position);

/* The positions of `epoch` are examples one behind the other. */
bool dtr_data_contiguous(const struct dtr_data *data, int64_t epoch);

/* The rows of positions [first, first + count) of `epoch` (or DTR_NATURAL_ORDER): feeds[i] points
 * to `count` contiguous rows of input i, 64-byte aligned. Rows that lie so in memory already are
 * not copied; the others are gathered into `scratch`, which has dtr_data_scratch(data, count)
 * bytes, is 64-byte aligned, and lives as long as the feeds are used. Needs first + count <= the
 * count of examples. Any thread. Allocates nothing. */
void dtr_data_view(const struct dtr_data *data, int64_t epoch, int64_t first, int64_t count,
                   char *scratch, char **feeds);
int64_t dtr_data_scratch(const struct dtr_data *data, int64_t count);

#endif
