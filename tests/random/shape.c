/* Values of other shapes with the same elements, or some of them. */
#include "body.h"

#include <math.h>
#include <string.h>

/* ---- axes ---- */

int body_pick_axis(struct body *body, const struct body_shape *shape, bool batch_too) {
  int first = body_batched(shape) && !batch_too ? 1 : 0;
  return first < shape->rank ? rnd_between(body->rnd, first, shape->rank - 1) : -1;
}

int body_written_axis(struct body *body, const struct body_shape *shape, int axis) {
  return rnd_chance(body->rnd, 40) ? axis - shape->rank : axis;
}

/* ---- the same elements in another order ---- */

struct body_value body_reshaped(struct body *body, struct body_value x) {
  struct body_shape shape = {.rank = 0};
  int left = body_size(&x.shape);
  if (body_batched(&x.shape))
    shape.dims[shape.rank++] = BATCH;
  while (left > 1 && shape.rank < BODY_RANK - 1) {
    int divisor = 1;
    for (int i = 2; i <= left; i++) {
      if (left % i == 0 && rnd_chance(body->rnd, 40)) {
        divisor = i;
        break;
      }
    }
    if (divisor == 1)
      break;
    shape.dims[shape.rank++] = divisor;
    left /= divisor;
  }
  if (left > 1 || rnd_chance(body->rnd, 30))
    shape.dims[shape.rank++] = left;
  x.shape = shape;
  return body_make(body, &x, true, "reshape(%s, %s)", x.text, body_dims(body, &shape));
}

struct body_value body_transposed(struct body *body, struct body_value x) {
  int first = body_batched(&x.shape) ? 1 : 0, perm[BODY_RANK];
  const char *text = "";
  struct body_value out = x;
  if (x.shape.rank - first < 2)
    return body_reshaped(body, x);
  for (int i = 0; i < x.shape.rank; i++)
    perm[i] = i;
  for (int i = x.shape.rank - 1; i > first; i--) {
    int j = rnd_between(body->rnd, first, i), keep = perm[i];
    perm[i] = perm[j];
    perm[j] = keep;
  }
  for (int i = 0; i < x.shape.rank; i++) {
    out.shape.dims[i] = x.shape.dims[perm[i]];
    text = rnd_format(body->rnd, "%s%s%d", text, i > 0 ? ", " : "", perm[i]);
  }
  return body_make(body, &out, true, "transpose(%s, [%s])", x.text, text);
}

/* Back and forth through a permutation that moves the batch. */
struct body_value body_turned(struct body *body, struct body_value x) {
  struct body_shape turn = x.shape;
  if (x.shape.rank < 2)
    return body_unary(body, x);
  for (int i = 0; i < turn.rank; i++)
    turn.dims[i] = x.shape.dims[turn.rank - 1 - i];
  struct body_value inner = x;
  inner.shape = turn;
  inner = body_make(body, &inner, true, "transpose(%s)", x.text);
  inner = body_unary(body, inner);
  inner.shape = x.shape;
  return body_make(body, &inner, true, "transpose(%s)", inner.text);
}

struct body_value body_sliced(struct body *body, struct body_value x) {
  struct body_value out = x;
  const char *text = body_batched(&x.shape) ? ":" : "";
  int first = body_batched(&x.shape) ? 1 : 0;
  if (first == x.shape.rank)
    return body_unary(body, x);
  out.shape.rank = first;
  bool dots = first == 1 && x.shape.rank == 2 && rnd_chance(body->rnd, 30);
  if (dots)
    text = "...";
  for (int axis = first; axis < x.shape.rank; axis++) {
    int size = x.shape.dims[axis], begin = rnd_below(body->rnd, size);
    int end = rnd_between(body->rnd, begin + 1, size), step = rnd_between(body->rnd, 1, 3);
    const char *part = ":";
    int left = size;
    switch (rnd_below(body->rnd, 5)) {
    case 0:
      part = rnd_format(body->rnd, "%d", rnd_chance(body->rnd, 50) ? begin : begin - size);
      left = 0;
      break;
    case 1:
      part = rnd_format(body->rnd, "%d:%d:%d", begin, end, step);
      left = (end - begin + step - 1) / step;
      break;
    case 2:
      part = rnd_format(body->rnd, ":%d", end);
      left = end;
      break;
    case 3:
      part = rnd_format(body->rnd, "%d::%d", begin - size, step);
      left = (size - begin + step - 1) / step;
      break;
    default:
      break;
    }
    if (left > 0)
      out.shape.dims[out.shape.rank++] = left;
    text = rnd_format(body->rnd, "%s%s%s", text, *text ? ", " : "", part);
  }
  return body_make(body, &out, true, "%s[%s]", body_operand(body, &x), text);
}

struct body_value body_joined(struct body *body, struct body_value x) {
  int axis = body_pick_axis(body, &x.shape, false);
  if (axis < 0 || body_size(&x.shape) > 400)
    return body_unary(body, x);
  struct body_value y = body_unary(body, x), out = x;
  out.mag = fmax(x.mag, y.mag);
  if (rnd_chance(body->rnd, 25) && x.shape.rank < BODY_RANK) {
    memmove(out.shape.dims + axis + 1, x.shape.dims + axis,
            (size_t)(x.shape.rank - axis) * sizeof(int));
    out.shape.dims[axis] = 2;
    out.shape.rank++;
    return body_make(body, &out, true, "stack([%s, %s], axis = %d)", x.text, y.text, axis);
  }
  if (rnd_chance(body->rnd, 40) && x.shape.dims[axis] > 1) {
    const char *cut = "";
    for (int i = 0; i < axis; i++)
      cut = rnd_format(body->rnd, "%s:, ", cut);
    y = body_make(body, &y, true, "%s[%s1:]", body_operand(body, &y), cut);
    out.shape.dims[axis]--;
  }
  out.shape.dims[axis] += x.shape.dims[axis];
  return body_make(body, &out, true, "concat([%s, %s], axis = %d)", x.text, y.text,
                   body_written_axis(body, &x.shape, axis));
}

struct body_value body_padded(struct body *body, struct body_value x) {
  const char *before = "", *after = "";
  struct body_value out = x;
  for (int i = 0; i < x.shape.rank; i++) {
    bool batch = x.shape.dims[i] == BATCH;
    int a = batch ? 0 : rnd_below(body->rnd, 3), b = batch ? 0 : rnd_below(body->rnd, 2);
    if (!batch)
      out.shape.dims[i] += a + b;
    before = rnd_format(body->rnd, "%s%s%d", before, i > 0 ? ", " : "", a);
    after = rnd_format(body->rnd, "%s%s%d", after, i > 0 ? ", " : "", b);
  }
  if (x.shape.rank == 0)
    return body_unary(body, x);
  return body_make(body, &out, true, "pad(%s, before = [%s], after = [%s]%s)", x.text, before,
                   after, rnd_chance(body->rnd, 40) ? ", value = 0.5" : "");
}

struct body_value body_rearranged(struct body *body, struct body_value x) {
  int axis = body_pick_axis(body, &x.shape, rnd_chance(body->rnd, 20));
  struct body_value out = x;
  if (axis < 0)
    return body_unary(body, x);
  if (rnd_chance(body->rnd, 35))
    return body_make(body, &x, true, "reverse(%s, axes = [%d])", x.text, axis);
  if (x.shape.rank < BODY_RANK && rnd_chance(body->rnd, 50)) {
    int at = rnd_between(body->rnd, body_batched(&x.shape) ? 1 : 0, x.shape.rank);
    memmove(out.shape.dims + at + 1, x.shape.dims + at, (size_t)(x.shape.rank - at) * sizeof(int));
    out.shape.dims[at] = 1;
    out.shape.rank++;
    out = body_make(body, &out, true, "expand_dims(%s, %d)", x.text, at);
    if (rnd_chance(body->rnd, 50) && body_size(&x.shape) < 200) {
      out.shape.dims[at] = rnd_between(body->rnd, 2, 4);
      out = body_make(body, &out, true, "broadcast_to(%s, %s)", out.text,
                      body_dims(body, &out.shape));
    }
    return out;
  }
  if (x.shape.dims[axis] == BATCH)
    return body_make(body, &x, true, "reverse(%s, axes = [0])", x.text);
  int n = rnd_between(body->rnd, 1, 5);
  out.shape.dims[axis] = n;
  return body_make(body, &out, true, "gather(%s, iota([%d]) * 7 %% %d, axis = %d)", x.text, n,
                   x.shape.dims[axis], axis);
}
