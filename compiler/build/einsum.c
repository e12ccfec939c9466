// einsum("bij,bjk->bik", a, b): sums of products over named axes, by transposes and matrix
// products.
#include "compiler/build/functions.h"

#include <ctype.h>
#include <string.h>

// A tensor whose axes have letters.
struct term {
  uint32_t node;
  uint32_t rank;
  char axes[DTG_MAX_RANK];
};

struct einsum {
  struct dtg_build *b;
  struct dtg_span span;
  int64_t size[128]; // by letter; 0: not seen
};

static bool has(const struct term *term, char letter) {
  return memchr(term->axes, letter, term->rank) != NULL;
}

// ---- reading ----

static bool bad_text(struct einsum *e, const char *why) {
  struct dtg_diag *diag = dtg_build_error(e->b, e->span, "%s", why);
  dtg_diag_hint(diag, "for example einsum(\"bij,bjk->bik\", a, b)");
  return false;
}

// `before` LETTER `after`; what is no printable ASCII as its byte.
static bool bad_letter(struct einsum *e, const char *before, char letter, const char *after) {
  struct dtg_arena *arena = &e->b->ctx->arena;
  const char *shown = isgraph((unsigned char)letter)
                          ? dtg_arena_printf(arena, "`%c`", letter)
                          : dtg_arena_printf(arena, "the byte 0x%02x", (unsigned char)letter);
  return bad_text(e, dtg_arena_printf(arena, "%s%s%s", before, shown, after));
}

// `where` is "an operand" or "the result", for messages.
static bool read_axes(struct einsum *e, const char *where, const char *text, size_t length,
                      struct term *out) {
  out->rank = 0;
  for (size_t i = 0; i < length; i++) {
    if (isspace((unsigned char)text[i]))
      continue;
    if (!isalpha((unsigned char)text[i]))
      return bad_letter(e, "the axes of `einsum` are letters, not ", text[i], "");
    if (has(out, text[i]))
      return bad_letter(e,
                        dtg_arena_printf(&e->b->ctx->arena,
                                         "a letter may stand once in %s of `einsum`, and ", where),
                        text[i], " stands twice");
    if (out->rank == DTG_MAX_RANK)
      return bad_text(e, "a tensor has at most 8 axes");
    out->axes[out->rank++] = text[i];
  }
  return true;
}

static bool bind_sizes(struct einsum *e, const struct term *term) {
  const struct dtg_shape *shape = &dtg_build_type(e->b, term->node)->shape;
  if (shape->rank != term->rank) {
    struct dtg_diag *diag =
        dtg_build_error(e->b, e->span, "`einsum` names %u axes of %s", term->rank,
                        dtg_build_type_text(e->b, dtg_build_type(e->b, term->node)));
    dtg_build_note(e->b, diag, term->node);
    return false;
  }
  for (uint32_t i = 0; i < term->rank; i++) {
    int64_t *size = &e->size[(unsigned char)term->axes[i]];
    if (*size != 0 && *size != shape->dims[i]) {
      struct dtg_diag *diag = dtg_build_error(
          e->b, e->span, "the axis `%c` of `einsum` has %lld elements, and %lld here",
          term->axes[i], (long long)*size, (long long)shape->dims[i]);
      dtg_build_note(e->b, diag, term->node);
      return false;
    }
    *size = shape->dims[i];
  }
  return true;
}

// ---- axes of a term ----

static void add_axes(struct term *out, const struct term *from, const struct term *in_a, bool a,
                     const struct term *in_b, bool b) {
  for (uint32_t i = 0; i < from->rank; i++) {
    if (has(in_a, from->axes[i]) == a && has(in_b, from->axes[i]) == b)
      out->axes[out->rank++] = from->axes[i];
  }
}

static void permute(struct einsum *e, struct term *term, const struct term *order) {
  int64_t perm[DTG_MAX_RANK];
  bool same = true;
  for (uint32_t i = 0; i < term->rank; i++) {
    const char *at = memchr(term->axes, order->axes[i], term->rank);
    perm[i] = at - term->axes;
    same = same && perm[i] == i;
  }
  struct dtg_attr attr = dtg_attr_ints("perm", term->rank, perm);
  if (!same)
    term->node = dtg_add(e->b->graph, "transpose", &term->node, 1, &attr, 1);
  memcpy(term->axes, order->axes, term->rank);
}

// Sums over the axes that nobody else needs.
static void drop_axes(struct einsum *e, struct term *term, const struct term *needed) {
  int64_t axes[DTG_MAX_RANK];
  uint32_t count = 0;
  struct term kept = {0};
  for (uint32_t i = 0; i < term->rank; i++) {
    if (has(needed, term->axes[i]))
      kept.axes[kept.rank++] = term->axes[i];
    else
      axes[count++] = i;
  }
  if (count > 0)
    kept.node = dtg_add_reduce(e->b->graph, "sum", term->node, count, axes, false);
  else
    kept.node = term->node;
  *term = kept;
}

static int64_t product(const struct einsum *e, const struct term *term) {
  int64_t count = 1;
  for (uint32_t i = 0; i < term->rank; i++)
    count *= e->size[(unsigned char)term->axes[i]];
  return count;
}

static void join(struct term *out, const struct term *more) {
  memcpy(out->axes + out->rank, more->axes, more->rank);
  out->rank += more->rank;
}

static uint32_t as_matrix(struct einsum *e, struct term *term, const struct term *batch,
                          const struct term *rows, const struct term *columns) {
  struct term order = *batch;
  join(&order, rows);
  join(&order, columns);
  permute(e, term, &order);
  int64_t dims[] = {product(e, batch), product(e, rows), product(e, columns)};
  struct dtg_shape shape = batch->rank > 0 ? dtg_shape_make(3, dims) : dtg_shape_make(2, dims + 1);
  return dtg_add_reshape(e->b->graph, term->node, &shape);
}

// The product of two terms with the axes that `needed` names.
static bool multiply(struct einsum *e, struct term *left, struct term *right,
                     const struct term *needed, struct term *out) {
  struct term mine = *needed, others = *needed, batch = {0}, rows = {0}, columns = {0}, inner = {0};
  for (uint32_t i = 0; i < right->rank; i++) {
    if (!has(&mine, right->axes[i]) && mine.rank < DTG_MAX_RANK)
      mine.axes[mine.rank++] = right->axes[i];
  }
  for (uint32_t i = 0; i < left->rank; i++) {
    if (!has(&others, left->axes[i]) && others.rank < DTG_MAX_RANK)
      others.axes[others.rank++] = left->axes[i];
  }
  drop_axes(e, left, &mine);
  drop_axes(e, right, &others);
  add_axes(&batch, left, right, true, needed, true);
  add_axes(&inner, left, right, true, needed, false);
  add_axes(&rows, left, right, false, needed, true);
  add_axes(&columns, right, left, false, needed, true);
  if (batch.rank + rows.rank + columns.rank > DTG_MAX_RANK)
    return bad_text(e, "a product within `einsum` would have more than 8 axes");
  uint32_t nodes[] = {as_matrix(e, left, &batch, &rows, &inner),
                      as_matrix(e, right, &batch, &inner, &columns)};
  struct dtg_value matrix = dtg_build_add(e->b, "matmul", nodes, 2, NULL, 0, e->span);
  if (matrix.kind == DTG_VALUE_ERROR)
    return false;
  *out = batch;
  join(out, &rows);
  join(out, &columns);
  struct dtg_shape shape = {.rank = out->rank};
  for (uint32_t i = 0; i < out->rank; i++)
    shape.dims[i] = e->size[(unsigned char)out->axes[i]];
  out->node = dtg_add_reshape(e->b->graph, matrix.node, &shape);
  return true;
}

// ---- the whole ----

// Axes that the result or the terms from `first` on have.
static bool needed_axes(struct einsum *e, const struct term *result, const struct term *terms,
                        size_t first, size_t count, struct term *out) {
  *out = *result;
  for (size_t i = first; i < count; i++) {
    for (uint32_t j = 0; j < terms[i].rank; j++) {
      if (has(out, terms[i].axes[j]))
        continue;
      if (out->rank == DTG_MAX_RANK)
        return bad_text(e, "`einsum` needs more than 8 axes at once");
      out->axes[out->rank++] = terms[i].axes[j];
    }
  }
  return true;
}

static struct dtg_value run(struct einsum *e, struct term *terms, size_t count,
                            const struct term *result) {
  struct term total = terms[0], needed;
  for (uint32_t i = 0; i < result->rank; i++) {
    if (e->size[(unsigned char)result->axes[i]] == 0) {
      bad_letter(e, "the result of `einsum` names ", result->axes[i],
                 ", an axis that no operand has");
      return dtg_value_error();
    }
  }
  for (size_t i = 1; i < count; i++) {
    struct term left = total;
    if (!needed_axes(e, result, terms, i + 1, count, &needed) ||
        !multiply(e, &left, &terms[i], &needed, &total))
      return dtg_value_error();
  }
  drop_axes(e, &total, result);
  permute(e, &total, result);
  return dtg_build_tensor(total.node, false);
}

static bool bad_count(struct einsum *e, const char *text, const char *arrow, size_t given) {
  size_t named = 1;
  for (; text < arrow; text++)
    named += *text == ',';
  return bad_text(e, dtg_arena_printf(&e->b->ctx->arena,
                                      "`einsum` names %zu operand%s, but is given %zu", named,
                                      named == 1 ? "" : "s", given));
}

static bool read_terms(struct einsum *e, const struct dtg_build_call *call, struct term *terms,
                       size_t count, struct term *result) {
  const char *text = call->arguments[0].value.s;
  const char *arrow = strstr(text, "->");
  if (!arrow)
    return bad_text(e, "the text of `einsum` needs `->` and the axes of the result");
  for (size_t i = 0; i < count; i++) {
    size_t length = strcspn(text, ",-");
    struct dtg_build_given given = {call->arguments[i + 1].value, call->arguments[i + 1].span};
    if (!read_axes(e, "an operand", text, length, &terms[i]) ||
        !dtg_argument_tensor(e->b, "einsum", &given, &terms[i].node) || !bind_sizes(e, &terms[i]))
      return false;
    text += length;
    if ((i + 1 < count) != (*text == ','))
      return bad_count(e, call->arguments[0].value.s, arrow, count);
    if (*text == '-' && text != arrow)
      return bad_letter(e, "the axes of `einsum` are letters, not ", *text, "");
    text++;
  }
  return read_axes(e, "the result", arrow + 2, strlen(arrow + 2), result);
}

struct dtg_value dtg_function_einsum(struct dtg_build *b, const char *name,
                                     const struct dtg_build_call *call) {
  struct einsum e = {.b = b, .span = call->span};
  struct term *terms = DTG_NEW_ARRAY(&b->ctx->arena, struct term, call->count), result = {0};
  bool named = false;
  for (size_t i = 0; i < call->count; i++)
    named |= call->arguments[i].name != NULL;
  if (call->count < 2 || named || call->arguments[0].value.kind != DTG_VALUE_STRING) {
    dtg_build_error(b, call->span, "`%s` takes a string and then tensors", name);
    return dtg_value_error();
  }
  if (!read_terms(&e, call, terms, call->count - 1, &result))
    return dtg_value_error();
  return run(&e, terms, call->count - 1, &result);
}
