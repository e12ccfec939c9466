// The typed model: what stage 3 learns from the files, and what all later stages ask.
//
// Ownership: everything lives in the context's arena; names are interned in its table. Lifetime:
// that of the context. Read-only after dtg_sema. Thread rule: that of the context.
//
// Numbers are checked and complete here: no later stage meets an unknown key, a batch that its
// shards do not divide or a column that is missing. Bodies (layers, functions, the model, the
// optimizer) are names resolved but not evaluated; stage 4 does that, through `files`.
#ifndef DTG_SEMA_MODEL_H
#define DTG_SEMA_MODEL_H

#include "compiler/base/ctx.h"
#include "compiler/ir/type.h"

struct dtg_ast_expr;
struct dtg_scope_file; // compiler/sema/scope.h
struct dtg_symbol;

#define DTG_NO_DATASET UINT32_MAX

// ---- data ----

// In the order of enum dtr_source_kind.
enum dtg_source_kind {
  DTG_SOURCE_IDX,
  DTG_SOURCE_NPY,
  DTG_SOURCE_NPZ,
  DTG_SOURCE_CSV,
  DTG_SOURCE_SAFETENSORS,
  DTG_SOURCE_CIFAR10,
  DTG_SOURCE_BYTES,
  DTG_SOURCE_TOKENS,
  DTG_SOURCE_RANDOM_NORMAL,
  DTG_SOURCE_RANDOM_UNIFORM,
  DTG_SOURCE_RANDOM_INT,
  DTG_SOURCE_RANGE,
};

struct dtg_column {
  const char *name;
  enum dtg_source_kind kind;
  const char *path; // files: as written; else NULL
  const char
      *member;  // csv: column; npz, safetensors: name; cifar10: field; tokens: type; else NULL
  int64_t rows; // generators: rows, each an example unless there are windows; else 0
  struct dtg_type type; // generators: of one row; files: known at run time only
  double a, b;          // normal: mean, stddev; uniform: low, high; int: low, high (exclusive)
  int64_t seed;
  DTG_VEC(const char *) categories; // csv: empty = numbers
  int64_t limit;                    // tokens: size of the vocabulary; 0 = not checked
  bool is_test;                     // cifar10: of a folder, the test file
  int64_t window, stride;           // rows of an example, and between examples; 0 = one row
  struct dtg_span span;
};

enum dtg_transform_kind { DTG_TRANSFORM_SHUFFLE, DTG_TRANSFORM_TAKE, DTG_TRANSFORM_SKIP };

struct dtg_transform {
  enum dtg_transform_kind kind;
  int64_t value; // take, skip: examples; shuffle: the seed
  bool has_seed; // shuffle: false = the training seed
  struct dtg_span span;
};

struct dtg_dataset {
  const char *name;
  struct dtg_span span;
  DTG_VEC(struct dtg_column) columns;
  DTG_VEC(struct dtg_transform) transforms; // in the order in which they apply
};

// ---- training ----

// `every(epochs | steps = n, ...)`; both 0: never.
struct dtg_every {
  int64_t epochs, steps;
  int64_t keep;  // checkpoints: how many files stay
  uint32_t data; // evaluation: index into `datasets`
  struct dtg_span span;
};

struct dtg_train {
  bool present; // the file has a `train` block
  struct dtg_span span;
  int64_t batch, shards; // shards divides batch; both 1 without a block
  int64_t epochs, steps; // exactly one is set; 0 = not set
  int64_t seed;
  uint32_t data;                         // index into `datasets`
  struct dtg_every evaluate, checkpoint; // evaluate.data: DTG_NO_DATASET where there is none
  const struct dtg_ast_expr *optimizer;  // a call of an optimizer; evaluated by stage 4
  const struct dtg_ast_expr *gradient;   // a function of one gradient, or NULL
};

// One input of the model, bound by name to a column.
struct dtg_model_input {
  const char *name;
  struct dtg_type type; // of one example: the shape without B
  struct dtg_span span;
};

// ---- strategies ----

enum dtg_replicate_kind { DTG_IN_GRAPH, DTG_BETWEEN_GRAPH };

// Where something is: as written, checked in its form; the cluster decides whether it exists.
struct dtg_device_ref {
  const char *job;  // NULL: not written
  const char *type; // "cpu", "gpu"; NULL: not written
  int32_t task;     // -1: not written
  int32_t index;    // -1: not written
  struct dtg_span span;
};

struct dtg_replicate_level {
  enum dtg_replicate_kind kind;
  const char *scope;   // a job's name, or "cpu", "gpu"
  bool is_device_type; // scope is one of the latter
  struct dtg_span span;
};

enum dtg_owner_kind { DTG_OWNERS_ON, DTG_OWNERS_MIRRORED, DTG_OWNERS_SHARDED };

struct dtg_owner_rule {
  const char *pattern; // "**" where none was written
  enum dtg_owner_kind kind;
  struct dtg_device_ref device; // DTG_OWNERS_ON
  bool round_robin;             // else balance bytes
  int64_t split;                // bytes; 0: never split
  struct dtg_span span;
};

struct dtg_place_rule {
  const char *pattern;
  struct dtg_device_ref device;
  bool must; // place; else prefer
  struct dtg_span span;
};

struct dtg_update_rule {
  bool is_async;
  int64_t backup;    // sync: contributions that a step may go without
  int64_t staleness; // async: largest lead in steps; -1: unbounded
  struct dtg_span span;
};

struct dtg_strategy {
  const char *name;
  struct dtg_span span;
  DTG_VEC(struct dtg_replicate_level) levels; // outermost first; none: one replica
  DTG_VEC(struct dtg_owner_rule) owners;      // the first match wins
  DTG_VEC(struct dtg_place_rule) places;
  struct dtg_update_rule update;
};

// ---- the whole ----

struct dtg_model {
  const char *name; // of the model item; NULL: a file without a model (a library)
  struct dtg_span span;
  uint32_t file; // the main source file
  DTG_VEC(struct dtg_model_input) inputs;
  DTG_VEC(struct dtg_dataset) datasets; // in source order
  struct dtg_train train;
  DTG_VEC(struct dtg_strategy) strategies; // in source order; at least one
  uint32_t strategy;                       // the chosen one

  struct dtg_scope_file *scope;         // names of the main file
  const struct dtg_scope_file *prelude; // names that every file sees
  struct dtg_symbol *body;              // the model item; NULL as `name`
};

#endif
