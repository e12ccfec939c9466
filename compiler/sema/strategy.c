// Strategies: their clauses as rules, and the combinations that can never be legal (semantics.md,
// section 1), as far as no cluster is needed to tell.
#include "compiler/sema/internal.h"

#include <inttypes.h>
#include <string.h>

struct strategy_call {
  struct dtg_sema *sema;
  struct dtg_strategy *strategy;
  struct dtg_span replicate, update; // the clauses seen so far
};

static struct dtg_device_ref device(const struct dtg_ast_device *written) {
  struct dtg_device_ref out = {.job = written->job,
                               .type = written->type,
                               .task = written->task,
                               .index = written->index,
                               .span = written->span};
  bool is_type =
      written->name && (strcmp(written->name, "cpu") == 0 || strcmp(written->name, "gpu") == 0);
  if (is_type)
    out.type = written->name;
  else if (written->name)
    out.job = written->name;
  return out;
}

// ---- patterns ----

static void bad_pattern(struct dtg_sema *sema, struct dtg_span span, const char *why) {
  struct dtg_diag *diag = dtg_error(&sema->ctx->diags, span, "this is no pattern: %s", why);
  dtg_diag_hint(diag, "`*` matches within one part of a path, `**` across parts, `?` one "
                      "character, `{a,b}` either; brackets stand for themselves");
}

static const char *pattern(struct dtg_sema *sema, const struct dtg_ast_string *string) {
  struct dtg_ast_expr expr = {.kind = DTG_EXPR_STRING, .span = string->span, .string = *string};
  struct dtg_value value = dtg_sema_eval(sema, sema->model->scope, &expr);
  if (value.kind != DTG_VALUE_STRING)
    return "**";
  int open = 0;
  for (const char *c = value.s; *c && open >= 0 && open < 2; c++)
    open += (*c == '{') - (*c == '}');
  if (value.s[0] == '\0')
    bad_pattern(sema, string->span, "it is empty");
  else if (open != 0)
    bad_pattern(sema, string->span,
                open == 2 ? "braces cannot be nested" : "its braces do not match");
  return value.s;
}

// ---- clauses ----

static void check_level(struct strategy_call *call, const struct dtg_replicate_level *level) {
  struct dtg_diags *diags = &call->sema->ctx->diags;
  size_t count = call->strategy->levels.len;
  const struct dtg_replicate_level *outer =
      count > 0 ? &call->strategy->levels.data[count - 1] : NULL;
  if (level->kind == DTG_BETWEEN_GRAPH && level->is_device_type) {
    struct dtg_diag *diag =
        dtg_error(diags, level->span,
                  "between_graph replicates over the tasks of a job, not over %s", level->scope);
    dtg_diag_hint(diag, "write in_graph over %s, or between_graph over a job", level->scope);
  } else if (outer && level->kind == DTG_BETWEEN_GRAPH) {
    struct dtg_diag *diag =
        dtg_error(diags, level->span, "between_graph must be the outermost level");
    dtg_diag_note(diag, outer->span, "the level outside it");
    dtg_diag_hint(diag, "write replicate between_graph over %s, in_graph over ...", level->scope);
  } else if (outer && outer->is_device_type) {
    struct dtg_diag *diag = dtg_error(
        diags, level->span, "there is nothing inside a %s to replicate over", outer->scope);
    dtg_diag_hint(diag, "the levels go from outside to inside: a job, then a device type");
  } else if (outer && !level->is_device_type) {
    struct dtg_diag *diag = dtg_error(diags, level->span, "a job is not inside another job");
    dtg_diag_note(diag, outer->span, "the level outside it");
    dtg_diag_hint(diag, "the inner level is over cpu or gpu");
  }
}

static void read_replicate(struct strategy_call *call, const struct dtg_ast_clause *clause) {
  if (call->replicate.file != DTG_NO_FILE) {
    dtg_sema_twice(call->sema, clause->span, "replicate", call->replicate);
    return;
  }
  call->replicate = clause->span;
  for (size_t i = 0; i < clause->replicate.levels.len; i++) {
    const struct dtg_ast_replicate_level *written = &clause->replicate.levels.data[i];
    struct dtg_replicate_level level = {.scope = written->scope.text, .span = written->span};
    if (!level.scope)
      continue;
    level.kind = written->kind == DTG_REPLICATE_IN_GRAPH ? DTG_IN_GRAPH : DTG_BETWEEN_GRAPH;
    level.is_device_type = strcmp(level.scope, "cpu") == 0 || strcmp(level.scope, "gpu") == 0;
    check_level(call, &level);
    dtg_vec_push(&call->sema->ctx->arena, &call->strategy->levels, level);
  }
}

static void check_reachable(struct strategy_call *call, const struct dtg_owner_rule *rule) {
  for (size_t i = 0; i < call->strategy->owners.len; i++) {
    const struct dtg_owner_rule *earlier = &call->strategy->owners.data[i];
    if (strcmp(earlier->pattern, "**") != 0 && strcmp(earlier->pattern, rule->pattern) != 0)
      continue;
    struct dtg_diag *diag =
        dtg_error(&call->sema->ctx->diags, rule->span,
                  "this rule never applies: an earlier one matches all it matches");
    dtg_diag_note(diag, earlier->span, "the earlier rule");
    dtg_diag_hint(diag, "the first match wins; put the rule for all parameters last");
    return;
  }
}

static void read_params(struct strategy_call *call, const struct dtg_ast_clause *clause) {
  struct dtg_sema *sema = call->sema;
  static const enum dtg_owner_kind kinds[] = {
      [DTG_OWNER_ON] = DTG_OWNERS_ON,
      [DTG_OWNER_MIRRORED] = DTG_OWNERS_MIRRORED,
      [DTG_OWNER_SHARDED] = DTG_OWNERS_SHARDED,
  };
  struct dtg_owner_rule rule = {.pattern = "**",
                                .kind = kinds[clause->params.owner],
                                .round_robin = clause->params.balance == DTG_BALANCE_ROUND_ROBIN,
                                .span = clause->span};
  if (clause->params.pattern)
    rule.pattern = pattern(sema, clause->params.pattern);
  if (rule.kind == DTG_OWNERS_ON)
    rule.device = device(&clause->params.device);
  if (clause->params.split)
    dtg_sema_expect_count(sema, sema->model->scope, clause->params.split,
                          "the size after `split >=`", 1, &rule.split);
  check_reachable(call, &rule);
  dtg_vec_push(&sema->ctx->arena, &call->strategy->owners, rule);
}

static void read_update(struct strategy_call *call, const struct dtg_ast_clause *clause) {
  struct dtg_sema *sema = call->sema;
  struct dtg_update_rule *update = &call->strategy->update;
  if (call->update.file != DTG_NO_FILE) {
    dtg_sema_twice(sema, clause->span, "update", call->update);
    return;
  }
  call->update = clause->span;
  update->span = clause->span;
  update->is_async = clause->update.is_async;
  if (clause->update.backup)
    dtg_sema_expect_count(sema, sema->model->scope, clause->update.backup, "`backup`", 1,
                          &update->backup);
  if (clause->update.staleness)
    dtg_sema_expect_count(sema, sema->model->scope, clause->update.staleness, "`staleness`", 0,
                          &update->staleness);
}

static void read_place(struct strategy_call *call, const struct dtg_ast_clause *clause) {
  struct dtg_place_rule rule = {.device = device(&clause->place.device),
                                .must = clause->kind == DTG_CLAUSE_PLACE,
                                .span = clause->span};
  rule.pattern = pattern(call->sema, clause->place.pattern);
  dtg_vec_push(&call->sema->ctx->arena, &call->strategy->places, rule);
}

static void read_clause(struct strategy_call *call, const struct dtg_ast_clause *clause) {
  switch (clause->kind) {
  case DTG_CLAUSE_REPLICATE:
    read_replicate(call, clause);
    break;
  case DTG_CLAUSE_PARAMS:
    read_params(call, clause);
    break;
  case DTG_CLAUSE_UPDATE:
    read_update(call, clause);
    break;
  case DTG_CLAUSE_PLACE:
  case DTG_CLAUSE_PREFER:
    read_place(call, clause);
    break;
  }
}

// ---- combinations ----

static bool one_client(const struct dtg_strategy *strategy) {
  return strategy->levels.len == 0 || strategy->levels.data[0].kind == DTG_IN_GRAPH;
}

// `params on JOB`: parameter servers.
static bool on_job(const struct dtg_strategy *strategy) {
  for (size_t i = 0; i < strategy->owners.len; i++) {
    const struct dtg_owner_rule *rule = &strategy->owners.data[i];
    if (rule->kind != DTG_OWNERS_ON || !rule->device.job)
      return false;
  }
  return strategy->owners.len > 0;
}

static void check_relaxed(struct dtg_sema *sema, const struct dtg_strategy *strategy) {
  const char *rule = strategy->update.is_async ? "async" : "backup";
  if (one_client(strategy)) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, strategy->update.span,
                  "`update %s` needs at least two clients, and this strategy has one",
                  strategy->update.is_async ? "async" : "sync backup");
    if (strategy->levels.len > 0)
      dtg_diag_note(diag, strategy->levels.data[0].span, "in_graph means one client");
    dtg_diag_hint(diag, "write update sync, or replicate between_graph over a job");
  } else if (!on_job(strategy)) {
    struct dtg_diag *diag = dtg_error(&sema->ctx->diags, strategy->update.span,
                                      "`%s` needs parameters on a job of their own", rule);
    if (strategy->owners.len > 0)
      dtg_diag_note(diag, dtg_vec_last(&strategy->owners).span, "here they are elsewhere");
    dtg_diag_hint(diag, "write params on ps, or update sync");
  }
}

static void read_strategy(struct dtg_sema *sema, const struct dtg_ast_item *item) {
  struct dtg_strategy strategy = {
      .name = item->name.text, .span = item->name.span, .update.staleness = -1};
  struct strategy_call call = {
      .sema = sema, .strategy = &strategy, .replicate = DTG_SPAN_NONE, .update = DTG_SPAN_NONE};
  strategy.update.span = item->name.span;
  for (size_t i = 0; i < sema->model->strategies.len; i++) {
    if (sema->model->strategies.data[i].name == strategy.name)
      dtg_sema_twice(sema, strategy.span, strategy.name, sema->model->strategies.data[i].span);
  }
  for (size_t i = 0; i < item->strategy.clauses.len; i++)
    read_clause(&call, &item->strategy.clauses.data[i]);
  if (strategy.update.is_async || strategy.update.backup > 0)
    check_relaxed(sema, &strategy);
  dtg_vec_push(&sema->ctx->arena, &sema->model->strategies, strategy);
}

static void choose(struct dtg_sema *sema) {
  const char *wanted = sema->options->strategy;
  struct dtg_name_list list = {0};
  if (!wanted)
    return;
  for (size_t i = 0; i < sema->model->strategies.len; i++) {
    const char *name = sema->model->strategies.data[i].name;
    dtg_vec_push(&sema->ctx->arena, &list.names, name);
    if (strcmp(name, wanted) == 0) {
      sema->model->strategy = (uint32_t)i;
      return;
    }
  }
  dtg_sema_unknown(sema, DTG_SPAN_NONE, "strategy", wanted, list.names.data, list.names.len);
}

void dtg_sema_strategies(struct dtg_sema *sema) {
  const struct dtg_ast_file *ast = sema->model->scope->ast;
  for (size_t i = 0; i < ast->items.len; i++) {
    if (ast->items.data[i]->kind == DTG_ITEM_STRATEGY && ast->items.data[i]->name.text)
      read_strategy(sema, ast->items.data[i]);
  }
  if (sema->model->strategies.len == 0) {
    struct dtg_strategy single = {.name = "single",
                                  .span = DTG_SPAN_NONE,
                                  .update = {.staleness = -1, .span = DTG_SPAN_NONE}};
    dtg_vec_push(&sema->ctx->arena, &sema->model->strategies, single);
  }
  choose(sema);
}
