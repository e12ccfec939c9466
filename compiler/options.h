// The command line of dtgc.
//
// Purpose: one table (options.def, commands.def, stages.def) feeds the parser, the help and the man
// page. Ownership: texts point into argv; lists live in the arena. Thread rule: none, plain values.
#ifndef DTG_OPTIONS_H
#define DTG_OPTIONS_H

#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"
#include "compiler/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define DTG_VERSION "0.1.0"

enum dtg_command {
#define COMMAND(id, name, letter, arguments, help) DTG_COMMAND_##id,
#include "compiler/commands.def"
#undef COMMAND
  DTG_COMMAND_COUNT
};

enum dtg_stage {
#define STAGE(id, name, help) DTG_STAGE_##id,
#include "compiler/stages.def"
#undef STAGE
  DTG_STAGE_COUNT // nothing to emit: build the program
};

struct dtg_options {
  enum dtg_command command;
  const char *model; // first file
  const char *name;  // why: what is asked about
  DTG_VEC(const char *) files;
  DTG_VEC(const char *) program_args; // after `--`
  const char *cluster, *strategy, *output, *format, *client, *expand, *list_ops;
  DTG_VEC(const char *) defines;
  DTG_VEC(const char *) includes;
  int level;
  enum dtg_stage emit;
  int64_t restart;
  bool processes, library, check, quiet, help, version, man;
  bool unfused; // one kernel an op; not on the command line: the tests compare its results
};

const char *dtg_stage_name(enum dtg_stage stage);
const char *dtg_command_name(enum dtg_command command);

// False with one message of several lines in `why` (usage error: exit 2).
bool dtg_options_parse(struct dtg_arena *arena, int argc, char **argv, struct dtg_options *out,
                       struct dtg_strbuf *why);
void dtg_options_help(struct dtg_strbuf *out);
// The manual page dtgc(1) in man(7) form.
void dtg_options_man(struct dtg_strbuf *out);

#endif
