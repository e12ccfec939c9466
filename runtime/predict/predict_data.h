/* What --predict reads: a data set of the program, or one made for a file.
 *
 * Ownership: the caller's struct holds everything; dtr_predict_data_close frees it. Threads: one at
 * a time; opened data is read by any.
 */
#ifndef DTR_PREDICT_PREDICT_DATA_H
#define DTR_PREDICT_PREDICT_DATA_H

#include "runtime/data/data.h"

struct dtr_predict_data {
  struct dtr_data *data;
  uint32_t count;             /* inputs that outputs need */
  struct dtr_input *inputs;   /* these */
  uint32_t *places;           /* of each: its place in the program's table */
  struct dtr_dataset dataset; /* of a file */
  struct dtr_column *columns;
};

/* `name`: see predict.h. `model_dir`, `data_dir`: for the files of a data set of the program. */
bool dtr_predict_data_open(const struct dtr_env *env, const struct dtr_program *program,
                           const char *name, const char *model_dir, const char *data_dir,
                           struct dtr_predict_data *out, struct dtr_error *error);
void dtr_predict_data_close(struct dtr_predict_data *data);

#endif
