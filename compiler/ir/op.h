/* The op table's row: all that the compiler knows of an op.
 *
 * Purpose: stages ask the row, never the op's name. Rows are constants, defined in compiler/ops/, one
 * family a file, listed by compiler/ops/ops.def. Adding an op touches compiler/ops/ alone.
 *
 * Conventions. Every node has one output. Element-wise ops take operands of one shape: broadcasting is
 * an explicit `broadcast_to` node, put there by the build stage (`dtg_add_broadcast`). Reductions keep
 * no axis unless `keepdims`. Comparison results are bool.
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
  DTG_CLASS_INDEX,       /* out[i] = in[map(i)]: broadcast_to, transpose, slice, reverse, pad, concat */
  DTG_CLASS_REDUCE,      /* sum max min prod argmax argmin over axes */
  DTG_CLASS_GATHER,      /* gather: out[...] = table[index[...], ...] */
  DTG_CLASS_SCATTER,     /* scatter_add */
  DTG_CLASS_LIBRARY      /* matmul and the like: a library call */
};

enum dtg_op_flags {
  DTG_OP_COMMUTES = 1,   /* operand order does not change the bits */
  DTG_OP_RANDOM = 2,     /* never merged by cse unless stream and inputs agree */
  DTG_OP_ZERO_GRAD = 4,  /* gradient is zero by definition (floor, comparisons, argmax) */
  DTG_OP_CHECKS = 8      /* may report a fault at run time: never dropped while its value is used */
};

/* Everything a gradient rule may use. `add` helpers infer types and keep path and span of the forward
 * node. Results go to grads[i] (DTG_NO_NODE: none needed or zero). */
struct dtg_grad_call {
  struct dtg_graph *graph;
  uint32_t node;      /* the forward node */
  uint32_t grad;      /* gradient of its output, same type */
  const bool *needed; /* per input */
  uint32_t *grads;    /* per input, preset to DTG_NO_NODE */
};

struct dtg_infer_call {
  const struct dtg_type *inputs;
  uint32_t input_count;
  const struct dtg_attr *attrs; /* sorted by name */
  uint32_t attr_count;
  struct dtg_strbuf *why; /* on failure: one sentence, lower case, both shapes named; no full stop */
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

/* One element of an element-wise (or generating) op: emits instructions, returns the value. `index` of
 * generating ops: the logical coordinates of the element, as kernel values of type i64. */
struct dtg_lower_call {
  struct cg_builder *builder;
  const struct dtg_node *node;
  const struct dtg_type *input_types; /* of the operands */
  const uint32_t *values;     /* operand values */
  const uint32_t *index;      /* coordinates, `node->type.shape.rank` of them */
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
  uint32_t flags;         /* enum dtg_op_flags */
  uint32_t min_inputs;
  uint32_t max_inputs;    /* UINT32_MAX: any */
  const char *attributes; /* schema, e.g. "axes:ints keepdims:bool=false" */
  const char *shard;      /* factor rule over axes, e.g. "m k, k n -> m n"; "elementwise"; "" = none */
  bool (*infer)(const struct dtg_infer_call *call, struct dtg_type *out);
  void (*grad)(const struct dtg_grad_call *call); /* NULL: not differentiable */
  /* A cheaper equal node in the graph under construction, or DTG_NO_NODE. Must keep the bits. */
  uint32_t (*simplify)(struct dtg_graph *graph, uint32_t node);
  void (*cost)(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
               double *bytes);
  uint32_t (*lower)(const struct dtg_lower_call *call); /* ELEMENTWISE and GENERATE */
  /* REDUCE: how the accumulator combines. */
  enum cg_accumulate accumulate;
  void (*ref)(const struct dtg_ref_call *call); /* double-precision reference */
  const struct dtg_op_sample *samples;
  uint32_t sample_count;
};

/* Row by name, or NULL. Row by index, for documentation and table-driven tests. */
const struct dtg_op_def *dtg_op_find(const char *name);
uint32_t dtg_op_count(void);
const struct dtg_op_def *dtg_op_at(uint32_t index);

/* Adds a node of op `name`, inferring its type. A failure of `infer` is an internal error here: callers
 * that take user input use `dtg_try_add`. */
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
/* x unchanged if it has that shape, else a `broadcast_to` node (NumPy rules). */
uint32_t dtg_add_broadcast(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *shape);
/* Sum over the axes that broadcasting `from` to the shape of x added or stretched: its transpose. */
uint32_t dtg_add_unbroadcast(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *from);

#endif
