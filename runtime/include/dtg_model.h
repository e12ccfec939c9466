/* A trained model as a library: load, feed, run, fetch, close.
 *
 * `dtgc --library MODEL.dtg -o DIR` writes DIR/libMODEL.so, which has these functions for one
 * model:
 *
 *   cc program.c -I INCLUDE -L DIR -l MODEL -Wl,-rpath,DIR
 *
 *   char message[DTG_MODEL_MESSAGE];
 *   struct dtg_model *model = dtg_model_load("model.safetensors", 0, message, sizeof message);
 *   if (!model || !dtg_model_feed(model, "image", images, 100) || !dtg_model_run(model))
 *     ...
 *   const float *probs = dtg_model_fetch(model, "probs");  // 100 x 10
 *   dtg_model_close(model);
 *
 * Two models in one process: open each with dlopen(..., RTLD_LOCAL) and take the functions by
 * dlsym.
 *
 * Threads: a model is used by one thread at a time; several loads of one library are independent of
 * each other. A model computes on threads of its own. Signals, standard output and standard error
 * are left alone. Errors: a function that fails returns false or NULL, changes nothing, and leaves
 * a text of one or more lines in dtg_model_message.
 *
 * What is computed is what `--predict` of the program computes, to the bit.
 */
#ifndef DTG_MODEL_H
#define DTG_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DTG_MODEL_RANK = 8, DTG_MODEL_MESSAGE = 2048 };

enum dtg_model_type {
  DTG_MODEL_F32,
  DTG_MODEL_F64,
  DTG_MODEL_BF16,
  DTG_MODEL_I32,
  DTG_MODEL_I64,
  DTG_MODEL_U8,
  DTG_MODEL_BOOL
};

/* An input or output: rows of one example each, row-major, one behind the other. */
struct dtg_model_tensor {
  const char *name;
  enum dtg_model_type type;
  uint32_t rank; /* of one example */
  int64_t dims[DTG_MODEL_RANK];
  size_t example_bytes;
  bool needed; /* inputs: some output depends on it; others need not be fed */
};

struct dtg_model;

/* `file`: parameters, as --save or a checkpoint has them; NULL: the initial values of the model's
 * seed. `threads`: 0 = as many as there are processors; results do not depend on it. NULL on
 * failure, with the reason in `message`, which has room for `size` bytes. */
struct dtg_model *dtg_model_load(const char *file, int threads, char *message, size_t size);
/* NULL is allowed. */
void dtg_model_close(struct dtg_model *model);

/* Every input and output of the model; outputs without a value for each example are left out. */
const struct dtg_model_tensor *dtg_model_inputs(const struct dtg_model *model, size_t *count);
const struct dtg_model_tensor *dtg_model_outputs(const struct dtg_model *model, size_t *count);

/* The next runs take `examples` rows of the input from `values`, which must stay as it is as long
 * as it is used. Any alignment. */
bool dtg_model_feed(struct dtg_model *model, const char *input, const void *values,
                    size_t examples);
/* Computes all outputs. Every needed input must have been fed with the same number of examples. */
bool dtg_model_run(struct dtg_model *model);
/* The values of an output, one row for each example of the last run; they stay until the next run,
 * or the end of the model. */
const void *dtg_model_fetch(struct dtg_model *model, const char *output);

/* Why the last call that failed did; "" if none has. */
const char *dtg_model_message(const struct dtg_model *model);

#ifdef __cplusplus
}
#endif

#endif
