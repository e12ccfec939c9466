/* Checks compiled programs against the reference data.
 *
 *   reference REFERENCE_FOLDER WORK_FOLDER [--dry-run] [--only TEXT]
 *
 * DTGC names the compiler. Exit status: 0 all cases passed, 1 some failed, 2 it could not start. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
  fprintf(stderr, "usage: reference REFERENCE_FOLDER WORK_FOLDER [--dry-run] [--only TEXT]\n");
  return 2;
}

static bool read_arguments(int argc, char **argv, struct ref_driver *driver) {
  const char *dtgc = getenv("DTGC");
  if (argc < 3)
    return false;
  driver->reference = argv[1];
  driver->work = argv[2];
  driver->dtgc = dtgc && *dtgc ? dtgc : "dtgc";
  for (int i = 3; i < argc; i++) {
    if (strcmp(argv[i], "--dry-run") == 0)
      driver->dry_run = true;
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      driver->only = argv[++i];
    else
      return false;
  }
  return true;
}

int main(int argc, char **argv) {
  struct ref_driver driver = {0};
  json_error_t error;
  if (!read_arguments(argc, argv, &driver))
    return usage();
  json_t *index = json_load_file(ref_format(&driver, "%s/index.json", driver.reference), 0, &error);
  driver.files = json_object_get(index, "files");
  if (!json_is_array(driver.files)) {
    fprintf(stderr, "%s/index.json: %s\n", driver.reference, index ? "no files" : error.text);
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  ref_check_ops(&driver);
  ref_check_optimizers(&driver);
  ref_check_schedules(&driver);
  ref_check_training(&driver);
  int status = driver.dry_run ? 0 : ref_finish(&driver);
  json_decref(index);
  dtg_arena_free(&driver.arena);
  return status;
}
