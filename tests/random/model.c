#include "model.h"

#include "body.h"

#include <string.h>

enum { MODEL_INPUTS = 5 };

struct input {
  const char *name, *type, *source; /* source: up to the shape */
  struct body_value value;
};

struct model {
  struct body_file file;
  struct rnd *rnd;
  struct input inputs[MODEL_INPUTS];
  int input_count;
  int batch, shards;
};

/* ---- inputs ---- */

static void add_input(struct model *model, const char *name, const char *type, const char *source,
                      enum body_type kind, double mag, int rank) {
  struct input *input = &model->inputs[model->input_count++];
  *input = (struct input){.name = name, .type = type, .source = source};
  input->value = (struct body_value){.text = name, .atom = true, .type = kind, .mag = mag};
  input->value.shape = (struct body_shape){.rank = 1 + rank, .dims = {BATCH}};
  for (int i = 1; i <= rank; i++)
    input->value.shape.dims[i] = rnd_between(model->rnd, 1, rank > 1 ? 6 : 12);
  if (rank == 1 && rnd_chance(model->rnd, 15))
    input->value.shape.dims[1] = rnd_between(model->rnd, 15, 40);
}

static void choose_inputs(struct model *model) {
  struct rnd *rnd = model->rnd;
  add_input(model, "x", "f32", "random_normal(%s, seed = 11)", BODY_F32, 2, rnd_between(rnd, 1, 3));
  if (rnd_chance(rnd, 50))
    add_input(model, "y", "f32", "random_uniform(%s, low = -1, high = 1, seed = 5)", BODY_F32, 1,
              rnd_between(rnd, 0, 2));
  if (rnd_chance(rnd, 70))
    add_input(model, "label", "i32", "random_int(%s, high = 5, seed = 3)", BODY_I32, 5, 0);
  if (rnd_chance(rnd, 50))
    add_input(model, "ids", "i64", "random_int(%s, high = 9, dtype = i64)", BODY_I64, 9, 1);
  if (rnd_chance(rnd, 30))
    add_input(model, "image", "u8", "random_int(%s, high = 256, dtype = u8, seed = 8)", BODY_U8,
              256, rnd_between(rnd, 1, 2));
}

static const char *input_dims(struct model *model, const struct input *input, const char *first) {
  struct body body = {.file = &model->file, .rnd = model->rnd, .batch = first};
  return body_dims(&body, &input->value.shape);
}

/* ---- the model ---- */

static void write_loss(struct model *model, struct body *body) {
  struct rnd *rnd = model->rnd;
  struct body_value x = body_pick(body), label;
  const char *text;
  struct body_shape logits = {2, {BATCH, 5}};
  if (body_pick_int(body, &label) && label.shape.rank == 1 && body_batched(&label.shape) &&
      label.mag <= 16) {
    logits.dims[1] = (int)label.mag;
    x = body_adapt(body, x, &logits);
    x = body_bind(body, &x);
    body_use(body, x.text);
    text = rnd_format(rnd, "mean(softmax_cross_entropy(%s, %s))", x.text, label.text);
    body_line(body, "metric right = mean(argmax(%s) == %s)", x.text, label.text);
  } else if (rnd_chance(rnd, 50)) {
    text = rnd_format(rnd, "mean(%s(%s, tanh(%s)))", RND_WORD(rnd, "mse", "huber"), x.text,
                      body_unary(body, x).text);
  } else {
    text = rnd_format(rnd, "mean(sigmoid_cross_entropy(%s, sigmoid(stop_gradient(%s))))", x.text,
                      x.text);
  }
  struct body_value loss = {.text = text, .mag = 1};
  loss = body_with_unused(body, 0, loss);
  body_line(body, "loss = %s", loss.text);
}

static void write_metrics(struct body *body) {
  int count = rnd_below(body->rnd, 3);
  for (int i = 0; i < count; i++) {
    struct body_value x = body_peek(body), c = body_condition(body, &x);
    switch (rnd_below(body->rnd, 4)) {
    case 0:
      body_line(body, "metric m%d = mean(%s)", i, c.text);
      break;
    case 1:
      body_line(body, "metric m%d = max(%s) - min(%s)", i, x.text, x.text);
      break;
    case 2:
      body_line(body, "metric m%d = sum(%s) / 10", i, c.text);
      break;
    default:
      body_line(body, "metric m%d = mean(square(%s))", i, x.text);
      break;
    }
  }
  if (rnd_chance(body->rnd, 50))
    body_line(body, "output probs = %s", body_peek(body).text);
}

static void write_model(struct model *model, struct dtg_strbuf *out) {
  struct body body = {
      .file = &model->file, .rnd = model->rnd, .out = out, .indent = 1, .batch = "B", .index = ""};
  const char *list = "";
  for (int i = 0; i < model->input_count; i++) {
    const struct input *input = &model->inputs[i];
    list = rnd_format(model->rnd, "%s%s%s: %s%s", list, i > 0 ? ", " : "", input->name, input->type,
                      input_dims(model, input, "B"));
    body_add(&body, &input->value);
    body.names[body.count - 1].used = true;
  }
  dtg_strbuf_printf(out, "model net(%s) {\n", list);
  struct body_value first = body.names[0].value; /* something is trained in any case */
  first = body_dense(&body, body_unary(&body, first), rnd_between(model->rnd, 2, 9));
  body_bind(&body, &first);
  body_statements(&body, rnd_between(model->rnd, 2, 9));
  write_loss(model, &body);
  write_metrics(&body);
  dtg_strbuf_puts(out, "}\n\n");
}

/* ---- optimizers ---- */

static const char *rate(struct model *model, double high) {
  struct rnd *rnd = model->rnd;
  const char *base = rnd_number(rnd, 0.01, high);
  switch (rnd_below(rnd, 7)) {
  case 0:
    return rnd_format(rnd, "cosine(%s, warmup = %d)", base, rnd_below(rnd, 4));
  case 1:
    return rnd_format(rnd, "cosine(%s, total = 20, floor = 0.001)", base);
  case 2:
    return rnd_format(rnd, "step_decay(%s, every = 2, factor = 0.5)", base);
  case 3:
    return rnd_format(rnd, "warmup(%s, steps = 3)", base);
  case 4:
    return rnd_format(rnd, "piecewise([1, 3], [%s, 0.02, 0.01])", base);
  default:
    return base;
  }
}

static const char *own_optimizer(struct model *model) {
  struct rnd *rnd = model->rnd;
  struct dtg_strbuf *out = &model->file.items;
  static const char *const steps[] = {
      "g = g + 0.01 * param",
      "g = g / (1 + norm(g))",
      "g = where(abs(g) > 1, sign(g), g)",
      "g = g - mean(g) * 0.1",
      "g = clamp(g, -0.5, 0.5)",
      "m = a * m + (1 - a) * g  g = m",
      "m = m * (1 - 1 / (updates + 1)) + g / (updates + 1)  g = m + 0.5 * g",
      "s = maximum(s * 0.9, abs(g))  g = g / (s + 0.1)",
      "s = s + g * g  g = g * rsqrt(s + 0.2)",
      "g = g * (where(norm(param) > 0.5, norm(param), 1.0) / (norm(g) + 1.0))",
      "slow = slow + 0.25 * (param - slow)  g = g + 0.1 * (param - slow)",
      "g = g * (if a > 0.7 then 0.5 else 2)",
      "g = g * (1 + 0.1 * tanh(sum(param)))",
      NULL};
  const char *names[] = {"m", "s", "slow"}, *text = "";
  int count = rnd_between(rnd, 1, 4);
  for (int i = 0; i < count; i++)
    text = rnd_format(rnd, "%s  %s\n", text, rnd_word(rnd, steps));
  dtg_strbuf_puts(out, "optimizer mine(lr: float, a: float = 0.8) {\n");
  for (size_t i = 0; i < 3; i++) {
    if (strstr(text, rnd_format(rnd, "%s = ", names[i])))
      dtg_strbuf_printf(out, "  state %s ~ %s\n", names[i], i == 1 ? "constant(0.1)" : "zeros()");
  }
  /* Only slots and `param` are assigned again: every step has a name of its own. */
  int version = 0;
  dtg_strbuf_puts(out, "  g0 = grad\n");
  for (const char *at = text; *at; at++) {
    bool name = *at == 'g' && (at == text || strchr(" (-+*/", at[-1])) && strchr(" )+-*/,", at[1]);
    if (name && strncmp(at, "g = ", 4) == 0) {
      const char *end = strchr(at, '\n');
      dtg_strbuf_printf(out, "g%d = ", version + 1);
      for (at += 4; at < end; at++) {
        bool inner = *at == 'g' && strchr(" (-+*/", at[-1]) && strchr(" )+-*/,\n", at[1]);
        if (inner)
          dtg_strbuf_printf(out, "g%d", version);
        else
          dtg_strbuf_putc(out, *at);
      }
      dtg_strbuf_putc(out, '\n');
      version++;
    } else if (name) {
      dtg_strbuf_printf(out, "g%d", version);
    } else {
      dtg_strbuf_putc(out, *at);
    }
  }
  dtg_strbuf_printf(out, "  param = param - lr * g%d\n}\n\n", version);
  return rnd_chance(rnd, 50) ? rnd_format(rnd, "mine(%s)", rate(model, 0.2))
                             : rnd_format(rnd, "mine(lr = %s, a = 0.6)", rate(model, 0.2));
}

static const char *optimizer(struct model *model) {
  struct rnd *rnd = model->rnd;
  switch (rnd_below(rnd, 10)) {
  case 0:
    return rnd_format(rnd, "sgd(%s)", rate(model, 0.3));
  case 1:
    return rnd_format(rnd, "momentum(lr = %s, mu = 0.8)", rate(model, 0.2));
  case 2:
    return rnd_format(rnd, "nesterov(lr = %s)", rate(model, 0.2));
  case 3:
    return rnd_format(rnd, "adam(lr = %s, eps = 1e-3)", rate(model, 0.05));
  case 4:
    return rnd_format(rnd, "adamw(%s, eps = 1e-4, weight_decay = 0.1)", rate(model, 0.05));
  case 5:
    return rnd_format(rnd, "rmsprop(lr = %s, rho = 0.8, eps = 0.01)", rate(model, 0.05));
  case 6:
    return rnd_format(rnd, "adagrad(lr = %s, initial_accumulator = 0.1)", rate(model, 0.1));
  default:
    return own_optimizer(model);
  }
}

/* ---- data and training ---- */

static void write_data(struct model *model, struct dtg_strbuf *out, const char *name, int rows,
                       const char *more) {
  dtg_strbuf_printf(out, "data %s = table(", name);
  for (int i = 0; i < model->input_count; i++) {
    const struct input *input = &model->inputs[i];
    const char *dims = input_dims(model, input, rnd_format(model->rnd, "%d", rows));
    dtg_strbuf_printf(out, "%s%s = ", i > 0 ? ", " : "", input->name);
    dtg_strbuf_puts(out, rnd_format(model->rnd, input->source, dims));
  }
  dtg_strbuf_printf(out, ")%s\n", more);
}

static void write_training(struct model *model, struct dtg_strbuf *out, const char *call) {
  static const int batches[] = {1, 2, 3, 4, 5, 6, 8, 8, 12, 16, 24, 30};
  struct rnd *rnd = model->rnd;
  int batch = batches[rnd_below(rnd, 12)], shards = rnd_between(rnd, 1, batch < 12 ? batch : 12);
  while (batch % shards != 0)
    shards--;
  int rows = batch * rnd_between(rnd, 2, 6) + rnd_below(rnd, batch);
  bool test = rnd_chance(rnd, 70);
  write_data(model, out, "train_set", rows,
             RND_WORD(rnd, "", " |> shuffle()", " |> shuffle(seed = 7)", " |> skip(0)"));
  if (test)
    write_data(model, out, "test_set", rnd_between(rnd, 1, 2 * batch + 3), "");
  dtg_strbuf_printf(out, "\ntrain {\n  model = net\n  data = train_set\n  batch = %d\n", batch);
  if (rnd_chance(rnd, 75))
    dtg_strbuf_printf(out, "  shards = %d\n", shards);
  dtg_strbuf_puts(out, rnd_chance(rnd, 50) ? "  steps = 9\n" : "  epochs = 6\n");
  dtg_strbuf_printf(out, "  optimizer = %s\n", call);
  if (rnd_chance(rnd, 40))
    dtg_strbuf_printf(out, "  gradient = %s\n",
                      RND_WORD(rnd, "clip_by_global_norm(0.5)", "clip_by_global_norm(limit = 2.0)",
                               "g -> clamp(g, -0.1, 0.1)", "g -> g * 0.5",
                               "g -> g / (1 + global_norm(g))"));
  if (rnd_chance(rnd, 60))
    dtg_strbuf_printf(out, "  seed = %d\n", rnd_below(rnd, 1000));
  if (test)
    dtg_strbuf_printf(out, "  evaluate = every(%s, data = test_set)\n",
                      RND_WORD(rnd, "steps = 2", "epochs = 1", "steps = 3"));
  dtg_strbuf_puts(out, "}\n\nstrategy single { }\n");
}

/* ---- the file ---- */

static void write_import(struct dtg_strbuf *out, struct rnd *rnd, const char *module,
                         const char *text, const char *const *names) {
  const char *list = "";
  for (size_t i = 0; names[i]; i++) {
    if (strstr(text, rnd_format(rnd, "%s(", names[i])))
      list = rnd_format(rnd, "%s%s%s", list, *list ? ", " : "", names[i]);
  }
  if (*list)
    dtg_strbuf_printf(out, "import std.%s { %s }\n", module, list);
}

static void write_imports(struct dtg_strbuf *out, struct rnd *rnd, const char *text) {
  static const char *const layers[] = {"dense", "layer_norm", "dropout", "embedding", NULL};
  static const char *const losses[] = {"softmax_cross_entropy", "mse", "huber",
                                       "sigmoid_cross_entropy", NULL};
  static const char *const optimizers[] = {"sgd",   "momentum", "nesterov", "adam",
                                           "adamw", "rmsprop",  "adagrad",  "clip_by_global_norm",
                                           NULL};
  static const char *const schedules[] = {"cosine", "step_decay", "warmup", "piecewise", NULL};
  write_import(out, rnd, "layers", text, layers);
  write_import(out, rnd, "losses", text, losses);
  write_import(out, rnd, "optimizers", text, optimizers);
  write_import(out, rnd, "schedules", text, schedules);
}

void model_generate(struct dtg_arena *arena, uint64_t seed, struct dtg_strbuf *out) {
  struct model model = {.file.rnd = {arena, seed * UINT64_C(0x2545f4914f6cdd1d) + 1}};
  struct dtg_strbuf text = {0};
  model.rnd = &model.file.rnd;
  choose_inputs(&model);
  for (int i = rnd_below(model.rnd, 3); i > 0; i--)
    item_function(&model.file);
  dtg_strbuf_puts(&model.file.items, "\n");
  for (int i = rnd_below(model.rnd, 4); i > 0; i--)
    item_layer(&model.file);
  write_model(&model, &text);
  const char *call = optimizer(&model);
  write_training(&model, &text, call);
  struct dtg_strbuf whole = {0};
  dtg_strbuf_printf(&whole, "const deep = true\nconst width = 3\n\n%s%s",
                    dtg_strbuf_text(&model.file.items), dtg_strbuf_text(&text));
  dtg_strbuf_printf(out, "# Seed %llu.\n", (unsigned long long)seed);
  write_imports(out, model.rnd, dtg_strbuf_text(&whole));
  dtg_strbuf_puts(out, dtg_strbuf_text(&whole));
  dtg_strbuf_free(&whole);
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&model.file.items);
}
