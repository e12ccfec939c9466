// Layers: instances, their names, and their application.
#include "compiler/build/internal.h"

#include <inttypes.h>
#include <string.h>

// ---- names ----

static const char *join_path(struct dtg_build *b, const char *outer, const char *name) {
  if (outer[0] == '\0')
    return dtg_intern_z(&b->ctx->names, name);
  return dtg_intern_z(&b->ctx->names, dtg_arena_printf(&b->ctx->arena, "%s.%s", outer, name));
}

const char *dtg_build_label_text(struct dtg_build *b, struct dtg_build_env *env,
                                 const struct dtg_ast_label *label) {
  struct dtg_strbuf text = {0};
  bool good = true;
  for (size_t i = 0; i < label->parts.len; i++) {
    const struct dtg_ast_label_part *part = &label->parts.data[i];
    int64_t index = 0;
    if (part->kind == DTG_LABEL_NAME)
      dtg_strbuf_printf(&text, "%s%s", i > 0 ? "." : "", part->name);
    else if (dtg_build_int(b, env, part->index, "the index of a label", &index))
      dtg_strbuf_printf(&text, "[%" PRId64 "]", index);
    else
      good = false;
  }
  const char *interned = dtg_intern_z(&b->ctx->names, dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  return good ? interned : NULL;
}

bool dtg_build_claim(struct dtg_build *b, struct dtg_build_activation *activation, const char *name,
                     struct dtg_span span, bool automatic) {
  for (size_t i = 0; i < activation->name_count; i++) {
    if (activation->names[i].name != name)
      continue;
    struct dtg_diag *diag =
        automatic
            ? dtg_build_error(b, span, "this layer would be called `%s`, which is taken", name)
            : dtg_build_error(b, span, "the name `%s` is taken", name);
    dtg_diag_note(diag, activation->names[i].span, "`%s` was named here", name);
    dtg_diag_hint(diag, "give it a label of its own: label: call(...)%s",
                  automatic ? "; in a `for`, with the loop variable: label[i]: call(...)" : "");
    return false;
  }
  activation->names = dtg_vec_grow(&b->ctx->arena, activation->names, activation->name_count,
                                   &activation->name_cap, sizeof *activation->names);
  activation->names[activation->name_count].name = name;
  activation->names[activation->name_count].span = span;
  activation->name_count++;
  return true;
}

static const char *instance_name(struct dtg_build *b, const struct dtg_symbol *symbol,
                                 const struct dtg_build_call *call) {
  const struct dtg_build_naming *naming = call->naming;
  if (naming && naming->label)
    return dtg_build_label_text(b, call->env, naming->label);
  return naming && naming->name ? naming->name : symbol->name;
}

// ---- instances ----

// A parameter that a tensor is passed for: typed as one, or without type and default.
static bool is_input(const struct dtg_ast_parameter *parameter) {
  if (parameter->type)
    return dtg_build_is_tensor_type(parameter->type);
  return !parameter->default_value;
}

static struct dtg_build_instance *make_instance(struct dtg_build *b,
                                                const struct dtg_symbol *symbol,
                                                const struct dtg_build_call *call) {
  struct dtg_build_activation *activation = call->env->activation;
  if (!activation) {
    struct dtg_diag *diag = dtg_build_error(
        b, call->span, "a function cannot call the layer `%s`, which has parameters of its own",
        symbol->name);
    dtg_diag_hint(diag, "make the function a layer, or pass it an instance");
    return NULL;
  }
  const char *name = instance_name(b, symbol, call);
  bool automatic = !call->naming || !call->naming->label;
  if (!name || !dtg_build_claim(b, activation, name, call->span, automatic))
    return NULL;
  struct dtg_build_instance *instance = DTG_NEW(&b->ctx->arena, struct dtg_build_instance);
  instance->symbol = symbol;
  instance->path = join_path(b, activation->path, name);
  instance->span = call->span;
  return instance;
}

static struct dtg_value layer_result(struct dtg_build *b, struct dtg_build_env *env,
                                     const struct dtg_ast_item *item) {
  bool returned = false;
  struct dtg_value value = dtg_build_body(b, env, item->function.body, &returned);
  const struct dtg_ast_type *type = item->function.result;
  if (value.kind == DTG_VALUE_ERROR || !type)
    return value;
  if (!dtg_build_check_type(b, env, type, &value, "the result", type->span) ||
      !dtg_build_check_dims(b, env, type, &value, "the result", type->span))
    return dtg_value_error();
  return value;
}

static struct dtg_value run_layer(struct dtg_build *b, const struct dtg_build_instance *instance,
                                  const struct dtg_build_given *given, struct dtg_span span) {
  const struct dtg_symbol *symbol = instance->symbol;
  struct dtg_build_frame *frame = DTG_NEW(&b->ctx->arena, struct dtg_build_frame);
  *frame = (struct dtg_build_frame){.parent = b->frame, .symbol = symbol, .call = span};
  struct dtg_value value = dtg_value_error();
  if (!dtg_build_enter(b, frame))
    return value;
  const char *outer = b->graph->path;
  b->graph->path = instance->path;
  struct dtg_build_env *env = dtg_env_new(b, symbol->home, DTG_ITEM_LAYER);
  env->activation = DTG_NEW(&b->ctx->arena, struct dtg_build_activation);
  env->activation->path = instance->path;
  if (dtg_build_bind_parameters(b, env, symbol, given, span))
    value = layer_result(b, env, symbol->item);
  b->graph->path = outer;
  dtg_build_leave(b, frame);
  return value;
}

struct dtg_value dtg_build_call_layer(struct dtg_build *b, const struct dtg_symbol *symbol,
                                      const struct dtg_build_call *call) {
  size_t count = symbol->item->function.parameters.len, inputs = 0, given_inputs = 0;
  struct dtg_build_given *given = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_build_given, count);
  if (!dtg_build_match(b, symbol, call, given))
    return dtg_value_error();
  struct dtg_build_instance *instance = make_instance(b, symbol, call);
  if (!instance)
    return dtg_value_error();
  for (size_t i = 0; i < count; i++) {
    bool input = is_input(&symbol->item->function.parameters.data[i]);
    inputs += input;
    given_inputs += input && given[i].value.kind != DTG_VALUE_ERROR;
  }
  instance->given = given;
  if (inputs > 0 && given_inputs == 0)
    return (struct dtg_value){.kind = DTG_VALUE_INSTANCE, .instance = instance};
  return run_layer(b, instance, given, call->span);
}

// The inputs of one application, beside the attributes of the instance.
static bool application(struct dtg_build *b, const struct dtg_build_instance *instance,
                        const struct dtg_build_call *call, struct dtg_build_given *given) {
  const struct dtg_symbol *symbol = instance->symbol;
  size_t count = symbol->item->function.parameters.len;
  struct dtg_build_given *now = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_build_given, count);
  if (!dtg_build_match(b, symbol, call, now))
    return false;
  for (size_t i = 0; i < count; i++) {
    given[i] = instance->given[i];
    if (now[i].value.kind == DTG_VALUE_ERROR)
      continue;
    const struct dtg_ast_parameter *parameter = &symbol->item->function.parameters.data[i];
    if (!is_input(parameter)) {
      struct dtg_diag *diag = dtg_build_error(
          b, now[i].span, "`%s` is an attribute: it is set where the instance is made",
          parameter->name.text);
      dtg_diag_note(diag, instance->span, "`%s` is made here", instance->path);
      return false;
    }
    given[i] = now[i];
  }
  return true;
}

struct dtg_value dtg_build_apply(struct dtg_build *b, struct dtg_build_instance *instance,
                                 const struct dtg_build_call *call) {
  size_t count = instance->symbol->item->function.parameters.len;
  struct dtg_build_given *given = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_build_given, count);
  if (call->naming && call->naming->label)
    return dtg_build_fail(b, call->naming->label->span, "`%s` has its name already",
                          instance->path);
  return application(b, instance, call, given) ? run_layer(b, instance, given, call->span)
                                               : dtg_value_error();
}

// ---- members ----

static const struct dtg_ast_stmt *find_param(const struct dtg_ast_item *item, const char *name) {
  for (size_t i = 0; i < item->function.body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = item->function.body->stmts.data[i];
    bool declares = stmt->kind == DTG_STMT_PARAM || stmt->kind == DTG_STMT_STATE;
    if (declares && stmt->name.text == name)
      return stmt;
  }
  return NULL;
}

static struct dtg_value no_member(struct dtg_build *b, const struct dtg_build_instance *instance,
                                  const struct dtg_ast_name *name) {
  const struct dtg_ast_body *body = instance->symbol->item->function.body;
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = body->stmts.data[i];
    if (stmt->kind == DTG_STMT_PARAM || stmt->kind == DTG_STMT_STATE)
      dtg_vec_push(&b->ctx->arena, &list.names, stmt->name.text);
  }
  struct dtg_diag *diag = dtg_build_error(b, name->span, "the layer `%s` has no parameter `%s`",
                                          instance->symbol->name, name->text);
  const char *near = dtg_suggest(name->text, list.names.data, list.names.len);
  if (near)
    dtg_diag_hint(diag, "did you mean `%s`?", near);
  return dtg_value_error();
}

// A parameter before any application: its type may name attributes only.
static struct dtg_value early_member(struct dtg_build *b, struct dtg_build_instance *instance,
                                     const struct dtg_ast_stmt *stmt) {
  struct dtg_build_env *env = dtg_env_new(b, instance->symbol->home, DTG_ITEM_LAYER);
  env->activation = DTG_NEW(&b->ctx->arena, struct dtg_build_activation);
  env->activation->path = instance->path;
  for (size_t i = 0; i < instance->symbol->item->function.parameters.len; i++) {
    const struct dtg_ast_parameter *parameter =
        &instance->symbol->item->function.parameters.data[i];
    struct dtg_value value = instance->given[i].value;
    if (value.kind == DTG_VALUE_ERROR && parameter->default_value && !is_input(parameter))
      value = dtg_build_eval(b, env, parameter->default_value);
    if (value.kind != DTG_VALUE_ERROR)
      dtg_env_bind(b, env, parameter->name.text, value);
  }
  struct dtg_span outer = b->graph->span;
  b->graph->span = stmt->span;
  struct dtg_value value = dtg_build_declare(b, env, stmt);
  b->graph->span = outer;
  return value;
}

struct dtg_value dtg_build_member(struct dtg_build *b, struct dtg_build_instance *instance,
                                  const struct dtg_ast_name *name) {
  const struct dtg_build_leaf *leaf =
      dtg_build_find_leaf(b, join_path(b, instance->path, name->text));
  if (leaf)
    return dtg_build_tensor(leaf->node, false);
  const struct dtg_ast_stmt *stmt = find_param(instance->symbol->item, name->text);
  return stmt ? early_member(b, instance, stmt) : no_member(b, instance, name);
}
