#include "expressions.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SAME(name) \
  { #name, #name "(in_x)", NULL, NULL, NULL }
#define BINARY(name, symbol) \
  { #name, "in_a " symbol " in_b", NULL, NULL, NULL }
#define REDUCTION(name) \
  { #name, #name "(in_x$axes$keepdims)", NULL, NULL, NULL }

static const struct ref_row rows[] = {
    {"neg", "-in_x", NULL, NULL, NULL},
    SAME(abs),
    SAME(relu),
    SAME(square),
    SAME(tanh),
    SAME(sigmoid),
    SAME(gelu),
    SAME(gelu_tanh),
    SAME(silu),
    SAME(softplus),
    SAME(erf),
    SAME(floor),
    SAME(exp),
    SAME(sin),
    SAME(cos),
    SAME(log),
    SAME(sqrt),
    SAME(rsqrt),
    SAME(reciprocal),
    {"leaky_relu", "leaky_relu(in_x$alpha)", NULL, NULL, NULL},
    {"elu", "elu(in_x$alpha)", NULL, NULL, NULL},
    {"clamp", "clamp(in_x, %lo, %hi)", NULL, NULL, NULL},
    BINARY(add, "+"),
    BINARY(sub, "-"),
    BINARY(mul, "*"),
    BINARY(div, "/"),
    BINARY(pow, "**"),
    {"maximum", "maximum(in_a, in_b)", NULL, NULL, NULL},
    {"minimum", "minimum(in_a, in_b)", NULL, NULL, NULL},
    BINARY(equal, "=="),
    BINARY(not_equal, "!="),
    BINARY(less, "<"),
    BINARY(less_equal, "<="),
    BINARY(greater, ">"),
    BINARY(greater_equal, ">="),
    {"where", "where(in_cond, in_x, in_y)", NULL, NULL, NULL},
    {"matmul", "turned(in_a, %transpose_a) @ turned(in_b, %transpose_b)", NULL, NULL, NULL},
    {"einsum", "einsum(%equation, %%)", NULL, NULL, NULL},
    {"dense", "it: dense(in_x, out = #b:0)", "std.layers { dense }", "w=w b=b", NULL},
    REDUCTION(sum),
    REDUCTION(mean),
    REDUCTION(logsumexp),
    REDUCTION(max),
    REDUCTION(min),
    REDUCTION(prod),
    {"var", "var(in_x$axes$keepdims$ddof)", NULL, NULL, NULL},
    {"argmax", "argmax(in_x$axis)", NULL, NULL, NULL},
    {"argmin", "argmin(in_x$axis)", NULL, NULL, NULL},
    {"cumsum", "cumsum(in_x$axis$exclusive$reverse)", NULL, NULL, NULL},
    {"softmax", "softmax(in_x$axis)", NULL, NULL, NULL},
    {"log_softmax", "log_softmax(in_x$axis)", NULL, NULL, NULL},
    {"softmax_cross_entropy", "softmax_cross_entropy(in_logits, in_labels)",
     "std.losses { softmax_cross_entropy }", NULL, NULL},
    {"softmax_cross_entropy_soft", "softmax_cross_entropy_soft(in_logits, in_target)",
     "std.losses { softmax_cross_entropy_soft }", NULL, NULL},
    {"sigmoid_cross_entropy", "sigmoid_cross_entropy(in_logits, in_target)",
     "std.losses { sigmoid_cross_entropy }", NULL, NULL},
    {"mse", "reduced(mse(in_pred, in_target), %reduction)", "std.losses { mse }", NULL, NULL},
    {"huber", "reduced(huber(in_pred, in_target$delta), %reduction)", "std.losses { huber }", NULL,
     NULL},
    {"kl", "kl(in_p, in_q)", "std.losses { kl }", NULL, NULL},
    {"kl_gaussian", "kl_gaussian(in_mu, in_logvar)", "std.losses { kl_gaussian }", NULL, NULL},
    {"layer_norm", "it: layer_norm(in_x$eps)", "std.layers { layer_norm }", "scale=g offset=b",
     NULL},
    {"rms_norm", "it: rms_norm(in_x$eps)", "std.layers { rms_norm }", "scale=g", NULL},
    {"batch_norm_train",
     "normalise_batch(in_x, in_scale, in_offset, in_mean, in_var$momentum$eps)[#part]",
     "std.layers { normalise_batch }", NULL, NULL},
    {"batch_norm_eval", "normalise_by(in_x, in_scale, in_offset, in_mean, in_var$eps)",
     "std.layers { normalise_by }", NULL, NULL},
    {"conv2d", "convolved([%%], %strides, %padding, %dilation, %groups)", NULL, NULL, NULL},
    {"conv1d", "convolved([%%], %stride, %padding, %dilation, %groups)", NULL, NULL, NULL},
    {"conv2d_transpose",
     "convolve_transpose(in_x, in_w, stride = %strides, padding = %padding, dilation = %dilation)",
     NULL, NULL, NULL},
    {"max_pool", "max_pool(in_x$window, stride = %strides, padding = %padding)", NULL, NULL, NULL},
    {"avg_pool", "avg_pool(in_x$window, stride = %strides, padding = %padding)", NULL, NULL, NULL},
    {"global_avg_pool", "global_avg_pool(in_x)", "std.layers { global_avg_pool }", NULL, NULL},
    {"upsample_nearest", "upsample_nearest(in_x$factors)", "std.layers { upsample_nearest }", NULL,
     NULL},
    {"transpose", "transpose(in_x$perm)", NULL, NULL, NULL},
    {"reshape", "reshape(in_x, %shape)", NULL, NULL, NULL},
    {"broadcast_to", "broadcast_to(in_x, %shape)", NULL, NULL, NULL},
    {"reverse", "reverse(in_x$axes)", NULL, NULL, NULL},
    {"concat", "concat([%%]$axis)", NULL, NULL, NULL},
    {"stack", "stack([%%]$axis)", NULL, NULL, NULL},
    {"split", "split(in_x$sizes$axis)[#part]", NULL, NULL, NULL},
    {"slice", "in_x[%slices]", NULL, NULL, NULL},
    {"pad", "pad(in_x, before = %before, after = %after$value)", NULL, NULL, NULL},
    {"gather", "gather(in_x, in_indices$axis)", NULL, NULL, NULL},
    {"embedding", "it: embedding(in_ids, vocab = #table:0, dim = #table:1)",
     "std.layers { embedding }", "table=table", NULL},
    {"one_hot", "one_hot(in_ids, %depth) * (%on - %off) + %off", NULL, NULL, NULL},
    {"take_along_axis", "take_along_axis(in_x, in_indices$axis)", NULL, NULL, NULL},
    {"scatter_add", "scatter_add(in_base, in_indices, in_updates, axis = 0)", NULL, NULL, NULL},
    {"attention", "it: self_attention(in_x$heads$causal)", "std.layers { self_attention }",
     "q.w=q.w q.b=q.b k.w=k.w k.b=k.b v.w=v.w v.b=v.b o.w=o.w o.b=o.b", NULL},
    {"transformer_block", "it: transformer_block(in_x$heads$causal)",
     "std.layers { transformer_block }",
     "ln1.scale=ln1.g ln1.offset=ln1.b attn.q.w=attn.q.w attn.q.b=attn.q.b attn.k.w=attn.k.w "
     "attn.k.b=attn.k.b attn.v.w=attn.v.w attn.v.b=attn.v.b attn.o.w=attn.o.w attn.o.b=attn.o.b "
     "ln2.scale=ln2.g ln2.offset=ln2.b mlp.fc.w=mlp.fc.w mlp.fc.b=mlp.fc.b mlp.proj.w=mlp.proj.w "
     "mlp.proj.b=mlp.proj.b",
     NULL},
    {"lstm", "lstm_states(%%)[#part]", "std.layers { lstm_states }", NULL, NULL},
    {"gru", "gru_states(%%)[#part]", "std.layers { gru_states }", NULL, NULL},
};

const struct ref_row *ref_row_find(const char *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].op, op) == 0)
      return &rows[i];
  }
  return NULL;
}

const char *ref_row_owned(struct ref_driver *driver, const struct ref_row *row, const char *input) {
  size_t length = strlen(input);
  for (const char *pair = row->owned; pair && *pair;) {
    size_t size = strcspn(pair, " ");
    if (strncmp(pair, input, length) == 0 && pair[length] == '=')
      return ref_format(driver, "it.%.*s", (int)(size - length - 1), pair + length + 1);
    pair += size + strspn(pair + size, " ");
  }
  return NULL;
}

/* ---- attributes that are written otherwise than they are stored ---- */

static void put_slices(struct dtg_strbuf *out, const json_t *attrs) {
  static const char *const keys[] = {"starts", "stops", "steps"};
  size_t rank = json_array_size(json_object_get(attrs, "starts"));
  for (size_t axis = 0; axis < rank; axis++) {
    for (size_t k = 0; k < 3; k++) {
      dtg_strbuf_puts(out, k > 0 ? ":" : axis > 0 ? ", " : "");
      ref_put_value(out, json_array_get(json_object_get(attrs, keys[k]), axis));
    }
  }
}

static void put_pads(struct dtg_strbuf *out, const json_t *attrs, size_t side) {
  size_t axis;
  const json_t *pair;
  dtg_strbuf_putc(out, '[');
  json_array_foreach(json_object_get(attrs, "pads"), axis, pair) {
    dtg_strbuf_puts(out, axis > 0 ? ", " : "");
    ref_put_value(out, json_array_get(pair, side));
  }
  dtg_strbuf_putc(out, ']');
}

/* ---- templates ---- */

static void put_inputs(struct dtg_strbuf *out, const json_t *file) {
  size_t i;
  const json_t *name;
  json_array_foreach(json_object_get(file, "inputs"), i, name) {
    dtg_strbuf_printf(out, "%sin_%s", i > 0 ? ", " : "", json_string_value(name));
  }
}

static void put_attribute(struct dtg_strbuf *out, const json_t *file, const char *name,
                          bool named) {
  const json_t *attrs = json_object_get(file, "attrs"), *value = json_object_get(attrs, name);
  if (strcmp(name, "slices") == 0)
    put_slices(out, attrs);
  else if (strcmp(name, "before") == 0 || strcmp(name, "after") == 0)
    put_pads(out, attrs, strcmp(name, "after") == 0);
  else if (value && !json_is_null(value)) {
    if (named)
      dtg_strbuf_printf(out, ", %s = ", name);
    ref_put_value(out, value);
  }
}

/* After `#`: "part", or "NAME:AXIS"; returns what follows. */
static const char *put_number(struct dtg_strbuf *out, const json_t *file, const char *at,
                              size_t part) {
  size_t length = strcspn(at, ":]),");
  if (at[length] != ':') {
    dtg_strbuf_printf(out, "%zu", part);
    return at + length;
  }
  char name[64], *end;
  snprintf(name, sizeof name, "in.%.*s", (int)length, at);
  size_t axis = strtoul(at + length + 1, &end, 10);
  const json_t *tensor = json_object_get(json_object_get(file, "tensors"), name);
  ref_put_value(out, json_array_get(json_object_get(tensor, "shape"), axis));
  return end;
}

void ref_row_write(struct dtg_strbuf *out, const struct ref_row *row, const json_t *file,
                   size_t part) {
  for (const char *at = row->expression; *at;) {
    char name[64];
    size_t length = 0;
    if (*at == '#') {
      at = put_number(out, file, at + 1, part);
    } else if (at[0] == '%' && at[1] == '%') {
      put_inputs(out, file);
      at += 2;
    } else if (*at == '$' || *at == '%') {
      while (isalpha((unsigned char)at[1 + length]) || at[1 + length] == '_')
        length++;
      snprintf(name, sizeof name, "%.*s", (int)length, at + 1);
      put_attribute(out, file, name, *at == '$');
      at += 1 + length;
    } else {
      dtg_strbuf_putc(out, *at++);
    }
  }
}
