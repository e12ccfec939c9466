/* libFuzzer: any bytes are either read, verify and print again, or are refused with a reason. */
#include "compiler/base/bug.h"
#include "compiler/base/intern.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct dtg_arena arena;
  struct dtg_intern names;
  struct dtg_strbuf why = {0}, out = {0};
  struct dtg_module *module;
  dtg_arena_init(&arena);
  dtg_intern_init(&names);
  if (dtg_module_read(&arena, &names, (const char *)bytes, size, &why, &module))
    dtg_module_print(module, NULL, &out);
  else
    DTG_ASSERT(why.len != 0);
  dtg_strbuf_free(&why);
  dtg_strbuf_free(&out);
  dtg_intern_free(&names);
  dtg_arena_free(&arena);
  return 0;
}
