#include "gen.h"

#include <string.h>

struct gen {
  struct dtg_ctx *ctx;
  struct dtg_random random;
  bool in_strategy; // its words are not names there
  bool in_model;    // `loss = e` is a statement of its own there
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ARENA (&gen->ctx->arena)

static struct dtg_ast_expr *gen_expr(struct gen *gen, int depth);
static struct dtg_ast_body *gen_body(struct gen *gen, int depth);

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t dtg_random_next(struct dtg_random *random) {
  uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

uint32_t dtg_random_below(struct dtg_random *random, uint32_t bound) {
  return (uint32_t)((dtg_random_next(random) >> 32) * bound >> 32);
}

static uint32_t below(struct gen *gen, uint32_t bound) {
  return dtg_random_below(&gen->random, bound);
}

static bool chance(struct gen *gen, uint32_t percent) {
  return below(gen, 100) < percent;
}

// ---- names and strings ----

static const char *word(struct gen *gen) {
  static const char *const plain[] = {"x",    "y",     "B",     "hidden", "dense", "loss",
                                      "cpu",  "gpu",   "ps",    "worker", "_",     "a_long_name_1",
                                      "data", "model", "param", "state",  "as",    "update"};
  static const char *const clause[] = {"on", "split", "place", "params", "sync", "replicate"};
  size_t total = gen->in_strategy ? COUNT(plain) : COUNT(plain) + COUNT(clause);
  size_t pick = below(gen, (uint32_t)total);
  return dtg_intern_z(&gen->ctx->names,
                      pick < COUNT(plain) ? plain[pick] : clause[pick - COUNT(plain)]);
}

static struct dtg_ast_name name(struct gen *gen) {
  return (struct dtg_ast_name){word(gen), DTG_SPAN_NONE};
}

static const char *text(struct gen *gen) {
  static const char *const texts[] = {
      "abc",   "fc2.**", "a\"b",         "\\",          "$",
      "${x}",  "\n\t\r", "{a,b}?",       "h\xc3\xb6he", "#no comment",
      "a: b ", "$$",     "\xe5\xb1\x82", "\x01",        "''"};
  return dtg_intern_z(&gen->ctx->names, texts[below(gen, COUNT(texts))]);
}

static struct dtg_ast_string *string(struct gen *gen, bool with_names) {
  struct dtg_ast_string *result = DTG_NEW(ARENA, struct dtg_ast_string);
  bool last_is_text = false;
  for (uint32_t count = below(gen, 4); count > 0; count--) {
    bool is_name = last_is_text || chance(gen, 30);
    if (is_name && !with_names)
      break;
    const char *content = is_name ? word(gen) : text(gen);
    struct dtg_ast_string_part part = {DTG_SPAN_NONE, is_name, content};
    dtg_vec_push(ARENA, &result->parts, part);
    last_is_text = !is_name;
  }
  return result;
}

// ---- expressions ----

static struct dtg_ast_expr *new_expr(struct gen *gen, enum dtg_ast_expr_kind kind) {
  struct dtg_ast_expr *expr = DTG_NEW(ARENA, struct dtg_ast_expr);
  expr->kind = kind;
  expr->span = DTG_SPAN_NONE;
  expr->depth = kind <= DTG_EXPR_NAME ? 1 : 2;
  return expr;
}

static struct dtg_ast_expr *name_expr(struct gen *gen) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_NAME);
  expr->name = word(gen);
  return expr;
}

static int64_t number(struct gen *gen) {
  switch (below(gen, 4)) {
  case 0:
    return below(gen, 3);
  case 1:
    return below(gen, 1000);
  case 2:
    return (int64_t)1 << below(gen, 63);
  default:
    return (int64_t)(dtg_random_next(&gen->random) >> 1);
  }
}

static double real(struct gen *gen) {
  static const double values[] = {0.0,     0.1, 1.0,  255.0,   1e-3, 1e300, 5e-324,
                                  3.25e20, 1e7, 1e-7, 1.0 / 3, 1e15, 1e16,  123456789.125};
  if (chance(gen, 70))
    return values[below(gen, COUNT(values))];
  return (double)(dtg_random_next(&gen->random) >> 11) * 0x1p-40;
}

static struct dtg_ast_expr *leaf(struct gen *gen) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_INT);
  switch (below(gen, 8)) {
  case 0:
    expr->int_value = number(gen);
    return expr;
  case 1:
    expr->kind = DTG_EXPR_FLOAT;
    expr->float_value = real(gen);
    return expr;
  case 2:
    expr->kind = DTG_EXPR_BOOL;
    expr->bool_value = chance(gen, 50);
    return expr;
  case 3:
    expr->kind = DTG_EXPR_STRING;
    expr->string = *string(gen, true);
    return expr;
  case 4:
    expr->kind = DTG_EXPR_SIZE;
    expr->int_value = number(gen);
    return expr;
  default:
    return name_expr(gen);
  }
}

static struct dtg_ast_expr *member(struct gen *gen, struct dtg_ast_expr *object) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_MEMBER);
  expr->member.object = object;
  expr->member.name = name(gen);
  return expr;
}

static struct dtg_ast_expr *path(struct gen *gen) {
  struct dtg_ast_expr *expr = name_expr(gen);
  while (chance(gen, 30))
    expr = member(gen, expr);
  return expr;
}

static struct dtg_ast_expr *call(struct gen *gen, struct dtg_ast_expr *callee, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_CALL);
  expr->call.callee = callee;
  bool named = false;
  for (uint32_t count = below(gen, 4); count > 0; count--) {
    struct dtg_ast_argument argument = {.span = DTG_SPAN_NONE};
    named = named || chance(gen, 40);
    if (named)
      argument.name = name(gen);
    argument.value = gen_expr(gen, depth - 1);
    dtg_vec_push(ARENA, &expr->call.arguments, argument);
  }
  return expr;
}

static struct dtg_ast_label *label(struct gen *gen, int depth) {
  struct dtg_ast_label *result = DTG_NEW(ARENA, struct dtg_ast_label);
  result->span = DTG_SPAN_NONE;
  do {
    struct dtg_ast_label_part part = {DTG_LABEL_NAME, DTG_SPAN_NONE, NULL, NULL};
    if (result->parts.len && chance(gen, 50)) {
      part.kind = DTG_LABEL_INDEX;
      part.index = gen_expr(gen, depth - 1);
    } else {
      part.name = word(gen);
    }
    dtg_vec_push(ARENA, &result->parts, part);
  } while (chance(gen, 30));
  return result;
}

static struct dtg_ast_expr *labeled(struct gen *gen, bool may_be_name, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_LABELED);
  expr->labeled.label = label(gen, depth);
  struct dtg_ast_expr *callee = path(gen);
  expr->labeled.value = may_be_name && chance(gen, 30) ? callee : call(gen, callee, depth);
  return expr;
}

static struct dtg_ast_expr *optional(struct gen *gen, int depth) {
  return chance(gen, 60) ? gen_expr(gen, depth) : NULL;
}

static struct dtg_ast_expr *subscript(struct gen *gen, struct dtg_ast_expr *object, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_SUBSCRIPT);
  expr->subscript.object = object;
  do {
    struct dtg_ast_subscript_part part = {.span = DTG_SPAN_NONE};
    part.kind = (enum dtg_ast_subscript_kind)below(gen, 3);
    if (part.kind == DTG_SUBSCRIPT_INDEX) {
      part.index = gen_expr(gen, depth - 1);
    } else if (part.kind == DTG_SUBSCRIPT_SLICE) {
      part.begin = optional(gen, depth - 1);
      part.end = optional(gen, depth - 1);
      part.stride = optional(gen, depth - 1);
    }
    dtg_vec_push(ARENA, &expr->subscript.parts, part);
  } while (chance(gen, 40));
  return expr;
}

static struct dtg_ast_expr *pipe(struct gen *gen, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_PIPE);
  expr->pipe.left = chance(gen, 40) && depth > 1 ? pipe(gen, depth - 1) : gen_expr(gen, depth - 1);
  switch (below(gen, 5)) {
  case 0:
    expr->pipe.right = path(gen);
    break;
  case 1:
    expr->pipe.right = subscript(gen, path(gen), depth);
    break;
  case 2:
    expr->pipe.right = call(gen, gen_expr(gen, depth - 1), depth);
    break;
  case 3:
    expr->pipe.right = labeled(gen, true, depth);
    break;
  default:
    expr->pipe.right = call(gen, path(gen), depth);
    break;
  }
  return expr;
}

static struct dtg_ast_expr *unary(struct gen *gen, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_UNARY);
  expr->unary.op = chance(gen, 50) ? DTG_UNARY_NEG : DTG_UNARY_NOT;
  expr->unary.operand = gen_expr(gen, depth - 1);
  return expr;
}

static struct dtg_ast_expr *binary(struct gen *gen, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_BINARY);
  expr->binary.op = (enum dtg_ast_binary_op)below(gen, DTG_BINARY_POW + 1);
  expr->binary.left = gen_expr(gen, depth - 1);
  expr->binary.right = gen_expr(gen, depth - 1);
  return expr;
}

static struct dtg_ast_expr *if_else(struct gen *gen, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_IF);
  expr->if_else.condition = gen_expr(gen, depth - 1);
  expr->if_else.then_value = gen_expr(gen, depth - 1);
  expr->if_else.else_value = gen_expr(gen, depth - 1);
  return expr;
}

static struct dtg_ast_expr *list(struct gen *gen, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_LIST);
  for (uint32_t count = below(gen, 5); count > 0; count--)
    dtg_vec_push(ARENA, &expr->list.elements, gen_expr(gen, depth - 1));
  return expr;
}

static struct dtg_ast_expr *lambda(struct gen *gen, int depth) {
  struct dtg_ast_expr *expr = new_expr(gen, DTG_EXPR_LAMBDA);
  expr->lambda.parameter = name(gen);
  expr->lambda.body = gen_expr(gen, depth - 1);
  return expr;
}

static struct dtg_ast_expr *inner(struct gen *gen, int depth) {
  switch (below(gen, 12)) {
  case 0:
    return member(gen, gen_expr(gen, depth - 1));
  case 1:
    return labeled(gen, false, depth);
  case 2:
    return subscript(gen, gen_expr(gen, depth - 1), depth);
  case 3:
    return unary(gen, depth);
  case 4:
    return if_else(gen, depth);
  case 5:
    return list(gen, depth);
  case 6:
    return lambda(gen, depth);
  case 7:
    return pipe(gen, depth);
  case 8:
    return call(gen, gen_expr(gen, depth - 1), depth);
  case 9:
    return call(gen, path(gen), depth);
  default:
    return binary(gen, depth);
  }
}

static struct dtg_ast_expr *gen_expr(struct gen *gen, int depth) {
  struct dtg_ast_expr *expr = depth <= 0 || chance(gen, 30) ? leaf(gen) : inner(gen, depth);
  expr->parenthesized = chance(gen, 8);
  return expr;
}

// ---- types and statements ----

static struct dtg_ast_type *type(struct gen *gen) {
  static const char *const names[] = {"f32", "u8", "int", "fn", "str", "bool"};
  struct dtg_ast_type *result = DTG_NEW(ARENA, struct dtg_ast_type);
  result->span = DTG_SPAN_NONE;
  result->name.text = dtg_intern_z(&gen->ctx->names, names[below(gen, COUNT(names))]);
  result->has_shape = strcmp(result->name.text, "fn") != 0 && chance(gen, 60);
  for (uint32_t count = result->has_shape ? below(gen, 4) : 0; count > 0; count--) {
    struct dtg_ast_dim dim = {.span = DTG_SPAN_NONE, .is_ellipsis = chance(gen, 20)};
    if (!dim.is_ellipsis)
      dim.size = gen_expr(gen, chance(gen, 80) ? 0 : 2);
    dtg_vec_push(ARENA, &result->dims, dim);
  }
  return result;
}

static struct dtg_ast_stmt *if_stmt(struct gen *gen, int depth) {
  struct dtg_ast_stmt *stmt = DTG_NEW(ARENA, struct dtg_ast_stmt);
  stmt->kind = DTG_STMT_IF;
  stmt->if_else.condition = gen_expr(gen, 2);
  stmt->if_else.then_body = gen_body(gen, depth - 1);
  if (chance(gen, 30)) {
    stmt->if_else.else_body = gen_body(gen, depth - 1);
  } else if (chance(gen, 30)) {
    stmt->if_else.is_else_if = true;
    stmt->if_else.else_body = DTG_NEW(ARENA, struct dtg_ast_body);
    dtg_vec_push(ARENA, &stmt->if_else.else_body->stmts, if_stmt(gen, depth - 1));
  }
  return stmt;
}

static void fill_stmt(struct gen *gen, struct dtg_ast_stmt *stmt, int depth) {
  switch (stmt->kind) {
  case DTG_STMT_LABEL:
    stmt->label.label = label(gen, 2);
    stmt->label.call = call(gen, chance(gen, 80) ? path(gen) : gen_expr(gen, 2), 3);
    break;
  case DTG_STMT_PARAM:
  case DTG_STMT_STATE:
    if (stmt->kind == DTG_STMT_PARAM || chance(gen, 50))
      stmt->declare.type = type(gen);
    stmt->declare.initializer = optional(gen, 2);
    break;
  case DTG_STMT_UPDATE:
    stmt->update.value = gen_expr(gen, 3);
    stmt->update.by = (enum dtg_ast_update_by)below(gen, 4);
    break;
  case DTG_STMT_FOR:
  case DTG_STMT_SCAN:
    stmt->for_in.recompute = stmt->kind == DTG_STMT_SCAN && chance(gen, 30);
    stmt->for_in.first = gen_expr(gen, 1);
    stmt->for_in.end = gen_expr(gen, 1);
    stmt->for_in.body = gen_body(gen, depth - 1);
    break;
  default:
    stmt->value = gen_expr(gen, 4);
    break;
  }
}

static struct dtg_ast_stmt *gen_stmt(struct gen *gen, int depth) {
  struct dtg_ast_stmt *stmt = DTG_NEW(ARENA, struct dtg_ast_stmt);
  stmt->span = DTG_SPAN_NONE;
  stmt->kind = (enum dtg_ast_stmt_kind)below(gen, DTG_STMT_OUTPUT + 1);
  bool is_nested =
      stmt->kind == DTG_STMT_FOR || stmt->kind == DTG_STMT_SCAN || stmt->kind == DTG_STMT_IF;
  if ((is_nested && depth <= 0) || (stmt->kind == DTG_STMT_LOSS && !gen->in_model))
    stmt->kind = DTG_STMT_ASSIGN;
  if (stmt->kind == DTG_STMT_IF)
    return if_stmt(gen, depth);
  if (stmt->kind != DTG_STMT_LABEL && stmt->kind != DTG_STMT_RETURN)
    stmt->name = name(gen);
  if (stmt->kind == DTG_STMT_LOSS)
    stmt->name.text = dtg_intern_z(&gen->ctx->names, "loss");
  if (stmt->kind == DTG_STMT_ASSIGN && gen->in_model && strcmp(stmt->name.text, "loss") == 0)
    stmt->kind = DTG_STMT_LOSS;
  fill_stmt(gen, stmt, depth);
  return stmt;
}

static struct dtg_ast_body *gen_body(struct gen *gen, int depth) {
  struct dtg_ast_body *body = DTG_NEW(ARENA, struct dtg_ast_body);
  body->span = DTG_SPAN_NONE;
  for (uint32_t count = below(gen, 5); count > 0; count--)
    dtg_vec_push(ARENA, &body->stmts, gen_stmt(gen, depth));
  return body;
}

// ---- strategies ----

static struct dtg_ast_device device(struct gen *gen) {
  struct dtg_ast_device result = {.span = DTG_SPAN_NONE, .task = -1, .index = -1};
  const char *device_type = dtg_intern_z(&gen->ctx->names, chance(gen, 50) ? "cpu" : "gpu");
  switch (below(gen, 3)) {
  case 0:
    result.name = word(gen);
    return result;
  case 1:
    result.type = device_type;
    result.index = (int32_t)below(gen, 9);
    return result;
  default:
    result.job = word(gen);
  }
  if (chance(gen, 70))
    result.task = (int32_t)below(gen, 100000);
  if (result.task >= 0 && chance(gen, 70)) {
    result.type = device_type;
    result.index = (int32_t)below(gen, 9);
  }
  return result;
}

static void fill_params(struct gen *gen, struct dtg_ast_clause *clause) {
  if (chance(gen, 50))
    clause->params.pattern = string(gen, true);
  clause->params.owner = (enum dtg_ast_owner_kind)below(gen, 3);
  if (clause->params.owner != DTG_OWNER_ON)
    return;
  clause->params.device = device(gen);
  clause->params.balance = (enum dtg_ast_balance)below(gen, 3);
  clause->params.split = optional(gen, 1);
}

static struct dtg_ast_clause gen_clause(struct gen *gen) {
  struct dtg_ast_clause clause = {.kind = (enum dtg_ast_clause_kind)below(gen, 5),
                                  .span = DTG_SPAN_NONE};
  switch (clause.kind) {
  case DTG_CLAUSE_REPLICATE:
    do {
      struct dtg_ast_replicate_level level = {
          DTG_SPAN_NONE, (enum dtg_ast_replicate_kind)below(gen, 2), name(gen)};
      dtg_vec_push(ARENA, &clause.replicate.levels, level);
    } while (chance(gen, 40));
    break;
  case DTG_CLAUSE_PARAMS:
    fill_params(gen, &clause);
    break;
  case DTG_CLAUSE_UPDATE:
    clause.update.is_async = chance(gen, 50);
    if (clause.update.is_async)
      clause.update.staleness = optional(gen, 1);
    else
      clause.update.backup = optional(gen, 1);
    break;
  case DTG_CLAUSE_PLACE:
  case DTG_CLAUSE_PREFER:
    clause.place.pattern = string(gen, true);
    clause.place.device = device(gen);
    break;
  }
  return clause;
}

// ---- items ----

static void fill_import(struct gen *gen, struct dtg_ast_item *item) {
  if (chance(gen, 30)) {
    item->import.file = string(gen, false);
  } else {
    do
      dtg_vec_push(ARENA, &item->import.module, name(gen));
    while (chance(gen, 60));
  }
  if (chance(gen, 30))
    item->import.alias = name(gen);
  item->import.has_names = chance(gen, 60);
  while (item->import.has_names) {
    struct dtg_ast_import_name import = {name(gen), {NULL, DTG_SPAN_NONE}};
    if (chance(gen, 20))
      import.alias = name(gen);
    dtg_vec_push(ARENA, &item->import.names, import);
    if (chance(gen, 30))
      break;
  }
}

static void fill_function(struct gen *gen, struct dtg_ast_item *item) {
  for (uint32_t count = below(gen, 5); count > 0; count--) {
    struct dtg_ast_parameter parameter = {DTG_SPAN_NONE, name(gen), NULL, NULL};
    if (chance(gen, 80))
      parameter.type = type(gen);
    if (chance(gen, 30))
      parameter.default_value = gen_expr(gen, 2);
    dtg_vec_push(ARENA, &item->function.parameters, parameter);
  }
  bool is_fn = item->kind == DTG_ITEM_FN;
  if ((is_fn || item->kind == DTG_ITEM_LAYER) && chance(gen, 60))
    item->function.result = type(gen);
  gen->in_model = item->kind == DTG_ITEM_MODEL;
  if (is_fn && chance(gen, 50))
    item->function.value = gen_expr(gen, 4);
  else
    item->function.body = gen_body(gen, 2);
}

static void fill_item(struct gen *gen, struct dtg_ast_item *item) {
  switch (item->kind) {
  case DTG_ITEM_IMPORT:
    fill_import(gen, item);
    break;
  case DTG_ITEM_CONST:
  case DTG_ITEM_DATA:
    item->name = name(gen);
    item->value = gen_expr(gen, 4);
    break;
  case DTG_ITEM_FN:
  case DTG_ITEM_LAYER:
  case DTG_ITEM_MODEL:
  case DTG_ITEM_OPTIMIZER:
    item->name = name(gen);
    fill_function(gen, item);
    break;
  case DTG_ITEM_TRAIN:
    for (uint32_t count = below(gen, 5); count > 0; count--) {
      struct dtg_ast_entry entry = {DTG_SPAN_NONE, name(gen), gen_expr(gen, 3)};
      dtg_vec_push(ARENA, &item->train.entries, entry);
    }
    break;
  case DTG_ITEM_STRATEGY:
    item->name = name(gen);
    gen->in_strategy = true;
    for (uint32_t count = below(gen, 5); count > 0; count--)
      dtg_vec_push(ARENA, &item->strategy.clauses, gen_clause(gen));
    gen->in_strategy = false;
    break;
  }
}

static const char *doc(struct gen *gen) {
  static const char *const docs[] = {"A layer.", "Two lines:\nthe second.", "", "a\n\n  b # c"};
  return chance(gen, 30) ? docs[below(gen, COUNT(docs))] : NULL;
}

struct dtg_ast_file *dtg_gen_file(struct dtg_ctx *ctx, uint64_t seed, uint32_t items) {
  struct gen state = {.ctx = ctx, .random = {seed}}, *gen = &state;
  struct dtg_ast_file *ast = DTG_NEW(ARENA, struct dtg_ast_file);
  ast->file = DTG_NO_FILE;
  ast->span = DTG_SPAN_NONE;
  for (uint32_t i = 0; i < items; i++) {
    struct dtg_ast_item *item = DTG_NEW(ARENA, struct dtg_ast_item);
    item->span = DTG_SPAN_NONE;
    item->kind = i < items - items / 4 ? (enum dtg_ast_item_kind)below(gen, DTG_ITEM_STRATEGY)
                                       : DTG_ITEM_STRATEGY;
    item->doc = doc(gen);
    fill_item(gen, item);
    dtg_vec_push(ARENA, &ast->items, item);
  }
  return ast;
}
