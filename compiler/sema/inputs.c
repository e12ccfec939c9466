// The inputs of the model and the columns that feed them.
#include "compiler/sema/internal.h"

#include "grammar/print.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static bool is_batch_dim(const struct dtg_ast_dim *dim) {
  return !dim->is_ellipsis && dim->size->kind == DTG_EXPR_NAME && strcmp(dim->size->name, "B") == 0;
}

static bool missing_batch(struct dtg_sema *sema, const struct dtg_ast_parameter *parameter) {
  struct dtg_diag *diag =
      dtg_error(&sema->ctx->diags, parameter->span,
                "the first dim of input `%s` must be `B`, the batch", parameter->name.text);
  dtg_diag_hint(diag, "an input is a column of the data: %s: f32[B, 784]", parameter->name.text);
  return false;
}

static bool input_dim(struct dtg_sema *sema, struct dtg_scope_file *file,
                      const struct dtg_ast_dim *dim, int64_t *out) {
  if (dim->is_ellipsis)
    return false; // reported with the names
  bool free_name = dim->size->kind == DTG_EXPR_NAME && isupper((unsigned char)dim->size->name[0]) &&
                   !dtg_scope_lookup(file, dim->size->name);
  if (free_name) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, dim->span, "the dim `%s` of a model's input has no value",
                  dim->size->name);
    dtg_diag_hint(diag, "only B is known from the training block; add `const %s = ...`",
                  dim->size->name);
    return false;
  }
  return dtg_sema_expect_count(sema, file, dim->size, "a dim", 1, out);
}

static bool input_type(struct dtg_sema *sema, struct dtg_scope_file *file,
                       const struct dtg_ast_parameter *parameter, struct dtg_type *out) {
  const struct dtg_ast_type *type = parameter->type;
  struct dtg_diags *diags = &sema->ctx->diags;
  if (!type || !type->name.text ||
      !dtg_dtype_from_name(type->name.text, strlen(type->name.text), &out->dtype) ||
      type->dims.len == 0 || !is_batch_dim(&type->dims.data[0]))
    return missing_batch(sema, parameter);
  if (type->dims.len > DTG_MAX_RANK) {
    dtg_error(diags, type->span, "a tensor has at most %d dims", DTG_MAX_RANK);
    return false;
  }
  out->shape.rank = (uint32_t)type->dims.len - 1;
  for (uint32_t i = 0; i < out->shape.rank; i++) {
    if (!input_dim(sema, file, &type->dims.data[i + 1], &out->shape.dims[i]))
      return false;
  }
  int64_t bytes;
  if (!dtg_shape_count_checked(&out->shape, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)dtg_dtype_size(out->dtype), &bytes) ||
      __builtin_mul_overflow(bytes, sema->model->train.batch, &bytes)) {
    dtg_error(diags, type->span, "one batch of `%s` has more bytes than 64 bits can count",
              parameter->name.text);
    return false;
  }
  return true;
}

void dtg_sema_inputs(struct dtg_sema *sema) {
  const struct dtg_symbol *symbol = sema->model->body;
  for (size_t i = 0; i < symbol->item->function.parameters.len; i++) {
    const struct dtg_ast_parameter *parameter = &symbol->item->function.parameters.data[i];
    struct dtg_model_input input = {.name = parameter->name.text, .span = parameter->span};
    if (parameter->default_value)
      dtg_error(&sema->ctx->diags, parameter->default_value->span,
                "an input of a model has no default: it comes from the data");
    else if (input_type(sema, symbol->home, parameter, &input.type))
      dtg_vec_push(&sema->ctx->arena, &sema->model->inputs, input);
  }
}

// ---- binding ----

static const struct dtg_column *find_column(const struct dtg_dataset *set, const char *name) {
  for (size_t i = 0; i < set->columns.len; i++) {
    if (set->columns.data[i].name == name)
      return &set->columns.data[i];
  }
  return NULL;
}

static void no_column(struct dtg_sema *sema, const struct dtg_dataset *set,
                      const struct dtg_model_input *input, struct dtg_span span) {
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < set->columns.len; i++)
    dtg_vec_push(&sema->ctx->arena, &list.names, set->columns.data[i].name);
  struct dtg_diag *diag =
      dtg_error(&sema->ctx->diags, span, "this data set has no column for the model's input `%s`",
                input->name);
  dtg_diag_note(diag, input->span, "the input is declared here");
  dtg_diag_note(diag, set->span, "the data set is defined here");
  const char *near = dtg_suggest(input->name, list.names.data, list.names.len);
  if (near)
    dtg_diag_hint(diag, "rename the column `%s`", near);
  else
    dtg_diag_hint(diag, "add `%s = source` to its table", input->name);
}

static void check_generator(struct dtg_sema *sema, const struct dtg_column *column,
                            const struct dtg_model_input *input) {
  struct dtg_type type = column->type;
  if (column->window > 0 && type.shape.rank < DTG_MAX_RANK) {
    memmove(type.shape.dims + 1, type.shape.dims, type.shape.rank * sizeof *type.shape.dims);
    type.shape.dims[0] = column->window;
    type.shape.rank++;
  }
  if (column->rows == 0 || dtg_type_equal(&type, &input->type))
    return;
  char made[128], wanted[128];
  dtg_type_format(&type, made, sizeof made);
  dtg_type_format(&input->type, wanted, sizeof wanted);
  struct dtg_diag *diag = dtg_error(&sema->ctx->diags, column->span,
                                    "one example of column `%s` is %s, but the model takes %s",
                                    column->name, made, wanted);
  dtg_diag_note(diag, input->span, "the input is declared here");
}

void dtg_sema_bind(struct dtg_sema *sema, uint32_t dataset, struct dtg_span span) {
  const struct dtg_dataset *set = &sema->model->datasets.data[dataset];
  for (size_t i = 0; i < sema->model->inputs.len; i++) {
    const struct dtg_model_input *input = &sema->model->inputs.data[i];
    const struct dtg_column *column = find_column(set, input->name);
    if (column)
      check_generator(sema, column, input);
    else
      no_column(sema, set, input, span);
  }
}
