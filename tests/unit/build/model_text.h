/* Models from texts, for the tests of sema and build.
 *
 * Ownership: the object owns the compilation; free it with model_text_close.
 */
#ifndef DTG_TESTS_UNIT_BUILD_MODEL_TEXT_H
#define DTG_TESTS_UNIT_BUILD_MODEL_TEXT_H

#include "compiler/build/build.h"
#include "compiler/sema/sema.h"

struct model_text {
  struct dtg_ctx ctx;
  struct dtg_model *model;   /* NULL after errors */
  struct dtg_module *module; /* likewise */
};

/* Parses and types `text` under the name "test.dtg", with the repository's standard library.
 * `defines`: "name=value" texts, ended by NULL; or NULL. */
void model_text_check(struct model_text *text, const char *source, const char *const *defines);
/* The same, then the graphs; those of a model with a training block must verify. */
void model_text_build(struct model_text *text, const char *source);
void model_text_close(struct model_text *text);

/* Fails the test unless some error message contains `part` (NULL: unless there are no errors). */
void model_text_expect(const struct model_text *text, const char *part);
/* The root's node, or DTG_NO_NODE. */
uint32_t model_text_root(const struct dtg_graph *graph, enum dtg_root_kind kind, const char *name);

#endif
