// The block `train`.
#include "compiler/sema/internal.h"

#include <inttypes.h>
#include <string.h>

// Larger batches are not a batch any more; the limit keeps products of sizes far from overflow.
#define BATCH_MAX ((int64_t)1 << 30)

struct train_call {
  struct dtg_sema *sema;
  struct dtg_scope_file *file;
  struct dtg_train *train;
  const struct dtg_ast_entry *entry;
};

static void read_batch(const struct train_call *call) {
  int64_t batch;
  if (!dtg_sema_expect_count(call->sema, call->file, call->entry->value, "`batch`", 1, &batch))
    return;
  if (batch > BATCH_MAX)
    dtg_error(&call->sema->ctx->diags, call->entry->value->span,
              "`batch` must be at most %" PRId64 ", not %" PRId64, BATCH_MAX, batch);
  else
    call->train->batch = batch;
}

static void read_shards(const struct train_call *call) {
  dtg_sema_expect_count(call->sema, call->file, call->entry->value, "`shards`", 1,
                        &call->train->shards);
}

static void read_epochs(const struct train_call *call) {
  dtg_sema_expect_count(call->sema, call->file, call->entry->value, "`epochs`", 1,
                        &call->train->epochs);
}

static void read_steps(const struct train_call *call) {
  dtg_sema_expect_count(call->sema, call->file, call->entry->value, "`steps`", 1,
                        &call->train->steps);
}

static void read_seed(const struct train_call *call) {
  dtg_sema_expect_count(call->sema, call->file, call->entry->value, "`seed`", 0,
                        &call->train->seed);
}

static void read_optimizer(const struct train_call *call) {
  call->train->optimizer = call->entry->value;
}

static void read_gradient(const struct train_call *call) {
  call->train->gradient = call->entry->value;
}

static void read_data(const struct train_call *call) {
  call->train->data = dtg_sema_dataset(call->sema, call->file, call->entry->value);
}

static void read_model(const struct train_call *call) {
  struct dtg_sema *sema = call->sema;
  const struct dtg_ast_expr *expr = call->entry->value;
  struct dtg_symbol *symbol =
      expr->kind == DTG_EXPR_NAME ? dtg_scope_lookup(call->file, expr->name) : NULL;
  if (symbol && symbol->kind == DTG_SYMBOL_MODEL) {
    sema->model->body = symbol;
    return;
  }
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < call->file->entries.len; i++) {
    if (call->file->entries.data[i].symbol->kind == DTG_SYMBOL_MODEL)
      dtg_vec_push(&sema->ctx->arena, &list.names, call->file->entries.data[i].name);
  }
  if (expr->kind == DTG_EXPR_NAME && !symbol) {
    dtg_sema_unknown(sema, expr->span, "model", expr->name, list.names.data, list.names.len);
    return;
  }
  struct dtg_diag *diag =
      dtg_error(&sema->ctx->diags, expr->span, "`model` must be the name of a model");
  if (symbol)
    dtg_diag_note(diag, symbol->span, "`%s` is %s", symbol->name,
                  dtg_symbol_kind_text(symbol->kind));
}

static void read_precision(const struct train_call *call) {
  struct dtg_value value;
  if (!dtg_sema_expect(call->sema, call->file, call->entry->value, DTG_VALUE_DTYPE, "`precision`",
                       &value) ||
      value.dtype == DTG_F32)
    return;
  struct dtg_diag *diag =
      dtg_error(&call->sema->ctx->diags, call->entry->value->span,
                "precision %s is not supported yet", dtg_dtype_name(value.dtype));
  dtg_diag_hint(diag, "write precision = f32, or leave the line out");
}

// ---- every(...) ----

static bool every_period(const struct train_call *call, const struct dtg_sema_argument *given,
                         struct dtg_every *out) {
  struct dtg_diags *diags = &call->sema->ctx->diags;
  if (given[0].given == given[1].given) {
    dtg_error(diags, call->entry->value->span, "`every` needs either `epochs` or `steps`%s",
              given[0].given ? ", not both" : "");
    return false;
  }
  const struct dtg_sema_argument *period = &given[given[0].given ? 0 : 1];
  if (period->value.i < 1) {
    dtg_error(diags, period->expr->span, "`%s` must be at least 1, not %" PRId64,
              given[0].given ? "epochs" : "steps", period->value.i);
    return false;
  }
  *(given[0].given ? &out->epochs : &out->steps) = period->value.i;
  out->span = call->entry->span;
  return true;
}

static bool every(const struct train_call *call, const struct dtg_sema_parameter *third,
                  struct dtg_sema_argument given[3], struct dtg_every *out) {
  const struct dtg_sema_parameter parameters[] = {
      {"epochs", DTG_VALUE_INT, false}, {"steps", DTG_VALUE_INT, false}, *third};
  const struct dtg_ast_expr *expr = call->entry->value;
  bool is_every = expr->kind == DTG_EXPR_CALL && expr->call.callee->kind == DTG_EXPR_NAME &&
                  strcmp(expr->call.callee->name, "every") == 0;
  if (!is_every) {
    struct dtg_diag *diag = dtg_error(&call->sema->ctx->diags, expr->span,
                                      "`%s` must be every(...)", call->entry->key.text);
    dtg_diag_hint(diag, "for example every(epochs = 1, %s = %s)", third->name,
                  strcmp(third->name, "keep") == 0 ? "3" : "test_set");
    return false;
  }
  return dtg_sema_arguments(call->sema, call->file, expr, "every", parameters, 3, given) &&
         every_period(call, given, out);
}

static void read_evaluate(const struct train_call *call) {
  static const struct dtg_sema_parameter data = {"data", DTG_VALUE_ERROR, true};
  struct dtg_sema_argument given[3];
  if (every(call, &data, given, &call->train->evaluate))
    call->train->evaluate.data = dtg_sema_dataset(call->sema, call->file, given[2].expr);
}

static void read_checkpoint(const struct train_call *call) {
  static const struct dtg_sema_parameter keep = {"keep", DTG_VALUE_INT, false};
  struct dtg_sema_argument given[3];
  if (!every(call, &keep, given, &call->train->checkpoint))
    return;
  call->train->checkpoint.keep = given[2].given ? given[2].value.i : 1;
  if (call->train->checkpoint.keep < 1)
    dtg_error(&call->sema->ctx->diags, given[2].expr->span,
              "`keep` must be at least 1, not %" PRId64, given[2].value.i);
}

// ---- keys ----

static const struct {
  const char *name;
  void (*read)(const struct train_call *call);
} keys[] = {
    {"model", read_model},
    {"data", read_data},
    {"batch", read_batch},
    {"shards", read_shards},
    {"epochs", read_epochs},
    {"steps", read_steps},
    {"optimizer", read_optimizer},
    {"gradient", read_gradient},
    {"seed", read_seed},
    {"evaluate", read_evaluate},
    {"checkpoint", read_checkpoint},
    {"precision", read_precision},
};

enum { KEY_COUNT = sizeof keys / sizeof *keys };

static void read_entry(struct train_call *call, struct dtg_span seen[KEY_COUNT]) {
  struct dtg_sema *sema = call->sema;
  const struct dtg_ast_name *key = &call->entry->key;
  size_t row = 0;
  while (row < KEY_COUNT && strcmp(keys[row].name, key->text) != 0)
    row++;
  if (row == KEY_COUNT) {
    const char *names[KEY_COUNT];
    for (size_t i = 0; i < KEY_COUNT; i++)
      names[i] = keys[i].name;
    dtg_sema_unknown(sema, key->span, "key of `train`:", key->text, names, KEY_COUNT);
  } else if (seen[row].file != DTG_NO_FILE) {
    dtg_sema_twice(sema, key->span, key->text, seen[row]);
  } else {
    seen[row] = key->span;
    keys[row].read(call);
  }
}

static const struct dtg_span *seen_key(const struct dtg_span *seen, const char *name) {
  for (size_t i = 0; i < KEY_COUNT; i++) {
    if (strcmp(keys[i].name, name) == 0)
      return seen[i].file == DTG_NO_FILE ? NULL : &seen[i];
  }
  return NULL;
}

static void require_keys(struct dtg_sema *sema, const struct dtg_span *seen) {
  static const char *const required[] = {"data", "batch", "optimizer"};
  static const char *const examples[] = {"train_set", "32", "sgd(lr = 0.1)"};
  struct dtg_train *train = &sema->model->train;
  for (size_t i = 0; i < 3; i++) {
    if (!seen_key(seen, required[i])) {
      struct dtg_diag *diag =
          dtg_error(&sema->ctx->diags, train->span, "`train` needs the key `%s`", required[i]);
      dtg_diag_hint(diag, "for example %s = %s", required[i], examples[i]);
    }
  }
  const struct dtg_span *epochs = seen_key(seen, "epochs"), *steps = seen_key(seen, "steps");
  if (!epochs && !steps) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, train->span, "`train` needs the key `epochs` or `steps`");
    dtg_diag_hint(diag, "for example epochs = 3");
  } else if (epochs && steps) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, *steps, "`train` has both `epochs` and `steps`");
    dtg_diag_note(diag, *epochs, "`epochs` is set here");
    dtg_diag_hint(diag, "keep the one that says when training ends");
  }
}

static void choose_shards(struct dtg_sema *sema, const struct dtg_span *seen) {
  struct dtg_train *train = &sema->model->train;
  const struct dtg_span *span = seen_key(seen, "shards");
  if (!span) {
    train->shards = 8;
    while (train->batch % train->shards != 0)
      train->shards /= 2;
    return;
  }
  if (train->batch % train->shards == 0)
    return;
  int64_t below = train->shards;
  while (train->batch % below != 0)
    below--;
  struct dtg_diag *diag = dtg_error(&sema->ctx->diags, *span,
                                    "`shards` = %" PRId64 " does not divide `batch` = %" PRId64,
                                    train->shards, train->batch);
  const struct dtg_span *batch = seen_key(seen, "batch");
  if (batch)
    dtg_diag_note(diag, *batch, "`batch` is set here");
  dtg_diag_hint(diag, "the next smaller number that does is %" PRId64, below);
}

static void choose_model(struct dtg_sema *sema, const struct dtg_span *seen) {
  struct dtg_scope_file *file = sema->model->scope;
  size_t count = 0;
  struct dtg_symbol *only = NULL;
  if (seen && seen_key(seen, "model"))
    return;
  for (size_t i = 0; i < file->entries.len; i++) {
    struct dtg_scope_entry *entry = &file->entries.data[i];
    if (entry->symbol->kind == DTG_SYMBOL_MODEL && (seen || !entry->imported)) {
      only = entry->symbol;
      count++;
    }
  }
  if (count == 1)
    sema->model->body = only;
  else if (seen)
    dtg_error(&sema->ctx->diags, sema->model->train.span,
              count > 1 ? "`train` needs the key `model`: the file has several models"
                        : "there is no model to train");
}

static const struct dtg_ast_item *find_train(struct dtg_sema *sema) {
  const struct dtg_ast_file *ast = sema->model->scope->ast;
  const struct dtg_ast_item *found = NULL;
  for (size_t i = 0; i < ast->items.len; i++) {
    const struct dtg_ast_item *item = ast->items.data[i];
    if (item->kind != DTG_ITEM_TRAIN)
      continue;
    if (found)
      dtg_sema_twice(sema, item->span, "train", found->span);
    else
      found = item;
  }
  return found;
}

// The word alone, for messages about the block as a whole.
static struct dtg_span head(const struct dtg_ast_item *item) {
  struct dtg_span span = item->span;
  span.end = span.begin + (uint32_t)strlen("train");
  return span;
}

void dtg_sema_train(struct dtg_sema *sema) {
  struct dtg_train *train = &sema->model->train;
  const struct dtg_ast_item *item = find_train(sema);
  *train = (struct dtg_train){.span = DTG_SPAN_NONE,
                              .batch = 1,
                              .shards = 1,
                              .data = DTG_NO_DATASET,
                              .evaluate.data = DTG_NO_DATASET};
  if (!item) {
    choose_model(sema, NULL);
    return;
  }
  struct train_call call = {.sema = sema, .file = sema->model->scope, .train = train};
  struct dtg_span seen[KEY_COUNT];
  for (size_t i = 0; i < KEY_COUNT; i++)
    seen[i] = DTG_SPAN_NONE;
  train->present = true;
  train->span = head(item);
  for (size_t i = 0; i < item->train.entries.len; i++) {
    call.entry = &item->train.entries.data[i];
    read_entry(&call, seen);
  }
  require_keys(sema, seen);
  choose_shards(sema, seen);
  choose_model(sema, seen);
}
