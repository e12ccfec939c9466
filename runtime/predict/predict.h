/* --predict: the model's outputs for a data set or a file, as a safetensors file.
 *
 * One process computes, on its own threads, whatever the program's strategy is: parameters are
 * those of --init, or of the newest checkpoint with --resume. Threads: the caller's, and a pool.
 */
#ifndef DTR_PREDICT_PREDICT_H
#define DTR_PREDICT_PREDICT_H

#include "dtr_abi.h"
#include "runtime/error.h"
#include "runtime/flags.h"

/* `flags->predict` is the name of a data set of the model file, or a file that has a column for
 * each input that outputs need: .npz, .safetensors and .csv by the inputs' names, .npy for one
 * input. Writes every output that has a value for each example to `flags->output`, in natural
 * order. */
bool dtr_predict(const struct dtr_program *program, const struct dtr_flags *flags,
                 const char *model_dir, struct dtr_error *error);

#endif
