// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; 2011).
// Words are kept in 64-bit lanes below 2^32, so that a product is one 32x32->64 multiplication.
#include "codegen/llvm/emit.h"

struct cg_philox {
  LLVMBuilderRef builder;
  LLVMTypeRef type;
  uint32_t lanes;
};

static LLVMValueRef cg_word(const struct cg_philox *p, uint64_t value) {
  LLVMTypeRef scalar = p->lanes == 1 ? p->type : LLVMGetElementType(p->type);
  return cg_constant_splat(LLVMConstInt(scalar, value, false), p->lanes);
}

static LLVMValueRef cg_low_word(const struct cg_philox *p, LLVMValueRef x) {
  return LLVMBuildAnd(p->builder, x, cg_word(p, UINT32_MAX), "");
}

static LLVMValueRef cg_high_word(const struct cg_philox *p, LLVMValueRef x) {
  return LLVMBuildLShr(p->builder, x, cg_word(p, 32), "");
}

static LLVMValueRef cg_xor3(const struct cg_philox *p, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef c) {
  return LLVMBuildXor(p->builder, LLVMBuildXor(p->builder, a, b, ""), c, "");
}

static void cg_philox_round(const struct cg_philox *p, LLVMValueRef c[4], LLVMValueRef k0,
                            LLVMValueRef k1) {
  LLVMValueRef first = LLVMBuildMul(p->builder, c[0], cg_word(p, 0xD2511F53), "");
  LLVMValueRef second = LLVMBuildMul(p->builder, c[2], cg_word(p, 0xCD9E8D57), "");
  c[0] = cg_xor3(p, cg_high_word(p, second), c[1], k0);
  c[1] = cg_low_word(p, second);
  c[2] = cg_xor3(p, cg_high_word(p, first), c[3], k1);
  c[3] = cg_low_word(p, first);
}

LLVMValueRef cg_philox_emit(struct cg_module *module, LLVMBuilderRef builder, uint32_t lanes,
                            LLVMValueRef key, LLVMValueRef low, LLVMValueRef high, uint32_t word) {
  struct cg_philox p = {builder, cg_vector_of(LLVMInt64TypeInContext(module->context), lanes),
                        lanes};
  LLVMValueRef c[4] = {cg_low_word(&p, low), cg_high_word(&p, low), cg_low_word(&p, high),
                       cg_high_word(&p, high)};
  LLVMValueRef k0 = cg_low_word(&p, key), k1 = cg_high_word(&p, key);
  for (int round = 0; round < 10; round++) {
    cg_philox_round(&p, c, k0, k1);
    k0 = cg_low_word(&p, LLVMBuildAdd(builder, k0, cg_word(&p, 0x9E3779B9), ""));
    k1 = cg_low_word(&p, LLVMBuildAdd(builder, k1, cg_word(&p, 0xBB67AE85), ""));
  }
  LLVMTypeRef narrow = cg_vector_of(LLVMInt32TypeInContext(module->context), lanes);
  return LLVMBuildTrunc(builder, c[word], narrow, "");
}
