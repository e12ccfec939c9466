#include "model.h"

#include <string.h>

static bool is_listed(const json_t *list, const char *name) {
  size_t i;
  const json_t *element;
  json_array_foreach(list, i, element) {
    if (strcmp(json_string_value(element), name) == 0)
      return true;
  }
  return false;
}

static bool is_differentiable(const struct ref_op_case *op, const char *input) {
  return is_listed(json_object_get(op->file, "differentiable"), input);
}

static const json_t *tensor_of(const struct ref_op_case *op, const char *name) {
  return json_object_get(json_object_get(op->file, "tensors"), name);
}

/* "out.0" -> "out_0" */
static const char *identifier(struct ref_driver *driver, const char *name) {
  char *text = dtg_arena_strdup(&driver->arena, name);
  for (char *c = text; *c; c++)
    *c = *c == '.' ? '_' : *c;
  return text;
}

/* The reference has what comes after "out" after "grad_out" too. */
static const char *gradient_of(struct ref_driver *driver, const char *output) {
  return ref_format(driver, "grad_%s", output);
}

const char *ref_model_path(struct ref_driver *driver, const struct ref_op_case *op,
                           const char *tensor) {
  const char *input = strncmp(tensor, "grad.", 5) == 0 ? tensor + 5
                      : strncmp(tensor, "in.", 3) == 0 ? tensor + 3
                                                       : NULL;
  if (!input)
    return ref_format(driver, "%s.%s", op->name, identifier(driver, tensor));
  const char *owned = ref_row_owned(driver, op->row, input);
  return owned ? ref_format(driver, "%s.%s", op->name, owned)
               : ref_format(driver, "%s.in_%s", op->name, identifier(driver, input));
}

/* ---- the text ---- */

static void put_type(struct dtg_strbuf *out, const json_t *tensor, bool stored) {
  const char *type = ref_text(tensor, "dtype");
  const char *name = strcmp(type, "F32") == 0 ? "f32" : "i32";
  /* Contributions of shards are numbers: a bool is stored as one. */
  if (strcmp(type, "BOOL") == 0 && !stored)
    name = "bool";
  dtg_strbuf_puts(out, name);
  ref_put_value(out, json_object_get(tensor, "shape"));
}

static void put_variable(struct dtg_strbuf *out, const char *kind, const char *name,
                         const json_t *tensor, bool stored) {
  dtg_strbuf_printf(out, "  %s %s: ", kind, name);
  put_type(out, tensor, stored);
  dtg_strbuf_puts(out, " ~ zeros()\n");
}

static void put_inputs(struct ref_driver *driver, struct dtg_strbuf *out,
                       const struct ref_op_case *op) {
  size_t i;
  const json_t *name;
  json_array_foreach(json_object_get(op->file, "inputs"), i, name) {
    const char *input = json_string_value(name);
    const json_t *tensor = tensor_of(op, ref_format(driver, "in.%s", input));
    if (!ref_row_owned(driver, op->row, input))
      put_variable(out, is_differentiable(op, input) ? "param" : "state",
                   ref_format(driver, "in_%s", identifier(driver, input)), tensor, false);
  }
}

/* One output: its state and, if it has a gradient, its term in the value of the layer. */
static void put_output(struct ref_driver *driver, struct dtg_strbuf *out, struct dtg_strbuf *value,
                       const struct ref_op_case *op, const char *output, size_t part) {
  const char *name = identifier(driver, output), *gradient = gradient_of(driver, output);
  const json_t *tensor = tensor_of(op, output);
  bool is_float = strcmp(ref_text(tensor, "dtype"), "F32") == 0;
  put_variable(out, "state", name, tensor, true);
  dtg_strbuf_printf(out, "  y%zu = ", part);
  ref_row_write(out, op->row, op->file, part);
  dtg_strbuf_printf(
      out, is_float ? "\n  update %s = y%zu\n" : "\n  update %s = cast(y%zu, i32) by max\n", name,
      part);
  if (!tensor_of(op, gradient))
    return;
  put_variable(out, "state", identifier(driver, gradient), tensor_of(op, gradient), false);
  dtg_strbuf_printf(value, "%ssum(y%zu * %s)", value->len > 0 ? " + " : "", part,
                    identifier(driver, gradient));
}

static void put_layer(struct ref_driver *driver, struct dtg_strbuf *out,
                      const struct ref_op_case *op) {
  size_t part;
  const json_t *output;
  dtg_strbuf_printf(out, "layer case_%s() {\n", op->name);
  put_inputs(driver, out, op);
  struct dtg_strbuf value = {0};
  json_array_foreach(json_object_get(op->file, "outputs"), part, output) {
    put_output(driver, out, &value, op, json_string_value(output), part);
  }
  dtg_strbuf_printf(out, "  return %s\n}\n\n", value.len > 0 ? value.data : "0.0");
  dtg_strbuf_free(&value);
}

static void put_imports(struct dtg_strbuf *out, const struct ref_op_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    bool first = cases[i].row->import;
    for (size_t k = 0; k < i; k++)
      first = first && cases[k].row->import != cases[i].row->import;
    if (first)
      dtg_strbuf_printf(out, "import %s\n", cases[i].row->import);
  }
}

static const char functions[] = //
    "\n# With the last two axes swapped.\n"
    "fn turned(x, swap: bool) = if swap then transpose(x, swapped_axes(rank(x))) else x\n"
    "fn swapped_axes(n: int) {\n"
    "  axes = []\n"
    "  for i in 0..n - 2 {\n"
    "    axes = axes + [i]\n"
    "  }\n"
    "  return axes + [n - 1, n - 2]\n"
    "}\n\n"
    "# A convolution, and the bias if there is one.\n"
    "fn convolved(parts: list, stride, padding, dilation, groups: int) {\n"
    "  y = convolve(parts[0], parts[1], stride = stride, padding = padding, dilation = dilation,\n"
    "               groups = groups)\n"
    "  if len(parts) > 2 {\n"
    "    y = y + parts[2]\n"
    "  }\n"
    "  return y\n"
    "}\n\n"
    "fn reduced(x, reduction: str) = if reduction == \"mean\" then mean(x) else x\n\n"
    "# Leaves each gradient where its parameter was.\n"
    "optimizer capture() {\n"
    "  param = grad\n"
    "}\n\n";

static const char training[] = //
    "\ndata nothing = table(unused = range(1))\n\n"
    "train {\n"
    "  data      = nothing\n"
    "  batch     = 1\n"
    "  shards    = 1\n"
    "  steps     = 1\n"
    "  optimizer = capture()\n"
    "}\n";

/* A model must have a parameter: one of its own, since some ops have no gradient. */
static void put_model(struct dtg_strbuf *out, const struct ref_op_case *cases, size_t count) {
  dtg_strbuf_puts(out, "layer anchor() {\n  param zero: f32[] ~ zeros()\n  return zero\n}\n\n"
                       "model cases(unused: i64[B]) {\n  anchor: anchor()\n");
  for (size_t i = 0; i < count; i++)
    dtg_strbuf_printf(out, "  %s: case_%s()\n", cases[i].name, cases[i].name);
  dtg_strbuf_puts(out, "  loss = anchor + 0 * mean(cast(unused, f32))");
  for (size_t i = 0; i < count; i++)
    dtg_strbuf_printf(out, " +\n         %s", cases[i].name);
  dtg_strbuf_puts(out, "\n}\n");
}

void ref_model_write(struct ref_driver *driver, const struct ref_op_case *cases, size_t count,
                     const char *path) {
  struct dtg_strbuf text = {0};
  put_imports(&text, cases, count);
  dtg_strbuf_puts(&text, functions);
  for (size_t i = 0; i < count; i++)
    put_layer(driver, &text, &cases[i]);
  put_model(&text, cases, count);
  dtg_strbuf_puts(&text, training);
  ref_write_file(path, &text);
  dtg_strbuf_free(&text);
}

/* ---- the tensors ---- */

static void add_case(struct ref_driver *driver, const struct ref_op_case *op,
                     struct ref_tensors *init) {
  struct ref_tensors stored = ref_tensors_stored(driver, ref_text(op->file, "path"));
  for (size_t i = 0; i < stored.count; i++) {
    const char *name = stored.items[i].type.name;
    if (strncmp(name, "in.", 3) == 0 || strncmp(name, "grad_out", 8) == 0)
      ref_tensors_add(driver, init, ref_model_path(driver, op, name), &stored.items[i]);
  }
}

void ref_model_init(struct ref_driver *driver, const struct ref_op_case *cases, size_t count,
                    const char *path) {
  struct ref_tensors init = {.path = path};
  struct ref_tensor zero = {.type = {.element = DTR_ELEMENT_F32, .elements = 1, .bytes = 4},
                            .values = DTG_NEW(&driver->arena, double)};
  ref_tensors_add(driver, &init, "anchor.zero", &zero);
  for (size_t i = 0; i < count; i++)
    add_case(driver, &cases[i], &init);
  ref_tensors_write(driver, &init, path);
}
