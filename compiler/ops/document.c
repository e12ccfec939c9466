#include "compiler/ops/document.h"

#include "compiler/ir/op.h"

#include <inttypes.h>
#include <string.h>

static const char *class_text(enum dtg_op_class class) {
  static const char *const texts[] = {
      [DTG_CLASS_LEAF] = "leaf",           [DTG_CLASS_CONST] = "constant",
      [DTG_CLASS_ELEMENTWISE] = "element", [DTG_CLASS_GENERATE] = "generated",
      [DTG_CLASS_VIEW] = "view",           [DTG_CLASS_INDEX] = "index map",
      [DTG_CLASS_REDUCE] = "reduction",    [DTG_CLASS_GATHER] = "gather",
      [DTG_CLASS_SCATTER] = "scatter",     [DTG_CLASS_LIBRARY] = "library call",
      [DTG_CLASS_SCAN] = "loop",
  };
  return texts[class];
}

static void put_operands(struct dtg_strbuf *out, const struct dtg_op_def *op) {
  if (op->max_inputs == UINT32_MAX)
    dtg_strbuf_printf(out, "%" PRIu32 " or more", op->min_inputs);
  else if (op->max_inputs > op->min_inputs)
    dtg_strbuf_printf(out, "%" PRIu32 " to %" PRIu32, op->min_inputs, op->max_inputs);
  else
    dtg_strbuf_printf(out, "%" PRIu32, op->min_inputs);
}

static void put_code(struct dtg_strbuf *out, const char *text) {
  dtg_strbuf_printf(out, text && *text ? "`%s`" : "%s", text && *text ? text : "-");
}

// As the tables of the reference manual say it.
static const char *gradient_text(const struct dtg_op_def *op) {
  if (op->flags & DTG_OP_ZERO_GRAD)
    return "0";
  return op->grad ? "yes" : "-";
}

static void put_row(struct dtg_strbuf *out, const struct dtg_op_def *op) {
  dtg_strbuf_printf(out, "| `%s` | ", op->name);
  put_operands(out, op);
  dtg_strbuf_puts(out, " | ");
  put_code(out, op->attributes);
  dtg_strbuf_printf(out, " | %s | %s | ", op->doc, gradient_text(op));
  put_code(out, op->shard);
  dtg_strbuf_printf(out, " | %s |\n", class_text(op->class));
}

void dtg_ops_document(struct dtg_strbuf *out) {
  dtg_strbuf_puts(out,
                  "# Ops\n\n"
                  "What graphs are made of. *Gradient*: \"yes\" for the derivative, 0 for none, "
                  "- where it is an error\nor cannot be asked for. *Split*: how a part of the "
                  "result follows from parts of the operands.\n\n"
                  "| op | operands | attributes | is | gradient | split | kernel |\n"
                  "|---|---|---|---|---|---|---|\n");
  for (uint32_t i = 0; i < dtg_op_count(); i++)
    put_row(out, dtg_op_at(i));
}
