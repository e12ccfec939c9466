#include "compiled.h"

#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

enum { GUARD_SIZE = 64, GUARD_BYTE = 0xa5 };

const char *const *cg_runnable_archs(void) {
  static const char *const all[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", NULL};
  static const char *const upto_v3[] = {"x86-64", "x86-64-v2", "x86-64-v3", NULL};
  static const char *const upto_v2[] = {"x86-64", "x86-64-v2", NULL};
  static const char *const base[] = {"x86-64", NULL};
  const char *native = cg_llvm_native_arch();
  return strcmp(native, "x86-64-v4") == 0   ? all
         : strcmp(native, "x86-64-v3") == 0 ? upto_v3
         : strcmp(native, "x86-64-v2") == 0 ? upto_v2
                                            : base;
}

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void *load_object(const void *object, size_t size) {
  char folder[] = "/tmp/dtg-kernels-XXXXXX";
  char object_path[64], library_path[64], command[256];
  assert_non_null(mkdtemp(folder));
  snprintf(object_path, sizeof object_path, "%s/k.o", folder);
  snprintf(library_path, sizeof library_path, "%s/k.so", folder);
  write_file(object_path, object, size);
  snprintf(command, sizeof command, "cc -shared -o %s %s -lm", library_path, object_path);
  assert_int_equal(system(command), 0);
  void *handle = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail_msg("%s", dlerror());
  unlink(object_path);
  unlink(library_path);
  rmdir(folder);
  return handle;
}

struct cg_compiled cg_compile(const struct cg_kernel *const *kernels, size_t count,
                              const char *arch) {
  struct dtg_arena arena;
  struct dtg_strbuf why = {0};
  struct cg_llvm_output output;
  dtg_arena_init(&arena);
  if (!cg_llvm_emit(&arena, kernels, count, arch, 2, &output, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  struct cg_compiled compiled = {load_object(output.object, output.object_size)};
  dtg_strbuf_free(&why);
  dtg_arena_free(&arena);
  return compiled;
}

dtr_kernel_fn *cg_compiled_find(const struct cg_compiled *compiled, const char *name) {
  void *symbol = dlsym(compiled->handle, name);
  dtr_kernel_fn *function;
  assert_non_null(symbol);
  memcpy(&function, &symbol, sizeof function);
  return function;
}

void cg_compiled_free(struct cg_compiled *compiled) {
  assert_int_equal(dlclose(compiled->handle), 0);
}

void *cg_guarded_new(size_t size) {
  size_t whole = (size + GUARD_SIZE + 63) / 64 * 64;
  char *memory = aligned_alloc(64, whole);
  assert_non_null(memory);
  memset(memory + size, GUARD_BYTE, whole - size);
  return memory;
}

void cg_guarded_free(void *memory, size_t size) {
  const unsigned char *bytes = memory;
  size_t whole = (size + GUARD_SIZE + 63) / 64 * 64;
  for (size_t i = size; i < whole; i++)
    assert_int_equal(bytes[i], GUARD_BYTE);
  free(memory);
}
