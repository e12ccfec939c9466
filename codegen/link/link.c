#include "codegen/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#ifndef DTG_RUNTIME_LIBRARIES
#error "DTG_RUNTIME_LIBRARIES: what libdtgrt.a is linked with, as separate words"
#endif

static bool fail(struct dtg_ctx *ctx, const char *hint, const char *format, const char *what) {
  struct dtg_diag *diag = dtg_error(&ctx->diags, DTG_SPAN_NONE, format, what);
  if (hint)
    dtg_diag_hint(diag, "%s", hint);
  return false;
}

static bool write_all(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t count = write(fd, bytes, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    bytes += count;
    size -= (size_t)count;
  }
  return true;
}

static bool write_file(struct dtg_ctx *ctx, const char *path, const void *bytes, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = fd >= 0 && write_all(fd, bytes, size);
  int problem = errno;
  if (fd >= 0 && close(fd) != 0 && good) {
    good = false;
    problem = errno;
  }
  if (good)
    return true;
  struct dtg_diag *diag =
      dtg_error(&ctx->diags, DTG_SPAN_NONE, "cannot write %s: %s", path, strerror(problem));
  dtg_diag_hint(diag, "choose another output folder with -o");
  return false;
}

bool cg_link_folder(struct dtg_ctx *ctx, const char *folder) {
  struct stat info;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    const char *hint = errno == ENOENT ? "make the folder that it is to stand in first"
                                       : "choose another one with -o";
    struct dtg_diag *diag =
        dtg_error(&ctx->diags, DTG_SPAN_NONE, "cannot create the output folder %s: %s", folder,
                  strerror(errno));
    dtg_diag_hint(diag, "%s", hint);
    return false;
  }
  if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
    return true;
  return fail(ctx, "choose another one with -o", "the output folder %s is a file", folder);
}

struct argument_list {
  const char *words[64];
  size_t count;
};

static void add(struct argument_list *list, const char *word) {
  if (list->count + 1 < sizeof list->words / sizeof *list->words)
    list->words[list->count++] = word;
}

static void add_words(struct dtg_ctx *ctx, struct argument_list *list, const char *words) {
  while (*words) {
    size_t length = strcspn(words, " ");
    if (length)
      add(list, dtg_arena_strndup(&ctx->arena, words, length));
    words += length + (words[length] == ' ');
  }
}

// A C string literal for -D: the words reach cc without a shell.
static const char *source_dir_flag(struct dtg_ctx *ctx, const char *source_dir) {
  struct dtg_strbuf text = {0};
  dtg_strbuf_puts(&text, "-DDTR_SOURCE_DIR=\"");
  for (const char *p = source_dir; *p; p++) {
    if (*p == '"' || *p == '\\')
      dtg_strbuf_putc(&text, '\\');
    dtg_strbuf_putc(&text, *p);
  }
  dtg_strbuf_putc(&text, '"');
  const char *flag = dtg_arena_strdup(&ctx->arena, dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  return flag;
}

static const char *kernel_file(struct dtg_ctx *ctx, const struct cg_link_input *in) {
  return dtg_arena_printf(&ctx->arena, "%s/%s.kernels.o", in->folder, in->name);
}

static void read_log(int fd, struct dtg_strbuf *log) {
  char bytes[4096];
  ssize_t count = pread(fd, bytes, sizeof bytes, 0);
  if (count <= 0)
    return;
  dtg_strbuf_puts(log, ":\n");
  dtg_strbuf_write(log, bytes, (size_t)count - (bytes[count - 1] == '\n'));
}

static bool run_compiler(struct dtg_ctx *ctx, const char *folder,
                         const struct argument_list *list) {
  const char *compiler = list->words[0];
  FILE *log_file = tmpfile();
  if (!log_file)
    return fail(ctx, "is there room in /tmp?", "cannot make a temporary file%s", "");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder);
  posix_spawn_file_actions_adddup2(&actions, fileno(log_file), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(log_file), STDERR_FILENO);
  pid_t child;
  int problem = posix_spawnp(&child, compiler, &actions, NULL,
                             (char *const *)(uintptr_t)list->words, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (problem == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
      continue;
  bool good = problem == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (problem != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {
    fail(ctx, "install a C compiler (Debian: apt-get install gcc libc6-dev), or name one in CC",
         "the program needs a C compiler to be linked, and `%s` cannot be started", compiler);
  } else if (!good) {
    struct dtg_strbuf log = {0};
    dtg_strbuf_printf(&log, "`%s` failed", compiler);
    read_log(fileno(log_file), &log);
    fail(ctx, "the host source is in the output folder", "%s", dtg_strbuf_text(&log));
    dtg_strbuf_free(&log);
  }
  fclose(log_file);
  return good;
}

// The library has the functions of dtg_model.h and no other names, and uses its own.
static void add_library_words(struct dtg_ctx *ctx, struct argument_list *list,
                              const struct cg_link_input *in) {
  add_words(ctx, list, "-DDTR_LIBRARY -fPIC -shared -Wl,-Bsymbolic -Wl,-u,dtg_model_load");
  add(list, dtg_arena_printf(&ctx->arena, "-Wl,--version-script=%s/library.map", in->include_dir));
  add(list, dtg_arena_printf(&ctx->arena, "-Wl,-soname,lib%s.so", in->name));
}

static bool compile(struct dtg_ctx *ctx, const struct cg_link_input *in, bool library) {
  struct argument_list list = {0};
  const char *compiler = getenv("CC");
  add(&list, compiler && *compiler ? compiler : "cc");
  add_words(ctx, &list, "-std=gnu11 -O1 -pipe");
  if (library)
    add_library_words(ctx, &list, in);
  add(&list, dtg_arena_printf(&ctx->arena, "-I%s", in->include_dir));
  add(&list, source_dir_flag(ctx, in->source_dir));
  add_words(ctx, &list, "-Wl,--build-id=none -o");
  add(&list, dtg_arena_printf(&ctx->arena, library ? "./lib%s.so" : "./%s", in->name));
  add(&list, dtg_arena_printf(&ctx->arena, "./%s.c", in->name));
  if (in->object_size)
    add(&list, dtg_arena_printf(&ctx->arena, "./%s.kernels.o", in->name));
  add(&list, in->runtime);
  add_words(ctx, &list, DTG_RUNTIME_LIBRARIES);
  return run_compiler(ctx, in->folder, &list);
}

bool cg_link(struct dtg_ctx *ctx, const struct cg_link_input *in) {
  const struct {
    const char *suffix, *text;
  } files[] = {{".c", in->host_text}, {".ll", in->llvm_text}, {".plan.json", in->plan_json}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const char *path =
        dtg_arena_printf(&ctx->arena, "%s/%s%s", in->folder, in->name, files[i].suffix);
    if (!write_file(ctx, path, files[i].text, strlen(files[i].text)))
      return false;
  }
  const char *kernels = kernel_file(ctx, in);
  if (in->object_size && !write_file(ctx, kernels, in->object, in->object_size))
    return false;
  return compile(ctx, in, false) && (!in->library || compile(ctx, in, true));
}
