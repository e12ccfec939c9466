// Which axes of a tensor are the batch: told from the ops that made it. Only messages depend on it.
#include "compiler/build/internal.h"

#include <string.h>

// One bit an axis.
typedef uint32_t axis_set;

static bool has(axis_set set, uint32_t axis) {
  return set >> axis & 1;
}

static const struct dtg_shape *shape_of(const struct dtg_build *b, uint32_t node) {
  return &dtg_build_type(b, node)->shape;
}

// Axes that stay, in order, while others of size 1 come and go; whatever else a reshape does ends
// it.
static axis_set reshaped(const struct dtg_shape *from, axis_set set, const struct dtg_shape *to) {
  axis_set out = 0;
  uint32_t i = 0, j = 0;
  while (i < from->rank && j < to->rank) {
    if (from->dims[i] == to->dims[j]) {
      out |= (axis_set)has(set, i) << j;
      i++;
      j++;
    } else if (to->dims[j] == 1) {
      j++;
    } else if (from->dims[i] == 1 && !has(set, i)) {
      i++;
    } else {
      break;
    }
  }
  return out;
}

static axis_set transposed(const struct dtg_node *node, axis_set set) {
  const int64_t *perm;
  axis_set out = 0;
  uint32_t count = dtg_node_ints(node, "perm", &perm);
  for (uint32_t i = 0; i < count; i++)
    out |= (axis_set)has(set, (uint32_t)perm[i]) << i;
  return out;
}

static axis_set reduced(const struct dtg_node *node, const struct dtg_shape *from, axis_set set) {
  const int64_t *axes;
  int64_t one = dtg_node_int(node, "axis", -1);
  uint32_t count = one >= 0 ? 0 : dtg_node_ints(node, "axes", &axes), at = 0;
  axis_set out = 0, gone = one >= 0 ? (axis_set)1 << one : 0;
  for (uint32_t i = 0; i < count; i++)
    gone |= (axis_set)1 << axes[i];
  bool keeps = node->type.shape.rank == from->rank;
  for (uint32_t i = 0; i < from->rank; i++) {
    if (!has(gone, i))
      out |= (axis_set)has(set, i) << at;
    at += keeps || !has(gone, i);
  }
  return out;
}

static axis_set gathered(const struct dtg_build *b, const struct dtg_node *node, axis_set table,
                         axis_set index) {
  uint32_t axis = (uint32_t)dtg_node_int(node, "axis", 0);
  uint32_t rank = shape_of(b, node->inputs[1])->rank;
  axis_set before = table & (((axis_set)1 << axis) - 1), behind = table >> (axis + 1);
  return before | index << axis | behind << (axis + rank);
}

static axis_set multiplied(const struct dtg_build *b, const struct dtg_node *node, axis_set left,
                           axis_set right) {
  uint32_t rank = node->type.shape.rank, columns = rank - 1, rows = rank - 2;
  uint32_t a = shape_of(b, node->inputs[0])->rank, c = shape_of(b, node->inputs[1])->rank;
  axis_set leading = ((axis_set)1 << rows) - 1;
  axis_set out = (left << (rank - a) | right << (rank - c)) & leading;
  bool row = has(left, a - (dtg_node_bool(node, "transpose_a", false) ? 1 : 2));
  bool column = has(right, c - (dtg_node_bool(node, "transpose_b", false) ? 2 : 1));
  return out | (axis_set)row << rows | (axis_set)column << columns;
}

// Axes of the first operand whose size stays.
static axis_set kept(const struct dtg_shape *from, axis_set set, const struct dtg_shape *to) {
  axis_set out = 0;
  for (uint32_t i = 0; i < from->rank && i < to->rank; i++)
    if (from->rank == to->rank || i == 0)
      out |= (axis_set)(has(set, i) && from->dims[i] == to->dims[i]) << i;
  return out;
}

static axis_set batch_of(const struct dtg_build *b, const struct dtg_node *node) {
  const char *name = node->op->name;
  const uint32_t *sets = b->batch_axes.data;
  axis_set first = node->input_count > 0 ? sets[node->inputs[0]] : 0;
  axis_set second = node->input_count > 1 ? sets[node->inputs[1]] : 0;
  if (strcmp(name, "input") == 0)
    return 1;
  if (node->input_count == 0 || node->op->class == DTG_CLASS_GENERATE)
    return 0;
  const struct dtg_shape *from = shape_of(b, node->inputs[0]), *to = &node->type.shape;
  if (node->op->class == DTG_CLASS_ELEMENTWISE) {
    for (uint32_t i = 1; i < node->input_count; i++)
      first |= sets[node->inputs[i]];
    return first;
  }
  if (strcmp(name, "broadcast_to") == 0)
    return first << (to->rank - from->rank);
  if (strcmp(name, "reshape") == 0)
    return reshaped(from, first, to);
  if (strcmp(name, "transpose") == 0)
    return transposed(node, first);
  if (strcmp(name, "gather") == 0)
    return gathered(b, node, first, second);
  if (strcmp(name, "matmul") == 0)
    return multiplied(b, node, first, second);
  if (node->op->class == DTG_CLASS_REDUCE)
    return reduced(node, from, first);
  return kept(from, first, to);
}

uint32_t dtg_build_batch_axes(struct dtg_build *b, uint32_t node) {
  if (b->batch_graph != b->graph) { // another one: its nodes are counted anew
    b->batch_graph = b->graph;
    b->batch_axes.len = 0;
  }
  while (b->batch_axes.len <= node) {
    axis_set set = batch_of(b, dtg_graph_node(b->graph, (uint32_t)b->batch_axes.len));
    dtg_vec_push(&b->ctx->arena, &b->batch_axes, set);
  }
  return b->batch_axes.data[node];
}

const char *dtg_build_node_text(struct dtg_build *b, uint32_t node) {
  const struct dtg_type *type = dtg_build_type(b, node);
  axis_set set = dtg_build_batch_axes(b, node);
  struct dtg_strbuf text = {0};
  dtg_strbuf_printf(&text, "%s[", dtg_dtype_name(type->dtype));
  for (uint32_t i = 0; i < type->shape.rank; i++)
    dtg_strbuf_printf(&text, "%s%s%lld", i > 0 ? ", " : "", has(set, i) ? "B=" : "",
                      (long long)type->shape.dims[i]);
  dtg_strbuf_putc(&text, ']');
  const char *copy = dtg_arena_strdup(&b->ctx->arena, dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  return copy;
}

static const char *replaced(struct dtg_build *b, const char *text, const char *from,
                            const char *to) {
  struct dtg_strbuf out = {0};
  for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
    dtg_strbuf_write(&out, text, (size_t)(at - text));
    dtg_strbuf_puts(&out, to);
  }
  dtg_strbuf_puts(&out, text);
  const char *copy = dtg_arena_strdup(&b->ctx->arena, dtg_strbuf_text(&out));
  dtg_strbuf_free(&out);
  return copy;
}

// Operands of one type whose batches differ keep it as it is: the text does not say which is meant.
static bool is_ambiguous(struct dtg_build *b, const uint32_t *inputs, uint32_t count,
                         uint32_t one) {
  for (uint32_t i = 0; i < count; i++)
    if (dtg_type_equal(dtg_build_type(b, inputs[i]), dtg_build_type(b, inputs[one])) &&
        dtg_build_batch_axes(b, inputs[i]) != dtg_build_batch_axes(b, inputs[one]))
      return true;
  return false;
}

const char *dtg_build_name_batches(struct dtg_build *b, const uint32_t *inputs, uint32_t count,
                                   const char *text) {
  for (uint32_t i = 0; i < count; i++)
    if (dtg_build_batch_axes(b, inputs[i]) != 0 && !is_ambiguous(b, inputs, count, i))
      text = replaced(b, text, dtg_build_type_text(b, dtg_build_type(b, inputs[i])),
                      dtg_build_node_text(b, inputs[i]));
  return text;
}

// The dims with one of size 1 behind the batch: "B, 1" for [B].
static const char *column_text(struct dtg_build *b, uint32_t node) {
  const struct dtg_type *type = dtg_build_type(b, node);
  const char *text = "B, 1";
  for (uint32_t i = 1; i < type->shape.rank; i++)
    text = dtg_arena_printf(&b->ctx->arena, "%s, %lld", text, (long long)type->shape.dims[i]);
  return text;
}

void dtg_build_warn_batches(struct dtg_build *b, const char *op, uint32_t left, uint32_t right,
                            struct dtg_span span) {
  uint32_t a = shape_of(b, left)->rank, c = shape_of(b, right)->rank, rank = a > c ? a : c;
  if (!b->may_declare) // the graphs of evaluation would say the same again
    return;
  axis_set sets[] = {dtg_build_batch_axes(b, left), dtg_build_batch_axes(b, right)};
  axis_set wide = sets[0] << (rank - a), other = sets[1] << (rank - c);
  // Of equal ranks the writer has said how axes meet; two that already are there are meant.
  if (a == c || !wide || !other || wide == other || (wide & other) != 0)
    return;
  uint32_t shorter = a < c ? left : right;
  struct dtg_diag *diag = dtg_build_warning(
      b, span,
      "`%s` pairs every example with every other: the batches of %s and %s are not the same axis",
      op, dtg_build_node_text(b, left), dtg_build_node_text(b, right));
  dtg_build_note(b, diag, left);
  dtg_build_note(b, diag, right);
  if (shape_of(b, shorter)->rank + 1 == rank)
    dtg_diag_hint(diag, "if example by example is meant, reshape one side: reshape(..., [%s])",
                  column_text(b, shorter));
  else
    dtg_diag_hint(diag, "if example by example is meant, give both sides the same axes by reshape");
}
