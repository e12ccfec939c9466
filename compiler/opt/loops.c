/* Bodies of scans. Requires: a typed graph without dead nodes. Guarantees: bodies are as the other
 * passes of a round leave any graph; a result that nobody reads is made no more, nor a carry that
 * only feeds itself; operands that the body does not read are gone, equal ones are one, constants
 * stand inside. Cost: that of the other passes on the bodies. */
#include "compiler/ir/loop.h"
#include "compiler/ir/rewrite.h"
#include "compiler/opt/fuse.h"
#include "compiler/opt/opt.h"

enum { KEPT = UINT32_MAX };

struct trim {
  struct dtg_graph *graph; /* around, new */
  const uint32_t *inputs;  /* of the scan, in the new graph */
  struct dtg_loop loop;    /* as it was */
  bool *wanted;            /* per root */
  uint32_t *number;        /* per root: its new number; KEPT: the operand itself */
  struct dtg_loop made;
  DTG_VEC(uint32_t) operands[DTG_LOOP_INDEX]; /* new, by kind of leaf */
};

/* A carry that every iteration leaves as it is. */
static bool is_kept(const struct dtg_loop *loop, uint32_t root) {
  uint32_t index = 0;
  const struct dtg_node *node = dtg_graph_node(loop->body, loop->body->roots.data[root].node);
  return root < loop->carries && dtg_loop_leaf_of(node, &index) == DTG_LOOP_CARRY && index == root;
}

/* Which of the roots are read, by a user of the scan or by a carry that is itself wanted. */
static void find_wanted(struct trim *it) {
  const struct dtg_graph *body = it->loop.body;
  for (bool changed = true; changed;) {
    struct dtg_arena scratch = {0};
    bool *live = DTG_NEW_ARRAY(&scratch, bool, body->nodes.len);
    changed = false;
    for (uint32_t i = 0; i < it->loop.results; i++) {
      if (it->wanted[i])
        live[body->roots.data[i].node] = true;
    }
    for (size_t i = body->nodes.len; i-- > 0;) {
      const struct dtg_node *node = &body->nodes.data[i];
      uint32_t index = 0;
      for (uint32_t k = 0; live[i] && k < node->input_count; k++)
        live[node->inputs[k]] = true;
      if (!live[i] || dtg_loop_leaf_of(node, &index) != DTG_LOOP_CARRY || it->wanted[index])
        continue;
      it->wanted[index] = changed = true;
    }
    dtg_arena_free(&scratch);
  }
}

static const struct dtg_graph *wanted_roots(struct trim *it) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(it->loop.body);
  for (uint32_t id = 0; id < it->loop.body->nodes.len; id++)
    dtg_rewrite_set(&rewrite, id, dtg_rewrite_copy(&rewrite, id));
  for (uint32_t i = 0; i < it->loop.results; i++) {
    const struct dtg_root *root = &it->loop.body->roots.data[i];
    if (is_kept(&it->loop, i))
      it->number[i] = KEPT;
    if (!it->wanted[i] || is_kept(&it->loop, i))
      continue;
    it->number[i] = (uint32_t)rewrite.to->roots.len;
    it->made.carries += i < it->loop.carries;
    dtg_loop_add_root(rewrite.to, i < it->loop.carries, rewrite.map[root->node], root->span);
  }
  return rewrite.to;
}

/* The number of the operand among those of its kind that have been kept. */
static uint32_t keep_operand(struct trim *it, enum dtg_loop_leaf leaf, uint32_t operand) {
  for (uint32_t i = 0; leaf != DTG_LOOP_CARRY && i < it->operands[leaf].len; i++) {
    if (it->operands[leaf].data[i] == operand)
      return i;
  }
  dtg_vec_push(it->graph->arena, &it->operands[leaf], operand);
  return (uint32_t)it->operands[leaf].len - 1;
}

static uint32_t operand_of(const struct trim *it, enum dtg_loop_leaf leaf, uint32_t index) {
  return it->inputs[index + (leaf > DTG_LOOP_CARRY ? it->loop.carries : 0) +
                    (leaf > DTG_LOOP_SLICE ? it->loop.slices : 0)];
}

static uint32_t constant_inside(struct trim *it, struct dtg_graph *body, uint32_t operand) {
  const struct dtg_node *node = dtg_graph_node(it->graph, operand);
  struct dtg_shape shape = node->type.shape;
  double value;
  if (!dtg_graph_splat(it->graph, operand, &value))
    return DTG_NO_NODE;
  while (node->op->class != DTG_CLASS_CONST)
    node = dtg_graph_node(it->graph, node->inputs[0]);
  uint32_t copy = dtg_loop_copy_node(body, node, NULL);
  return dtg_add_broadcast(body, copy, &shape);
}

static uint32_t renew_leaf(struct trim *it, struct dtg_rewrite *rewrite, uint32_t *leaves[],
                           enum dtg_loop_leaf leaf, uint32_t id, uint32_t index) {
  uint32_t operand = operand_of(it, leaf, index);
  if (leaf == DTG_LOOP_CARRY && it->number[index] == KEPT)
    leaf = DTG_LOOP_VALUE;
  uint32_t first = (uint32_t)rewrite->to->nodes.len;
  uint32_t constant =
      leaf == DTG_LOOP_VALUE ? constant_inside(it, rewrite->to, operand) : DTG_NO_NODE;
  if (constant != DTG_NO_NODE)
    return constant;
  uint32_t number = leaf == DTG_LOOP_CARRY ? it->number[index] : keep_operand(it, leaf, operand);
  if (leaves[leaf][number] != 0) /* an equal operand */
    return leaves[leaf][number] - 1;
  uint32_t node =
      dtg_loop_add_leaf(rewrite->to, leaf, number, dtg_graph_node(rewrite->from, id)->type);
  dtg_rewrite_origin(rewrite, id, first);
  leaves[leaf][number] = node + 1;
  return node;
}

/* Leaves with the numbers that their operands have now. */
static struct dtg_graph *renew_leaves(struct trim *it, const struct dtg_graph *body) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(body);
  uint32_t *leaves[DTG_LOOP_INDEX];
  for (int leaf = DTG_LOOP_CARRY; leaf < DTG_LOOP_INDEX; leaf++)
    leaves[leaf] = DTG_NEW_ARRAY(it->graph->arena, uint32_t, body->nodes.len);
  for (uint32_t i = 0; i < it->loop.carries; i++) {
    if (it->wanted[i] && it->number[i] != KEPT)
      keep_operand(it, DTG_LOOP_CARRY, it->inputs[i]);
  }
  for (uint32_t id = 0; id < body->nodes.len; id++) {
    uint32_t index = 0;
    enum dtg_loop_leaf leaf = dtg_loop_leaf_of(dtg_graph_node(body, id), &index);
    dtg_rewrite_set(&rewrite, id,
                    leaf == DTG_LOOP_NONE || leaf == DTG_LOOP_INDEX
                        ? dtg_rewrite_copy(&rewrite, id)
                        : renew_leaf(it, &rewrite, leaves, leaf, id, index));
  }
  return dtg_rewrite_end(&rewrite);
}

static uint32_t add_trimmed(struct trim *it) {
  struct dtg_arena *arena = it->graph->arena;
  DTG_VEC(uint32_t) inputs = {0};
  for (int leaf = DTG_LOOP_CARRY; leaf < DTG_LOOP_INDEX; leaf++) {
    for (size_t i = 0; i < it->operands[leaf].len; i++)
      dtg_vec_push(arena, &inputs, it->operands[leaf].data[i]);
  }
  it->made.slices = (uint32_t)it->operands[DTG_LOOP_SLICE].len;
  it->made.values = (uint32_t)it->operands[DTG_LOOP_VALUE].len;
  return dtg_loop_add(it->graph, &it->made, inputs.data);
}

/* `used` has one bool a result of the scan; `numbers` gets their new numbers. */
static uint32_t trim_loop(struct dtg_rewrite *rewrite, uint32_t id, bool *used, uint32_t *numbers) {
  struct dtg_graph *graph = rewrite->to;
  const struct dtg_node *node = dtg_graph_node(rewrite->from, id);
  struct trim it = {.graph = graph, .loop = dtg_loop_of(rewrite->from, id)};
  uint32_t *inputs = DTG_NEW_ARRAY(graph->arena, uint32_t, node->input_count);
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = dtg_rewrite_input(rewrite, id, i);
  it.inputs = inputs;
  it.wanted = used;
  it.number = numbers;
  it.made = (struct dtg_loop){
      .count = it.loop.count, .reverse = it.loop.reverse, .recompute = it.loop.recompute};
  find_wanted(&it);
  it.made.body = renew_leaves(&it, dtg_opt_shrink(wanted_roots(&it)));
  uint32_t first = (uint32_t)graph->nodes.len, made = add_trimmed(&it);
  dtg_rewrite_origin(rewrite, id, first);
  return made;
}

struct dtg_graph *dtg_opt_loops(const struct dtg_graph *graph) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  bool **used = DTG_NEW_ARRAY(graph->arena, bool *, graph->nodes.len);
  uint32_t **numbers = DTG_NEW_ARRAY(graph->arena, uint32_t *, graph->nodes.len);
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    const struct dtg_node *node = dtg_graph_node(graph, id);
    if (dtg_is_loop(node)) {
      used[id] = DTG_NEW_ARRAY(graph->arena, bool, node->body->roots.len);
      numbers[id] = DTG_NEW_ARRAY(graph->arena, uint32_t, node->body->roots.len);
    }
    if (dtg_is_loop_result(node))
      used[node->inputs[0]][dtg_node_int(node, "index", 0)] = true;
  }
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    const struct dtg_node *node = dtg_graph_node(graph, id);
    uint32_t first = (uint32_t)rewrite.to->nodes.len;
    if (dtg_is_loop(node)) {
      dtg_rewrite_set(&rewrite, id, trim_loop(&rewrite, id, used[id], numbers[id]));
    } else if (dtg_is_loop_result(node)) {
      int64_t index = dtg_node_int(node, "index", 0);
      uint32_t number = numbers[node->inputs[0]][index];
      if (number == KEPT) {
        dtg_rewrite_set(&rewrite, id,
                        dtg_rewrite_input(&rewrite, node->inputs[0], (uint32_t)index));
        continue;
      }
      dtg_rewrite_set(&rewrite, id,
                      dtg_loop_add_result(rewrite.to, dtg_rewrite_input(&rewrite, id, 0), number));
      dtg_rewrite_origin(&rewrite, id, first);
    } else {
      dtg_rewrite_set(&rewrite, id, dtg_rewrite_copy(&rewrite, id));
    }
  }
  return dtg_rewrite_end(&rewrite);
}

void dtg_opt_bodies(struct dtg_graph *graph,
                    struct dtg_graph *(*pass)(const struct dtg_graph *graph)) {
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    struct dtg_node *node = dtg_graph_node(graph, id);
    if (dtg_is_loop(node))
      node->body = pass(node->body);
  }
}
