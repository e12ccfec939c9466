/* Compares tensors within a tolerance: |value - stored| <= atol + rtol * |stored|. */
#ifndef REF_COMPARE_H
#define REF_COMPARE_H

#include "report.h"
#include "tensors.h"

struct ref_tolerance {
  double rtol, atol;
};

/* That of an object of index.json; a tensor of its own pair overrides the file's. */
struct ref_tolerance ref_tolerance_of(const json_t *file, const char *tensor);

/* Reports the worst element against the verdict if any is outside. `what` names the tensor;
 * `value` NULL is reported as missing. Shapes must be equal; element types may differ. */
void ref_compare(struct ref_verdict *verdict, const char *what, const struct ref_tensor *value,
                 const struct ref_tensor *stored, struct ref_tolerance tolerance);

#endif
