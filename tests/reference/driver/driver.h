/* What all parts of the reference driver share.
 *
 * The driver writes models, has dtgc compile them, runs the programs and compares what they save
 * with the stored numbers. Ownership: everything is allocated from the arena of the driver, which
 * lives as long as the process. Threads: one.
 */
#ifndef REF_DRIVER_H
#define REF_DRIVER_H

#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"

#include <jansson.h>
#include <stdbool.h>

struct ref_uncovered {
  const char *group, *name, *why;
};

struct ref_answer {
  const char *name;
  bool known;
};

struct ref_driver {
  struct dtg_arena arena;
  const char *reference; /* folder with index.json */
  const char *work;      /* folder for models, programs and what they save */
  const char *dtgc;
  const char *only;    /* names of cases must contain it; NULL: all */
  bool dry_run;        /* write the models and stop */
  const json_t *files; /* the array of index.json */
  unsigned passed, failed;
  struct ref_answer answers[64]; /* of probe.c */
  size_t answer_count;
  struct ref_uncovered *uncovered;
  size_t uncovered_count, uncovered_cap;
};

const char *ref_format(struct ref_driver *driver, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A path in the work folder; its folder is made. */
const char *ref_work_path(struct ref_driver *driver, const char *folder, const char *name);
/* Whether --only leaves this case in. */
bool ref_selected(const struct ref_driver *driver, const char *name);
/* The path of a file of index.json without folder and ".safetensors". */
const char *ref_stem(struct ref_driver *driver, const json_t *file);

/* The entry of index.json with this path, or NULL. */
const json_t *ref_index_find(const struct ref_driver *driver, const char *path);
const char *ref_text(const json_t *object, const char *key);

/* Writes a file of the work folder; ends the process if that is not possible. */
void ref_write_file(const char *path, const struct dtg_strbuf *text);
/* A JSON value as it is written in the language: numbers, lists, strings, true and false. */
void ref_put_value(struct dtg_strbuf *out, const json_t *value);

/* ---- the cases by kind: each adds to passed, failed and uncovered ---- */
void ref_check_ops(struct ref_driver *driver);
void ref_check_optimizers(struct ref_driver *driver);
void ref_check_schedules(struct ref_driver *driver);
void ref_check_training(struct ref_driver *driver);

#endif
