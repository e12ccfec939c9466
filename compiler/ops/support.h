/* What the op families share: checks for `infer`, loops for `ref`, widening for `lower`.
 *
 * Purpose: keep a row's functions to the line that is special about the op. Private to
 * compiler/ops/. Ownership: nothing is kept. Threads: none.
 */
#ifndef DTG_OPS_SUPPORT_H
#define DTG_OPS_SUPPORT_H

#include "compiler/ir/op.h"

#define DTG_OP(name) extern const struct dtg_op_def dtg_row_##name;
#include "compiler/ops/ops.def"
#undef DTG_OP

/* Sets of element types, for dtg_check_dtype. */
enum {
  DTG_IN_F32 = 1 << DTG_F32,
  DTG_IN_FLOAT = 1 << DTG_F32 | 1 << DTG_F64 | 1 << DTG_BF16,
  DTG_IN_INTEGER = 1 << DTG_I32 | 1 << DTG_I64 | 1 << DTG_U8,
  DTG_IN_NUMBER = DTG_IN_FLOAT | DTG_IN_INTEGER,
  /* What a kernel accumulates in: the others are cast before they are reduced. */
  DTG_IN_WIDE = 1 << DTG_F32 | 1 << DTG_F64 | 1 << DTG_I32 | 1 << DTG_I64,
  DTG_IN_BOOL = 1 << DTG_BOOL,
  DTG_IN_ANY = DTG_IN_NUMBER | DTG_IN_BOOL
};

/* Room for a type as text. */
enum { DTG_TYPE_TEXT = 220 };
/* printf arguments for a type: "%s", DTG_TYPE(&type). The text lives until the end of the block. */
#define DTG_TYPE(type) dtg_type_text((char[DTG_TYPE_TEXT]){0}, (type))
const char *dtg_type_text(char *buffer, const struct dtg_type *type);

/* infer: each writes the reason and returns false. */
bool dtg_fail(const struct dtg_infer_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool dtg_check_dtype(const struct dtg_infer_call *call, uint32_t input, int set);
/* All operands from `first` on have one type. */
bool dtg_check_same(const struct dtg_infer_call *call, uint32_t first);
/* The result is of a size that can be: no dim below 1, elements and bytes within int64. */
bool dtg_check_shape(const struct dtg_infer_call *call, const struct dtg_type *type);
bool dtg_check_axis(const struct dtg_infer_call *call, int64_t axis, const struct dtg_type *type);
/* Attribute `axes`: axes of operand 0, ascending. */
bool dtg_check_axes(const struct dtg_infer_call *call);

/* infer: attributes, absent ones give the fallback. */
int64_t dtg_call_int(const struct dtg_infer_call *call, const char *name, int64_t fallback);
bool dtg_call_bool(const struct dtg_infer_call *call, const char *name, bool fallback);
double dtg_call_float(const struct dtg_infer_call *call, const char *name, double fallback);
const char *dtg_call_string(const struct dtg_infer_call *call, const char *name);
uint32_t dtg_call_ints(const struct dtg_infer_call *call, const char *name, const int64_t **values);
/* A "shape" attribute of the given name: false (with the reason) if it has too many dims or bad
 * ones. */
bool dtg_call_shape(const struct dtg_infer_call *call, const char *name, struct dtg_shape *out);

/* ref: wraps a double into what the type can hold (bf16 is rounded, f32 is not: the reference is
 * meant to be more exact than the code that it judges). */
double dtg_ref_store(enum dtg_dtype dtype, double value);
/* Coordinates of flat element `flat` and back. */
void dtg_ref_coordinates(const struct dtg_shape *shape, int64_t flat, int64_t index[DTG_MAX_RANK]);
int64_t dtg_ref_flat(const struct dtg_shape *shape, const int64_t index[DTG_MAX_RANK]);
/* Node attribute `axes` as a mask. */
void dtg_axes_mask(const struct dtg_node *node, bool mask[DTG_MAX_RANK]);

/* lower: u8 and bool compute as i32 (bool: only where it is a number), bf16 as f32; the narrow form
 * rounds or wraps back. */
enum dtg_dtype dtg_compute_dtype(enum dtg_dtype dtype);
uint32_t dtg_lower_widen(const struct dtg_lower_call *call, uint32_t input);
uint32_t dtg_lower_narrow(const struct dtg_lower_call *call, uint32_t value);
/* A constant of the type that operand 0 computes in. */
uint32_t dtg_lower_const(const struct dtg_lower_call *call, double value);

/* grad: operands of the forward node, copied before nodes are added. */
uint32_t dtg_grad_input(const struct dtg_grad_call *call, uint32_t input);
struct dtg_type dtg_grad_type(const struct dtg_grad_call *call, uint32_t node);
/* A constant with the type of `like`. */
uint32_t dtg_const_like(struct dtg_graph *graph, uint32_t like, double value);

/* cost: `per_element` operations for each element of the result; bytes of operands and result. */
void dtg_cost_bytes(const struct dtg_node *node, const struct dtg_type *inputs, double *bytes);
void dtg_cost_elementwise(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                          double *bytes);
void dtg_cost_math(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                   double *bytes);
void dtg_cost_move(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                   double *bytes);
/* One operation for each element of operand 0. */
void dtg_cost_reduce(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                     double *bytes);

/* Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
void dtg_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

#define DTG_SAMPLES(array) .samples = (array), .sample_count = sizeof(array) / sizeof *(array)

#endif
