/* Arithmetic of linear forms. */
#include "compiler/ir/form.h"

#include <string.h>

struct dtg_form dtg_form_const(int64_t value) {
  return (struct dtg_form){.base = value};
}

struct dtg_form dtg_form_axis(uint32_t axis) {
  struct dtg_form form = {0};
  form.coef[axis] = 1;
  return form;
}

void dtg_form_add(struct dtg_form *sum, const struct dtg_form *term, int64_t factor) {
  sum->base += factor * term->base;
  for (uint32_t i = 0; i < DTG_FORM_AXES; i++)
    sum->coef[i] += factor * term->coef[i];
}

bool dtg_form_equal(const struct dtg_form *a, const struct dtg_form *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

uint32_t dtg_form_axes(const struct dtg_form *form) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < DTG_FORM_AXES; i++)
    mask |= form->coef[i] != 0 ? 1u << i : 0;
  return mask;
}

struct dtg_form dtg_form_flatten(const struct dtg_shape *shape, const struct dtg_form *index) {
  int64_t strides[DTG_MAX_RANK];
  struct dtg_form flat = {0};
  dtg_shape_strides(shape, strides);
  for (uint32_t i = 0; i < shape->rank; i++)
    dtg_form_add(&flat, &index[i], strides[i]);
  return flat;
}

bool dtg_form_split(const struct dtg_form *flat, const int64_t *extents,
                    const struct dtg_shape *shape, struct dtg_form *index) {
  int64_t strides[DTG_MAX_RANK], room[DTG_MAX_RANK];
  dtg_shape_strides(shape, strides);
  if (flat->base < 0 || flat->base >= dtg_shape_count(shape))
    return false;
  for (uint32_t j = 0; j < shape->rank; j++) {
    index[j] = dtg_form_const(flat->base / strides[j] % shape->dims[j]);
    room[j] = shape->dims[j] - 1 - index[j].base;
  }
  for (uint32_t i = 0; i < DTG_FORM_AXES; i++) {
    int64_t coef = flat->coef[i];
    uint32_t j = 0;
    if (coef == 0)
      continue;
    while (j < shape->rank && (shape->dims[j] == 1 || coef < strides[j] || coef % strides[j] != 0))
      j++;
    if (coef < 0 || j == shape->rank || coef / strides[j] > room[j] / (extents[i] - 1))
      return false;
    index[j].coef[i] = coef / strides[j];
    room[j] -= index[j].coef[i] * (extents[i] - 1);
  }
  return true;
}
