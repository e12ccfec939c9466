/* A reader of the reference files (safetensors): tests/reference/README.md describes them.
 *
 * Ownership: everything lives in the given arena. A malformed file fails the test.
 */
#ifndef DTG_TESTS_UNIT_OPS_TENSOR_FILE_H
#define DTG_TESTS_UNIT_OPS_TENSOR_FILE_H

#include "tests/unit/ops/testing.h"

#include <jansson.h>

struct tensor_file {
  json_t *metadata; /* free with tensor_file_close */
  uint32_t count;
  struct tensor_entry {
    const char *name;
    struct dtg_ref_tensor value;
  } tensors[64];
};

void tensor_file_open(struct tensor_file *file, struct bench *bench, const char *path);
void tensor_file_close(struct tensor_file *file);
/* NULL if there is none. */
const struct dtg_ref_tensor *tensor_file_find(const struct tensor_file *file, const char *name);
/* A JSON value of the metadata, which are stored as texts. The caller frees it. */
json_t *tensor_file_json(const struct tensor_file *file, const char *key);

#endif
