/* The op table's row: all that the compiler knows of an op.
 *
 * Purpose: stages ask the row, never the op's name. Rows are constants, defined in compiler/ops/,
 * one family a file, listed by compiler/ops/ops.def. Adding an op touches compiler/ops/ alone.
 *
 * Conventions. Every node has one output. Element-wise ops take operands of one shape: broadcasting
 * is an explicit `broadcast_to` node, put there by the build stage (`dtg_add_broadcast`).
 * Reductions keep no axis unless `keepdims`. Comparison results are bool.
 */
#ifndef DTG_IR_OP_H
#define DTG_IR_OP_H

#include "compiler/ir/graph.h"
#include "compiler/ir/kernel.h"

struct dtg_strbuf;

/* How the fusion pass and the lowering treat an op. */
enum dtg_op_class {
  DTG_CLASS_LEAF,        /* input, variable, scalar: already in memory */
  DTG_CLASS_CONST,       /* scalar constant: becomes an immediate */
  DTG_CLASS_ELEMENTWISE, /* out[i] = f(in0[i], in1[i], ...) */
  DTG_CLASS_GENERATE,    /* out[i] = f(i): iota, random */
  DTG_CLASS_VIEW,        /* same bytes, other shape: reshape */
  DTG_CLASS_INDEX,   /* out[i] = in[map(i)]: broadcast_to, transpose, slice, reverse, pad, concat */
  DTG_CLASS_REDUCE,  /* sum max min prod argmax argmin over axes */
  DTG_CLASS_GATHER,  /* gather: out[...] = table[index[...], ...] */
  DTG_CLASS_SCATTER, /* scatter_add */
  DTG_CLASS_LIBRARY, /* matmul and the like: a library call */
  DTG_CLASS_SCAN     /* scan, scan_result: a loop with a graph as its body (compiler/ir/scan.h) */
};

enum dtg_op_flags {
  DTG_OP_COMMUTES = 1,  /* operand order does not change the bits */
  DTG_OP_RANDOM = 2,    /* never merged by cse unless stream and inputs agree */
  DTG_OP_ZERO_GRAD = 4, /* gradient is zero by definition (floor, comparisons, argmax) */
  DTG_OP_CHECKS = 8,    /* may report a fault at run time: never dropped while its value is used */
  DTG_OP_INDEXED = 16,  /* `lower` uses the coordinates of the element (always: GENERATE) */
  /* What an operand that is 0 means, other operands being finite and no divisor 0: */
  DTG_OP_ZERO_LEFT = 32,  /* the first is 0: the result is 0 */
  DTG_OP_ZERO_RIGHT = 64, /* the second is 0: the result is 0 */
  DTG_OP_KEEP_LEFT = 128, /* the second is 0: the result is the first */
  DTG_OP_KEEP_RIGHT = 256 /* the first is 0: the result is the second */
};

/* REDUCE: which elements of the operand make one element of the result. */
enum dtg_reduce_form {
  DTG_REDUCE_AXES,   /* those along the `axes` (or the `axis`) of the node */
  DTG_REDUCE_BLOCKS, /* runs of whole rows of axis 0: `dtg_block_rows` of them, the last run shorter
                      */
  DTG_REDUCE_TREE /* all, by the binary tree that splits at the largest power of two below the count
                   */
};

/* Everything a gradient rule may use. `add` helpers infer types and keep path and span of the
 * forward node. Results go to grads[i] (DTG_NO_NODE: none needed or zero). */
struct dtg_grad_call {
  struct dtg_graph *graph;
  uint32_t node;      /* the forward node */
  uint32_t grad;      /* gradient of its output, same type */
  const bool *needed; /* per input */
  uint32_t *grads;    /* per input, preset to DTG_NO_NODE */
};

struct dtg_infer_call {
  const struct dtg_op_def *op; /* set by dtg_op_infer */
  const struct dtg_type *inputs;
  uint32_t input_count;
  const struct dtg_attr *attrs;
  uint32_t attr_count;
  /* On failure: one sentence, lower case, both shapes named; no full stop. */
  struct dtg_strbuf *why;
};

/* A tensor for the naive reference: values as doubles whatever the type. */
struct dtg_ref_tensor {
  struct dtg_type type;
  double *data;
};

struct dtg_ref_call {
  const struct dtg_node *node; /* attributes */
  const struct dtg_ref_tensor *inputs;
  uint32_t input_count;
  struct dtg_ref_tensor *out; /* allocated by the caller from the inferred type */
};

/* One element of an element-wise, generating or constant op: emits instructions, returns the value,
 * whose type is the node's element type, as those of `values` are the operands'. `index`: the
 * logical coordinates of the element, as kernel values of type i64. */
struct dtg_lower_call {
  struct cg_builder *builder;
  const struct dtg_node *node;
  const struct dtg_type *input_types; /* of the operands */
  const uint32_t *values;             /* operand values */
  uint32_t check;                     /* DTG_OP_CHECKS: number of the check in its kernel */
  const uint32_t *index; /* coordinates, `node->type.shape.rank` of them; NULL unless GENERATE or
                            DTG_OP_INDEXED */
};

/* A sample: concrete operand types, attributes and value ranges to test an op with. */
struct dtg_op_sample {
  const char *inputs; /* "f32[3,5] f32[3,5]": operand types */
  const char *attrs;  /* "axes=[0] keepdims=true", as in graph text; "" for none */
  double low, high;   /* range of float inputs; integer inputs are drawn from [0, integer_limit) */
  int64_t integer_limit;
};

struct dtg_op_def {
  const char *name;
  const char *doc; /* one sentence */
  enum dtg_op_class class;
  uint32_t flags; /* enum dtg_op_flags */
  uint32_t min_inputs;
  uint32_t max_inputs;    /* UINT32_MAX: any */
  const char *attributes; /* schema, e.g. "axes:ints keepdims:bool=false" */
  const char *shard; /* factor rule over axes, e.g. "m k, k n -> m n"; "elementwise"; "" = none */
  /* NULL: the type is given with the node (input, param, ...: `dtg_add_leaf`). Operand count and
   * attributes have been checked against this row: stages call `dtg_op_infer`. */
  bool (*infer)(const struct dtg_infer_call *call, struct dtg_type *out);
  void (*grad)(const struct dtg_grad_call *call); /* NULL: not differentiable */
  /* A cheaper equal node in the graph under construction, or DTG_NO_NODE. Must keep the bits. */
  uint32_t (*simplify)(struct dtg_graph *graph, uint32_t node);
  void (*cost)(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
               double *bytes);
  uint32_t (*lower)(const struct dtg_lower_call *call); /* ELEMENTWISE and GENERATE */
  /* REDUCE: how the accumulator combines, and what. */
  enum cg_accumulate accumulate;
  enum dtg_reduce_form form;
  /* LIBRARY: which window call it is; NONE: a matrix product. Attributes of the others: strides,
   * before, after (rows and columns), dilation and groups where not 1, and `window` (poolings). */
  enum cg_window_kind window;
  void (*ref)(const struct dtg_ref_call *call); /* double-precision reference */
  const struct dtg_op_sample *samples;
  uint32_t sample_count;
};

/* Row by name, or NULL. Row by index, for documentation and table-driven tests. */
const struct dtg_op_def *dtg_op_find(const char *name);
uint32_t dtg_op_count(void);
const struct dtg_op_def *dtg_op_at(uint32_t index);

/* Type of a node from its operand types. Checks operand count, attribute names and kinds against
 * the row, then asks the row. False with the reason in call->why. Rows without `infer`: the
 * attributes are checked and `out` is left alone. */
bool dtg_op_infer(const struct dtg_op_def *op, const struct dtg_infer_call *call,
                  struct dtg_type *out);
/* What an attribute schema asks for: the next entry at *cursor, false at the end. */
struct dtg_attr_schema {
  const char *name; /* `name_length` bytes */
  size_t name_length;
  int kind;      /* enum dtg_attr_kind, or -1: any scalar */
  bool required; /* it has no default */
};
bool dtg_attr_schema_next(const char **cursor, struct dtg_attr_schema *out);

/* Adds a leaf whose type is given: "input", "param", "state", "slot" or "grad_in". `key` is the
 * value of its only attribute: the name of an input, the path of a variable. */
uint32_t dtg_add_leaf(struct dtg_graph *graph, const char *op, const char *key,
                      struct dtg_type type);
/* Adds a node of op `name`, inferring its type. A failure of `infer` is an internal error here:
 * callers that take user input use `dtg_try_add`. */
uint32_t dtg_add(struct dtg_graph *graph, const char *name, const uint32_t *inputs,
                 uint32_t input_count, const struct dtg_attr *attrs, uint32_t attr_count);
/* The same for user input: false with the reason in `why`, and nothing added. */
bool dtg_try_add(struct dtg_graph *graph, const struct dtg_op_def *op, const uint32_t *inputs,
                 uint32_t input_count, const struct dtg_attr *attrs, uint32_t attr_count,
                 struct dtg_strbuf *why, uint32_t *out);
uint32_t dtg_add_unary(struct dtg_graph *graph, const char *name, uint32_t x);
uint32_t dtg_add_binary(struct dtg_graph *graph, const char *name, uint32_t a, uint32_t b);
/* A scalar constant of `dtype`, broadcast to `shape`. */
uint32_t dtg_add_const(struct dtg_graph *graph, double value, enum dtg_dtype dtype,
                       const struct dtg_shape *shape);
/* The same for a value that a double may not hold. */
uint32_t dtg_add_const_int(struct dtg_graph *graph, int64_t value, enum dtg_dtype dtype,
                           const struct dtg_shape *shape);
/* x unchanged if it has that type or shape, else a `cast`, a `reshape`. */
uint32_t dtg_add_cast(struct dtg_graph *graph, uint32_t x, enum dtg_dtype dtype);
uint32_t dtg_add_reshape(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *shape);
/* A reduction over axes (not negative, any order). */
uint32_t dtg_add_reduce(struct dtg_graph *graph, const char *name, uint32_t x, uint32_t axis_count,
                        const int64_t *axes, bool keepdims);
/* Matrix product. Leading axes of `a` become rows where `b` is one matrix, so that x[B,T,K] @
 * w[K,N] is one large product. Operands of rank 2 at least. */
uint32_t dtg_add_matmul(struct dtg_graph *graph, uint32_t a, uint32_t b, bool transpose_a,
                        bool transpose_b);
/* Sum of all elements by `block_sum` and `tree_sum`: f32[]. */
uint32_t dtg_add_whole_sum(struct dtg_graph *graph, uint32_t x);
/* x unchanged if it has that shape, else a `broadcast_to` node (NumPy rules). */
uint32_t dtg_add_broadcast(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *shape);
/* Sum over the axes that broadcasting `from` to the shape of x added or stretched: its transpose.
 */
uint32_t dtg_add_unbroadcast(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *from);

/* The value of a node that is `const`, or such a constant broadcast or reshaped; false for others.
 */
bool dtg_graph_splat(const struct dtg_graph *graph, uint32_t id, double *out);
/* Value of a `const` node; integers beyond 2^53 through dtg_const_int. */
double dtg_const_float(const struct dtg_node *node);
int64_t dtg_const_int(const struct dtg_node *node);
/* Rows of axis 0 in a block of `block_sum`: as few as hold 16,384 elements. A scalar has one row.
 */
int64_t dtg_block_rows(const struct dtg_shape *shape);
int64_t dtg_block_count(const struct dtg_shape *shape);

#endif
