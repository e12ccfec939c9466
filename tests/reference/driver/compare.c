#include "compare.h"

#include <math.h>
#include <string.h>

static double number(const json_t *object, const char *key, double otherwise) {
  const json_t *value = json_object_get(object, key);
  return value ? json_number_value(value) : otherwise;
}

struct ref_tolerance ref_tolerance_of(const json_t *file, const char *tensor) {
  const json_t *own = json_object_get(json_object_get(file, "tensors"), tensor);
  return (struct ref_tolerance){number(own, "rtol", number(file, "rtol", 0)),
                                number(own, "atol", number(file, "atol", 0))};
}

static const char *element_name(struct ref_driver *driver, const struct ref_tensor *tensor,
                                int64_t flat) {
  const char *text = "";
  for (uint32_t axis = tensor->type.rank; axis-- > 0;) {
    int64_t dim = tensor->type.dims[axis];
    text = ref_format(driver, "%lld%s%s", (long long)(flat % dim), *text ? "," : "", text);
    flat /= dim;
  }
  return ref_format(driver, "[%s]", text);
}

static bool same_shape(const struct dtr_tensor *a, const struct dtr_tensor *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

void ref_compare(struct ref_verdict *verdict, const char *what, const struct ref_tensor *value,
                 const struct ref_tensor *stored, struct ref_tolerance tolerance) {
  if (!value) {
    ref_fail(verdict, "%s is not in what the program saved", what);
    return;
  }
  if (!same_shape(&value->type, &stored->type)) {
    char have[DTR_SHAPE_TEXT], want[DTR_SHAPE_TEXT];
    ref_fail(verdict, "%s has the shape %s, stored is %s", what,
             dtr_shape_text(value->type.rank, value->type.dims, have, sizeof have),
             dtr_shape_text(stored->type.rank, stored->type.dims, want, sizeof want));
    return;
  }
  int64_t outside = 0, worst = 0;
  double worst_excess = -1;
  for (int64_t i = 0; i < stored->type.elements; i++) {
    double allowed = tolerance.atol + tolerance.rtol * fabs(stored->values[i]);
    double error = fabs(value->values[i] - stored->values[i]);
    if (error <= allowed)
      continue; /* not so for NaN */
    outside++;
    double excess = isnan(error) ? INFINITY : error - allowed;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (outside == 0)
    return;
  ref_fail(verdict,
           "%s: %lld of %lld elements outside; worst %s is %.9g, stored %.9g, off by %.3g, allowed "
           "%.3g",
           what, (long long)outside, (long long)stored->type.elements,
           element_name(verdict->driver, stored, worst), value->values[worst],
           stored->values[worst], fabs(value->values[worst] - stored->values[worst]),
           tolerance.atol + tolerance.rtol * fabs(stored->values[worst]));
}
