/* Functions and layers of the standard library against tests/reference/ops: every case whose op is
 * written in the language. The case's inputs are the parameters of a layer, so that stage 5 gives
 * their gradients; integer inputs are columns. */
#include "compiler/grad/grad.h"
#include "tests/unit/build/model_text.h"
#include "tests/unit/ops/tensor_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How an op of the reference is written. Words in braces are replaced: {name} by an attribute or
 * by the name of an input, {list} by all inputs. */
struct rule {
  const char *op;
  const char *imports;
  const char *text;
};

static const struct rule rules[] = {
    {"leaky_relu", "", "leaky_relu(x, alpha = {alpha})"},
    {"elu", "", "elu(x, alpha = {alpha})"},
    {"gelu", "", "gelu(x)"},
    {"gelu_tanh", "", "gelu_tanh(x)"},
    {"silu", "", "silu(x)"},
    {"softplus", "", "softplus(x)"},
    {"clamp", "", "clamp(x, {lo}, {hi})"},
    {"logsumexp", "", "logsumexp(x, axes = {axes}, keepdims = {keepdims})"},
    {"mean", "", "mean(x, axes = {axes}, keepdims = {keepdims})"},
    {"sum", "", "sum(x, axes = {axes}, keepdims = {keepdims})"},
    {"max", "", "max(x, axes = {axes}, keepdims = {keepdims})"},
    {"var", "", "var(x, axes = {axes}, keepdims = {keepdims}, ddof = {ddof})"},
    {"softmax", "", "softmax(x, axis = {axis})"},
    {"log_softmax", "", "log_softmax(x, axis = {axis})"},
    {"softmax_cross_entropy", "import std.losses { softmax_cross_entropy }",
     "softmax_cross_entropy(logits, labels)"},
    {"softmax_cross_entropy_soft", "import std.losses { softmax_cross_entropy_soft }",
     "softmax_cross_entropy_soft(logits, target)"},
    {"sigmoid_cross_entropy", "import std.losses { sigmoid_cross_entropy }",
     "sigmoid_cross_entropy(logits, target)"},
    {"mse", "import std.losses { mse }",
     "(if \"{reduction}\" == \"mean\" then mean(mse(pred, target)) else mse(pred, target))"},
    {"huber", "import std.losses { huber }",
     "(if \"{reduction}\" == \"mean\" then mean(huber(pred, target, {delta})) "
     "else huber(pred, target, {delta}))"},
    {"one_hot", "", "one_hot(ids, {depth}) * ({on} - {off}) + {off}"},
    {"stack", "", "stack({list}, axis = {axis})"},
    {"einsum", "", "einsum(\"{equation}\", {operands})"},
    {"matmul", "", "(if {transpose_a} or {transpose_b} then full({shape}, 0.0) else a @ b)"},
    {"dense", "import std.layers { dense }", "d: dense(x, out = {out})"},
    {"layer_norm", "import std.layers { layer_norm }", "d: layer_norm(x, eps = {eps})"},
    {"embedding", "import std.layers { embedding }", "d: embedding(ids, {vocab}, {dim})"},
};

/* Inputs that are parameters of the layer under test. */
static const struct {
  const char *op, *input, *path;
} renamed[] = {
    {"dense", "w", "c.d.w"},
    {"dense", "b", "c.d.b"},
    {"layer_norm", "scale", "c.d.g"},
    {"layer_norm", "offset", "c.d.b"},
    {"embedding", "table", "c.d.table"},
};

struct setup {
  struct tensor_file *file;
  struct bench *bench;
  const char *op;
  json_t *attrs, *inputs;
  struct leaf_table leaves;
};

static const char *renamed_path(const struct setup *setup, const char *input) {
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
    if (strcmp(renamed[i].op, setup->op) == 0 && strcmp(renamed[i].input, input) == 0)
      return renamed[i].path;
  }
  return NULL;
}

static const char *input_name(const struct setup *setup, size_t i) {
  return json_string_value(json_array_get(setup->inputs, i));
}

static const struct dtg_ref_tensor *input_value(const struct setup *setup, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "in.%s", name);
  return tensor_file_find(setup->file, key);
}

/* ---- the model's text ---- */

static void put_dims(struct dtg_strbuf *out, const struct dtg_shape *shape, const char *first) {
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i == 0 && first)
      dtg_strbuf_puts(out, first);
    else
      dtg_strbuf_printf(out, "%s%lld", i > 0 ? ", " : "", (long long)shape->dims[i]);
  }
}

static void put_axes(struct dtg_strbuf *out, json_t *axes, uint32_t rank) {
  size_t count = json_is_array(axes) ? json_array_size(axes) : rank;
  dtg_strbuf_putc(out, '[');
  for (size_t i = 0; i < count; i++) {
    json_t *axis = json_is_array(axes) ? json_array_get(axes, i) : NULL;
    dtg_strbuf_printf(out, "%s%lld", i > 0 ? ", " : "",
                      axis ? (long long)json_integer_value(axis) : (long long)i);
  }
  dtg_strbuf_putc(out, ']');
}

static void put_operands(struct dtg_strbuf *out, const struct setup *setup) {
  for (size_t i = 0; i < json_array_size(setup->inputs); i++)
    dtg_strbuf_printf(out, "%s%s", i > 0 ? ", " : "", input_name(setup, i));
}

static void put_word(struct dtg_strbuf *out, const struct setup *setup, const char *word) {
  json_t *value = json_object_get(setup->attrs, word);
  const struct dtg_ref_tensor *result = tensor_file_find(setup->file, "out");
  if (strcmp(word, "list") == 0 || strcmp(word, "operands") == 0) {
    dtg_strbuf_puts(out, word[0] == 'l' ? "[" : "");
    put_operands(out, setup);
    dtg_strbuf_puts(out, word[0] == 'l' ? "]" : "");
  } else if (strcmp(word, "axes") == 0) {
    put_axes(out, value, input_value(setup, "x")->type.shape.rank);
  } else if (strcmp(word, "out") == 0) {
    dtg_strbuf_printf(out, "%lld", (long long)result->type.shape.dims[result->type.shape.rank - 1]);
  } else if (strcmp(word, "shape") == 0) {
    dtg_strbuf_putc(out, '[');
    put_dims(out, &result->type.shape, NULL);
    dtg_strbuf_putc(out, ']');
  } else if (strcmp(word, "vocab") == 0 || strcmp(word, "dim") == 0) {
    const struct dtg_shape *shape = &input_value(setup, "table")->type.shape;
    dtg_strbuf_printf(out, "%lld", (long long)shape->dims[word[0] == 'd']);
  } else if (json_is_string(value)) {
    dtg_strbuf_puts(out, json_string_value(value));
  } else if (json_is_integer(value)) {
    dtg_strbuf_printf(out, "%lld", (long long)json_integer_value(value));
  } else if (json_is_real(value)) {
    dtg_strbuf_f64(out, json_real_value(value));
  } else {
    dtg_strbuf_puts(out, json_is_true(value) ? "true" : "false");
  }
}

static void put_expression(struct dtg_strbuf *out, const struct setup *setup, const char *text) {
  while (*text) {
    char word[32] = {0};
    if (*text != '{') {
      dtg_strbuf_putc(out, *text++);
      continue;
    }
    size_t length = strcspn(text, "}");
    snprintf(word, sizeof word, "%.*s", (int)length - 1, text + 1);
    put_word(out, setup, word);
    text += length + 1;
  }
}

/* Declares the inputs of one kind: columns, or parameters of the layer. */
static void put_inputs(struct dtg_strbuf *out, const struct setup *setup, bool columns,
                       const char *format) {
  for (size_t i = 0; i < json_array_size(setup->inputs); i++) {
    const char *name = input_name(setup, i);
    const struct dtg_ref_tensor *value = input_value(setup, name);
    if ((value->type.dtype != DTG_F32) != columns || renamed_path(setup, name))
      continue;
    dtg_strbuf_printf(out, format, name, dtg_dtype_name(value->type.dtype));
    if (strstr(format, "[")) {
      put_dims(out, &value->type.shape, columns ? "B" : NULL);
      dtg_strbuf_puts(out, columns ? "], " : "] ~ zeros()\n");
    }
  }
}

static const char *model_source(const struct setup *setup, const struct rule *rule) {
  struct dtg_strbuf out = {0};
  const struct dtg_ref_tensor *result = tensor_file_find(setup->file, "out");
  dtg_strbuf_printf(&out, "%s\nlayer case(start, ", rule->imports);
  put_inputs(&out, setup, true, "%1$s, ");
  dtg_strbuf_puts(&out, ") {\n");
  put_inputs(&out, setup, false, "  param %1$s: %2$s[");
  dtg_strbuf_puts(&out, "  param grad_out: f32[");
  put_dims(&out, &result->type.shape, NULL);
  dtg_strbuf_puts(&out, "] ~ zeros()\n  result = ");
  put_expression(&out, setup, rule->text);
  dtg_strbuf_puts(&out, "\n  return sum(result * grad_out) + 0 * sum(start)\n}\nmodel m(");
  put_inputs(&out, setup, true, "%1$s: %2$s[");
  dtg_strbuf_puts(&out, "start: f32[B]) {\n  loss = c: case(start, ");
  put_inputs(&out, setup, true, "%1$s, ");
  dtg_strbuf_puts(&out, ")\n}\n");
  const char *copy = dtg_arena_strdup(&setup->bench->arena, dtg_strbuf_text(&out));
  dtg_strbuf_free(&out);
  return copy;
}

/* ---- running ---- */

static const struct rule *find_rule(const char *op) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (strcmp(rules[i].op, op) == 0)
      return &rules[i];
  }
  return NULL;
}

static void leaf_of_case(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  const struct setup *setup = context;
  const char *key = dtg_node_string(leaf, "path", dtg_node_string(leaf, "name", ""));
  const struct dtg_ref_tensor *value = NULL;
  if (strcmp(key, "start") == 0)
    return;
  if (strcmp(key, "c.grad_out") == 0)
    value = tensor_file_find(setup->file, "grad_out");
  if (strcmp(key, "c.grad_out") == 0 && !value)
    return; /* no gradient is stored: any weights will do */
  for (size_t i = 0; !value && i < json_array_size(setup->inputs); i++) {
    const char *name = input_name(setup, i), *path = renamed_path(setup, name);
    bool named = path ? strcmp(path, key) == 0
                      : strcmp(strncmp(key, "c.", 2) == 0 ? key + 2 : key, name) == 0;
    if (named)
      value = input_value(setup, name);
  }
  if (!value)
    fail_msg("no value for %s", key);
  assert_true(dtg_type_equal(&value->type, &out->type));
  memcpy(out->data, value->data, (size_t)dtg_shape_count(&out->type.shape) * sizeof *out->data);
}

static void compare(const char *path, const char *what, const struct dtg_ref_tensor *found,
                    const struct dtg_ref_tensor *stored) {
  assert_true(dtg_shape_equal(&found->type.shape, &stored->type.shape));
  for (int64_t i = 0; i < dtg_shape_count(&stored->type.shape); i++) {
    double limit = 2e-6 + 1e-5 * fabs(stored->data[i]);
    if (!(fabs(found->data[i] - stored->data[i]) <= limit))
      fail_msg("%s: %s[%lld] is %.9g, stored is %.9g", path, what, (long long)i, found->data[i],
               stored->data[i]);
  }
}

/* The product with `grad_out` is the loss: the result of the case is its other operand. */
static uint32_t result_node(const struct dtg_graph *graph) {
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const char *name = graph->nodes.data[i].name;
    if (name && strcmp(name, "result") == 0)
      return (uint32_t)i;
  }
  fail_msg("the graph has no result");
  return DTG_NO_NODE;
}

static void check_gradients(struct setup *setup, struct dtg_graph *graph, const char *path) {
  json_t *names = tensor_file_json(setup->file, "differentiable");
  uint32_t loss = model_text_root(graph, DTG_ROOT_LOSS, "");
  for (size_t i = 0; i < json_array_size(names); i++) {
    const char *name = json_string_value(json_array_get(names, i));
    char key[64], wanted[64];
    snprintf(key, sizeof key, "grad.%s", name);
    snprintf(wanted, sizeof wanted, "c.%s", name);
    const char *leaf = renamed_path(setup, name);
    uint32_t wrt = DTG_NO_NODE, grad = DTG_NO_NODE, culprit;
    for (uint32_t j = 0; j < graph->nodes.len; j++) {
      if (strcmp(dtg_node_string(&graph->nodes.data[j], "path", ""), leaf ? leaf : wanted) == 0)
        wrt = j;
    }
    assert_true(wrt != DTG_NO_NODE);
    assert_true(dtg_grad_nodes(graph, loss, &wrt, 1, &grad, &culprit));
    const struct dtg_ref_tensor *stored = tensor_file_find(setup->file, key);
    if (grad == DTG_NO_NODE || !stored)
      continue;
    struct dtg_ref_tensor *values = dtg_evaluate(graph, &setup->bench->arena, leaf_of_case, setup);
    compare(path, key, &values[grad], stored);
  }
  json_decref(names);
}

static int64_t batch_of(const struct setup *setup) {
  for (size_t i = 0; i < json_array_size(setup->inputs); i++) {
    const struct dtg_ref_tensor *value = input_value(setup, input_name(setup, i));
    if (value->type.dtype != DTG_F32)
      return value->type.shape.dims[0];
  }
  return 1;
}

static bool check_case(const char *path) {
  struct bench bench;
  struct tensor_file file;
  struct dtg_strbuf rendered = {0};
  bench_open(&bench, 1);
  tensor_file_open(&file, &bench, path);
  struct setup setup = {.file = &file, .bench = &bench};
  setup.op = json_string_value(json_object_get(file.metadata, "op"));
  const struct rule *rule = find_rule(setup.op);
  setup.attrs = tensor_file_json(&file, "attrs");
  setup.inputs = tensor_file_json(&file, "inputs");
  bool transposed = json_is_true(json_object_get(setup.attrs, "transpose_a")) ||
                    json_is_true(json_object_get(setup.attrs, "transpose_b"));
  if (rule && !transposed) {
    struct model_text text;
    const char *source = model_source(&setup, rule);
    model_text_check(&text, source, NULL);
    if (text.model) {
      text.model->train.batch = batch_of(&setup);
      text.module = dtg_build(&text.ctx, text.model);
    }
    if (!text.module) {
      dtg_diags_render(&text.ctx.diags, &rendered);
      fail_msg("%s:\n%s\n%s", path, source, dtg_strbuf_text(&rendered));
    }
    struct dtg_graph *graph = text.module->eval;
    struct dtg_ref_tensor *values = dtg_evaluate(graph, &bench.arena, leaf_of_case, &setup);
    compare(path, "out", &values[result_node(graph)], tensor_file_find(&file, "out"));
    check_gradients(&setup, graph, path);
    model_text_close(&text);
  }
  json_decref(setup.attrs);
  json_decref(setup.inputs);
  tensor_file_close(&file);
  bench_close(&bench);
  return rule && !transposed;
}

static void test_reference(void **state) {
  (void)state;
  char folder[4096], path[8192];
  int checked = 0;
  const char *source = getenv("DTG_SOURCE_DIR");
  snprintf(folder, sizeof folder, "%s/tests/reference/ops", source ? source : ".");
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
    if (!strstr(entry->d_name, ".safetensors"))
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    checked += check_case(path);
  }
  closedir(directory);
  printf("%d cases of composite ops\n", checked);
  assert_true(checked > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
