#include "tests/unit/build/model_text.h"

#include "compiler/ir/verify.h"
#include "grammar/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_text_check(struct model_text *text, const char *source, const char *const *defines) {
  static char std_dir[4096];
  uint32_t file;
  const char *root = getenv("DTG_SOURCE_DIR");
  snprintf(std_dir, sizeof std_dir, "%s/stdlib-models", root ? root : ".");
  struct dtg_sema_options options = {.defines = defines, .std_dir = std_dir};
  while (defines && defines[options.define_count])
    options.define_count++;
  memset(text, 0, sizeof *text);
  dtg_ctx_init(&text->ctx);
  if (!dtg_source_add(&text->ctx.sources, &text->ctx.diags, "test.dtg", source, strlen(source),
                      &file))
    return;
  struct dtg_ast_file *ast = dtg_parse(&text->ctx, file);
  if (!dtg_diags_failed(&text->ctx.diags))
    text->model = dtg_sema(&text->ctx, ast, &options);
  assert_true((text->model != NULL) != dtg_diags_failed(&text->ctx.diags));
}

void model_text_build(struct model_text *text, const char *source) {
  struct dtg_strbuf why = {0};
  model_text_check(text, source, NULL);
  if (!text->model)
    return;
  text->module = dtg_build(&text->ctx, text->model);
  assert_true((text->module != NULL) != dtg_diags_failed(&text->ctx.diags));
  bool trained = text->module && text->module->train;
  if (trained && !dtg_module_verify(text->module, DTG_VERIFY_BUILD, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
}

void model_text_close(struct model_text *text) {
  dtg_ctx_free(&text->ctx);
}

void model_text_expect(const struct model_text *text, const char *part) {
  struct dtg_strbuf seen = {0};
  bool found = !part && !dtg_diags_failed(&text->ctx.diags);
  for (size_t i = 0; part && i < text->ctx.diags.list.len; i++) {
    const struct dtg_diag *diag = text->ctx.diags.list.data[i];
    found |= diag->severity == DTG_ERROR && strstr(diag->message, part);
  }
  dtg_diags_render(&text->ctx.diags, &seen);
  if (!found)
    fail_msg("expected %s%s, got:\n%s", part ? "an error with: " : "no error", part ? part : "",
             dtg_strbuf_text(&seen));
  dtg_strbuf_free(&seen);
}

uint32_t model_text_root(const struct dtg_graph *graph, enum dtg_root_kind kind, const char *name) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    if (graph->roots.data[i].kind == kind && strcmp(graph->roots.data[i].name, name) == 0)
      return graph->roots.data[i].node;
  }
  return DTG_NO_NODE;
}
