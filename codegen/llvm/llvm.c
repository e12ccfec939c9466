// Entry of the CPU backend: kernels to a module, light passes, an object.
#include "codegen/llvm/llvm.h"
#include "codegen/llvm/emit.h"
#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <string.h>

static const char *const cg_triple = "x86_64-unknown-linux-gnu";
// No vectoriser, nothing that reorders arithmetic.
static const char *const cg_passes =
    "always-inline,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

static LLVMTypeRef cg_kernel_type(struct cg_module *module) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(module->context, 0);
  LLVMTypeRef i64 = LLVMInt64TypeInContext(module->context);
  LLVMTypeRef params[] = {pointer, pointer, i64, i64};
  return LLVMFunctionType(LLVMVoidTypeInContext(module->context), params, 4, false);
}

static void cg_emit_buffers(struct cg_emit *emit) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(emit->module->context, 0);
  LLVMValueRef table = LLVMGetParam(emit->function, 0);
  for (uint32_t i = 0; i < emit->kernel->buffers.len; i++) {
    LLVMValueRef at = cg_i64_const(emit, i);
    LLVMValueRef slot = LLVMBuildGEP2(emit->builder, pointer, table, &at, 1, "");
    emit->buffers[i] = LLVMBuildLoad2(emit->builder, pointer, slot, "");
  }
}

static void cg_emit_allocate(struct cg_emit *emit, struct dtg_arena *arena) {
  size_t insts = emit->kernel->insts.len, buffers = emit->kernel->buffers.len;
  emit->buffers = DTG_NEW_ARRAY(arena, LLVMValueRef, buffers);
  emit->alias_scope = DTG_NEW_ARRAY(arena, LLVMValueRef, buffers);
  emit->alias_others = DTG_NEW_ARRAY(arena, LLVMValueRef, buffers);
  emit->varying = DTG_NEW_ARRAY(arena, bool, insts);
  emit->slots = DTG_NEW_ARRAY(arena, struct cg_slot, insts);
  emit->accumulators = DTG_NEW_ARRAY(arena, struct cg_accumulator, insts);
  emit->index = DTG_NEW_ARRAY(arena, LLVMValueRef, insts);
}

static void cg_emit_kernel(struct cg_module *module, struct dtg_arena *arena,
                           const struct cg_kernel *kernel) {
  LLVMContextRef context = module->context;
  struct cg_emit emit = {.module = module, .kernel = kernel, .vector_loop = CG_NO_VALUE};
  cg_emit_allocate(&emit, arena);
  emit.lanes = module->arch->vector_bits / 32;
  emit.function = cg_module_function(module, kernel->name, cg_kernel_type(module));
  emit.fault = LLVMGetParam(emit.function, 1);
  LLVMBasicBlockRef slots = cg_new_block(&emit, "slots"), start = cg_new_block(&emit, "start");
  emit.entry_builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(emit.entry_builder, slots);
  emit.builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(emit.builder, start);
  cg_emit_buffers(&emit);
  cg_alias_prepare(&emit, arena);
  cg_analyse(&emit);
  cg_emit_root(&emit, LLVMGetParam(emit.function, 2), LLVMGetParam(emit.function, 3));
  // Streamed stores are seen by other threads only after a fence.
  if (emit.streamed)
    cg_intrinsic(module, emit.builder, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
  LLVMBuildRetVoid(emit.builder);
  LLVMBuildBr(emit.entry_builder, start);
  LLVMDisposeBuilder(emit.builder);
  LLVMDisposeBuilder(emit.entry_builder);
}

static LLVMTargetMachineRef cg_machine_new(const struct cg_arch *arch, int opt_level) {
  static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                               LLVMCodeGenLevelDefault, LLVMCodeGenLevelAggressive};
  LLVMTargetRef target;
  char *message = NULL;
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  if (LLVMGetTargetFromTriple(cg_triple, &target, &message))
    dtg_bug("LLVM knows no %s: %s", cg_triple, message);
  opt_level = opt_level < 0 ? 0 : opt_level > 3 ? 3 : opt_level;
  return LLVMCreateTargetMachine(target, cg_triple, arch->name, "", levels[opt_level], LLVMRelocPIC,
                                 LLVMCodeModelDefault);
}

static void cg_module_init(struct cg_module *module, const struct cg_arch *arch, int opt_level) {
  module->arch = arch;
  module->machine = cg_machine_new(arch, opt_level);
  module->context = LLVMContextCreate();
  module->module = LLVMModuleCreateWithNameInContext("kernels", module->context);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(module->machine);
  LLVMSetModuleDataLayout(module->module, layout);
  LLVMDisposeTargetData(layout);
  LLVMSetTarget(module->module, cg_triple);
}

static void cg_module_free(struct cg_module *module) {
  LLVMDisposeModule(module->module);
  LLVMContextDispose(module->context);
  LLVMDisposeTargetMachine(module->machine);
}

static void cg_module_verify(struct cg_module *module) {
  char *message = NULL;
  if (LLVMVerifyModule(module->module, LLVMReturnStatusAction, &message))
    dtg_bug("the module is not valid: %s", message);
  LLVMDisposeMessage(message);
}

static void cg_module_optimise(struct cg_module *module) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module->module, cg_passes, module->machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (error)
    dtg_bug("passes: %s", LLVMGetErrorMessage(error));
}

static void cg_module_output(struct cg_module *module, struct dtg_arena *arena,
                             struct cg_llvm_output *out) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer;
  if (LLVMTargetMachineEmitToMemoryBuffer(module->machine, module->module, LLVMObjectFile, &message,
                                          &buffer))
    dtg_bug("no object: %s", message);
  size_t size = LLVMGetBufferSize(buffer);
  void *object = dtg_alloc(arena, size);
  memcpy(object, LLVMGetBufferStart(buffer), size);
  LLVMDisposeMemoryBuffer(buffer);
  out->object = object;
  out->object_size = size;
}

static const char *cg_module_text(struct cg_module *module, struct dtg_arena *arena) {
  char *text = LLVMPrintModuleToString(module->module);
  const char *copy = dtg_arena_strdup(arena, text);
  LLVMDisposeMessage(text);
  return copy;
}

bool cg_llvm_emit(struct dtg_arena *arena, const struct cg_kernel *const *kernels, size_t count,
                  const char *cpu_arch, int opt_level, struct cg_llvm_output *out,
                  struct dtg_strbuf *why) {
  const struct cg_arch *arch = cg_arch_find(cpu_arch);
  if (!arch) {
    dtg_strbuf_printf(why,
                      "no instruction set '%s': x86-64, x86-64-v2, x86-64-v3, x86-64-v4 and "
                      "native are known",
                      cpu_arch);
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (!cg_kernel_verify(kernels[i], why))
      return false;
  struct cg_module module;
  cg_module_init(&module, arch, opt_level);
  for (size_t i = 0; i < count; i++)
    if (kernels[i]->kind == CG_KERNEL_LOOPS)
      cg_emit_kernel(&module, arena, kernels[i]);
  cg_module_verify(&module);
  cg_module_optimise(&module);
  out->text = cg_module_text(&module, arena);
  cg_module_output(&module, arena, out);
  cg_module_free(&module);
  return true;
}

const struct cg_target cg_target_cpu = {
    .name = "cpu",
    .find_arch = cg_llvm_find_arch,
    .emit = cg_llvm_emit,
};
