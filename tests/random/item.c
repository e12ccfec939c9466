/* Functions and layers of the file, written before they are used. */
#include "body.h"

#include <string.h>

static struct body open_body(struct body_file *file, const char *batch) {
  return (struct body){.file = file,
                       .rnd = &file->rnd,
                       .out = &file->items,
                       .indent = 1,
                       .batch = batch,
                       .index = ""};
}

void item_function(struct body_file *file) {
  struct body body = open_body(file, "N");
  const char *name = rnd_format(&file->rnd, "f%d", file->counter++);
  struct body_value x = {
      .text = "x", .atom = true, .mag = 4, .shape = {.rank = 2, .dims = {BATCH, 3}}};
  body_add(&body, &x);
  body.quiet_layers = true;
  if (rnd_chance(&file->rnd, 50)) {
    x = body_unary(&body, body_unary(&body, x));
    dtg_strbuf_printf(&file->items, "fn %s(x) = clamp(%s, -3, 3)\n", name, x.text);
  } else {
    dtg_strbuf_printf(&file->items, "fn %s(x: f32[...], scale: float = 0.5) -> f32[...] {\n", name);
    struct body_value y = body_unary(&body, x);
    y = body_bind(&body, &y);
    y = body_unary(&body, y);
    body_line(&body, "return clamp(%s * scale, -3, 3)", body_operand(&body, &y));
    dtg_strbuf_puts(&file->items, "}\n");
  }
  file->functions[file->function_count++] = name;
}

static struct body_shape small_shape(struct rnd *rnd) {
  struct body_shape shape = {.rank = rnd_between(rnd, 1, 2)};
  for (int i = 0; i < shape.rank; i++)
    shape.dims[i] = rnd_between(rnd, 1, 7);
  return shape;
}

void item_layer(struct body_file *file) {
  struct rnd *rnd = &file->rnd;
  struct body body = open_body(file, "N");
  struct body_layer layer = {.name = rnd_format(rnd, "own%d", file->counter++),
                             .in = small_shape(rnd)};
  struct body_value x = {.text = "x", .atom = true, .mag = 4, .shape = {.dims = {BATCH}}};
  x.shape.rank = layer.in.rank + 1;
  memcpy(x.shape.dims + 1, layer.in.dims, (size_t)layer.in.rank * sizeof(int));
  body.owns = true;
  body_add(&body, &x);
  bool flag = rnd_chance(rnd, 50);
  dtg_strbuf_printf(&file->items, "layer %s(x: f32%s, width: int%s, deep: bool = true) {\n",
                    layer.name, body_dims(&body, &x.shape), flag ? "" : " = 3");
  layer.arguments = flag ? rnd_format(rnd, ", width = %d", rnd_between(rnd, 3, 9)) : "";
  body_statements(&body, rnd_between(rnd, 1, 5));
  struct body_value y = body_pick(&body);
  if (!body_batched(&y.shape))
    y = body_flat(&body, y);
  y = body_with_unused(&body, 0, body_tame(&body, y));
  body_line(&body, "return %s", y.text);
  dtg_strbuf_puts(&file->items, "}\n\n");
  layer.out.rank = y.shape.rank - 1;
  memcpy(layer.out.dims, y.shape.dims + 1, (size_t)layer.out.rank * sizeof(int));
  layer.updates = body.updates;
  file->layers[file->layer_count++] = layer;
}
