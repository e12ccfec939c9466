// The table of limits in the language reference has the numbers of the headers. Argument:
// REFERENCE.md.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compiler/base/ctx.h"
#include "compiler/build/build.h"
#include "compiler/cluster/cluster.h"
#include "compiler/ir/type.h"
#include "compiler/sema/sema.h"
#include "grammar/ast.h"
#include "grammar/lexer.h"
#include "runtime/include/dtr_abi.h"
#include "runtime/team.h"

static const char *reference_path;

static const struct limit {
  const char *what;
  int64_t value, unit;
  const char *unit_text;
} limits[] = {
    {"size of a file", DTG_SOURCE_MAX_SIZE, 1 << 20, " MiB"},
    {"length of a line", DTG_SOURCE_MAX_LINE, 1 << 20, " MiB"},
    {"files that a file imports, in all", DTG_IMPORT_MAX_FILES, 1, ""},
    {"imports inside one another", DTG_IMPORT_MAX_DEPTH, 1, ""},
    {"brackets inside one another", DTG_LEX_MAX_NESTING, 1, ""},
    {"operators, calls and so on inside one another", DTG_AST_MAX_DEPTH, 1, ""},
    {"calls and expressions inside one another while bodies run", DTG_BUILD_MAX_DEPTH, 1, ""},
    {"iterations of all loops of a graph", DTG_BUILD_MAX_ITERATIONS, 1, ""},
    {"nodes of a graph", DTG_BUILD_MAX_NODES, 1, ""},
    {"bytes of all values of a graph, and of all variables", DTG_BUILD_MAX_BYTES, (int64_t)1 << 50,
     " PiB"},
    {"axes of a tensor", DTG_MAX_RANK, 1, ""},
    {"axes of a data file, with that of the examples", DTR_MAX_RANK + 1, 1, ""},
    {"tasks of a cluster", DTG_CLUSTER_MAX_TASKS, 1, ""},
    {"devices of one kind in a task", DTG_CLUSTER_MAX_DEVICES, 1, ""},
    {"threads of a program", DTR_MAX_THREADS, 1, ""},
    {"errors shown in one run", DTG_DIAGS_MAX, 1, "; the rest are counted"},
};

static void test_limits(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  uint32_t file;
  dtg_ctx_init(&ctx);
  assert_true(dtg_source_load(&ctx.sources, &ctx.diags, reference_path, DTG_SPAN_NONE, &file));
  const char *text = dtg_source_get(&ctx.sources, file)->text;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    char row[256];
    assert_int_equal(limits[i].value % limits[i].unit, 0);
    snprintf(row, sizeof row, "\n| %s | %" PRId64 "%s |\n", limits[i].what,
             limits[i].value / limits[i].unit, limits[i].unit_text);
    if (!strstr(text, row))
      fail_msg("%s has no row:%s", reference_path, row);
  }
  dtg_ctx_free(&ctx);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s REFERENCE.md\n", argv[0]);
    return 2;
  }
  reference_path = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
