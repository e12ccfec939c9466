// dtgc: the command line. What it does is in pipeline.c, what it takes is in options.def.
#include "compiler/base/bug.h"
#include "compiler/inspect.h"
#include "compiler/ops/document.h"
#include "compiler/pipeline.h"
#include "compiler/run/processes.h"
#include "compiler/tools/diff.h"
#include "grammar/parse.h"
#include "grammar/print.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_INPUT = 1, EXIT_USAGE = 2 };

#ifdef __SANITIZE_ADDRESS__
// libconfig 1.5 leaks the text of a string that a syntax error cuts short.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libconfig.so\n";
}
#endif

static bool put(FILE *file, const struct dtg_strbuf *text) {
  fwrite(dtg_strbuf_text(text), 1, text->len, file);
  if (fflush(file) == 0 && !ferror(file))
    return true;
  fprintf(stderr, "dtgc: cannot write the output: %s\n", strerror(errno));
  return false;
}

static void put_diags(const struct dtg_ctx *ctx) {
  struct dtg_strbuf text = {0};
  dtg_diags_render(&ctx->diags, &text);
  fwrite(dtg_strbuf_text(&text), 1, text.len, stderr);
  dtg_strbuf_free(&text);
}

static bool show(struct dtg_pipeline *pipeline, enum dtg_stage stage) {
  struct dtg_strbuf text = {0};
  dtg_pipeline_dump(pipeline, stage, &text);
  bool good = put(stdout, &text);
  dtg_strbuf_free(&text);
  return good;
}

static bool put_inspection(struct dtg_pipeline *pipeline,
                           bool (*write)(struct dtg_pipeline *, struct dtg_strbuf *)) {
  struct dtg_strbuf text = {0};
  bool good = write(pipeline, &text);
  bool shown = put(stdout, &text);
  dtg_strbuf_free(&text);
  return good && shown;
}

static bool compile(struct dtg_pipeline *pipeline) {
  enum dtg_stage stage = pipeline->options->emit;
  if (!dtg_pipeline_run(pipeline, stage))
    return false;
  if (stage != DTG_STAGE_COUNT)
    return show(pipeline, stage);
  if (!pipeline->options->quiet && pipeline->options->command == DTG_COMMAND_COMPILE)
    printf("%s\n", dtg_pipeline_program(pipeline));
  return true;
}

static bool show_plan(struct dtg_pipeline *pipeline) {
  const struct dtg_options *options = pipeline->options;
  if (options->client || options->expand)
    return put_inspection(pipeline, dtg_inspect_task);
  enum dtg_stage stage = strcmp(options->format, "json") == 0  ? DTG_STAGE_JSON
                         : strcmp(options->format, "dot") == 0 ? DTG_STAGE_DOT
                                                               : DTG_STAGE_PLAN;
  return dtg_pipeline_run(pipeline, stage) && show(pipeline, stage);
}

static bool why(struct dtg_pipeline *pipeline) {
  return put_inspection(pipeline, dtg_inspect_why);
}

static bool compare(struct dtg_pipeline *pipeline) {
  return put_inspection(pipeline, dtg_inspect_compare);
}

static bool check(struct dtg_pipeline *pipeline) {
  return dtg_pipeline_run(pipeline, DTG_STAGE_PARTITION);
}

// The command line of the program, NULL at its end.
static const char **program_argv(struct dtg_pipeline *pipeline) {
  const struct dtg_options *options = pipeline->options;
  struct dtg_arena *arena = &pipeline->ctx->arena;
  const char **argv = DTG_NEW_ARRAY(arena, const char *, options->program_args.len + 2);
  argv[0] = dtg_pipeline_program(pipeline);
  if (!strchr(argv[0], '/'))
    argv[0] = dtg_arena_printf(arena, "./%s", argv[0]);
  for (size_t i = 0; i < options->program_args.len; i++)
    argv[i + 1] = options->program_args.data[i];
  return argv;
}

static void begin(struct dtg_pipeline *pipeline, struct dtg_ctx *ctx,
                  const struct dtg_options *options) {
  dtg_ctx_init(ctx);
  ctx->diags.errors_only = options->quiet;
  dtg_pipeline_init(pipeline, ctx, options);
}

static void end(struct dtg_pipeline *pipeline) {
  struct dtg_ctx *ctx = pipeline->ctx;
  put_diags(ctx);
  dtg_pipeline_free(pipeline);
  dtg_ctx_free(ctx);
}

static int with_pipeline(const struct dtg_options *options,
                         bool (*command)(struct dtg_pipeline *pipeline)) {
  struct dtg_ctx ctx;
  struct dtg_pipeline pipeline;
  begin(&pipeline, &ctx, options);
  bool good = command(&pipeline);
  end(&pipeline);
  return good ? EXIT_DONE : EXIT_INPUT;
}

// Becomes the program, so that signals and the exit status are its own.
static int become(const char *const *argv) {
  execv(argv[0], (char *const *)(uintptr_t)argv);
  fprintf(stderr, "dtgc: cannot start %s: %s\n", argv[0], strerror(errno));
  return EXIT_INPUT;
}

static int start(struct dtg_pipeline *pipeline) {
  const struct dtg_options *options = pipeline->options;
  const char **argv = program_argv(pipeline);
  struct dtg_run_input input = {
      .cluster = &pipeline->cluster, .argv = argv, .restarts = options->restart};
  if (options->processes && !dtg_run_check(pipeline->ctx, &input))
    return EXIT_INPUT;
  // What the compiler had to say comes before what the program says, and once.
  struct dtg_diags *diags = &pipeline->ctx->diags;
  bool errors_only = diags->errors_only;
  put_diags(pipeline->ctx);
  dtg_diags_free(diags);
  dtg_diags_init(diags, &pipeline->ctx->sources);
  diags->errors_only = errors_only;
  fflush(NULL);
  if (options->processes && !pipeline->replication->single)
    return dtg_run_processes(pipeline->ctx, &input);
  return become(argv);
}

static int run(const struct dtg_options *options) {
  struct dtg_ctx ctx;
  struct dtg_pipeline pipeline;
  begin(&pipeline, &ctx, options);
  int status = compile(&pipeline) ? start(&pipeline) : EXIT_INPUT;
  end(&pipeline);
  return status;
}

static bool load_for_format(struct dtg_ctx *ctx, const char *path, uint32_t *file) {
  if (strcmp(path, "-") != 0)
    return dtg_source_load(&ctx->sources, &ctx->diags, path, DTG_SPAN_NONE, file);
  struct dtg_strbuf text = {0};
  char bytes[65536];
  for (size_t count;
       text.len <= DTG_SOURCE_MAX_SIZE && (count = fread(bytes, 1, sizeof bytes, stdin)) > 0;)
    dtg_strbuf_write(&text, bytes, count);
  bool good =
      dtg_source_add(&ctx->sources, &ctx->diags, "<stdin>", dtg_strbuf_text(&text), text.len, file);
  dtg_strbuf_free(&text);
  return good;
}

// Written beside the file and renamed, so that a full disk loses nothing. A link stays one, and the
// file keeps its rights.
static bool replace_file(struct dtg_ctx *ctx, const char *path, const struct dtg_strbuf *text) {
  char target[PATH_MAX];
  struct stat info;
  if (!realpath(path, target) || stat(target, &info) != 0) {
    dtg_error(&ctx->diags, DTG_SPAN_NONE, "cannot write %s: %s", path, strerror(errno));
    return false;
  }
  const char *temporary = dtg_arena_printf(&ctx->arena, "%s.tmp%ld", target, (long)getpid());
  FILE *file = fopen(temporary, "wx");
  bool good = file && fchmod(fileno(file), info.st_mode & 07777) == 0 &&
              fwrite(dtg_strbuf_text(text), 1, text->len, file) == text->len;
  int problem = errno;
  if (file && fclose(file) != 0 && good) {
    good = false;
    problem = errno;
  }
  if (good && rename(temporary, target) != 0) {
    good = false;
    problem = errno;
  }
  if (good)
    return true;
  if (file)
    unlink(temporary);
  dtg_error(&ctx->diags, DTG_SPAN_NONE, "cannot write %s: %s", path, strerror(problem));
  return false;
}

static int format_file(const struct dtg_options *options, const char *path) {
  struct dtg_ctx ctx;
  struct dtg_strbuf text = {0};
  uint32_t file;
  int status = EXIT_INPUT;
  dtg_ctx_init(&ctx);
  if (load_for_format(&ctx, path, &file)) {
    struct dtg_ast_file *ast = dtg_parse(&ctx, file);
    const struct dtg_source *source = dtg_source_get(&ctx.sources, file);
    if (!dtg_diags_failed(&ctx.diags)) {
      dtg_ast_format(&ctx, ast, &text);
      bool same =
          text.len == source->size && memcmp(dtg_strbuf_text(&text), source->text, text.len) == 0;
      if (options->check)
        status = same ? EXIT_DONE : EXIT_INPUT;
      else if (strcmp(path, "-") == 0)
        status = put(stdout, &text) ? EXIT_DONE : EXIT_INPUT;
      else
        status = same || replace_file(&ctx, path, &text) ? EXIT_DONE : EXIT_INPUT;
      if (options->check && !same)
        printf("%s\n", path);
    }
  }
  put_diags(&ctx);
  dtg_strbuf_free(&text);
  dtg_ctx_free(&ctx);
  return status;
}

static int format_files(const struct dtg_options *options) {
  int status = EXIT_DONE;
  for (size_t i = 0; i < options->files.len; i++)
    if (format_file(options, options->files.data[i]) != EXIT_DONE)
      status = EXIT_INPUT;
  return status;
}

// As diff(1): 0 equal, 1 different, 2 trouble.
static int diff_files(const struct dtg_options *options) {
  struct dtg_strbuf text = {0}, trouble = {0};
  int status = (int)dtg_diff_files(options->files.data[0], options->files.data[1], &text, &trouble);
  fputs(dtg_strbuf_text(&trouble), stderr);
  if (!put(stdout, &text))
    status = EXIT_USAGE;
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&trouble);
  return status;
}

static int dispatch(const struct dtg_options *options) {
  switch (options->command) {
  case DTG_COMMAND_COMPILE:
    return with_pipeline(options, compile);
  case DTG_COMMAND_RUN:
    return run(options);
  case DTG_COMMAND_PLAN:
    return with_pipeline(options, show_plan);
  case DTG_COMMAND_COMPARE:
    return with_pipeline(options, compare);
  case DTG_COMMAND_WHY:
    return with_pipeline(options, why);
  case DTG_COMMAND_DIFF:
    return diff_files(options);
  case DTG_COMMAND_CHECK:
    return with_pipeline(options, check);
  case DTG_COMMAND_FMT:
    return format_files(options);
  case DTG_COMMAND_COUNT:
    break;
  }
  dtg_bug("command %d", (int)options->command);
}

static int show_text(void (*write)(struct dtg_strbuf *)) {
  struct dtg_strbuf text = {0};
  write(&text);
  bool good = put(stdout, &text);
  dtg_strbuf_free(&text);
  return good ? EXIT_DONE : EXIT_INPUT;
}

int main(int argc, char **argv) {
  struct dtg_arena arena = {0};
  struct dtg_strbuf why = {0};
  struct dtg_options options;
  int status = EXIT_USAGE;
  if (!dtg_options_parse(&arena, argc, argv, &options, &why))
    fputs(dtg_strbuf_text(&why), stderr);
  else if (options.help)
    status = show_text(dtg_options_help);
  else if (options.man)
    status = show_text(dtg_options_man);
  else if (options.list_ops)
    status = show_text(dtg_ops_document);
  else if (options.version)
    status = puts("dtgc " DTG_VERSION) < 0 ? EXIT_INPUT : EXIT_DONE;
  else
    status = dispatch(&options);
  dtg_strbuf_free(&why);
  dtg_arena_free(&arena);
  return status;
}
