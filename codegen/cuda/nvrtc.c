#include "codegen/cuda/nvrtc.h"

#include "compiler/base/strbuf.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *program_handle;

// The entry points that are used: X(field, symbol, parameters). All return 0 for success.
#define ENTRIES(X)                                                               \
  X(version, "nvrtcVersion", (int *major, int *minor))                           \
  X(arch_count, "nvrtcGetNumSupportedArchs", (int *count))                       \
  X(archs, "nvrtcGetSupportedArchs", (int *archs))                               \
  X(create, "nvrtcCreateProgram",                                                \
    (program_handle * program, const char *text, const char *name, int headers,  \
     const char *const *contents, const char *const *names))                     \
  X(destroy, "nvrtcDestroyProgram", (program_handle * program))                  \
  X(compile, "nvrtcCompileProgram",                                              \
    (program_handle program, int count, const char *const *options))             \
  X(log_size, "nvrtcGetProgramLogSize", (program_handle program, size_t * size)) \
  X(log, "nvrtcGetProgramLog", (program_handle program, char *text))             \
  X(ptx_size, "nvrtcGetPTXSize", (program_handle program, size_t * size))        \
  X(ptx, "nvrtcGetPTX", (program_handle program, char *text))                    \
  X(cubin_size, "nvrtcGetCUBINSize", (program_handle program, size_t * size))    \
  X(cubin, "nvrtcGetCUBIN", (program_handle program, char *code))

struct cg_nvrtc {
  void *handle;
#define FIELD(field, symbol, parameters) int(*field) parameters;
  ENTRIES(FIELD)
#undef FIELD
};

// By the loader's own search, then where the toolkit is installed.
static const char *const places[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                     "/usr/local/cuda/lib64/libnvrtc.so",
                                     "/usr/lib/x86_64-linux-gnu/libnvrtc.so"};
enum { PLACES = sizeof places / sizeof *places };

static void *load(void) {
  const char *given = getenv("DTG_NVRTC");
  if (given && *given)
    return dlopen(given, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  for (int i = 0; i < PLACES; i++) {
    void *handle = dlopen(places[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle)
      return handle;
  }
  return NULL;
}

static void explain_missing(struct dtg_strbuf *why) {
  const char *given = getenv("DTG_NVRTC");
  dtg_strbuf_puts(why, "NVRTC, which compiles GPU kernels, was not found; searched: ");
  if (given && *given)
    dtg_strbuf_printf(why, "%s (DTG_NVRTC)", given);
  for (int i = 0; i < PLACES && !(given && *given); i++)
    dtg_strbuf_printf(why, "%s%s", i > 0 ? ", " : "", places[i]);
}

static bool resolve(struct cg_nvrtc *library, struct dtg_strbuf *why) {
#define RESOLVE(field, symbol, parameters)                                              \
  *(void **)&library->field = dlsym(library->handle, symbol);                           \
  if (!library->field) {                                                                \
    dtg_strbuf_printf(why, "the NVRTC that was found is too old: it lacks %s", symbol); \
    return false;                                                                       \
  }
  ENTRIES(RESOLVE)
#undef RESOLVE
  return true;
}

bool cg_nvrtc_open(struct cg_nvrtc **library, struct dtg_strbuf *why) {
  void *handle = load();
  if (!handle) {
    explain_missing(why);
    return false;
  }
  struct cg_nvrtc *made = calloc(1, sizeof *made);
  if (!made) {
    dlclose(handle);
    dtg_strbuf_puts(why, "out of memory");
    return false;
  }
  made->handle = handle;
  if (!resolve(made, why)) {
    cg_nvrtc_close(made);
    return false;
  }
  *library = made;
  return true;
}

void cg_nvrtc_close(struct cg_nvrtc *library) {
  if (!library)
    return;
  dlclose(library->handle);
  free(library);
}

const char *cg_nvrtc_version(struct dtg_arena *arena, const struct cg_nvrtc *library) {
  int major = 0, minor = 0;
  library->version(&major, &minor);
  return dtg_arena_printf(arena, "%d.%d", major, minor);
}

size_t cg_nvrtc_archs(struct dtg_arena *arena, const struct cg_nvrtc *library, const int **archs) {
  int count = 0;
  if (library->arch_count(&count) != 0 || count <= 0)
    return 0;
  int *numbers = DTG_NEW_ARRAY(arena, int, (size_t)count);
  if (library->archs(numbers) != 0)
    return 0;
  *archs = numbers;
  return (size_t)count;
}

// "sm_90a" is 90 with a suffix.
static int arch_number(const char *arch) {
  const char *underscore = strchr(arch, '_');
  return underscore ? atoi(underscore + 1) : 0;
}

bool cg_nvrtc_knows(const struct cg_nvrtc *library, const char *arch, struct dtg_strbuf *known) {
  struct dtg_arena scratch;
  const int *archs = NULL;
  bool found = false;
  dtg_arena_init(&scratch);
  size_t count = cg_nvrtc_archs(&scratch, library, &archs);
  for (size_t i = 0; i < count; i++)
    found = found || archs[i] == arch_number(arch);
  for (size_t i = 0; i < count && !found; i++)
    dtg_strbuf_printf(known, "%ssm_%d", i > 0 ? ", " : "", archs[i]);
  dtg_arena_free(&scratch);
  return found;
}

static const char *read_log(const struct cg_nvrtc *library, struct dtg_arena *arena,
                            program_handle program) {
  size_t size = 0;
  if (library->log_size(program, &size) != 0 || size <= 1)
    return "";
  char *text = DTG_NEW_ARRAY(arena, char, size + 1);
  return library->log(program, text) == 0 ? text : "";
}

static bool read_code(const struct cg_nvrtc *library, struct dtg_arena *arena,
                      program_handle program, bool is_ptx, struct cg_nvrtc_output *output) {
  size_t size = 0;
  if ((is_ptx ? library->ptx_size : library->cubin_size)(program, &size) != 0 || size == 0)
    return false;
  char *code = DTG_NEW_ARRAY(arena, char, size);
  if ((is_ptx ? library->ptx : library->cubin)(program, code) != 0)
    return false;
  output->code = code;
  output->size = is_ptx ? size - 1 : size;
  return true;
}

bool cg_nvrtc_compile(const struct cg_nvrtc *library, struct dtg_arena *arena,
                      const struct cg_nvrtc_input *input, struct cg_nvrtc_output *output,
                      struct dtg_strbuf *why) {
  // No contraction: kernel IR says where a product and a sum are rounded once.
  const char *options[] = {dtg_arena_printf(arena, "--gpu-architecture=%s", input->arch),
                           "--fmad=false", "--std=c++17", "--ptxas-options=--verbose"};
  bool is_ptx = strncmp(input->arch, "compute_", 8) == 0;
  int count = is_ptx ? 3 : 4;
  program_handle program = NULL;
  *output = (struct cg_nvrtc_output){.log = ""};
  if (library->create(&program, input->text, input->name, 0, NULL, NULL) != 0) {
    dtg_strbuf_puts(why, "NVRTC cannot make a program");
    return false;
  }
  bool good = library->compile(program, count, options) == 0;
  output->log = read_log(library, arena, program);
  good = good && read_code(library, arena, program, is_ptx, output);
  if (!good)
    dtg_strbuf_printf(why, "NVRTC refuses %s for %s: %s", input->name, input->arch, output->log);
  library->destroy(&program);
  return good;
}
