// What loops collect: `collect name = e`.
#include "compiler/build/internal.h"

#include <string.h>

void dtg_build_collect(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_stmt *stmt) {
  struct dtg_build_naming naming = {.name = stmt->name.text};
  struct dtg_value value = dtg_build_eval_named(b, env, stmt->value, &naming);
  struct dtg_build_collection *all = b->collection;
  uint32_t node = DTG_NO_NODE;
  size_t i = 0;
  if (value.kind != DTG_VALUE_ERROR)
    dtg_build_as_tensor(b, &value, "what a loop collects", stmt->value->span, &node);
  while (i < all->entries.len && all->entries.data[i].name != stmt->name.text)
    i++;
  if (i == all->entries.len)
    dtg_vec_push(&b->ctx->arena, &all->entries,
                 ((struct dtg_build_collected){.name = stmt->name.text, .span = stmt->span}));
  struct dtg_build_collected *entry = &all->entries.data[i];
  entry->failed = entry->failed || node == DTG_NO_NODE;
  if (entry->failed)
    return;
  if (entry->nodes.len > 0 &&
      !dtg_type_equal(dtg_build_type(b, entry->nodes.data[0]), dtg_build_type(b, node))) {
    struct dtg_diag *diag = dtg_build_error(
        b, stmt->span, "`%s` collects %s here, but %s in the first iteration", entry->name,
        dtg_build_node_text(b, node), dtg_build_node_text(b, entry->nodes.data[0]));
    dtg_diag_hint(diag, "all iterations must give one type and shape");
    entry->failed = true;
    return;
  }
  dtg_vec_push(&b->ctx->arena, &entry->nodes, node);
}

// A `for`: the values along a new axis 0.
static struct dtg_value stack(struct dtg_build *b, const struct dtg_build_collected *entry) {
  const struct dtg_shape from = dtg_build_type(b, entry->nodes.data[0])->shape;
  struct dtg_shape shape = {.rank = from.rank + 1, .dims = {1}};
  if (from.rank == DTG_MAX_RANK)
    return dtg_build_fail(b, entry->span, "`%s` has %d axes already: no more can be collected",
                          entry->name, DTG_MAX_RANK);
  memcpy(shape.dims + 1, from.dims, from.rank * sizeof *from.dims);
  uint32_t *parts = DTG_NEW_ARRAY(&b->ctx->arena, uint32_t, entry->nodes.len);
  for (size_t i = 0; i < entry->nodes.len; i++)
    parts[i] = dtg_add_reshape(b->graph, entry->nodes.data[i], &shape);
  struct dtg_attr axis = dtg_attr_int("axis", 0);
  return entry->nodes.len == 1
             ? dtg_build_tensor(parts[0], false)
             : dtg_build_add(b, "concat", parts, (uint32_t)entry->nodes.len, &axis, 1, entry->span);
}

void dtg_build_bind_collected(struct dtg_build *b, struct dtg_build_env *env,
                              const struct dtg_build_collection *all) {
  for (size_t i = 0; i < all->entries.len; i++) {
    const struct dtg_build_collected *entry = &all->entries.data[i];
    dtg_build_bind(b, env, entry->name, entry->failed ? dtg_value_error() : stack(b, entry));
  }
}

// Names that a loop would collect, had it worked out: they have no value. `report`: it makes no
// iteration, so that what they would be is not known.
void dtg_build_miss_collected(struct dtg_build *b, struct dtg_build_env *env,
                              const struct dtg_ast_body *body, bool report) {
  for (size_t i = 0; i < body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = body->stmts.data[i];
    if (stmt->kind == DTG_STMT_COLLECT) {
      if (report)
        dtg_build_error(b, stmt->span, "`%s` collects nothing: the loop makes no iteration",
                        stmt->name.text);
      dtg_build_bind(b, env, stmt->name.text, dtg_value_error());
    } else if (stmt->kind == DTG_STMT_IF) {
      dtg_build_miss_collected(b, env, stmt->if_else.then_body, report);
      if (stmt->if_else.else_body)
        dtg_build_miss_collected(b, env, stmt->if_else.else_body, report);
    }
  }
}
