// --emit=model: the typed model as text.
#include "compiler/sema/sema.h"

#include "compiler/sema/scope.h"
#include "grammar/ast.h"
#include "grammar/print.h"

#include <inttypes.h>

static void print_type(const struct dtg_type *type, struct dtg_strbuf *out) {
  char text[256];
  dtg_type_format(type, text, sizeof text);
  dtg_strbuf_puts(out, text);
}

static void print_inputs(const struct dtg_model *model, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "model %s {\n", model->name);
  for (size_t i = 0; i < model->inputs.len; i++) {
    dtg_strbuf_printf(out, "  input %s: ", model->inputs.data[i].name);
    print_type(&model->inputs.data[i].type, out);
    dtg_strbuf_puts(out, " an example\n");
  }
  dtg_strbuf_puts(out, "}\n");
}

static void print_constants(const struct dtg_model *model, struct dtg_strbuf *out) {
  for (size_t i = 0; i < model->scope->entries.len; i++) {
    const struct dtg_scope_entry *entry = &model->scope->entries.data[i];
    if (entry->symbol->kind != DTG_SYMBOL_CONST || entry->imported)
      continue;
    dtg_strbuf_printf(out, "const %s = ", entry->name);
    dtg_value_print(&entry->symbol->value, out);
    dtg_strbuf_puts(out, entry->symbol->overridden ? " # from -D\n" : "\n");
  }
}

// ---- data ----

static void print_column_more(const struct dtg_column *column, struct dtg_strbuf *out) {
  for (size_t i = 0; i < column->categories.len; i++) {
    dtg_strbuf_puts(out, i == 0 ? " categories [" : ", ");
    dtg_strbuf_quote(out, column->categories.data[i], __builtin_strlen(column->categories.data[i]));
  }
  if (column->categories.len > 0)
    dtg_strbuf_putc(out, ']');
  if (column->limit > 0)
    dtg_strbuf_printf(out, " vocabulary %" PRId64, column->limit);
  if (column->is_test)
    dtg_strbuf_puts(out, " test");
  if (column->window > 0)
    dtg_strbuf_printf(out, " window %" PRId64 " stride %" PRId64, column->window, column->stride);
}

static void print_column(const struct dtg_column *column, struct dtg_strbuf *out) {
  static const char *const kinds[] = {
      [DTG_SOURCE_IDX] = "idx",
      [DTG_SOURCE_NPY] = "npy",
      [DTG_SOURCE_NPZ] = "npz",
      [DTG_SOURCE_CSV] = "csv",
      [DTG_SOURCE_SAFETENSORS] = "safetensors",
      [DTG_SOURCE_CIFAR10] = "cifar10",
      [DTG_SOURCE_BYTES] = "bytes",
      [DTG_SOURCE_TOKENS] = "tokens",
      [DTG_SOURCE_RANDOM_NORMAL] = "random_normal",
      [DTG_SOURCE_RANDOM_UNIFORM] = "random_uniform",
      [DTG_SOURCE_RANDOM_INT] = "random_int",
      [DTG_SOURCE_RANGE] = "range",
  };
  dtg_strbuf_printf(out, "  column %s = %s", column->name, kinds[column->kind]);
  if (column->path) {
    dtg_strbuf_putc(out, ' ');
    dtg_strbuf_quote(out, column->path, __builtin_strlen(column->path));
  }
  if (column->member) {
    dtg_strbuf_putc(out, ' ');
    dtg_strbuf_quote(out, column->member, __builtin_strlen(column->member));
  }
  if (column->rows > 0) {
    dtg_strbuf_printf(out, " %" PRId64 " x ", column->rows);
    print_type(&column->type, out);
  }
  if (column->rows > 0 && column->kind != DTG_SOURCE_RANGE) {
    dtg_strbuf_puts(out, " ");
    dtg_strbuf_f64(out, column->a);
    dtg_strbuf_puts(out, " ");
    dtg_strbuf_f64(out, column->b);
    dtg_strbuf_printf(out, " seed %" PRId64, column->seed);
  }
  print_column_more(column, out);
  dtg_strbuf_putc(out, '\n');
}

static void print_transform(const struct dtg_transform *step, struct dtg_strbuf *out) {
  static const char *const names[] = {"shuffle", "take", "skip"};
  dtg_strbuf_printf(out, "  %s", names[step->kind]);
  if (step->kind != DTG_TRANSFORM_SHUFFLE)
    dtg_strbuf_printf(out, " %" PRId64 "\n", step->value);
  else if (step->has_seed)
    dtg_strbuf_printf(out, " seed %" PRId64 "\n", step->value);
  else
    dtg_strbuf_puts(out, " by the training seed\n");
}

static const char *dataset_name(const struct dtg_model *model, uint32_t index) {
  const char *name = model->datasets.data[index].name;
  return name[0] ? name : "(unnamed)";
}

static void print_dataset(const struct dtg_model *model, size_t index, struct dtg_strbuf *out) {
  const struct dtg_dataset *set = &model->datasets.data[index];
  dtg_strbuf_printf(out, "data %s {\n", dataset_name(model, (uint32_t)index));
  for (size_t i = 0; i < set->columns.len; i++)
    print_column(&set->columns.data[i], out);
  for (size_t i = 0; i < set->transforms.len; i++)
    print_transform(&set->transforms.data[i], out);
  dtg_strbuf_puts(out, "}\n");
}

// ---- train ----

static void print_every(const struct dtg_model *model, const char *name,
                        const struct dtg_every *every, struct dtg_strbuf *out) {
  if (every->epochs == 0 && every->steps == 0)
    return;
  dtg_strbuf_printf(out, "  %s every %" PRId64 " %s", name,
                    every->epochs > 0 ? every->epochs : every->steps,
                    every->epochs > 0 ? "epochs" : "steps");
  if (every->data != DTG_NO_DATASET && every->keep == 0)
    dtg_strbuf_printf(out, " on %s", dataset_name(model, every->data));
  if (every->keep > 0)
    dtg_strbuf_printf(out, " keep %" PRId64, every->keep);
  dtg_strbuf_putc(out, '\n');
}

static void print_expr(const char *name, const struct dtg_ast_expr *expr, struct dtg_strbuf *out) {
  if (!expr)
    return;
  dtg_strbuf_printf(out, "  %s = ", name);
  dtg_ast_expr_print(expr, out);
  dtg_strbuf_putc(out, '\n');
}

static void print_train(const struct dtg_model *model, struct dtg_strbuf *out) {
  const struct dtg_train *train = &model->train;
  dtg_strbuf_printf(out, "train {\n  data = %s\n", dataset_name(model, train->data));
  dtg_strbuf_printf(out, "  batch = %" PRId64 "\n  shards = %" PRId64 "\n", train->batch,
                    train->shards);
  dtg_strbuf_printf(out, "  %s = %" PRId64 "\n", train->epochs > 0 ? "epochs" : "steps",
                    train->epochs > 0 ? train->epochs : train->steps);
  dtg_strbuf_printf(out, "  seed = %" PRId64 "\n", train->seed);
  print_expr("optimizer", train->optimizer, out);
  print_expr("gradient", train->gradient, out);
  print_every(model, "evaluate", &train->evaluate, out);
  print_every(model, "checkpoint", &train->checkpoint, out);
  dtg_strbuf_puts(out, "}\n");
}

// ---- strategies ----

static void print_device(const struct dtg_device_ref *device, struct dtg_strbuf *out) {
  if (device->job)
    dtg_strbuf_printf(out, "/job:%s", device->job);
  if (device->task >= 0)
    dtg_strbuf_printf(out, "/task:%" PRId32, device->task);
  if (device->type)
    dtg_strbuf_printf(out, "%s%s", device->job ? "/device:" : "", device->type);
  if (device->index >= 0)
    dtg_strbuf_printf(out, ":%" PRId32, device->index);
}

static void print_owner(const struct dtg_owner_rule *rule, struct dtg_strbuf *out) {
  dtg_strbuf_puts(out, "  params ");
  dtg_strbuf_quote(out, rule->pattern, __builtin_strlen(rule->pattern));
  if (rule->kind == DTG_OWNERS_MIRRORED) {
    dtg_strbuf_puts(out, " mirrored\n");
    return;
  }
  if (rule->kind == DTG_OWNERS_SHARDED) {
    dtg_strbuf_puts(out, " sharded\n");
    return;
  }
  dtg_strbuf_puts(out, " on ");
  print_device(&rule->device, out);
  dtg_strbuf_puts(out, rule->round_robin ? " round_robin" : " balance bytes");
  if (rule->split > 0)
    dtg_strbuf_printf(out, " split >= %" PRId64, rule->split);
  dtg_strbuf_putc(out, '\n');
}

static void print_update(const struct dtg_update_rule *update, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "  update %s", update->is_async ? "async" : "sync");
  if (update->backup > 0)
    dtg_strbuf_printf(out, " backup %" PRId64, update->backup);
  if (update->staleness >= 0)
    dtg_strbuf_printf(out, " staleness <= %" PRId64, update->staleness);
  dtg_strbuf_putc(out, '\n');
}

static void print_strategy(const struct dtg_strategy *strategy, bool chosen,
                           struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "strategy %s {%s\n", strategy->name, chosen ? " # chosen" : "");
  for (size_t i = 0; i < strategy->levels.len; i++) {
    const struct dtg_replicate_level *level = &strategy->levels.data[i];
    dtg_strbuf_printf(out, "  replicate %s over %s %s\n",
                      level->kind == DTG_IN_GRAPH ? "in_graph" : "between_graph",
                      level->is_device_type ? "device type" : "job", level->scope);
  }
  for (size_t i = 0; i < strategy->owners.len; i++)
    print_owner(&strategy->owners.data[i], out);
  print_update(&strategy->update, out);
  for (size_t i = 0; i < strategy->places.len; i++) {
    const struct dtg_place_rule *rule = &strategy->places.data[i];
    dtg_strbuf_puts(out, rule->must ? "  place " : "  prefer ");
    dtg_strbuf_quote(out, rule->pattern, __builtin_strlen(rule->pattern));
    dtg_strbuf_puts(out, " on ");
    print_device(&rule->device, out);
    dtg_strbuf_putc(out, '\n');
  }
  dtg_strbuf_puts(out, "}\n");
}

void dtg_model_print(const struct dtg_model *model, struct dtg_strbuf *out) {
  print_constants(model, out);
  if (model->name)
    print_inputs(model, out);
  for (size_t i = 0; i < model->datasets.len; i++)
    print_dataset(model, i, out);
  if (model->train.present)
    print_train(model, out);
  for (size_t i = 0; i < model->strategies.len; i++)
    print_strategy(&model->strategies.data[i], i == model->strategy, out);
}
