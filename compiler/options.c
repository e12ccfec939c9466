#include "compiler/options.h"

#include "compiler/base/diag.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
  OPTION_TEXT,
  OPTION_LIST,
  OPTION_LEVEL,
  OPTION_STAGE,
  OPTION_COUNT,
  OPTION_FLAG
};

struct option_row {
  enum option_kind kind;
  size_t offset; // of the field in struct dtg_options
  const char *name;
  char letter;
  const char *argument;
  const char *commands;
  const char *help;
};

static const struct option_row option_rows[] = {
#define OPTION(kind, field, name, letter, argument, commands, help) \
  {OPTION_##kind, offsetof(struct dtg_options, field), name, letter, argument, commands, help},
#include "compiler/options.def"
#undef OPTION
};
enum { OPTION_ROWS = sizeof option_rows / sizeof *option_rows };

struct command_row {
  const char *name;
  char letter;
  const char *arguments;
  const char *help;
};

static const struct command_row command_rows[] = {
#define COMMAND(id, name, letter, arguments, help) {name, letter, arguments, help},
#include "compiler/commands.def"
#undef COMMAND
};

struct stage_row {
  const char *name;
  const char *help;
};

static const struct stage_row stage_rows[] = {
#define STAGE(id, name, help) {name, help},
#include "compiler/stages.def"
#undef STAGE
};

const char *dtg_stage_name(enum dtg_stage stage) {
  return stage_rows[stage].name;
}
const char *dtg_command_name(enum dtg_command command) {
  return command_rows[command].name;
}

struct parser {
  struct dtg_arena *arena;
  struct dtg_options *out;
  struct dtg_strbuf *why;
  int argc;
  char **argv;
  int at; // next argument
};

static bool fail(struct parser *p, const char *hint) {
  if (hint)
    dtg_strbuf_printf(p->why, "  hint: %s\n", hint);
  return false;
}

static bool parse_stage(struct parser *p, const char *value, enum dtg_stage *out) {
  const char *names[DTG_STAGE_COUNT];
  for (int i = 0; i < DTG_STAGE_COUNT; i++) {
    names[i] = stage_rows[i].name;
    if (strcmp(value, names[i]) == 0) {
      *out = (enum dtg_stage)i;
      return true;
    }
  }
  dtg_strbuf_printf(p->why, "dtgc: unknown stage `%s` for --emit\n", value);
  const char *near = dtg_suggest(value, names, DTG_STAGE_COUNT);
  if (near)
    return fail(p, dtg_arena_printf(p->arena, "did you mean `%s`?", near));
  return fail(p, "dtgc --help lists the stages");
}

static bool parse_count(struct parser *p, const char *name, const char *value, int64_t *out) {
  char *end;
  errno = 0;
  long long count = strtoll(value, &end, 10);
  if (value[0] >= '0' && value[0] <= '9' && !*end && errno == 0) {
    *out = count;
    return true;
  }
  dtg_strbuf_printf(p->why, "dtgc: `%s` is no count for --%s\n", value, name);
  return fail(p, dtg_arena_printf(p->arena, "a count is a number from 0, such as `--%s 3`", name));
}

static bool store(struct parser *p, const struct option_row *row, const char *value) {
  char *field = (char *)p->out + row->offset;
  switch (row->kind) {
  case OPTION_TEXT:
    *(const char **)field = value;
    return true;
  case OPTION_LIST: {
    // Both lists have the type of `defines`.
    __typeof__(p->out->defines) *list = (void *)field;
    dtg_vec_push(p->arena, list, value);
    return true;
  }
  case OPTION_LEVEL:
    if (strlen(value) == 1 && value[0] >= '0' && value[0] <= '3') {
      *(int *)field = value[0] - '0';
      return true;
    }
    dtg_strbuf_printf(p->why, "dtgc: `-O%s` is no level\n", value);
    return fail(p, "levels are -O0, -O1, -O2 and -O3");
  case OPTION_STAGE:
    return parse_stage(p, value, (enum dtg_stage *)(void *)field);
  case OPTION_COUNT:
    return parse_count(p, row->name, value, (int64_t *)(void *)field);
  case OPTION_FLAG:
    *(bool *)field = true;
    return true;
  }
  return false;
}

static const struct option_row *find_long(const char *name, size_t length) {
  for (int i = 0; i < OPTION_ROWS; i++)
    if (strlen(option_rows[i].name) == length && memcmp(option_rows[i].name, name, length) == 0)
      return &option_rows[i];
  return NULL;
}

static const struct option_row *find_short(char letter) {
  for (int i = 0; i < OPTION_ROWS; i++)
    if (letter && option_rows[i].letter == letter)
      return &option_rows[i];
  return NULL;
}

static bool unknown_option(struct parser *p, const char *argument) {
  const char *names[OPTION_ROWS];
  for (int i = 0; i < OPTION_ROWS; i++)
    names[i] = dtg_arena_printf(p->arena, "--%s", option_rows[i].name);
  size_t length = strcspn(argument, "=");
  char *name = dtg_arena_strndup(p->arena, argument, length);
  dtg_strbuf_printf(p->why, "dtgc: unknown option `%s`\n", name);
  const char *near = dtg_suggest(name, names, OPTION_ROWS);
  if (near)
    return fail(p, dtg_arena_printf(p->arena, "did you mean `%s`?", near));
  return fail(p, "dtgc --help lists the options; flags of the program stand after `--`");
}

static bool take_value(struct parser *p, const struct option_row *row, const char *attached,
                       const char *shown) {
  if (!row->argument && attached) {
    dtg_strbuf_printf(p->why, "dtgc: `%s` takes no value\n", shown);
    return false;
  }
  const char *value = attached;
  if (row->argument && !value) {
    if (p->at >= p->argc) {
      dtg_strbuf_printf(p->why, "dtgc: `%s` needs a value: %s\n", shown, row->argument);
      return false;
    }
    value = p->argv[p->at++];
  }
  return store(p, row, value);
}

static bool parse_option(struct parser *p, const char *argument) {
  if (argument[1] == '-') {
    size_t length = strcspn(argument + 2, "=");
    const struct option_row *row = find_long(argument + 2, length);
    if (!row)
      return unknown_option(p, argument);
    const char *equals = argument[2 + length] == '=' ? argument + 3 + length : NULL;
    return take_value(p, row, equals, dtg_arena_printf(p->arena, "--%s", row->name));
  }
  const struct option_row *row = find_short(argument[1]);
  if (!row)
    return unknown_option(p, argument);
  return take_value(p, row, argument[2] ? argument + 2 : NULL,
                    dtg_arena_printf(p->arena, "-%c", row->letter));
}

static bool is_command(const char *word, enum dtg_command *out) {
  for (int i = 1; i < DTG_COMMAND_COUNT; i++)
    if (strcmp(word, command_rows[i].name) == 0) {
      *out = (enum dtg_command)i;
      return true;
    }
  return false;
}

// Every option that was given must belong to the command.
static bool check_commands(struct parser *p, const struct option_row *const *given, size_t count) {
  char letter = command_rows[p->out->command].letter;
  for (size_t i = 0; i < count; i++) {
    if (given[i]->commands[0] == '*' || strchr(given[i]->commands, letter))
      continue;
    const char *name = command_rows[p->out->command].name;
    dtg_strbuf_printf(p->why, "dtgc: `--%s` has no meaning for `dtgc%s%s`\n", given[i]->name,
                      *name ? " " : "", name);
    return false;
  }
  return true;
}

// Commands that take something else than one model file.
static size_t wanted_files(enum dtg_command command) {
  return command == DTG_COMMAND_WHY || command == DTG_COMMAND_DIFF ? 2 : 1;
}

static bool missing_file(struct parser *p) {
  const struct dtg_options *out = p->out;
  if (out->command == DTG_COMMAND_WHY && out->files.len == 1) {
    dtg_strbuf_puts(p->why, "dtgc: no name is given to ask about\n");
    return fail(p, "dtgc why MODEL.dtg NAME, such as `fc1.w` or `worker/1`");
  }
  if (out->command == DTG_COMMAND_DIFF) {
    dtg_strbuf_puts(p->why, "dtgc: two plans are needed to find a difference\n");
    return fail(p, "dtgc diff A.json B.json; dtgc plan MODEL.dtg --format=json writes one");
  }
  dtg_strbuf_puts(p->why, "dtgc: no model file is given\n");
  return fail(p, "dtgc MODEL.dtg compiles a model; dtgc --help shows more");
}

// Two words of which the first is no path: a command that does not exist.
static bool unknown_command(struct parser *p, const char *word) {
  const char *names[DTG_COMMAND_COUNT] = {NULL};
  for (int i = 1; i < DTG_COMMAND_COUNT; i++)
    names[i] = command_rows[i].name;
  dtg_strbuf_printf(p->why, "dtgc: unknown command `%s`\n", word);
  const char *near = dtg_suggest(word, names, DTG_COMMAND_COUNT);
  if (near)
    return fail(p, dtg_arena_printf(p->arena, "did you mean `%s`?", near));
  return fail(p, "dtgc --help lists the commands");
}

static bool check_files(struct parser *p) {
  struct dtg_options *out = p->out;
  size_t wanted = wanted_files(out->command);
  if (out->help || out->version || out->man || out->list_ops)
    return true;
  if (out->files.len < wanted)
    return missing_file(p);
  if (out->files.len > 1 && out->command == DTG_COMMAND_COMPILE &&
      !strpbrk(out->files.data[0], "./"))
    return unknown_command(p, out->files.data[0]);
  if (out->files.len > wanted && out->command != DTG_COMMAND_FMT) {
    dtg_strbuf_printf(p->why,
                      wanted == 1 ? "dtgc: one model file at a time, but `%s` is given too\n"
                                  : "dtgc: `%s` is one file or name too many\n",
                      out->files.data[wanted]);
    return fail(p, wanted == 1 ? "flags of the program stand after `--`" : NULL);
  }
  out->model = out->files.data[0];
  if (out->command == DTG_COMMAND_WHY)
    out->name = out->files.data[1];
  return true;
}

static bool check_format(struct parser *p) {
  static const char *const forms[] = {"text", "json", "dot"};
  const struct dtg_options *out = p->out;
  if (out->list_ops && strcmp(out->list_ops, "md") != 0) {
    dtg_strbuf_printf(p->why, "dtgc: unknown form `%s` for --list-ops\n", out->list_ops);
    return fail(p, "the form is md");
  }
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (strcmp(out->format, forms[i]) == 0) {
      if ((!out->client && !out->expand) || i == 0)
        return true;
      dtg_strbuf_printf(p->why, "dtgc: `--%s` has no form `%s`\n",
                        out->client ? "client" : "expand", out->format);
      return fail(p, "leave `--format` out");
    }
  dtg_strbuf_printf(p->why, "dtgc: unknown form `%s`\n", out->format);
  return fail(p, "forms are text, json and dot");
}

bool dtg_options_parse(struct dtg_arena *arena, int argc, char **argv, struct dtg_options *out,
                       struct dtg_strbuf *why) {
  struct dtg_options options = {.level = 2, .emit = DTG_STAGE_COUNT, .format = "text"};
  struct parser p = {arena, &options, why, argc, argv, 1};
  DTG_VEC(const struct option_row *) given = {0};
  bool first = true;
  while (p.at < argc) {
    const char *argument = argv[p.at++];
    if (strcmp(argument, "--") == 0) {
      while (p.at < argc)
        dtg_vec_push(arena, &options.program_args, argv[p.at++]);
    } else if (argument[0] == '-' && argument[1]) {
      size_t length = argument[1] == '-' ? strcspn(argument + 2, "=") : 0;
      const struct option_row *row =
          length ? find_long(argument + 2, length) : find_short(argument[1]);
      if (!parse_option(&p, argument))
        return false;
      dtg_vec_push(arena, &given, row);
    } else if (!first || !is_command(argument, &options.command)) {
      dtg_vec_push(arena, &options.files, argument);
      first = false;
    } else {
      first = false;
    }
  }
  if (options.program_args.len && options.command != DTG_COMMAND_RUN) {
    dtg_strbuf_puts(why,
                    "dtgc: flags after `--` go to the program, which only `dtgc run` starts\n");
    return false;
  }
  if (options.restart > 0 && !options.processes) {
    dtg_strbuf_puts(why, "dtgc: --restart is for tasks that --processes starts\n");
    return fail(&p, "give --processes too");
  }
  if (!check_commands(&p, given.data, given.len) || !check_files(&p) || !check_format(&p))
    return false;
  *out = options;
  return true;
}

// Writes `text` broken at blanks to lines of at most `width`, indented.
static void put_wrapped(struct dtg_strbuf *out, const char *text, size_t indent, size_t column,
                        size_t width) {
  while (*text) {
    size_t length = strcspn(text, " ");
    if (column + 1 + length > width && column > indent) {
      dtg_strbuf_putc(out, '\n');
      dtg_strbuf_repeat(out, ' ', indent);
      column = indent;
    } else if (column > indent) {
      dtg_strbuf_putc(out, ' ');
      column++;
    }
    dtg_strbuf_write(out, text, length);
    column += length;
    text += length;
    text += strspn(text, " ");
  }
  dtg_strbuf_putc(out, '\n');
}

static void put_item(struct dtg_strbuf *out, const char *left, const char *right) {
  enum { COLUMN = 26, WIDTH = 98 };
  dtg_strbuf_printf(out, "  %-*s", COLUMN - 3, left);
  if (strlen(left) > COLUMN - 4) {
    dtg_strbuf_putc(out, '\n');
    dtg_strbuf_repeat(out, ' ', COLUMN - 1);
  }
  put_wrapped(out, right, COLUMN - 1, COLUMN - 1, WIDTH);
}

static const char *command_line(struct dtg_arena *arena, const struct command_row *row) {
  return dtg_arena_printf(arena, "dtgc %s%s%s", row->name, *row->name ? " " : "", row->arguments);
}

static const char *option_line(struct dtg_arena *arena, const struct option_row *row) {
  return dtg_arena_printf(arena, "%s--%s%s%s",
                          row->letter ? dtg_arena_printf(arena, "-%c, ", row->letter) : "",
                          row->name, row->argument ? "=" : "", row->argument ? row->argument : "");
}

void dtg_options_help(struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  dtg_strbuf_puts(out,
                  "dtgc " DTG_VERSION ": compiles .dtg models with replication strategies\n\n");
  dtg_strbuf_puts(out, "Commands:\n");
  for (int i = 0; i < DTG_COMMAND_COUNT; i++)
    put_item(out, command_line(&arena, &command_rows[i]), command_rows[i].help);
  dtg_strbuf_puts(out, "\nOptions:\n");
  for (int i = 0; i < OPTION_ROWS; i++)
    put_item(out, option_line(&arena, &option_rows[i]), option_rows[i].help);
  dtg_strbuf_puts(out, "\nStages for --emit:\n");
  for (int i = 0; i < DTG_STAGE_COUNT; i++)
    put_item(out, stage_rows[i].name, stage_rows[i].help);
  dtg_strbuf_puts(out, "\nExit status: 0 done, 1 the input is wrong, 2 usage, 70 a bug in dtgc.\n");
  dtg_arena_free(&arena);
}

// ---- the manual page ----

// Text for roff: minus signs instead of hyphens, and the quotes that roff would turn.
static void put_roff(struct dtg_strbuf *out, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '-':
      dtg_strbuf_puts(out, "\\-");
      break;
    case '\\':
      dtg_strbuf_puts(out, "\\e");
      break;
    case '`':
      dtg_strbuf_puts(out, "\\(ga");
      break;
    case '\'':
      dtg_strbuf_puts(out, "\\(aq");
      break;
    default:
      dtg_strbuf_putc(out, *text);
    }
  }
}

// A sentence of what is a fragment in the tables.
static void put_roff_sentence(struct dtg_strbuf *out, const char *text) {
  static const char *const lower = "abcdefghijklmnopqrstuvwxyz";
  if (*text && strchr(lower, *text))
    dtg_strbuf_putc(out, (char)(*text++ - 'a' + 'A'));
  put_roff(out, text);
  dtg_strbuf_puts(out, ".\n");
}

static void put_roff_item(struct dtg_strbuf *out, const char *term, const char *text) {
  dtg_strbuf_puts(out, ".TP\n.B ");
  put_roff(out, term);
  dtg_strbuf_putc(out, '\n');
  put_roff_sentence(out, text);
}

// "dtgc run [OPTIONS] MODEL.dtg [-- PROGRAM FLAGS]"
static void put_synopsis(struct dtg_strbuf *out) {
  for (int i = 0; i < DTG_COMMAND_COUNT; i++) {
    dtg_strbuf_printf(out, "%s.B dtgc", i > 0 ? ".br\n" : "");
    if (*command_rows[i].name)
      dtg_strbuf_printf(out, " %s", command_rows[i].name);
    dtg_strbuf_puts(out, "\n[OPTIONS] ");
    put_roff(out, command_rows[i].arguments);
    dtg_strbuf_putc(out, '\n');
  }
}

static void put_commands(struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  dtg_strbuf_puts(out, ".SH COMMANDS\n");
  for (int i = 0; i < DTG_COMMAND_COUNT; i++)
    put_roff_item(out, command_line(&arena, &command_rows[i]), command_rows[i].help);
  dtg_strbuf_puts(out, ".SH OPTIONS\n"
                       "A value may stand behind the option as an argument of its own, or behind\n"
                       "the equals sign, or right behind the letter.\n");
  for (int i = 0; i < OPTION_ROWS; i++)
    put_roff_item(out, option_line(&arena, &option_rows[i]), option_rows[i].help);
  dtg_strbuf_puts(out, ".SH STAGES\n"
                       "The values of\n.BR \\-\\-emit ,\nin the order of the data flow:\n");
  for (int i = 0; i < DTG_STAGE_COUNT; i++)
    put_roff_item(out, stage_rows[i].name, stage_rows[i].help);
  dtg_arena_free(&arena);
}

void dtg_options_man(struct dtg_strbuf *out) {
  dtg_strbuf_puts(out, ".TH DTGC 1 \"\" \"dtgc " DTG_VERSION "\" \"User Commands\"\n"
                       ".SH NAME\n"
                       "dtgc \\- compile neural network models with replication strategies\n"
                       ".SH SYNOPSIS\n");
  put_synopsis(out);
  dtg_strbuf_puts(out,
                  ".SH DESCRIPTION\n"
                  "A file that ends in .dtg declares a model, its data, its training and its\n"
                  "replication strategies.\n"
                  ".B dtgc\n"
                  "checks it, differentiates and fuses it, and writes a program that trains it.\n"
                  "The output folder holds the program, its C source, its kernels as LLVM IR and\n"
                  "the plan as JSON. The strategy never changes the result.\n"
                  ".PP\n"
                  "The program has flags of its own:\n"
                  ".I PROGRAM\n"
                  ".B \\-\\-help\n"
                  "lists them. With\n"
                  ".B dtgc run\n"
                  "they stand behind\n"
                  ".BR \\-\\- .\n");
  put_commands(out);
  dtg_strbuf_puts(
      out,
      ".SH EXIT STATUS\n"
      ".TP\n.B 0\nDone.\n"
      ".TP\n.B 1\nThe input is wrong; the messages say where, why and what to do.\n"
      ".TP\n.B 2\nThe command line is wrong.\n"
      ".TP\n.B 70\nA bug in dtgc.\n"
      ".PP\n"
      "With\n"
      ".B dtgc run\n"
      "the program takes the place of dtgc, and the exit status is its own.\n"
      ".SH ENVIRONMENT\n"
      ".TP\n.B DTG_HOME\n"
      "The folder that holds share/dtg and lib; by default the one above the folder of dtgc.\n"
      ".TP\n.B DTG_DATA_PATH\n"
      "Folders, separated by colons, in which programs look for data files.\n"
      ".SH FILES\n"
      ".TP\n.I share/dtg/std\nThe standard library.\n"
      ".TP\n.I share/dtg/include, lib/libdtgrt.a\nWhat programs are compiled and linked with.\n"
      ".TP\n.I MODEL.dtg.out\nThe output folder, in the current folder.\n");
}
