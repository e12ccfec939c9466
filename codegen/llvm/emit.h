// State of the emission of one kernel. Private to this folder.
//
// Inside a VECTOR loop the code runs for a group of up to CG_UNROLL vectors at a time. An
// instruction that depends on the loop's index is "varying" and has a value per vector of the
// group; all others have one scalar. Ownership: everything lives in the caller's arena or in the
// module.
#ifndef CG_LLVM_EMIT_H
#define CG_LLVM_EMIT_H

#include "codegen/llvm/module.h"
#include "compiler/ir/kernel.h"

enum { CG_UNROLL = 4 };

struct cg_slot {
  LLVMValueRef scalar;
  LLVMValueRef lane[CG_UNROLL];
};

// Where an accumulator lives while a kernel runs.
enum cg_accumulator_place {
  CG_PLACE_SCALAR,
  CG_PLACE_WIDE,  // CG_UNROLL vectors, filled by VECTOR loops inside its scope
  CG_PLACE_LANES, // declared inside a VECTOR loop: one vector per vector of the group
};

struct cg_accumulator {
  enum cg_accumulator_place place;
  LLVMValueRef value[CG_UNROLL]; // stack slots
  LLVMValueRef index[CG_UNROLL]; // of the arg kinds
};

struct cg_emit {
  struct cg_module *module;
  const struct cg_kernel *kernel;
  LLVMBuilderRef builder;
  LLVMBuilderRef entry_builder; // for stack slots
  LLVMValueRef function;
  LLVMValueRef fault;
  LLVMValueRef *buffers;      // base pointers
  LLVMValueRef *alias_scope;  // per buffer, metadata
  LLVMValueRef *alias_others; // per buffer: the scopes that it cannot touch
  uint32_t lanes;             // of a vector
  // Per instruction.
  bool *varying;
  struct cg_slot *slots;
  struct cg_accumulator *accumulators; // CG_ACC_NEW
  LLVMValueRef *index;                 // CG_LOOP: its index, of the first lane of the group
  // The group being emitted; vector_loop is CG_NO_VALUE outside.
  uint32_t vector_loop;
  uint32_t group;
  LLVMValueRef mask[CG_UNROLL]; // active lanes; NULL: all
  // Position of the group's first vector among the CG_UNROLL of an accumulator, if known only at
  // run time (i32); the group is one vector then.
  LLVMValueRef position;
  bool streamed; // has stores that bypass the caches
};

// analysis.c: fills varying and the places of accumulators.
void cg_analyse(struct cg_emit *emit);
// Vectors per iteration of a VECTOR loop.
uint32_t cg_choose_unroll(const struct cg_emit *emit, uint32_t loop);

// loops.c
void cg_emit_root(struct cg_emit *emit, LLVMValueRef begin, LLVMValueRef end);

// value.c: one instruction; `vector` is its vector in the group (0 for scalars).
void cg_emit_inst(struct cg_emit *emit, uint32_t id, uint32_t vector);
// The value of an operand as the user needs it: `lanes` 1 or emit->lanes.
LLVMValueRef cg_operand_value(struct cg_emit *emit, uint32_t id, uint32_t vector, uint32_t lanes);
uint32_t cg_inst_lanes(const struct cg_emit *emit, uint32_t id);
LLVMValueRef cg_emit_value(struct cg_emit *emit, uint32_t id, uint32_t vector);

// memory.c
LLVMValueRef cg_emit_load(struct cg_emit *emit, uint32_t id, uint32_t vector);
void cg_emit_store(struct cg_emit *emit, uint32_t id, uint32_t vector);
void cg_alias_prepare(struct cg_emit *emit, struct dtg_arena *arena);

// accumulate.c
void cg_emit_acc_new(struct cg_emit *emit, uint32_t id);
void cg_emit_acc_add(struct cg_emit *emit, uint32_t id, uint32_t vector);
void cg_emit_acc_read(struct cg_emit *emit, uint32_t id);

// check.c
void cg_emit_check(struct cg_emit *emit, uint32_t id, uint32_t vector);

// convert.c
LLVMTypeRef cg_value_type(struct cg_module *module, enum dtg_dtype dtype);
LLVMTypeRef cg_memory_type(struct cg_module *module, enum dtg_dtype dtype);
LLVMValueRef cg_convert_value(struct cg_emit *emit, LLVMValueRef value, enum dtg_dtype from,
                              enum dtg_dtype to, uint32_t lanes);

// philox.c: word 0..3 of Philox 4x32-10; operands i64, result i32, scalars or vectors.
LLVMValueRef cg_philox_emit(struct cg_module *module, LLVMBuilderRef builder, uint32_t lanes,
                            LLVMValueRef key, LLVMValueRef low, LLVMValueRef high, uint32_t word);

LLVMValueRef cg_i64_const(const struct cg_emit *emit, int64_t value);
LLVMValueRef cg_i32_const(const struct cg_emit *emit, int64_t value);
// 0, 1, 2, ... times `step` as a constant vector.
LLVMValueRef cg_iota(const struct cg_emit *emit, LLVMTypeRef scalar, int64_t step);
LLVMBasicBlockRef cg_new_block(struct cg_emit *emit, const char *name);

#endif
