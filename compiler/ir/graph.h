/* The graph: one computation as single-output nodes in topological order, and the module that holds
 * all graphs of a program.
 *
 * Purpose: the form of stages 4 to 9 (graph, grad, opt, replicate, place, partition).
 * Ownership: nodes, attributes and names live in the arena given at creation; names are interned.
 * Lifetime: as long as that arena. Threads: none; a graph belongs to one compilation.
 *
 * Invariant: the inputs of node i have ids below i, so that the node order is an execution order.
 * Passes do not edit a graph in place: they walk the old one in order and add to a new one
 * (`dtg_rewrite`), which keeps the invariant without a sort.
 */
#ifndef DTG_IR_GRAPH_H
#define DTG_IR_GRAPH_H

#include "compiler/base/arena.h"
#include "compiler/base/source.h"
#include "compiler/base/vec.h"
#include "compiler/ir/type.h"

struct dtg_op_def; /* compiler/ir/op.h */
struct dtg_intern;

enum dtg_attr_kind {
  DTG_ATTR_INT,
  DTG_ATTR_FLOAT,
  DTG_ATTR_BOOL,
  DTG_ATTR_STRING,
  DTG_ATTR_INTS,
  DTG_ATTR_DTYPE
};

struct dtg_attr {
  const char *name; /* interned; attributes of a node are sorted by name */
  enum dtg_attr_kind kind;
  union {
    int64_t i;
    double f;
    bool b;
    const char *s; /* interned */
    struct {
      uint32_t count;
      const int64_t *values;
    } ints;
    enum dtg_dtype dtype;
  } value;
};

enum { DTG_NO_NODE = UINT32_MAX, DTG_NO_GROUP = UINT32_MAX, DTG_NO_DEVICE = UINT32_MAX };

/* Why a node is where it is: a rule and the source text that asked for it (semantics.md 4). */
struct dtg_cause {
  const char
      *rule; /* interned short text such as "default-device", "place", "with-input"; or NULL */
  struct dtg_span span;
};

struct dtg_graph;
struct dtg_node {
  const struct dtg_op_def *op;
  struct dtg_type type; /* of its only output */
  uint32_t input_count;
  const uint32_t *inputs;
  uint32_t attr_count;
  const struct dtg_attr *attrs;
  const char *path;       /* layer instance path such as "block[3].attn" ("" outside); interned */
  const char *name;       /* variable name in the source, for comments and messages; may be NULL */
  struct dtg_span span;   /* the source expression */
  struct dtg_graph *body; /* of a scan (compiler/ir/scan.h); else NULL */
  uint32_t group;         /* fusion group: nodes of one kernel; DTG_NO_GROUP before fusion */
  uint32_t device;        /* index into the cluster's device table; DTG_NO_DEVICE before place */
  struct dtg_cause cause;
};

/* What a graph delivers. Roots keep their nodes alive. */
enum dtg_root_kind {
  DTG_ROOT_LOSS,   /* f32[]: mean over the shard */
  DTG_ROOT_METRIC, /* name: the metric's */
  DTG_ROOT_OUTPUT, /* name: the output's */
  DTG_ROOT_GRAD,   /* name: parameter path; gradient of the shard's loss */
  DTG_ROOT_STATE,  /* name: state path; a shard's candidate (train), `reduce` says how to combine */
  DTG_ROOT_UPDATE, /* name: path of a parameter or slot; its new value (update graph) */
  DTG_ROOT_CARRY,  /* body of a scan, name: its number; the next value of a carry */
  DTG_ROOT_STACK,  /* body of a scan, name: its number; one entry of a stacked result */
  DTG_ROOT_ROWS,   /* name: path of a sparse parameter: i32, the rows that its gradient is of */
  DTG_ROOT_KIND_COUNT
};

enum dtg_reduce { DTG_REDUCE_MEAN, DTG_REDUCE_SUM, DTG_REDUCE_MAX };

struct dtg_root {
  enum dtg_root_kind kind;
  const char *name; /* interned; "" for the loss */
  uint32_t node;
  enum dtg_reduce reduce; /* over shards */
  struct dtg_span span;
};

struct dtg_graph {
  const char *name; /* "train", "eval", "tail", "update" */
  struct dtg_arena *arena;
  struct dtg_intern *names;
  const char *path;     /* given to the nodes as they are added; interned; "" at first */
  struct dtg_span span; /* likewise; none at first */
  DTG_VEC(struct dtg_node) nodes;
  DTG_VEC(struct dtg_root) roots;
  uint32_t group_count;
};

/* A trainable parameter, a state, or an optimizer slot: what a checkpoint holds. */
enum dtg_variable_kind { DTG_VARIABLE_PARAM, DTG_VARIABLE_STATE, DTG_VARIABLE_SLOT };

struct dtg_initializer {
  const char
      *kind;   /* "zeros" "ones" "constant" "normal" "truncated_normal" "uniform" "glorot_uniform"
                  "glorot_normal" "he_normal" "he_uniform" "orthogonal"; interned */
  double a, b; /* constant: a = value; normal: a = mean, b = stddev; uniform: a = low, b = high */
};

struct dtg_variable {
  enum dtg_variable_kind kind;
  const char *path; /* "fc1.w"; slots: "fc1.w:v" (parameter path, colon, slot name); interned */
  struct dtg_type type;
  struct dtg_initializer init;
  uint32_t param; /* slots: index of their parameter in `variables`; else DTG_NO_NODE */
  struct dtg_span span;
};

/* A table that is used only through `gather`, so that its gradient is a list of rows
 * (compiler/ir/sparse.h). */
struct dtg_sparse {
  uint32_t variable;   /* index into `variables` */
  int64_t rows, width; /* of the table: extent of axis 0, elements of a row */
  int64_t picks;       /* rows that a shard gathers */
  bool touched;        /* stage 6: only touched rows are updated; else the update passes over all */
  bool lazy;           /* ... and that is another result than passing over all */
};

/* A table that is gathered and used in another way too: its gradient is dense. */
struct dtg_densified {
  uint32_t variable;
  const char *why; /* how else it is used */
  struct dtg_span span;
};

/* All graphs of a program and the variables they share. `variables` is sorted by (kind, path): the
 * canonical order of placement, trees over parameters, and checkpoints. */
struct dtg_module {
  struct dtg_arena *arena;
  struct dtg_intern *names;
  DTG_VEC(struct dtg_variable) variables;
  struct dtg_graph *train;  /* B = batch / shards, training = true; after grad: with backward */
  struct dtg_graph *eval;   /* B = batch / shards, training = false */
  struct dtg_graph *tail;   /* B = 1, training = false */
  struct dtg_graph *update; /* optimizer for every parameter; NULL before grad */
  bool lazy;                /* the optimizer updates touched rows only, whatever that means */
  DTG_VEC(struct dtg_sparse) sparse; /* by variable; from stage 5 on */
  DTG_VEC(struct dtg_densified) densified;
};

struct dtg_graph *dtg_graph_new(struct dtg_arena *arena, struct dtg_intern *names,
                                const char *name);

/* Adds a node whose type has been computed already (by the op's `infer`, or read from text).
 * Attributes are copied and sorted by name. Most callers want `dtg_add` of compiler/ir/op.h, which
 * infers. */
uint32_t dtg_graph_add_typed(struct dtg_graph *graph, const struct dtg_op_def *op,
                             struct dtg_type type, const uint32_t *inputs, uint32_t input_count,
                             const struct dtg_attr *attrs, uint32_t attr_count);
void dtg_graph_add_root(struct dtg_graph *graph, enum dtg_root_kind kind, const char *name,
                        uint32_t node, enum dtg_reduce reduce, struct dtg_span span);
/* Valid until the next node is added: copy what you need before. */
struct dtg_node *dtg_graph_node(const struct dtg_graph *graph, uint32_t id);

const struct dtg_attr *dtg_attrs_find(const struct dtg_attr *attrs, uint32_t count,
                                      const char *name);
/* Nodes, those of bodies included. */
size_t dtg_graph_size(const struct dtg_graph *graph);

/* Attribute by name, or NULL. The typed getters return the fallback where it is absent. */
const struct dtg_attr *dtg_node_attr(const struct dtg_node *node, const char *name);
int64_t dtg_node_int(const struct dtg_node *node, const char *name, int64_t fallback);
double dtg_node_float(const struct dtg_node *node, const char *name, double fallback);
bool dtg_node_bool(const struct dtg_node *node, const char *name, bool fallback);
const char *dtg_node_string(const struct dtg_node *node, const char *name, const char *fallback);
/* Count of an int list attribute, its values through `values`; 0 where it is absent. */
uint32_t dtg_node_ints(const struct dtg_node *node, const char *name, const int64_t **values);

/* Attribute constructors for literals: (struct dtg_attr[]){dtg_attr_int("axis", 1)}. Names are
 * interned by dtg_graph_add_typed. */
struct dtg_attr dtg_attr_int(const char *name, int64_t value);
struct dtg_attr dtg_attr_float(const char *name, double value);
struct dtg_attr dtg_attr_bool(const char *name, bool value);
struct dtg_attr dtg_attr_string(const char *name, const char *value);
struct dtg_attr dtg_attr_ints(const char *name, uint32_t count, const int64_t *values);
struct dtg_attr dtg_attr_dtype(const char *name, enum dtg_dtype value);

#endif
