/* A body under construction: the values that its expressions may use, and how to make new ones.
 *
 * A value is a text with the type that the language gives it, so that every text that is made is a
 * valid one. Sizes are small; an axis may be the batch, whose size the text must not depend on.
 * `mag` bounds what elements come to, roughly: what grows is brought back, so that training steps
 * compare well in f32 and f64.
 *
 * Ownership: the arena of the generator. Threads: none.
 */
#ifndef RANDOM_BODY_H
#define RANDOM_BODY_H

#include "text.h"

enum { BODY_RANK = 4, BODY_VALUES = 96, BATCH = -1 };

enum body_type { BODY_F32, BODY_I32, BODY_I64, BODY_U8, BODY_BOOL };

struct body_shape {
  int rank;
  int dims[BODY_RANK]; /* BATCH in front, or a size */
};

struct body_value {
  const char *text;
  bool atom; /* needs no parentheses as an operand */
  enum body_type type;
  struct body_shape shape;
  double mag; /* integers: one more than the largest */
};

struct body_name {
  struct body_value value;
  bool used; /* something differentiable depends on it */
};

/* A layer of the file that has been written already. */
struct body_layer {
  const char *name;
  struct body_shape in, out; /* without the batch axis in front */
  const char *arguments;     /* ", k = 3", or "" */
  bool updates;              /* has states: one application an instance */
};

struct body_file {
  struct rnd rnd;
  struct dtg_strbuf items; /* functions, layers, optimizers: what stands in front of the model */
  struct body_layer layers[8];
  int layer_count;
  const char *functions[8]; /* of one tensor, element-wise */
  int function_count;
  int counter; /* for names */
};

struct body {
  struct body_file *file;
  struct rnd *rnd;
  struct dtg_strbuf *out;
  int indent;
  const char *batch; /* the name of the batch axis */
  const char *index; /* loop variables as label parts: "[i][j]"; "" outside of loops */
  bool owns;         /* a layer: params and states may be declared */
  bool updates;      /* a state was declared */
  bool quiet_layers; /* no layer calls here */
  struct body_name names[BODY_VALUES];
  int count;
};

/* ---- shapes and texts ---- */
bool body_same(const struct body_shape *a, const struct body_shape *b);
/* The size of all axes but the batch. */
int body_size(const struct body_shape *shape);
bool body_batched(const struct body_shape *shape);
const char *body_dims(struct body *body, const struct body_shape *shape); /* "[B, 3]" */
const char *body_operand(struct body *body, const struct body_value *value);
struct body_value body_make(struct body *body, const struct body_value *like, bool atom,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
const char *body_label(struct body *body); /* a label of its own */

/* ---- values ---- */
void body_line(struct body *body, const char *format, ...) __attribute__((format(printf, 2, 3)));
void body_add(struct body *body, const struct body_value *value); /* text: the name */
/* Writes `NAME = text`. */
struct body_value body_bind(struct body *body, const struct body_value *value);
/* The name, if it is one, counts as used. */
void body_use(struct body *body, const char *name);
/* A floating-point value to go on from; counts as used. */
struct body_value body_pick(struct body *body);
/* The same of any use: what is made of it need not reach the loss. */
struct body_value body_peek(struct body *body);
/* An integer value, false if there is none. */
bool body_pick_int(struct body *body, struct body_value *out);
/* Brought to at most about 4. */
struct body_value body_tame(struct body *body, struct body_value value);

/* ---- expressions (expression.c) ---- */
struct body_value body_expression(struct body *body, struct body_value from, int steps);
/* Element-wise, of the same shape. */
struct body_value body_unary(struct body *body, struct body_value x);
struct body_value body_condition(struct body *body, const struct body_value *like);
const char *body_lambda(struct body *body);
/* [batch, out] */
struct body_value body_dense(struct body *body, struct body_value from, int out);
/* A value of this shape made of `from`, by a dense layer if it has another. */
struct body_value body_adapt(struct body *body, struct body_value from,
                             const struct body_shape *shape);
/* As [batch, n] */
struct body_value body_flat(struct body *body, struct body_value from);

/* ---- shapes (shape.c) ---- */
/* An axis, or -1; the batch only if asked for. */
int body_pick_axis(struct body *body, const struct body_shape *shape, bool batch_too);
/* The axis, or the same counted from the end. */
int body_written_axis(struct body *body, const struct body_shape *shape, int axis);
struct body_value body_reshaped(struct body *body, struct body_value x);
struct body_value body_transposed(struct body *body, struct body_value x);
struct body_value body_turned(struct body *body, struct body_value x);
struct body_value body_sliced(struct body *body, struct body_value x);
struct body_value body_joined(struct body *body, struct body_value x);
struct body_value body_padded(struct body *body, struct body_value x);
struct body_value body_rearranged(struct body *body, struct body_value x);

/* ---- statements (statement.c) ---- */
void body_statements(struct body *body, int count);
/* `value` and small parts of all names from `first` on that nothing uses. */
struct body_value body_with_unused(struct body *body, int first, struct body_value value);

/* ---- items (item.c) ---- */
void item_function(struct body_file *file);
void item_layer(struct body_file *file);

#endif
