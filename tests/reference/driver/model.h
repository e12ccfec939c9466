/* Writes a model whose layers are op cases, and the tensors it starts from.
 *
 * A case is a layer: the differentiable inputs are parameters, the others and the output gradients
 * are states, the output goes into a state, and its value is sum(out * grad_out). The loss adds the
 * cases up, so that after one step of an optimizer that puts the gradient in the parameter's place
 * every parameter holds what the reference calls grad. Paths: CASE.in_x, CASE.grad_out, CASE.out.
 */
#ifndef REF_MODEL_H
#define REF_MODEL_H

#include "expressions.h"
#include "tensors.h"

struct ref_op_case {
  const char *name;
  const json_t *file;
  const struct ref_row *row;
};

void ref_model_write(struct ref_driver *driver, const struct ref_op_case *cases, size_t count,
                     const char *path);
void ref_model_init(struct ref_driver *driver, const struct ref_op_case *cases, size_t count,
                    const char *path);

/* Paths in what the program saves, for a tensor's name in the reference file: "out" and "grad.x".
 */
const char *ref_model_path(struct ref_driver *driver, const struct ref_op_case *op,
                           const char *tensor);

#endif
