#include "body.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- element by element ---- */

/* `operand`: the text stands beside an operator. The bound on the result is a * mag + b. */
static const struct unary {
  const char *format;
  bool operand, atom;
  double most, a, b; /* of operands up to `most` */
} unaries[] = {
    {"tanh(%s)", false, true, 1e9, 0, 1},
    {"sigmoid(%s)", false, true, 1e9, 0, 1},
    {"relu(%s)", false, true, 1e9, 1, 0},
    {"gelu(%s)", false, true, 1e9, 1, 0},
    {"gelu_tanh(%s)", false, true, 10, 1, 0},
    {"silu(%s)", false, true, 1e9, 1, 0},
    {"softplus(%s)", false, true, 1e9, 1, 1},
    {"leaky_relu(%s, alpha = 0.2)", false, true, 1e9, 1, 0},
    {"leaky_relu(%s)", false, true, 1e9, 1, 0},
    {"elu(%s)", false, true, 1e9, 1, 1},
    {"elu(%s, alpha = 0.5)", false, true, 1e9, 1, 1},
    {"clamp(%s, -0.7, 0.9)", false, true, 1e9, 0, 1},
    {"square(%s)", false, true, 3, 3, 0},
    {"abs(%s)", false, true, 1e9, 1, 0},
    {"sin(%s)", false, true, 20, 0, 1},
    {"cos(%s)", false, true, 20, 0, 1},
    {"erf(%s)", false, true, 1e9, 0, 1},
    {"exp(%s)", false, true, 2, 0, 8},
    {"expm1(minimum(%s, 1.0))", false, true, 1e9, 0, 2},
    {"log1p(abs(%s))", false, true, 1e9, 1, 0},
    {"log(%s ** 2 + 0.5)", true, true, 1e9, 1, 1},
    {"sqrt(square(%s) + 0.1)", false, true, 1e9, 1, 1},
    {"rsqrt(%s ** 2 + 0.5)", true, true, 1e9, 0, 2},
    {"reciprocal(1 + abs(%s))", false, true, 1e9, 0, 1},
    {"-%s", true, false, 1e9, 1, 0},
    {"%s / 3", true, false, 1e9, 0.34, 0},
    {"%s * 0.5 - 0.25", true, false, 1e9, 0.5, 0.25},
    {"1 - %s", true, false, 1e9, 1, 1},
    {"%s ** 2", true, false, 3, 3, 0},
    {"%s ** 3", true, false, 2, 4, 0},
    {"(abs(%s) + 0.1) ** 1.5", false, false, 3, 2, 0},
    {"(%s ** 2 + 0.5) ** -1", true, false, 9, 0, 2},
    {"%1$s * 0.5 + stop_gradient(sign(%1$s)) * 0.25", true, false, 1e9, 0.5, 0.25},
    {"%1$s + 0.125 * floor(%1$s * 3)", true, false, 1e9, 1.5, 0},
    {"%1$s - 0.25 * round(%1$s)", true, false, 1e9, 1.5, 0},
    {"%s %% 1.5", true, false, 1e9, 0, 1.5},
    {"ceil(%1$s) * 0.1 + %1$s", true, false, 1e9, 1.2, 0},
    {"identity(%s)", false, true, 1e9, 1, 0},
    {"cast(%s, f32)", false, true, 1e9, 1, 0},
    {"cast(cast(%s, f64), f32)", false, true, 1e9, 1, 0},
};

enum { UNARY_COUNT = sizeof unaries / sizeof *unaries };

const char *body_lambda(struct body *body) {
  const struct unary *row = &unaries[rnd_below(body->rnd, UNARY_COUNT)];
  while (row->most < 5)
    row = &unaries[rnd_below(body->rnd, UNARY_COUNT)];
  const char *inner = rnd_format(body->rnd, row->format, "x");
  const char *scale = row->a > 0 ? " * 0.8" : "";
  return rnd_format(body->rnd, row->atom ? "x -> %s%s" : "x -> (%s)%s", inner, scale);
}

struct body_value body_unary(struct body *body, struct body_value x) {
  const struct unary *row = &unaries[rnd_below(body->rnd, UNARY_COUNT)];
  struct body_file *file = body->file;
  if (file->function_count > 0 && rnd_chance(body->rnd, 20)) {
    const char *function = file->functions[rnd_below(body->rnd, file->function_count)];
    x = body_make(body, &x, true, "%s(%s)", function, x.text);
    x.mag = 2 * x.mag + 1;
    return body_tame(body, x);
  }
  if (x.mag > row->most)
    x = body_tame(body, x);
  if (x.mag > row->most)
    return x;
  const char *text = row->operand ? body_operand(body, &x) : x.text;
  double mag = row->a * x.mag + row->b;
  struct body_value out = x;
  out.text = rnd_format(body->rnd, row->format, text);
  out.atom = row->atom;
  out.mag = mag;
  return out;
}

/* ---- two operands ---- */

/* Something that broadcasts with x to x's shape: another value, a parameter, a part of x. */
static struct body_value partner(struct body *body, const struct body_value *x) {
  for (int tries = 0; tries < 6; tries++) {
    struct body_value y = body_peek(body);
    int skip = x->shape.rank - y.shape.rank;
    bool fits = skip >= 0;
    for (int i = 0; fits && i < y.shape.rank; i++)
      fits = y.shape.dims[i] == x->shape.dims[skip + i] || y.shape.dims[i] == 1;
    if (fits)
      return y;
  }
  if (body->owns && rnd_chance(body->rnd, 60)) {
    struct body_value param = *x;
    int drop = rnd_below(body->rnd, x->shape.rank + 1);
    if (drop == 0 && body_batched(&x->shape))
      drop = 1;
    param.shape.rank -= drop;
    memmove(param.shape.dims, x->shape.dims + drop, (size_t)param.shape.rank * sizeof(int));
    for (int i = 0; i < param.shape.rank; i++) {
      if (rnd_chance(body->rnd, 20))
        param.shape.dims[i] = 1;
    }
    param.text = rnd_format(body->rnd, "p%d", body->file->counter++);
    param.atom = true;
    param.mag = 1;
    body_line(body, "param %s: f32%s ~ %s", param.text, body_dims(body, &param.shape),
              RND_WORD(body->rnd, "normal(stddev = 0.4)", "ones()", "uniform(-0.5, 0.5)",
                       "constant(0.3)", "truncated_normal(stddev = 0.5)", "normal(0.1, 0.3)",
                       "glorot_uniform()", "he_normal()", "uniform(low = 0.1, high = 0.9)"));
    return param;
  }
  struct body_value y = body_make(body, x, true, "cos(%s)", x->text);
  y.mag = 1;
  return y;
}

struct body_value body_condition(struct body *body, const struct body_value *like) {
  struct body_value c = *like, other;
  const char *x = body_operand(body, like), *bound = rnd_number(body->rnd, -0.5, 0.9);
  const char *compare = RND_WORD(body->rnd, "<", "<=", ">", ">=");
  c.type = BODY_BOOL;
  c.atom = false;
  c.text = rnd_format(body->rnd, "%s %s %s", x, compare, bound);
  if (rnd_chance(body->rnd, 20))
    c.text = rnd_format(body->rnd, "%s > -0.3 and %s %s %s", x, x, compare, bound);
  else if (rnd_chance(body->rnd, 10))
    c.text = rnd_format(body->rnd, "not (%s %s %s)", x, compare, bound);
  else if (rnd_chance(body->rnd, 25) && like->shape.rank > 0 && body_pick_int(body, &other) &&
           other.shape.rank == 1 && body_batched(&like->shape) && body_batched(&other.shape)) {
    struct body_shape ones = {.rank = like->shape.rank, .dims = {BATCH, 1, 1, 1}};
    c.text = rnd_format(body->rnd, "%s or reshape(%s, %s) %% 2 == 0",
                        rnd_format(body->rnd, "%s %s %s", x, compare, bound), other.text,
                        body_dims(body, &ones));
  }
  return c;
}

static struct body_value binary(struct body *body, struct body_value x) {
  struct body_value out = x;
  if (rnd_chance(body->rnd, 8)) {
    out = body_make(body, &x, true, "where(%s, %s, 0.1)", body_condition(body, &x).text, x.text);
    return body_tame(body, out);
  }
  struct body_value y = partner(body, &x);
  const char *a = body_operand(body, &x), *b = body_operand(body, &y);
  out.atom = false;
  switch (rnd_below(body->rnd, 10)) {
  case 0:
  case 1:
    out.text = rnd_format(body->rnd, "%s + %s", a, b);
    out.mag = x.mag + y.mag;
    break;
  case 2:
    out.text = rnd_format(body->rnd, "%s - %s", b, a);
    out.mag = x.mag + y.mag;
    break;
  case 3:
  case 4:
    out.text = rnd_format(body->rnd, "%s * %s", a, b);
    out.mag = x.mag * y.mag;
    break;
  case 5:
    out.text = rnd_format(body->rnd, "%s / (1 + %s ** 2)", a, b);
    break;
  case 6:
    out = body_make(body, &x, true, "maximum(%s, %s)", x.text, y.text);
    out.mag = fmax(x.mag, y.mag);
    break;
  case 7:
    out = body_make(body, &x, true, "minimum(%s, %s)", y.text, x.text);
    out.mag = fmax(x.mag, y.mag);
    break;
  case 8: {
    struct body_value c = body_condition(body, &x);
    out = body_make(body, &x, true, "where(%s, %s, %s)", c.text, x.text, y.text);
    out.mag = fmax(x.mag, y.mag);
    break;
  }
  default:
    out.text = rnd_format(body->rnd, "(%s ** 2 + 0.5) ** sigmoid(%s)", a, y.text);
    out.mag = x.mag * x.mag + 1;
    break;
  }
  return body_tame(body, out);
}

static struct body_value reduction(struct body *body, struct body_value x) {
  static const char *const names[] = {"sum",       "mean", "max",  "min", "prod", "var",
                                      "logsumexp", "norm", "mean", "sum", NULL};
  const char *name = rnd_word(body->rnd, names), *list = "";
  struct body_value out = x;
  bool keep = rnd_chance(body->rnd, 40);
  int count = 0;
  out.shape.rank = 0;
  for (int axis = 0; axis < x.shape.rank; axis++) {
    bool batch = x.shape.dims[axis] == BATCH;
    if (rnd_chance(body->rnd, batch ? 12 : 50)) {
      list = rnd_format(body->rnd, "%s%s%d", list, count++ > 0 ? ", " : "",
                        body_written_axis(body, &x.shape, axis));
      if (keep)
        out.shape.dims[out.shape.rank++] = 1;
    } else {
      out.shape.dims[out.shape.rank++] = x.shape.dims[axis];
    }
  }
  if (count == 0)
    return body_unary(body, x);
  bool power = strcmp(name, "prod") == 0, square = strcmp(name, "norm") == 0;
  if (power)
    x = body_make(body, &x, false, "1 + 0.1 * %s", body_operand(body, &x));
  const char *axes = count == 1 && rnd_chance(body->rnd, 50)
                         ? rnd_format(body->rnd, "axis = %s", list)
                         : rnd_format(body->rnd, "axes = [%s]", list);
  if (count == 1 && strcmp(name, "var") == 0 && axes[2] == 'i')
    axes = rnd_format(body->rnd, "axes = [%s]", list);
  if (strcmp(name, "logsumexp") == 0 && axes[2] == 'i')
    axes = rnd_format(body->rnd, "[%s]", list);
  const char *text =
      square ? rnd_format(body->rnd, "%s ** 2 + 0.01", body_operand(body, &x)) : x.text;
  out = body_make(body, &out, true, "%s(%s, %s%s)", name, text, axes,
                  keep ? ", keepdims = true" : "");
  int lost = body_size(&x.shape) / (body_size(&out.shape) > 0 ? body_size(&out.shape) : 1);
  if (body_batched(&x.shape) && !body_batched(&out.shape))
    lost *= 4;
  if (strcmp(name, "sum") == 0)
    out.mag = x.mag * sqrt(lost);
  else if (power)
    out.mag = 4;
  else
    out.mag = x.mag + 2;
  return body_tame(body, out);
}

static struct body_value normalised(struct body *body, struct body_value x) {
  int axis = body_pick_axis(body, &x.shape, false);
  if (axis < 0)
    return body_unary(body, x);
  if (rnd_chance(body->rnd, 30)) {
    x = body_make(body, &x, true, "log_softmax(%s, axis = %d)", x.text,
                  body_written_axis(body, &x.shape, axis));
    x.mag += 3;
    return x;
  }
  if (rnd_chance(body->rnd, 50))
    x = body_make(body, &x, true, "softmax(%s, axis = %d)", x.text,
                  body_written_axis(body, &x.shape, axis));
  else if (axis == x.shape.rank - 1)
    x = body_make(body, &x, true, "softmax(%s)", x.text);
  x.mag = fmin(x.mag, 4);
  return x;
}

/* ---- products ---- */

static struct body_value product(struct body *body, struct body_value x) {
  int rank = x.shape.rank, n = rnd_between(body->rnd, 1, 9);
  bool batch = body_batched(&x.shape);
  struct body_value out = x;
  if (rank < 2 || (batch && rank < 2) || body_size(&x.shape) > 1500)
    return body_unary(body, x);
  int k = x.shape.dims[rank - 1];
  double grown = x.mag * sqrt(k);
  if (rank == 2 && batch) {
    const char *text = x.text;
    switch (rnd_below(body->rnd, 3)) {
    case 0: /* every example with itself: an outer product */
      if (k > 12)
        break;
      out.shape = (struct body_shape){3, {BATCH, k, k}};
      out = body_make(body, &out, true, "einsum(\"bi,bj->bij\", %s, tanh(%s))", text, text);
      return body_tame(body, out);
    case 1:
      out.shape = (struct body_shape){2, {k, k}};
      if (k > 12)
        break;
      out = body_make(body, &out, false, "transpose(%s) @ %s", text, body_operand(body, &x));
      out.mag = x.mag * x.mag * 4;
      return body_tame(body, out);
    default:
      break;
    }
    out.shape = (struct body_shape){1, {BATCH}};
    out = body_make(body, &out, true, "einsum(\"bi,bi->b\", %s, sigmoid(%s))", text, text);
    out.mag = grown;
    return body_tame(body, out);
  }
  if (body->owns && rnd_chance(body->rnd, 50) && rank >= 2) {
    const char *w = rnd_format(body->rnd, "p%d", body->file->counter++);
    body_line(body, "param %s: f32[%d, %d] ~ %s", w, k, n,
              RND_WORD(body->rnd, "glorot_uniform()", "glorot_normal()", "he_uniform()",
                       "orthogonal()", "normal(stddev = 0.3)"));
    out.shape.dims[rank - 1] = n;
    out = rnd_chance(body->rnd, 70)
              ? body_make(body, &out, false, "%s @ %s", body_operand(body, &x), w)
              : body_make(body, &out, true, "matmul(%s, %s)", x.text, w);
    out.mag = x.mag + 1;
    return body_tame(body, out);
  }
  int m = x.shape.dims[rank - 2];
  if (rank == 3 && batch) {
    switch (rnd_below(body->rnd, 3)) {
    case 0:
      out.shape.dims[2] = m;
      out = body_make(body, &out, true, "einsum(\"bij,bkj->bik\", %s, tanh(%s))", x.text, x.text);
      out.mag = grown;
      return body_tame(body, out);
    case 1:
      out.shape = (struct body_shape){3, {BATCH, k, k}};
      out = body_make(body, &out, false, "transpose(%s, [0, 2, 1]) @ %s", x.text,
                      body_operand(body, &x));
      out.mag = x.mag * x.mag * sqrt(m);
      return body_tame(body, out);
    default:
      out.shape = (struct body_shape){2, {k, m}};
      out = body_make(body, &out, true, "einsum(\"bij->ji\", %s)", x.text);
      out.mag = x.mag * 4;
      return body_tame(body, out);
    }
  }
  if (m > 12)
    return body_unary(body, x);
  struct body_value turn = x;
  const char *perm = rank == 4 ? ", [0, 1, 3, 2]" : rank == 3 ? ", [0, 2, 1]" : "";
  turn = body_make(body, &turn, true, "transpose(%s%s)", x.text, perm);
  out.shape.dims[rank - 1] = m;
  out = body_make(body, &out, false, "%s @ %s", body_operand(body, &x), turn.text);
  out.mag = x.mag * grown;
  return body_tame(body, out);
}

/* ---- layers ---- */

struct body_value body_flat(struct body *body, struct body_value from) {
  if (from.shape.rank == 2 && body_batched(&from.shape))
    return from;
  int size = body_size(&from.shape);
  if (!body_batched(&from.shape)) {
    struct body_shape wide = {2, {BATCH, size}};
    from = body_make(body, &from, true, "broadcast_to(reshape(%s, [%d]), %s)", from.text, size,
                     body_dims(body, &wide));
    from.shape = wide;
    return from;
  }
  from.shape = (struct body_shape){2, {BATCH, size}};
  return body_make(body, &from, true, "reshape(%s, [%s, %d])", from.text, body->batch, size);
}

struct body_value body_dense(struct body *body, struct body_value from, int out) {
  from = body_flat(body, from);
  from.shape.dims[1] = out;
  from.mag += 1;
  return body_make(body, &from, true, "(%s: dense(%s, out = %d))", body_label(body), from.text,
                   out);
}

struct body_value body_adapt(struct body *body, struct body_value from,
                             const struct body_shape *shape) {
  if (body_same(&from.shape, shape))
    return from;
  from = body_dense(body, from, body_size(shape));
  if (!body_batched(shape))
    from = body_make(body, &from, true, "mean(%s, axis = 0)", from.text);
  from.shape = *shape;
  return body_make(body, &from, true, "reshape(%s, %s)", from.text, body_dims(body, shape));
}

static struct body_value own_layer(struct body *body, struct body_value x) {
  const struct body_layer *layer =
      &body->file->layers[rnd_below(body->rnd, body->file->layer_count)];
  struct body_shape in = {.rank = layer->in.rank + 1, .dims = {BATCH}};
  memcpy(in.dims + 1, layer->in.dims, (size_t)layer->in.rank * sizeof(int));
  x = body_adapt(body, x, &in);
  struct body_value out = x;
  out.shape.rank = layer->out.rank + 1;
  memcpy(out.shape.dims + 1, layer->out.dims, (size_t)layer->out.rank * sizeof(int));
  out.mag = 4;
  return body_make(body, &out, true, "(%s: %s(%s%s))", body_label(body), layer->name, x.text,
                   layer->arguments);
}

static struct body_value layer(struct body *body, struct body_value x) {
  int last = x.shape.rank - 1;
  if (body->file->layer_count > 0 && rnd_chance(body->rnd, 25))
    return own_layer(body, x);
  /* `...` takes the batch; without an axis of its own a value has none for the layer. */
  if (x.shape.rank < (body_batched(&x.shape) ? 2 : 1))
    return body_unary(body, x);
  switch (rnd_below(body->rnd, 4)) {
  case 0:
    x = body_make(body, &x, true, "(%s: layer_norm(%s%s))", body_label(body), x.text,
                  rnd_chance(body->rnd, 30) ? ", eps = 0.1" : ", eps = 0.01");
    x.mag = 3;
    return x;
  case 1:
    return body_make(body, &x, true, "(%s: dropout(%s, rate = %s))", body_label(body), x.text,
                     RND_WORD(body->rnd, "0.1", "0.5", "0.25", "0"));
  default: {
    if (x.shape.rank < 2) /* a matrix product takes matrices */
      return body_unary(body, x);
    int out = rnd_between(body->rnd, 1, 9);
    if (rnd_chance(body->rnd, 20))
      out = rnd_between(body->rnd, 15, 34);
    struct body_value y = x;
    y.shape.dims[last] = out;
    const char *more = "";
    if (rnd_chance(body->rnd, 30))
      more =
          rnd_format(body->rnd, ", act = %s", RND_WORD(body->rnd, "relu", "tanh", "silu", "gelu"));
    else if (rnd_chance(body->rnd, 30))
      more = rnd_format(body->rnd, ", act = %s", body_lambda(body));
    y = body_make(body, &y, true, "(%s: dense(%s, out = %d%s%s))", body_label(body), x.text, out,
                  more, rnd_chance(body->rnd, 20) ? ", bias = false" : "");
    y.mag = x.mag + 1;
    return y;
  }
  }
}

/* ---- chains ---- */

static struct body_value step(struct body *body, struct body_value x) {
  switch (rnd_below(body->rnd, 16)) {
  case 0:
  case 1:
  case 2:
    return body_unary(body, x);
  case 3:
  case 4:
    return binary(body, x);
  case 5:
    return reduction(body, x);
  case 6:
    return normalised(body, x);
  case 7:
    return body_reshaped(body, x);
  case 8:
    return rnd_chance(body->rnd, 50) ? body_transposed(body, x) : body_turned(body, x);
  case 9:
    return body_sliced(body, x);
  case 10:
    return body_joined(body, x);
  case 11:
    return rnd_chance(body->rnd, 50) ? body_padded(body, x) : body_rearranged(body, x);
  case 12:
    return product(body, x);
  default:
    return body->quiet_layers ? body_unary(body, x) : layer(body, x);
  }
}

struct body_value body_expression(struct body *body, struct body_value from, int steps) {
  for (int i = 0; i < steps; i++) {
    body_use(body, from.text);
    if (strlen(from.text) > 120)
      from = body_bind(body, &from); /* a part that is used twice must not make a layer twice */
    from = step(body, from);
    if (strchr(from.text, ':'))
      from = body_bind(body, &from);
  }
  return body_tame(body, from);
}
