#include "body.h"

#include <stdio.h>
#include <string.h>

struct body_value body_with_unused(struct body *body, int first, struct body_value value) {
  for (int i = first; i < body->count; i++) {
    struct body_name *name = &body->names[i];
    if (name->used || name->value.type != BODY_F32 || strcmp(name->value.text, value.text) == 0)
      continue;
    name->used = true;
    value = body_make(body, &value, false, "%s + 0.1 * mean(%s)", value.text, name->value.text);
  }
  return value;
}

/* ---- plain ---- */

static void expression(struct body *body) {
  struct body_value value = body_pick(body);
  value = body_expression(body, value, rnd_between(body->rnd, 1, 4));
  body_bind(body, &value);
}

static void pipe(struct body *body) {
  struct body_value x = body_pick(body);
  x = body_flat(body, x);
  const char *text = x.text;
  int stages = rnd_between(body->rnd, 2, 4);
  for (int i = 0; i < stages; i++) {
    switch (rnd_below(body->rnd, 4)) {
    case 0:
      x.shape.dims[1] = rnd_between(body->rnd, 1, 12);
      text = rnd_format(body->rnd, "%s |> %s: dense(out = %d)", text, body_label(body),
                        x.shape.dims[1]);
      x.mag += 1;
      break;
    case 1:
      text =
          rnd_format(body->rnd, "%s |> %s", text, RND_WORD(body->rnd, "tanh", "relu", "softmax"));
      break;
    case 2:
      text = rnd_format(body->rnd, "%s |> clamp(-1, high = 1.5)", text);
      break;
    default:
      text = rnd_format(body->rnd, "%s |> %s: layer_norm(eps = 0.1)", text, body_label(body));
      x.mag = 3;
      break;
    }
  }
  x = body_make(body, &x, false, "%s", text);
  x = body_bind(body, &x);
}

static void named_layer(struct body *body) {
  struct body_value x = body_peek(body);
  if (x.shape.rank < 2)
    return expression(body);
  body_use(body, x.text);
  int out = rnd_between(body->rnd, 1, 10);
  x.text = rnd_format(body->rnd, "dense(%s, out = %d, act = %s)", x.text, out, body_lambda(body));
  x.shape.dims[x.shape.rank - 1] = out;
  x.mag = 4;
  if (rnd_chance(body->rnd, 50) && !*body->index) {
    body_bind(body, &x); /* named after the variable */
    return;
  }
  if (*body->index) {
    x.text = rnd_format(body->rnd, "%s: %s", body_label(body), x.text);
    body_bind(body, &x);
    return;
  }
  const char *label = rnd_format(body->rnd, "lab%d", body->file->counter++);
  body_line(body, "%s: %s", label, x.text);
  x.text = label;
  x.atom = true;
  body_add(body, &x);
}

/* One instance, two applications. */
static void shared(struct body *body) {
  if (*body->index)
    return expression(body);
  struct body_value x = body_pick(body), y;
  const char *name = rnd_format(body->rnd, "one%d", body->file->counter++);
  x = body_flat(body, x);
  x = body_bind(body, &x);
  body_use(body, x.text);
  y = body_unary(body, x);
  int out = rnd_between(body->rnd, 1, 8);
  body_line(body, "%s = dense(out = %d)", name, out);
  struct body_value a = x;
  a.shape.dims[1] = out;
  a.mag += 1;
  a = body_make(body, &a, true, "%s(%s)", name, x.text);
  a = body_bind(body, &a);
  struct body_value b = body_make(body, &a, true, "%s(%s)", name, y.text);
  if (rnd_chance(body->rnd, 30)) {
    b = body_make(body, &x, false, "%s @ transpose(%s.w)", a.text, name);
    b.mag += 2;
    body_use(body, a.text);
  }
  body_bind(body, &b);
}

/* ---- integers ---- */

static void looked_up(struct body *body) {
  struct body_value k, x;
  if (!body_pick_int(body, &k) || k.shape.rank >= BODY_RANK)
    return expression(body);
  int limit = (int)k.mag, dim = rnd_between(body->rnd, 1, 9);
  x = k;
  x.type = BODY_F32;
  x.mag = 1;
  x.shape.dims[x.shape.rank++] = dim;
  switch (rnd_below(body->rnd, 4)) {
  case 0:
    x.shape.dims[x.shape.rank - 1] = limit;
    x = body_make(body, &x, true, "one_hot(%s, %d)", k.text, limit);
    body_bind(body, &x);
    return;
  case 1:
    x.shape = k.shape;
    x = body_make(body, &x, false, "cast(%s, f32) / %d", k.text, limit);
    body_bind(body, &x);
    return;
  case 2:
    if (*body->index)
      break;
    const char *table = rnd_format(body->rnd, "tok%d", body->file->counter++);
    body_line(body, "%s = embedding(vocab = %d, dim = %d)", table, limit, dim);
    x = body_make(body, &x, true, "%s(%s)", table, k.text);
    x = body_bind(body, &x);
    if (rnd_chance(body->rnd, 50)) {
      body_use(body, x.text);
      struct body_value y = body_make(body, &x, false, "%s @ transpose(%s.table)", x.text, table);
      y.shape.dims[y.shape.rank - 1] = limit;
      if (y.shape.rank < 2)
        return;
      body_bind(body, &y);
    }
    return;
  default:
    break;
  }
  x = body_make(body, &x, true, "(%s: embedding(%s, vocab = %d, dim = %d))", body_label(body),
                k.text, limit, dim);
  body_bind(body, &x);
}

static void integers(struct body *body) {
  struct body_value k, out;
  if (!body_pick_int(body, &k) || k.type == BODY_U8 || k.mag > 100) {
    struct body_value x = body_peek(body);
    if (x.shape.rank == 0 || (x.shape.rank == 1 && body_batched(&x.shape)))
      return expression(body);
    out = x;
    out.shape.rank--;
    out.mag = x.shape.dims[x.shape.rank - 1];
    out.type = BODY_I32;
    out = body_make(body, &out, true, "%s(%s)", RND_WORD(body->rnd, "argmax", "argmin"), x.text);
  } else {
    int n = rnd_between(body->rnd, 2, 7);
    out = body_make(body, &k, false, "(%s * %d + 1) %% %d", body_operand(body, &k), n, n + 2);
    out.mag = n + 2;
  }
  body_bind(body, &out);
}

/* ---- blocks ---- */

static void loop(struct body *body) {
  const char *name = rnd_format(body->rnd, "i%d", body->file->counter++);
  struct body_value h = body_pick(body), start = h;
  if (h.shape.rank < 2 || body_size(&h.shape) > 100) {
    struct body_shape shape = {2, {BATCH, rnd_between(body->rnd, 2, 6)}};
    start = h = body_adapt(body, h, &shape);
  }
  h = body_make(body, &h, false, "%s", start.text);
  h = body_bind(body, &h);
  const char *outer = body->index;
  bool owns = body->owns;
  int count = rnd_between(body->rnd, 1, 3), before = body->count, entry = body->count - 1;
  body_line(body, "for %s in %d..%d {", name, 1, 1 + count);
  body->index = rnd_format(body->rnd, "%s[%s]", outer, name);
  body->owns = false;
  body->indent++;
  body->names[entry].used = true;
  if (rnd_chance(body->rnd, 40))
    expression(body);
  struct body_value next = h;
  next.mag = 4; /* what it may come to in an iteration before */
  next = body_expression(body, next, rnd_between(body->rnd, 1, 3));
  next = body_adapt(body, next, &h.shape);
  if (rnd_chance(body->rnd, 50))
    next = body_make(body, &next, false, "%s * (1.0 / (%s + 1))", body_operand(body, &next), name);
  next = body_with_unused(body, before, next);
  next = body_make(body, &next, true, "clamp(%s, -2, 2)", next.text);
  if (rnd_chance(body->rnd, 30)) {
    body_line(body, "if %s %% 2 == %d {", name, rnd_below(body->rnd, 2));
    body_line(body, "  %s = %s", h.text, next.text);
    body_line(body, "} else {");
    body_line(body, "  %s = %s * 0.5 + (%s) * 0.5", h.text, h.text, next.text);
    body_line(body, "}");
  } else {
    body_line(body, "%s = %s", h.text, next.text);
  }
  body->indent--;
  body_line(body, "}");
  body->index = outer;
  body->owns = owns;
  body->count = before;
  body->names[entry].used = false;
  body->names[entry].value.mag = 4;
}

static struct body_value branch(struct body *body, const char *name) {
  int before = body->count;
  body->indent++;
  struct body_value y = body_pick(body);
  y = body_expression(body, y, rnd_between(body->rnd, 1, 3));
  y = body_with_unused(body, before, y);
  body_line(body, "%s = %s", name, y.text);
  body->indent--;
  body->count = before;
  y.text = name;
  y.atom = true;
  return y;
}

/* Of the two branches one is never taken; it must only be something that parses. */
static void choice(struct body *body) {
  const char *name = rnd_format(body->rnd, "v%d", body->file->counter++);
  bool first = rnd_chance(body->rnd, 50), owns = body->owns, updates = body->updates;
  struct body_value y = {0};
  body_line(body, "if %s {",
            first ? RND_WORD(body->rnd, "deep", "width > 2", "1 < 2 and deep")
                  : RND_WORD(body->rnd, "not deep", "width == 2", "false"));
  for (int side = 0; side < 2; side++) {
    struct body kept = *body;
    if ((side == 0) == first) {
      y = branch(body, name);
    } else {
      branch(body, name);
      memcpy(body->names, kept.names, sizeof kept.names);
    }
    body->owns = owns;
    body->updates = updates;
    if (side == 0)
      body_line(body, "} else {");
  }
  body_line(body, "}");
  body_add(body, &y);
}

/* ---- states ---- */

static void state(struct body *body) {
  if (!body->owns || *body->index)
    return expression(body);
  struct body_value x = body_pick(body), s;
  const char *name = rnd_format(body->rnd, "s%d", body->file->counter++);
  int kind = rnd_below(body->rnd, 4);
  body->updates = true;
  if (kind == 3) {
    body_line(body, "state %s: %s[] ~ zeros()", name, RND_WORD(body->rnd, "i64", "i32"));
    body_line(body, "if training {");
    body_line(body, "  update %s = %s + 1 by max", name, name);
    body_line(body, "}");
    s = body_make(body, &x, true, "where(%s > 2, %s, %s)", name, x.text, body_unary(body, x).text);
    body_bind(body, &s);
    return;
  }
  s = x;
  const char *now = x.text;
  if (body_batched(&x.shape)) {
    s.shape.rank--;
    memmove(s.shape.dims, s.shape.dims + 1, (size_t)s.shape.rank * sizeof(int));
    now = rnd_format(body->rnd, "%s(%s, axis = 0)", RND_WORD(body->rnd, "mean", "max"), x.text);
  }
  body_line(body, "state %s: f32%s ~ %s", name, body_dims(body, &s.shape),
            RND_WORD(body->rnd, "zeros()", "ones()", "constant(0.25)"));
  static const char *const updates[] = {"update %s = 0.9 * %s + 0.1 * %s",
                                        "update %s = (0.7 * %s + 0.1 * %s) * 0.2 by sum",
                                        "update %s = maximum(%s * 0.9, %s) by max"};
  body_line(body, "if training {");
  body_line(body, "  %s", rnd_format(body->rnd, updates[kind], name, name, now));
  body_line(body, "}");
  x = rnd_chance(body->rnd, 50)
          ? body_make(body, &x, false, "%s - %s", body_operand(body, &x), name)
          : body_make(body, &x, false, "%s * (1 + tanh(%s))", body_operand(body, &x), name);
  x.mag *= 2;
  x = body_tame(body, x);
  body_bind(body, &x);
}

void body_statements(struct body *body, int count) {
  for (int i = 0; i < count; i++) {
    switch (rnd_below(body->rnd, 16)) {
    case 0:
      pipe(body);
      break;
    case 1:
      named_layer(body);
      break;
    case 2:
      shared(body);
      break;
    case 3:
    case 4:
      looked_up(body);
      break;
    case 5:
      integers(body);
      break;
    case 6:
      loop(body);
      break;
    case 7:
      choice(body);
      break;
    case 8:
    case 9:
      state(body);
      break;
    default:
      expression(body);
      break;
    }
  }
}
