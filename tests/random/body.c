#include "body.h"

#include <stdio.h>
#include <string.h>

bool body_same(const struct body_shape *a, const struct body_shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

bool body_batched(const struct body_shape *shape) {
  return shape->rank > 0 && shape->dims[0] == BATCH;
}

int body_size(const struct body_shape *shape) {
  int size = 1;
  for (int i = 0; i < shape->rank; i++)
    size *= shape->dims[i] == BATCH ? 1 : shape->dims[i];
  return size;
}

const char *body_dims(struct body *body, const struct body_shape *shape) {
  const char *text = "";
  for (int i = 0; i < shape->rank; i++) {
    const char *comma = i > 0 ? ", " : "";
    text = shape->dims[i] == BATCH ? rnd_format(body->rnd, "%s%s%s", text, comma, body->batch)
                                   : rnd_format(body->rnd, "%s%s%d", text, comma, shape->dims[i]);
  }
  return rnd_format(body->rnd, "[%s]", text);
}

const char *body_operand(struct body *body, const struct body_value *value) {
  return value->atom ? value->text : rnd_format(body->rnd, "(%s)", value->text);
}

struct body_value body_make(struct body *body, const struct body_value *like, bool atom,
                            const char *format, ...) {
  struct body_value value = *like;
  va_list args;
  va_start(args, format);
  value.text = dtg_arena_vprintf(body->rnd->arena, format, args);
  va_end(args);
  value.atom = atom;
  return value;
}

const char *body_label(struct body *body) {
  static const char *const stems[] = {"fc", "blk", "part", "up", "mix.a", "tower.in", NULL};
  return rnd_format(body->rnd, "%s%d%s", rnd_word(body->rnd, stems), body->file->counter++,
                    body->index);
}

void body_line(struct body *body, const char *format, ...) {
  va_list args;
  va_start(args, format);
  dtg_strbuf_repeat(body->out, ' ', (size_t)(2 * body->indent));
  dtg_strbuf_vprintf(body->out, format, args);
  dtg_strbuf_putc(body->out, '\n');
  va_end(args);
}

void body_add(struct body *body, const struct body_value *value) {
  if (body->count < BODY_VALUES)
    body->names[body->count++] = (struct body_name){.value = *value};
}

struct body_value body_bind(struct body *body, const struct body_value *value) {
  struct body_value bound = *value;
  bound.text = rnd_format(body->rnd, "v%d", body->file->counter++);
  bound.atom = true;
  body_line(body, "%s = %s", bound.text, value->text);
  body_add(body, &bound);
  return bound;
}

static struct body_name *choose(struct body *body) {
  for (;;) { /* there is always a floating-point one; the newer, the likelier */
    int a = rnd_below(body->rnd, body->count), b = rnd_below(body->rnd, body->count);
    struct body_name *name = &body->names[a > b ? a : b];
    if (name->value.type == BODY_F32)
      return name;
  }
}

struct body_value body_pick(struct body *body) {
  struct body_name *name = choose(body);
  name->used = true;
  return name->value;
}

void body_use(struct body *body, const char *name) {
  for (int i = 0; i < body->count; i++) {
    if (strcmp(body->names[i].value.text, name) == 0)
      body->names[i].used = true;
  }
}

struct body_value body_peek(struct body *body) {
  return choose(body)->value;
}

bool body_pick_int(struct body *body, struct body_value *out) {
  int candidates[BODY_VALUES], count = 0;
  for (int i = 0; i < body->count; i++) {
    enum body_type type = body->names[i].value.type;
    if (type == BODY_I32 || type == BODY_I64 || type == BODY_U8)
      candidates[count++] = i;
  }
  if (count == 0)
    return false;
  *out = body->names[candidates[rnd_below(body->rnd, count)]].value;
  return true;
}

struct body_value body_tame(struct body *body, struct body_value value) {
  if (value.mag <= 4)
    return value;
  double mag = value.mag;
  if (mag > 40 || rnd_chance(body->rnd, 30)) {
    value = body_make(body, &value, true, "tanh(%s)", value.text);
    value.mag = 1;
  } else {
    value = body_make(body, &value, false, "%s * %.3f", body_operand(body, &value), 2 / mag);
    value.mag = 2;
  }
  return value;
}
