// dtgc diff: exact lines for plans that differ in one thing each, and for files that are no plan.
#include "compiler/tools/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

struct row {
  const char *a, *b;
  enum dtg_diff_result result;
  const char *out; // behind the two lines that name the files
  const char *why;
};

static void check(const struct row *row) {
  char folder[] = "/tmp/dtg_diff_XXXXXX";
  struct dtg_strbuf out = {0}, why = {0};
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  write_file("a.json", row->a);
  write_file("b.json", row->b);
  assert_int_equal(dtg_diff_files("a.json", "b.json", &out, &why), row->result);
  const char *head = "A: a.json\nB: b.json\n";
  const char *text = dtg_strbuf_text(&out);
  if (row->result != DTG_DIFF_UNREADABLE) {
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    text += strlen(head);
  }
  assert_string_equal(text, row->out);
  assert_string_equal(dtg_strbuf_text(&why), row->why);
  dtg_strbuf_free(&out);
  dtg_strbuf_free(&why);
  unlink("a.json");
  unlink("b.json");
  rmdir(folder);
}

static void differences(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"{\"schema\":1}", "{\"schema\":1}", DTG_DIFF_EQUAL, "0 differences\n", ""},
      {"{\"schema\":1,\"plan_id\":null}", "{\"schema\":1,\"plan_id\":\"ab\"}", DTG_DIFF_DIFFERENT,
       "plan_id: none -> ab\n1 difference\n", ""},
      // Rows are matched by what names them: an insertion is one line.
      {"{\"schema\":1,\"devices\":[{\"device\":\"x\",\"used\":true},{\"device\":\"z\"}]}",
       "{\"schema\":1,\"devices\":[{\"device\":\"w\"},{\"device\":\"z\"},{\"device\":\"x\","
       "\"used\":"
       "false}]}",
       DTG_DIFF_DIFFERENT, "devices[x].used: true -> false\ndevices[w]: only in B\n2 differences\n",
       ""},
      {"{\"schema\":1,\"variables\":[{\"path\":\"fc.w\",\"owner\":\"a\",\"bytes\":8}]}",
       "{\"schema\":1,\"variables\":[{\"path\":\"fc.w\",\"owner\":\"b\",\"bytes\":12}]}",
       DTG_DIFF_DIFFERENT,
       "variables[fc.w].owner: a -> b\nvariables[fc.w].bytes: 8 -> 12 (+4)\n2 differences\n", ""},
      // Slices of one variable are told apart by where they begin.
      {"{\"schema\":1,\"s\":[{\"variable\":\"w\",\"first\":0},{\"variable\":\"w\",\"first\":64}]}",
       "{\"schema\":1,\"s\":[{\"variable\":\"w\",\"first\":0},{\"variable\":\"w\",\"first\":32}]}",
       DTG_DIFF_DIFFERENT, "s[64]: only in A\ns[32]: only in B\n2 differences\n", ""},
      // Rows without a name of their own are compared by position.
      {"{\"schema\":1,\"k\":[{\"kernel\":\"f\",\"t\":1},{\"kernel\":\"f\",\"t\":2}]}",
       "{\"schema\":1,\"k\":[{\"kernel\":\"f\",\"t\":1},{\"kernel\":\"g\",\"t\":2}]}",
       DTG_DIFF_DIFFERENT, "k[1].kernel: f -> g\n1 difference\n", ""},
      {"{\"schema\":1,\"type\":{\"shape\":[2,3]}}", "{\"schema\":1,\"type\":{\"shape\":[2,4]}}",
       DTG_DIFF_DIFFERENT, "type.shape: [2,3] -> [2,4]\n1 difference\n", ""},
      {"{\"schema\":1,\"x\":3}", "{\"schema\":2}", DTG_DIFF_DIFFERENT,
       "schema: 1 -> 2 (+1)\nx: only in A: 3\n2 differences\n", ""},
      {"{\"schema\":1,\"x\":[1]}", "{\"schema\":1,\"x\":{}}", DTG_DIFF_DIFFERENT,
       "x: [1] -> {}\n1 difference\n", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    check(&rows[i]);
}

static void unreadable(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"{\"schema\":1}", "{\"schema\":1", DTG_DIFF_UNREADABLE, "",
       "dtgc: b.json:1:11: not valid JSON: '}' expected near end of file\n"},
      {"", "[]", DTG_DIFF_UNREADABLE, "",
       "dtgc: a.json:1:0: not valid JSON: '[' or '{' expected near end of file\n"
       "dtgc: b.json is no plan: it has no `schema`\n"
       "  hint: dtgc plan MODEL.dtg --format=json writes one\n"},
      {"{\"schema\":1,\"schema\":2}", "{\"schema\":1}", DTG_DIFF_UNREADABLE, "",
       "dtgc: a.json:1:20: not valid JSON: duplicate object key near '\"schema\"'\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    check(&rows[i]);
  struct dtg_strbuf out = {0}, why = {0};
  assert_int_equal(dtg_diff_files("/nowhere/a", "/nowhere", &out, &why), DTG_DIFF_UNREADABLE);
  assert_string_equal(dtg_strbuf_text(&why),
                      "dtgc: cannot read /nowhere/a: No such file or directory\n"
                      "dtgc: cannot read /nowhere: No such file or directory\n");
  dtg_strbuf_free(&out);
  dtg_strbuf_free(&why);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(differences), cmocka_unit_test(unreadable)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
