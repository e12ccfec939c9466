#include "runtime/flags.h"

#include "runtime/nearest.h"
#include "runtime/team.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { ON, TEXT, COUNT, WHOLE };
enum { NAME = 32 };

struct option {
  const char *field;
  const char *argument;
  enum kind kind;
  const char *help;
  size_t offset;
};

#define OFFSET_ON(name) offsetof(struct dtr_flags, name)
#define OFFSET_TEXT(name) offsetof(struct dtr_flags, name)
#define OFFSET_COUNT(name) offsetof(struct dtr_flags, name)
#define OFFSET_WHOLE(name) offsetof(struct dtr_flags, name)
static const struct option options[] = {
#define X(name, argument, kind, help) {#name, argument, kind, help, OFFSET_##kind(name)},
#include "runtime/flags.def"
#undef X
};
enum { OPTIONS = sizeof options / sizeof *options };

/* checkpoint_dir -> checkpoint-dir */
static const char *flag_name(const struct option *option, char name[NAME]) {
  snprintf(name, NAME, "%s", option->field);
  for (char *c = name; *c; c++)
    if (*c == '_')
      *c = '-';
  return name;
}

static const struct option *find(const char *text, size_t length) {
  char name[NAME];
  for (int i = 0; i < OPTIONS; i++)
    if (strlen(flag_name(&options[i], name)) == length && memcmp(name, text, length) == 0)
      return &options[i];
  return NULL;
}

static bool unknown(const char *word, const char *name, size_t length, struct dtr_error *error) {
  char candidate[NAME];
  struct dtr_nearest nearest;
  dtr_nearest_begin(&nearest, name, length);
  for (int i = 0; i < OPTIONS; i++)
    dtr_nearest_try(&nearest, flag_name(&options[i], candidate));
  dtr_error_set(error, DTR_STATUS_USAGE, "unknown flag \"%s\"", word);
  if (nearest.best[0])
    return dtr_error_hint(error, "did you mean --%s?", nearest.best);
  return dtr_error_hint(error, "--help lists the flags");
}

static bool set_count(const char *name, const char *value, int lowest, int64_t *count,
                      struct dtr_error *error) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (end == value || *end || errno == ERANGE || number < lowest) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--%s takes a whole number from %d on, not \"%s\"", name,
                  lowest, value);
    return dtr_error_hint(error, "for example --%s 2", name);
  }
  *count = number;
  return true;
}

static bool twice(const char *name, struct dtr_error *error) {
  dtr_error_set(error, DTR_STATUS_USAGE, "--%s is given twice", name);
  return dtr_error_hint(error, "give it once");
}

/* `value`: NULL if there is none. */
static bool set(const struct option *option, const char *value, struct dtr_flags *flags,
                struct dtr_error *error) {
  char name[NAME];
  void *field = (char *)flags + option->offset;
  flag_name(option, name);
  if (option->kind == ON) {
    if (value) {
      dtr_error_set(error, DTR_STATUS_USAGE, "--%s takes no value", name);
      return dtr_error_hint(error, "write --%s alone, or leave it out", name);
    }
    if (*(bool *)field)
      return twice(name, error);
    *(bool *)field = true;
    return true;
  }
  if (!value || !*value)
    return dtr_error_set(error, DTR_STATUS_USAGE, "--%s needs a value: --%s %s", name, name,
                         option->argument);
  if (option->kind == COUNT || option->kind == WHOLE) {
    if (*(int64_t *)field != DTR_FLAG_UNSET)
      return twice(name, error);
    return set_count(name, value, option->kind == COUNT, field, error);
  }
  if (*(const char **)field)
    return twice(name, error);
  *(const char **)field = value;
  return true;
}

/* What --predict needs, and what it cannot be together with. */
static bool check_predict(const struct dtr_flags *flags, struct dtr_error *error) {
  const struct {
    bool given;
    const char *name;
  } others[] = {{flags->steps != DTR_FLAG_UNSET, "steps"},
                {flags->save, "save"},
                {flags->eval_only, "eval-only"},
                {flags->log, "log"},
                {flags->trace, "trace"},
                {flags->traffic, "traffic"},
                {flags->sim, "sim"}};
  if (!flags->predict && !flags->output)
    return true;
  if (!flags->predict) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--output needs --predict");
    return dtr_error_hint(error, "say what the outputs are of: --predict DATA");
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].given) {
      dtr_error_set(error, DTR_STATUS_USAGE, "--predict and --%s exclude each other",
                    others[i].name);
      return dtr_error_hint(error, "a prediction computes outputs and nothing else: leave --%s out",
                            others[i].name);
    }
  if (!flags->output) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--predict needs --output");
    return dtr_error_hint(error, "say where the outputs go: -o FILE.safetensors");
  }
  if (flags->init || flags->resume)
    return true;
  dtr_error_set(error, DTR_STATUS_USAGE, "--predict needs --init or --resume");
  return dtr_error_hint(error, "say where the parameters are: --init FILE, or --resume with "
                               "--checkpoint-dir DIR");
}

static bool check_together(const struct dtr_flags *flags, struct dtr_error *error) {
  if (flags->resume && !flags->checkpoint_dir) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--resume needs --checkpoint-dir");
    return dtr_error_hint(error, "say where the checkpoints are: --checkpoint-dir DIR");
  }
  if (flags->resume && flags->init) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--init and --resume exclude each other");
    return dtr_error_hint(error, "both say where the first values come from: use one");
  }
  if (flags->eval_only && flags->steps != DTR_FLAG_UNSET) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--eval-only and --steps exclude each other");
    return dtr_error_hint(error,
                          "an evaluation always takes the whole data set: leave --steps out");
  }
  if (flags->eval_only && flags->save) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--eval-only and --save exclude each other");
    return dtr_error_hint(error, "an evaluation makes nothing to save: leave --save out");
  }
  if (!check_predict(flags, error))
    return false;
  if (flags->task && flags->local) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--task and --local exclude each other");
    return dtr_error_hint(error, "one says that this process is one task, the other that it is all "
                                 "of them");
  }
  if (flags->threads > DTR_MAX_THREADS) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--threads %lld: at most %d", (long long)flags->threads,
                  DTR_MAX_THREADS);
    return dtr_error_hint(error, "leave it out to use as many as there are processors");
  }
  return true;
}

bool dtr_flags_parse(int argc, char **argv, struct dtr_flags *flags, struct dtr_error *error) {
  struct dtr_flags read = {.steps = DTR_FLAG_UNSET, .threads = DTR_FLAG_UNSET};
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (strcmp(word, "-h") == 0)
      word = "--help";
    if (strcmp(word, "-o") == 0)
      word = "--output";
    if (strncmp(word, "--", 2) != 0) {
      dtr_error_set(error, DTR_STATUS_USAGE, "\"%s\" is no flag", word);
      return dtr_error_hint(error, "flags begin with two dashes; --help lists them");
    }
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = find(name, length);
    if (!option)
      return unknown(word, name, length, error);
    const char *value = equals ? equals + 1 : NULL;
    /* What looks like a flag is no value, so that a forgotten one is noticed. */
    if (!equals && option->argument && i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0)
      value = argv[++i];
    if (!set(option, value, &read, error))
      return false;
  }
  if (!check_together(&read, error))
    return false;
  *flags = read;
  return true;
}

void dtr_flags_help(const struct dtr_program *program, FILE *stream) {
  fprintf(stream, "usage: %s [FLAGS]\nTrains the model of %s.\n\n", program->name,
          program->model_file);
  for (int i = 0; i < OPTIONS; i++) {
    char name[NAME], left[2 * NAME];
    const struct option *option = &options[i];
    snprintf(left, sizeof left, "--%s%s%s", flag_name(option, name), option->argument ? " " : "",
             option->argument ? option->argument : "");
    fprintf(stream, "  %-24s %s\n", left, option->help);
  }
  fprintf(stream, "\nexit status: 0 done, 1 failed, 2 wrong flags or configuration, 3 a task was "
                  "lost,\n4 refused by the others, 70 a bug\n");
}
