/* Initial values of parameters, states and slots.
 *
 * Every element is a pure function of (seed, path, element index in the whole tensor), whatever
 * part of the tensor is asked for and by whom.
 *
 * Fans of a tensor, for glorot and he: [in, out] has fan_in = in, fan_out = out. With more axes
 * [k.., in, out] (a convolution's [kh, kw, cin, cout]) both are multiplied by the product of the
 * leading axes: fan_in is the product of all axes but the last, fan_out of all but the last but
 * one. One axis [n]: both n. No axes: both 1. glorot_uniform: uniform in +-sqrt(6 / (fan_in +
 * fan_out))   glorot_normal: stddev sqrt(2 / (fan_in + fan_out)) he_uniform: uniform in +-sqrt(6 /
 * fan_in)                   he_normal: stddev sqrt(2 / fan_in) truncated_normal: mean a, stddev b
 * of the normal before values beyond 2 b are drawn again orthogonal: as [product of all axes but
 * the last, last], orthonormal columns (or rows, if there are fewer rows): Q of the QR
 * decomposition with positive diagonal of a normal matrix (X. Glorot, Y. Bengio, AISTATS 2010; K.
 * He et al., ICCV 2015; A. Saxe et al., ICLR 2014.)
 */
#ifndef DTR_INIT_H
#define DTR_INIT_H

#include "dtr_abi.h"
#include "runtime/error.h"

void dtr_init_fans(uint32_t rank, const int64_t *dims, int64_t *fan_in, int64_t *fan_out);

/* Writes elements [begin, end) of `variable` to `values`, which holds just these. Values are
 * computed in double and rounded once to the variable's type. Fails only for lack of memory:
 * orthogonal computes the whole tensor, the others take no memory. */
bool dtr_init_fill(const struct dtr_variable *variable, int64_t seed, int64_t begin, int64_t end,
                   void *values, struct dtr_error *error);
/* All variables of a program, each at its offset in the block. */
bool dtr_init_variables(const struct dtr_program *program, int64_t seed, char *variables,
                        struct dtr_error *error);

#endif
