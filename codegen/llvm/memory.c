// Loads and stores. In a VECTOR loop an address is uniform (one scalar, splat), contiguous (stride
// 1) or anything else (gather, scatter).
#include "codegen/llvm/emit.h"

#include <string.h>

enum { CG_BUFFER_ALIGN = 64 };
// A written buffer of at least this many bytes is larger than what caches keep, so the stores
// bypass them: that saves reading each line before it is written.
static const int64_t cg_stream_bytes = (int64_t)32 << 20;

struct cg_place {
  LLVMValueRef pointer; // of the first lane
  bool varies;
  bool contiguous;
  int64_t stride;       // of the vector loop, elements
  LLVMValueRef dynamic; // varying index, in elements; NULL: none
};

static LLVMValueRef cg_scaled(struct cg_emit *emit, LLVMValueRef value, int64_t coef,
                              uint32_t lanes) {
  if (coef == 1)
    return value;
  LLVMValueRef factor = cg_constant_splat(cg_i64_const(emit, coef), lanes);
  return LLVMBuildMul(emit->builder, value, factor, "");
}

// The elements that all lanes share, the first lane's loop index included.
static LLVMValueRef cg_shared_offset(struct cg_emit *emit, const struct cg_address *address) {
  LLVMValueRef offset = cg_i64_const(emit, address->base);
  for (uint32_t i = 0; i < address->term_count; i++) {
    LLVMValueRef index = emit->index[address->terms[i].loop];
    offset =
        LLVMBuildAdd(emit->builder, offset, cg_scaled(emit, index, address->terms[i].coef, 1), "");
  }
  if (address->dynamic != CG_NO_VALUE && !emit->varying[address->dynamic]) {
    LLVMValueRef index = emit->slots[address->dynamic].scalar;
    offset =
        LLVMBuildAdd(emit->builder, offset, cg_scaled(emit, index, address->dynamic_coef, 1), "");
  }
  return offset;
}

static struct cg_place cg_locate(struct cg_emit *emit, const struct cg_address *address,
                                 uint32_t vector) {
  struct cg_place place = {NULL, false, false, 0, NULL};
  LLVMTypeRef type =
      cg_memory_type(emit->module, emit->kernel->buffers.data[address->buffer].dtype);
  for (uint32_t i = 0; i < address->term_count; i++)
    if (address->terms[i].loop == emit->vector_loop)
      place.stride += address->terms[i].coef;
  if (address->dynamic != CG_NO_VALUE && emit->varying[address->dynamic])
    place.dynamic = cg_scaled(emit, emit->slots[address->dynamic].lane[vector],
                              address->dynamic_coef, emit->lanes);
  place.varies = place.dynamic || place.stride != 0;
  place.contiguous = !place.dynamic && place.stride == 1;
  LLVMValueRef offset = cg_shared_offset(emit, address);
  place.pointer =
      LLVMBuildGEP2(emit->builder, type, emit->buffers[address->buffer], &offset, 1, "");
  if (vector && place.stride) {
    LLVMValueRef ahead = cg_i64_const(emit, place.stride * vector * emit->lanes);
    place.pointer = LLVMBuildGEP2(emit->builder, type, place.pointer, &ahead, 1, "");
  }
  return place;
}

static LLVMValueRef cg_lane_pointers(struct cg_emit *emit, struct cg_place place,
                                     LLVMTypeRef type) {
  LLVMTypeRef i64 = LLVMInt64TypeInContext(emit->module->context);
  LLVMValueRef offsets = cg_iota(emit, i64, place.stride);
  if (place.dynamic)
    offsets = LLVMBuildAdd(emit->builder, offsets, place.dynamic, "");
  return LLVMBuildGEP2(emit->builder, type, place.pointer, &offsets, 1, "");
}

static LLVMValueRef cg_group_mask(struct cg_emit *emit, uint32_t vector) {
  if (emit->mask[vector])
    return emit->mask[vector];
  LLVMTypeRef bit = LLVMInt1TypeInContext(emit->module->context);
  return LLVMConstAllOnes(LLVMVectorType(bit, emit->lanes));
}

static void cg_tag(struct cg_emit *emit, LLVMValueRef access, uint32_t buffer) {
  LLVMContextRef context = emit->module->context;
  if (!emit->alias_scope[buffer])
    return;
  LLVMSetMetadata(access, LLVMGetMDKindIDInContext(context, "alias.scope", 11),
                  emit->alias_scope[buffer]);
  if (emit->alias_others[buffer])
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(context, "noalias", 7),
                    emit->alias_others[buffer]);
}

static LLVMValueRef cg_load_vector(struct cg_emit *emit, struct cg_place place, LLVMTypeRef scalar,
                                   uint32_t align, uint32_t vector) {
  LLVMTypeRef type = LLVMVectorType(scalar, emit->lanes);
  LLVMTypeRef pointer = LLVMTypeOf(place.pointer);
  LLVMTypeRef types[] = {type, pointer};
  LLVMValueRef args[] = {place.pointer, cg_i32_const(emit, align), NULL, LLVMConstNull(type)};
  if (place.contiguous && !emit->mask[vector]) {
    LLVMValueRef load = LLVMBuildLoad2(emit->builder, type, place.pointer, "");
    LLVMSetAlignment(load, align);
    return load;
  }
  args[2] = cg_group_mask(emit, vector);
  if (place.contiguous)
    return cg_intrinsic(emit->module, emit->builder, "llvm.masked.load", types, 2, args, 4);
  args[0] = cg_lane_pointers(emit, place, scalar);
  types[1] = LLVMTypeOf(args[0]);
  return cg_intrinsic(emit->module, emit->builder, "llvm.masked.gather", types, 2, args, 4);
}

LLVMValueRef cg_emit_load(struct cg_emit *emit, uint32_t id, uint32_t vector) {
  const struct cg_inst *inst = &emit->kernel->insts.data[id];
  LLVMTypeRef scalar = cg_memory_type(emit->module, inst->dtype);
  uint32_t align = (uint32_t)dtg_dtype_size(inst->dtype);
  struct cg_place place = cg_locate(emit, inst->u.address, vector);
  LLVMValueRef value;
  if (place.varies) {
    value = cg_load_vector(emit, place, scalar, align, vector);
  } else {
    value = LLVMBuildLoad2(emit->builder, scalar, place.pointer, "");
    LLVMSetAlignment(value, align);
  }
  cg_tag(emit, value, inst->u.address->buffer);
  if (inst->dtype == DTG_BOOL)
    value = LLVMBuildICmp(emit->builder, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
  return value;
}

// Whether every vector of the store starts at a multiple of its size.
static bool cg_store_is_aligned(const struct cg_emit *emit, const struct cg_address *address) {
  int64_t lanes = emit->lanes;
  if (address->dynamic != CG_NO_VALUE || address->base % lanes)
    return false;
  for (uint32_t i = 0; i < address->term_count; i++)
    if (address->terms[i].loop != emit->vector_loop && address->terms[i].coef % lanes)
      return false;
  const struct cg_loop *loop = emit->kernel->insts.data[emit->vector_loop].u.nest;
  return loop->block_of == CG_NO_VALUE || loop->extent % lanes == 0;
}

// Only a buffer that nothing here reads, under its own or another name: lines that were read are in
// the cache anyway.
static bool cg_store_streams(const struct cg_emit *emit, const struct cg_address *address) {
  const struct cg_buffer *buffer = &emit->kernel->buffers.data[address->buffer];
  int64_t size = (int64_t)dtg_dtype_size(buffer->dtype);
  return !buffer->read && !buffer->unaligned && buffer->may_alias == CG_NO_VALUE &&
         buffer->elements * size >= cg_stream_bytes && emit->lanes * size <= CG_BUFFER_ALIGN &&
         emit->lanes * size >= 16 && cg_store_is_aligned(emit, address);
}

static LLVMValueRef cg_store_whole(struct cg_emit *emit, const struct cg_address *address,
                                   LLVMValueRef pointer, LLVMValueRef value, uint32_t size) {
  LLVMValueRef store = LLVMBuildStore(emit->builder, value, pointer);
  LLVMSetAlignment(store, size);
  if (cg_store_streams(emit, address)) {
    LLVMContextRef context = emit->module->context;
    LLVMMetadataRef one = LLVMValueAsMetadata(cg_i32_const(emit, 1));
    LLVMValueRef node = LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, &one, 1));
    LLVMSetMetadata(store, LLVMGetMDKindIDInContext(context, "nontemporal", 11), node);
    LLVMSetAlignment(store, size * emit->lanes);
    emit->streamed = true;
  }
  return store;
}

static LLVMValueRef cg_store_vector(struct cg_emit *emit, const struct cg_address *address,
                                    struct cg_place place, LLVMValueRef value, LLVMTypeRef scalar,
                                    uint32_t vector) {
  uint32_t size = (uint32_t)dtg_dtype_size(emit->kernel->buffers.data[address->buffer].dtype);
  LLVMTypeRef types[] = {LLVMTypeOf(value), LLVMTypeOf(place.pointer)};
  if (place.contiguous && !emit->mask[vector])
    return cg_store_whole(emit, address, place.pointer, value, size);
  LLVMValueRef args[] = {value, place.pointer, cg_i32_const(emit, size),
                         cg_group_mask(emit, vector)};
  if (place.contiguous)
    return cg_intrinsic(emit->module, emit->builder, "llvm.masked.store", types, 2, args, 4);
  args[1] = cg_lane_pointers(emit, place, scalar);
  types[1] = LLVMTypeOf(args[1]);
  return cg_intrinsic(emit->module, emit->builder, "llvm.masked.scatter", types, 2, args, 4);
}

void cg_emit_store(struct cg_emit *emit, uint32_t id, uint32_t vector) {
  const struct cg_inst *inst = &emit->kernel->insts.data[id];
  LLVMTypeRef scalar = cg_memory_type(emit->module, inst->dtype);
  bool in_vector = emit->vector_loop != CG_NO_VALUE;
  LLVMValueRef value =
      cg_operand_value(emit, inst->operands[0], vector, in_vector ? emit->lanes : 1);
  if (inst->dtype == DTG_BOOL)
    value =
        LLVMBuildZExt(emit->builder, value, cg_vector_of(scalar, in_vector ? emit->lanes : 1), "");
  struct cg_place place = cg_locate(emit, inst->u.address, vector);
  LLVMValueRef store;
  if (in_vector) {
    store = cg_store_vector(emit, inst->u.address, place, value, scalar, vector);
  } else {
    store = LLVMBuildStore(emit->builder, value, place.pointer);
    LLVMSetAlignment(store, (uint32_t)dtg_dtype_size(inst->dtype));
  }
  cg_tag(emit, store, inst->u.address->buffer);
}

// Two buffers may share memory if neither is written, or if one may be planned onto another; which
// inputs then lie there too (views of one tensor) is not known here.
static bool cg_may_share(const struct cg_kernel *kernel, uint32_t a, uint32_t b) {
  const struct cg_buffer *x = &kernel->buffers.data[a], *y = &kernel->buffers.data[b];
  return a == b || (!x->written && !y->written) || x->may_alias != CG_NO_VALUE ||
         y->may_alias != CG_NO_VALUE;
}

void cg_alias_prepare(struct cg_emit *emit, struct dtg_arena *arena) {
  LLVMContextRef context = emit->module->context;
  uint32_t count = (uint32_t)emit->kernel->buffers.len;
  LLVMMetadataRef *scopes = DTG_NEW_ARRAY(arena, LLVMMetadataRef, count);
  LLVMMetadataRef *others = DTG_NEW_ARRAY(arena, LLVMMetadataRef, count);
  const char *name = emit->kernel->name;
  LLVMMetadataRef domain_name = LLVMMDStringInContext2(context, name, strlen(name));
  LLVMMetadataRef domain = LLVMMDNodeInContext2(context, &domain_name, 1);
  for (uint32_t i = 0; i < count; i++) {
    const char *text = dtg_arena_printf(arena, "%s.b%u", name, i);
    LLVMMetadataRef parts[] = {LLVMMDStringInContext2(context, text, strlen(text)), domain};
    scopes[i] = LLVMMDNodeInContext2(context, parts, 2);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t other_count = 0;
    for (uint32_t j = 0; j < count; j++)
      if (!cg_may_share(emit->kernel, i, j))
        others[other_count++] = scopes[j];
    emit->alias_scope[i] =
        LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, &scopes[i], 1));
    if (other_count)
      emit->alias_others[i] =
          LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, others, other_count));
  }
}
