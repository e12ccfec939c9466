/* Flags of built programs: every error names the flag and says what to do. */
#include "runtime/cpu.h"
#include "runtime/flags.h"
#include "runtime/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 10 };

static bool parse(const char *const *words, struct dtr_flags *flags, struct dtr_error *error) {
  char *argv[WORDS + 1] = {(char *)"program"};
  int argc = 1;
  while (argc <= WORDS && words[argc - 1]) {
    argv[argc] = (char *)words[argc - 1];
    argc++;
  }
  dtr_error_clear(error);
  return dtr_flags_parse(argc, argv, flags, error);
}

static void nothing_is_set_by_default(void **state) {
  (void)state;
  struct dtr_flags flags;
  struct dtr_error error;
  assert_true(parse((const char *[]){NULL}, &flags, &error));
  assert_int_equal(flags.steps, DTR_FLAG_UNSET);
  assert_int_equal(flags.threads, DTR_FLAG_UNSET);
  assert_null(flags.save);
  assert_false(flags.quiet || flags.resume || flags.eval_only || flags.help);
}

static void values_follow_or_are_joined(void **state) {
  (void)state;
  struct dtr_flags flags;
  struct dtr_error error;
  assert_true(parse((const char *[]){"--steps", "100", "--save=out.safetensors", "--quiet",
                                     "--checkpoint-dir=c", "--resume", "--log", "-", NULL},
                    &flags, &error));
  assert_int_equal(flags.steps, 100);
  assert_string_equal(flags.save, "out.safetensors");
  assert_string_equal(flags.checkpoint_dir, "c");
  assert_string_equal(flags.log, "-");
  assert_true(flags.quiet && flags.resume);
}

struct wrong {
  const char *words[WORDS];
  const char *message, *hint;
};

static void errors_are_clear(void **state) {
  (void)state;
  static const struct wrong cases[] = {
      {{"--step", "3"}, "unknown flag \"--step\"", "did you mean --steps?"},
      {{"--chekpoint-dir=x"},
       "unknown flag \"--chekpoint-dir=x\"",
       "did you mean --checkpoint-dir?"},
      {{"--frobnicate"}, "unknown flag \"--frobnicate\"", "--help lists the flags"},
      {{"--foo"}, "unknown flag \"--foo\"", "--help lists the flags"},
      {{"--x"}, "unknown flag \"--x\"", "--help lists the flags"},
      {{"steps"}, "\"steps\" is no flag", "flags begin with two dashes; --help lists them"},
      {{"--steps"}, "--steps needs a value: --steps N", ""},
      {{"--save="}, "--save needs a value: --save FILE", ""},
      {{"--log", "--quiet"}, "--log needs a value: --log FILE", ""},
      {{"--steps", "many"},
       "--steps takes a whole number from 0 on, not \"many\"",
       "for example --steps 2"},
      {{"--steps", "-1"},
       "--steps takes a whole number from 0 on, not \"-1\"",
       "for example --steps 2"},
      {{"--threads", "99999999999999999999"},
       "--threads takes a whole number from 1 on, not \"99999999999999999999\"",
       "for example --threads 2"},
      {{"--threads", "2000"},
       "--threads 2000: at most 1024",
       "leave it out to use as many as there are processors"},
      {{"--quiet=yes"}, "--quiet takes no value", "write --quiet alone, or leave it out"},
      {{"--quiet", "--quiet"}, "--quiet is given twice", "give it once"},
      {{"--steps", "1", "--steps", "2"}, "--steps is given twice", "give it once"},
      {{"--save", "a", "--save", "b"}, "--save is given twice", "give it once"},
      {{"--resume"},
       "--resume needs --checkpoint-dir",
       "say where the checkpoints are: --checkpoint-dir DIR"},
      {{"--resume", "--checkpoint-dir", "c", "--init", "i"},
       "--init and --resume exclude each other",
       "both say where the first values come from: use one"},
      {{"--eval-only", "--steps", "3"},
       "--eval-only and --steps exclude each other",
       "an evaluation always takes the whole data set: leave --steps out"},
      {{"--eval-only", "--save", "s"},
       "--eval-only and --save exclude each other",
       "an evaluation makes nothing to save: leave --save out"},
      {{"--task", "worker/0", "--local"},
       "--task and --local exclude each other",
       "one says that this process is one task, the other that it is all of them"},
      {{"--predict=x", "--init", "i"},
       "--predict needs --output",
       "say where the outputs go: -o FILE.safetensors"},
      {{"--predict=x", "-o", "y"},
       "--predict needs --init or --resume",
       "say where the parameters are: --init FILE, or --resume with --checkpoint-dir DIR"},
      {{"-o", "y"}, "--output needs --predict", "say what the outputs are of: --predict DATA"},
      {{"--predict=x", "-o", "y", "--steps=3"},
       "--predict and --steps exclude each other",
       "a prediction computes outputs and nothing else: leave --steps out"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct dtr_flags flags;
    struct dtr_error error;
    assert_false(parse(cases[i].words, &flags, &error));
    assert_string_equal(error.message, cases[i].message);
    assert_string_equal(error.hint, cases[i].hint);
    assert_int_equal(dtr_status_exit(error.status), 2);
  }
}

static void help_lists_every_flag(void **state) {
  (void)state;
  static const struct dtr_program program = {.name = "m", .model_file = "m.dtg"};
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  dtr_flags_help(&program, stream);
  fclose(stream);
  assert_non_null(strstr(text, "usage: m [FLAGS]\nTrains the model of m.dtg.\n"));
#define X(name, argument, kind, help) assert_non_null(strstr(text, help));
#include "runtime/flags.def"
#undef X
  assert_non_null(strstr(text, "  --checkpoint-dir DIR     keep checkpoints"));
  free(text);
}

/* ---- the processor ---- */

static void a_processor_below_the_plan_is_refused(void **state) {
  (void)state;
  struct dtr_error error;
  dtr_error_clear(&error);
  assert_true(dtr_cpu_check("x86-64-v3", 3, "avx512f", &error));
  assert_true(dtr_cpu_check("x86-64-v2", 4, NULL, &error));
  assert_false(dtr_cpu_check("x86-64-v4", 3, "avx512f", &error));
  assert_string_equal(error.message, "this program is built for x86-64-v4, but this processor is "
                                     "x86-64-v3: it lacks avx512f");
  assert_int_equal(dtr_status_exit(error.status), 2);
  dtr_error_clear(&error);
  assert_false(dtr_cpu_check("armv8", 4, NULL, &error));
  assert_int_equal(error.status, DTR_STATUS_BUG);
}

static void this_processor_has_a_level(void **state) {
  (void)state;
  const char *lacks = "unset";
  int level = dtr_cpu_level(&lacks);
  assert_in_range(level, 1, 4);
  assert_true((level == 4) == (lacks == NULL));
  assert_true(dtr_cpu_count() >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_set_by_default),
      cmocka_unit_test(values_follow_or_are_joined),
      cmocka_unit_test(errors_are_clear),
      cmocka_unit_test(help_lists_every_flag),
      cmocka_unit_test(a_processor_below_the_plan_is_refused),
      cmocka_unit_test(this_processor_has_a_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
