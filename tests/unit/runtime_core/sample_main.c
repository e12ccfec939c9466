/* The sample as a program: SAMPLE_<OPTION> in the environment sets its sizes, then dtr_main runs.
 */
#include "sample.h"

#include <stdlib.h>

static void set_count(const char *name, int64_t *value) {
  const char *text = getenv(name);
  if (text)
    *value = atoll(text);
}

static void set_real(const char *name, double *value) {
  const char *text = getenv(name);
  if (text)
    *value = strtod(text, NULL);
}

int main(int argc, char **argv) {
  struct sample_options options = sample_defaults();
  set_count("SAMPLE_EXAMPLES", &options.examples);
  set_count("SAMPLE_TEST_EXAMPLES", &options.test_examples);
  set_count("SAMPLE_WIDTH", &options.width);
  set_count("SAMPLE_HIDDEN", &options.hidden);
  set_count("SAMPLE_LABELS", &options.labels);
  set_count("SAMPLE_BATCH", &options.batch);
  set_count("SAMPLE_SHARDS", &options.shards);
  set_count("SAMPLE_EPOCHS", &options.epochs);
  set_count("SAMPLE_STEPS", &options.steps);
  set_count("SAMPLE_NAN_STEP", &options.nan_step);
  set_count("SAMPLE_NAN_SHARD", &options.nan_shard);
  set_real("SAMPLE_RATE", &options.rate);
  set_real("SAMPLE_X_SCALE", &options.x_scale);
  return dtr_main(sample_program(&options), argc, argv);
}
