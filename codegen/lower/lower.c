/* One kernel for each step; equal ones are shared. */
#include "codegen/lower/lower.h"

#include "codegen/lower/internal.h"
#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/update_split.h"

#include <string.h>

struct cg_lowering {
  struct dtg_ctx *ctx;
  struct dtg_plan *plan;
  const struct dtg_plan_function *function;
  const struct dtg_update_split *split; /* of the function; NULL: it is no update */
  DTG_VEC(const char *) keys; /* per kernel of the plan: its text without names, interned */
};

static const char *buffer_name(const struct dtg_graph *graph,
                               const struct dtg_nest_buffer *buffer) {
  const char *key = NULL;
  if (buffer->node == DTG_NO_NODE)
    return "scratch";
  const struct dtg_node *node = dtg_graph_node(graph, buffer->node);
  if (dtg_leaf_of(node, &key) != DTG_LEAF_NONE)
    return key;
  return node->name ? node->name : node->op->name;
}

/* Written buffers that the plan has put on a read one. */
static void note_aliases(struct cg_kernel *kernel, const struct dtg_plan_step *step) {
  for (size_t i = 0; i < kernel->buffers.len; i++) {
    for (uint32_t k = 0; k < i && kernel->buffers.data[i].written; k++) {
      const struct dtg_location *a = &step->args.data[i], *b = &step->args.data[k];
      if (!kernel->buffers.data[k].written && !a->moves && !b->moves && a->space == b->space &&
          a->index == b->index && a->offset == b->offset)
        kernel->buffers.data[i].may_alias = k;
    }
  }
}

/* In some iteration it lies at no multiple of what buffers lie at. */
static bool is_unaligned(const struct dtg_location *at) {
  for (const struct dtg_move *move = at->moves; move; move = move->next) {
    if (move->kind == DTG_MOVE_STRIDE ? move->stride % 64 != 0 : is_unaligned(&move->other))
      return true;
  }
  return false;
}

static void add_buffers(const struct cg_lowering *it, struct cg_kernel *kernel,
                        const struct dtg_group *group, const struct dtg_plan_step *step) {
  for (size_t i = 0; i < group->buffers.len && i < step->args.len; i++) {
    const struct dtg_nest_buffer *buffer = &group->buffers.data[i];
    cg_buffer_add(kernel, buffer_name(it->function->graph, buffer), buffer->type.dtype,
                  dtg_shape_count(&buffer->type.shape), buffer->read, buffer->written);
    kernel->buffers.data[i].unaligned = is_unaligned(&step->args.data[i]);
  }
  note_aliases(kernel, step);
}

static struct cg_kernel *lower_step(const struct cg_lowering *it,
                                    const struct dtg_plan_step *step) {
  const struct dtg_group *group = &it->function->groups->groups[step->group];
  const struct dtg_graph *graph = it->function->graph;
  struct dtg_arena *arena = it->plan->arena;
  struct cg_kernel *kernel =
      cg_kernel_new(arena, "", cg_lower_comment(arena, it->function->groups, group),
                    dtg_graph_node(graph, group->members[0])->span);
  add_buffers(it, kernel, group, step);
  switch (group->kind) {
  case DTG_GROUP_LOOPS:
    cg_lower_nest(kernel, group->nest, it->split ? it->split->groups[step->group].block : 0);
    break;
  case DTG_GROUP_GEMM:
    kernel->kind = CG_KERNEL_GEMM;
    kernel->gemm = dtg_group_gemm(graph, dtg_graph_node(graph, group->members[0]));
    kernel->tiles = kernel->gemm.batch * kernel->gemm.row_tiles;
    break;
  case DTG_GROUP_WINDOW:
    kernel->kind = CG_KERNEL_WINDOW;
    kernel->window = dtg_group_window(graph, dtg_graph_node(graph, group->members[0]));
    kernel->tiles = (kernel->window.batch - 1) / kernel->window.tile_images + 1;
    break;
  case DTG_GROUP_SCATTER:
    cg_lower_scatter(kernel, graph, group);
    break;
  case DTG_GROUP_ASSEMBLE:
    cg_lower_assemble(kernel, graph, group);
    break;
  case DTG_GROUP_SCAN:
    dtg_bug("a loop is no kernel");
  case DTG_GROUP_TREE:
    cg_lower_tree(kernel, graph, group);
    break;
  }
  return kernel;
}

static const char *kernel_key(struct cg_lowering *it, const struct cg_kernel *kernel) {
  struct cg_kernel bare = *kernel;
  struct dtg_strbuf text = {0};
  bare.name = bare.comment = "";
  bare.buffers.data = DTG_NEW_ARRAY(it->plan->arena, struct cg_buffer, kernel->buffers.len);
  for (size_t i = 0; i < kernel->buffers.len; i++) {
    bare.buffers.data[i] = kernel->buffers.data[i];
    bare.buffers.data[i].name = "";
  }
  cg_kernel_print(&bare, &text);
  const char *key = dtg_intern(&it->ctx->names, dtg_strbuf_text(&text), text.len);
  dtg_strbuf_free(&text);
  return key;
}

static uint32_t share(struct cg_lowering *it, struct cg_kernel *kernel, const char *label) {
  const char *key = kernel_key(it, kernel);
  for (uint32_t i = 0; i < it->keys.len; i++) {
    if (it->keys.data[i] == key)
      return i;
  }
  struct dtg_strbuf why = {0};
  uint32_t number = (uint32_t)it->plan->kernels.len;
  kernel->name = dtg_arena_printf(it->plan->arena, "k%u_%s", number, label);
  if (!cg_kernel_verify(kernel, &why))
    dtg_bug("%s", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  dtg_vec_push(it->plan->arena, &it->keys, key);
  dtg_vec_push(it->plan->arena, &it->plan->kernels, kernel);
  return number;
}

bool cg_lower(struct dtg_ctx *ctx, struct dtg_plan *plan) {
  struct cg_lowering it = {.ctx = ctx, .plan = plan};
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    it.function = &plan->functions[i];
    it.split = i == DTG_PLAN_UPDATE && it.function->graph
                   ? dtg_update_split_new(plan->arena, plan->module, it.function->groups)
                   : NULL;
    struct dtg_launch_list launches = {0};
    dtg_plan_launches(plan->arena, &plan->functions[i], &launches);
    for (size_t s = 0; s < launches.list.len; s++) {
      struct dtg_plan_step *step = launches.list.data[s].step;
      it.function = launches.list.data[s].function;
      const struct dtg_group *group = &it.function->groups->groups[step->group];
      step->kernel =
          share(&it, lower_step(&it, step), cg_lower_label(plan->arena, it.function->graph, group));
    }
  }
  return true;
}
