/* Random models through the whole compiler.
 *
 *   random_models WORK_FOLDER FIRST_SEED COUNT
 *   random_models WORK_FOLDER FILE.dtg...
 *
 * DTGC names the compiler, DTG_HOME its installation. What a model that fails has left stays in the
 * work folder. Exit status: 0 all passed, 1 some failed, 2 it could not start. */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_file(const char *text) {
  return strstr(text, ".dtg") != NULL;
}

static void check_one(const char *work, uint64_t seed, const char *file,
                      struct check_totals *totals) {
  const char *dtgc = getenv("DTGC");
  struct ref_driver driver = {.work = work, .dtgc = dtgc && *dtgc ? dtgc : "dtgc"};
  check_seed(&driver, seed, file, totals);
  dtg_arena_free(&driver.arena);
}

static int usage(void) {
  fprintf(stderr, "usage: random_models WORK_FOLDER FIRST_SEED COUNT\n"
                  "       random_models WORK_FOLDER FILE.dtg...\n");
  return 2;
}

int main(int argc, char **argv) {
  struct check_totals totals = {0};
  bool files = argc > 2 && is_file(argv[2]);
  if (argc < 3 || (!files && argc != 4))
    return usage();
  uint64_t first = files ? 1 : strtoull(argv[2], NULL, 10);
  uint64_t count = files ? (uint64_t)argc - 2 : strtoull(argv[3], NULL, 10);
  for (uint64_t i = 0; i < count; i++)
    check_one(argv[1], first + i, files ? argv[2 + i] : NULL, &totals);
  printf("%s %" PRIu64 " to %" PRIu64 ": %u passed, %u failed, %u too sensitive to compare\n",
         files ? "files" : "seeds", first, first + count - 1, totals.passed, totals.failed,
         totals.loose);
  printf("the same bits without fusion: %u\n", totals.same_unfused);
  printf("slowest compilation: %.2f s, seed %" PRIu64 "\n", totals.slowest, totals.slowest_seed);
  return totals.failed > 0 ? 1 : 0;
}
