/* The gradient of a scan is a scan that runs the other way.
 *
 *   forward    c[n+1], y[n] = f(c[n], x[n], w)
 *   backward   dc[n], dx[n], dw[n] = the transposed Jacobian of f at (c[n], x[n], w), applied to
 *              (dc[n+1], dy[n]); dw is the sum of dw[n]
 *
 * What the backward body reads of the forward one is stacked by it; what costs nothing is made
 * again. With `recompute` everything is made again from c[n], x[n] and w. Where dw[n] is a product
 * a^T b with one row for each example, the factors are stacked and multiplied once, after the loop,
 * as one product over all iterations. */
#include "compiler/base/bug.h"
#include "compiler/grad/internal.h"

#include <string.h>

struct loop_grad {
  struct dtg_graph *graph; /* around */
  struct dtg_arena *arena; /* of the pass */
  struct dtg_loop loop;    /* forward */
  const bool *needed;      /* per operand */
  const uint32_t *result_grads;

  /* Both passes in one graph: copies of the body's nodes first, with their ids. */
  struct dtg_graph *both;
  uint32_t forward_count;
  bool *active;   /* per carry: has a gradient */
  uint32_t *leaf; /* per operand: its leaf in `both`, or DTG_NO_NODE */
  uint32_t *grad; /* per operand: gradient of the leaf in `both`, or DTG_NO_NODE */
  uint32_t *seed; /* per root: leaf of its gradient in `both`, or DTG_NO_NODE */

  /* The new forward body. */
  struct dtg_graph *forward;
  uint32_t *forward_map; /* of `both` */
  uint32_t *saved;       /* per node of `both`: root that stacks it, or DTG_NO_NODE */

  /* The backward body. */
  struct dtg_graph *backward;
  uint32_t *map;                              /* of `both` */
  DTG_VEC(uint32_t) operands[DTG_LOOP_INDEX]; /* around, by kind of leaf */
  DTG_VEC(uint32_t) roots[2];                 /* nodes of `both`: carries, stacks */
  DTG_VEC(uint32_t) sums; /* leaves in `both` of gradients that add up over the iterations */
};

static uint32_t *no_nodes(struct dtg_arena *arena, size_t count) {
  uint32_t *nodes = DTG_NEW_ARRAY(arena, uint32_t, count);
  for (size_t i = 0; i < count; i++)
    nodes[i] = DTG_NO_NODE;
  return nodes;
}

static struct dtg_node *both_node(const struct loop_grad *it, uint32_t id) {
  return dtg_graph_node(it->both, id);
}

/* Results of an inner scan that its own gradient has asked for count as forward. */
static bool is_forward(const struct loop_grad *it, uint32_t id) {
  const struct dtg_node *node = both_node(it, id);
  return id < it->forward_count ||
         (dtg_is_loop_result(node) && node->inputs[0] < it->forward_count);
}

/* ---- both passes ---- */

static void copy_body(struct loop_grad *it) {
  const struct dtg_graph *body = it->loop.body;
  uint32_t *same = DTG_NEW_ARRAY(it->arena, uint32_t, body->nodes.len);
  it->both = dtg_loop_body_new(it->graph);
  it->forward_count = (uint32_t)body->nodes.len;
  for (uint32_t i = 0; i < body->nodes.len; i++) {
    same[i] = i;
    dtg_loop_copy_node(it->both, &body->nodes.data[i], same);
  }
  for (uint32_t i = 0; i < it->loop.carries + it->loop.slices + it->loop.values; i++) {
    uint32_t c = it->loop.carries, s = c + it->loop.slices;
    it->leaf[i] = i < c   ? dtg_loop_find_leaf(it->both, DTG_LOOP_CARRY, i)
                  : i < s ? dtg_loop_find_leaf(it->both, DTG_LOOP_SLICE, i - c)
                          : dtg_loop_find_leaf(it->both, DTG_LOOP_VALUE, i - s);
  }
}

/* A carry has a gradient if its first value needs one, or what an iteration makes of things that
 * need one. */
static void find_active(struct loop_grad *it) {
  bool *depends = DTG_NEW_ARRAY(it->arena, bool, it->forward_count);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < it->loop.carries + it->loop.slices + it->loop.values; i++) {
      bool on = i < it->loop.carries ? it->active[i] : it->needed[i];
      if (on && it->leaf[i] != DTG_NO_NODE)
        depends[it->leaf[i]] = true;
    }
    for (uint32_t id = 0; id < it->forward_count; id++) {
      const struct dtg_node *node = both_node(it, id);
      for (uint32_t i = 0; i < node->input_count; i++)
        depends[id] = depends[id] || depends[node->inputs[i]];
    }
    for (uint32_t i = 0; i < it->loop.carries; i++) {
      uint32_t root = it->loop.body->roots.data[i].node;
      if (it->active[i] || !dtg_dtype_is_float(both_node(it, root)->type.dtype))
        continue;
      it->active[i] = it->needed[i] || depends[root];
      changed = changed || it->active[i];
    }
  }
}

/* Leaves for the gradients of the roots: a carry's comes from the iteration after. */
static uint32_t add_seeds(struct loop_grad *it, struct dtg_grad_seed *seeds) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < it->loop.results; i++) {
    const struct dtg_root *root = &it->loop.body->roots.data[i];
    bool carry = i < it->loop.carries;
    struct dtg_type type = both_node(it, root->node)->type;
    if (carry ? !it->active[i] : it->result_grads[i] == DTG_NO_NODE)
      continue;
    /* The numbers are those of the backward body only after its leaves have been placed. */
    it->seed[i] = dtg_loop_add_leaf(it->both, carry ? DTG_LOOP_CARRY : DTG_LOOP_SLICE, 0, type);
    seeds[count++] = (struct dtg_grad_seed){root->node, it->seed[i]};
  }
  return count;
}

static bool differentiate(struct loop_grad *it, const struct dtg_node **culprit) {
  uint32_t operands = it->loop.carries + it->loop.slices + it->loop.values, count = 0, bad;
  struct dtg_grad_seed *seeds = DTG_NEW_ARRAY(it->arena, struct dtg_grad_seed, it->loop.results);
  uint32_t *wrt = DTG_NEW_ARRAY(it->arena, uint32_t, operands);
  uint32_t *index = DTG_NEW_ARRAY(it->arena, uint32_t, operands);
  uint32_t *grads = DTG_NEW_ARRAY(it->arena, uint32_t, operands);
  uint32_t seed_count = add_seeds(it, seeds);
  for (uint32_t i = 0; i < operands; i++) {
    if (it->leaf[i] == DTG_NO_NODE || !(i < it->loop.carries ? it->active[i] : it->needed[i]))
      continue;
    index[count] = i;
    wrt[count++] = it->leaf[i];
  }
  if (!dtg_grad_seeds(it->both, seeds, seed_count, wrt, count, grads, &bad)) {
    *culprit = both_node(it, bad);
    return false;
  }
  for (uint32_t i = 0; i < count; i++)
    it->grad[index[i]] = grads[i];
  return true;
}

/* ---- the forward body, with what it keeps ---- */

static uint32_t forward_root(struct loop_grad *it, uint32_t id) {
  for (uint32_t i = it->loop.carries; i < it->forward->roots.len; i++) {
    if (it->forward->roots.data[i].node == it->forward_map[id])
      return i;
  }
  dtg_loop_add_root(it->forward, false, it->forward_map[id], both_node(it, id)->span);
  return (uint32_t)it->forward->roots.len - 1;
}

static void make_forward(struct loop_grad *it) {
  it->forward = dtg_loop_body_new(it->graph);
  it->forward_map = no_nodes(it->arena, it->both->nodes.len);
  for (uint32_t id = 0; id < it->both->nodes.len; id++) {
    if (is_forward(it, id))
      it->forward_map[id] = dtg_loop_copy_node(it->forward, both_node(it, id), it->forward_map);
  }
  for (uint32_t i = 0; i < it->loop.results; i++) {
    const struct dtg_root *root = &it->loop.body->roots.data[i];
    dtg_loop_add_root(it->forward, i < it->loop.carries, it->forward_map[root->node], root->span);
  }
}

/* ---- the backward body ---- */

/* The number among the operands of its kind; only a carry may be there twice. */
static uint32_t add_operand(struct loop_grad *it, enum dtg_loop_leaf leaf, uint32_t operand) {
  for (uint32_t i = 0; leaf != DTG_LOOP_CARRY && i < it->operands[leaf].len; i++) {
    if (it->operands[leaf].data[i] == operand)
      return i;
  }
  dtg_vec_push(it->arena, &it->operands[leaf], operand);
  return (uint32_t)it->operands[leaf].len - 1;
}

static uint32_t place_leaf(struct loop_grad *it, enum dtg_loop_leaf leaf, uint32_t operand,
                           struct dtg_type type) {
  uint32_t number = add_operand(it, leaf, operand);
  uint32_t found = dtg_loop_find_leaf(it->backward, leaf, number);
  return found != DTG_NO_NODE ? found : dtg_loop_add_leaf(it->backward, leaf, number, type);
}

static bool made_again(const struct loop_grad *it, const struct dtg_node *node) {
  switch (node->op->class) {
  case DTG_CLASS_CONST:
  case DTG_CLASS_VIEW:
    return true;
  case DTG_CLASS_INDEX:
    return strcmp(node->op->name, "broadcast_to") == 0 ||
           strcmp(node->op->name, "transpose") == 0 || it->loop.recompute;
  case DTG_CLASS_GENERATE:
    return node->input_count == 0 || it->loop.recompute;
  default:
    return it->loop.recompute;
  }
}

/* What the iterations of the forward scan had, stacked. */
static uint32_t saved_stack(struct loop_grad *it, uint32_t id) {
  uint32_t root = forward_root(it, id);
  dtg_graph_node(it->graph, it->loop.node)->body = it->forward;
  if (it->saved[root] == DTG_NO_NODE)
    it->saved[root] = dtg_loop_add_result(it->graph, it->loop.node, root);
  return it->saved[root];
}

static uint32_t saved_leaf(struct loop_grad *it, uint32_t id) {
  uint32_t stack = saved_stack(it, id);
  return place_leaf(it, DTG_LOOP_SLICE, stack, both_node(it, id)->type);
}

static uint32_t forward_leaf(struct loop_grad *it, uint32_t id, enum dtg_loop_leaf leaf,
                             uint32_t index) {
  const uint32_t *inputs = dtg_graph_node(it->graph, it->loop.node)->inputs;
  struct dtg_type type = both_node(it, id)->type;
  switch (leaf) {
  case DTG_LOOP_SLICE:
    return place_leaf(it, leaf, inputs[it->loop.carries + index], type);
  case DTG_LOOP_VALUE:
    return place_leaf(it, leaf, inputs[it->loop.carries + it->loop.slices + index], type);
  case DTG_LOOP_INDEX:
    return dtg_loop_add_leaf(it->backward, leaf, 0, type);
  default:
    return saved_leaf(it, id);
  }
}

/* In node order: operands that are wanted have been made, but for what is made again. */
static void mark_wanted(struct loop_grad *it, bool *wanted) {
  for (int kind = 0; kind < 2; kind++) {
    for (size_t i = 0; i < it->roots[kind].len; i++)
      wanted[it->roots[kind].data[i]] = true;
  }
  for (uint32_t id = (uint32_t)it->both->nodes.len; id-- > 0;) {
    const struct dtg_node *node = both_node(it, id);
    if (!wanted[id] || (is_forward(it, id) && !made_again(it, node)))
      continue;
    for (uint32_t i = 0; i < node->input_count; i++)
      wanted[node->inputs[i]] = true;
  }
}

static void copy_wanted(struct loop_grad *it) {
  bool *wanted = DTG_NEW_ARRAY(it->arena, bool, it->both->nodes.len);
  mark_wanted(it, wanted);
  for (uint32_t id = 0; id < it->both->nodes.len; id++) {
    struct dtg_node node = *both_node(it, id);
    uint32_t index = 0, first = (uint32_t)it->backward->nodes.len;
    enum dtg_loop_leaf leaf = dtg_loop_leaf_of(&node, &index);
    if (!wanted[id] || it->map[id] != DTG_NO_NODE)
      continue;
    if (leaf != DTG_LOOP_NONE)
      it->map[id] = forward_leaf(it, id, leaf, index);
    else if (is_forward(it, id) && !made_again(it, &node))
      it->map[id] = saved_leaf(it, id);
    else
      it->map[id] = dtg_loop_copy_node(it->backward, &node, it->map);
    for (size_t i = first; i < it->backward->nodes.len; i++) {
      it->backward->nodes.data[i].span = node.span;
      it->backward->nodes.data[i].path = node.path;
      it->backward->nodes.data[i].name = node.name;
    }
  }
}

static uint32_t add_root(struct loop_grad *it, bool carry, uint32_t node) {
  for (size_t i = 0; !carry && i < it->roots[1].len; i++) {
    if (it->roots[1].data[i] == node)
      return (uint32_t)i;
  }
  dtg_vec_push(it->arena, &it->roots[!carry], node);
  return (uint32_t)it->roots[!carry].len - 1;
}

/* ---- where gradients of operands come from ---- */

enum source_kind { SOURCE_NONE, SOURCE_CARRY, SOURCE_STACK, SOURCE_PRODUCT };

/* A factor of a product after the loop: stacked by the backward scan, or known before it. */
struct factor {
  bool known;
  uint32_t number; /* of the stack; known: node around */
};

struct source {
  enum source_kind kind;
  uint32_t number;
  DTG_VEC(struct factor) factors; /* PRODUCT: pairs, whose products add up */
};

static bool is_product(const struct dtg_node *node) {
  return node->op->class == DTG_CLASS_LIBRARY && strcmp(node->op->name, "matmul") == 0 &&
         node->type.shape.rank == 2 && dtg_node_bool(node, "transpose_a", false) &&
         !dtg_node_bool(node, "transpose_b", false);
}

static bool only_products(const struct loop_grad *it, uint32_t id, int depth) {
  const struct dtg_node *node = both_node(it, id);
  if (is_product(node))
    return both_node(it, node->inputs[0])->type.shape.rank == 2 &&
           both_node(it, node->inputs[1])->type.shape.rank == 2;
  return depth < 16 && strcmp(node->op->name, "add") == 0 &&
         only_products(it, node->inputs[0], depth + 1) &&
         only_products(it, node->inputs[1], depth + 1);
}

static struct factor make_factor(struct loop_grad *it, uint32_t id) {
  const uint32_t *inputs = dtg_graph_node(it->graph, it->loop.node)->inputs;
  uint32_t index = 0;
  enum dtg_loop_leaf leaf = dtg_loop_leaf_of(both_node(it, id), &index);
  if (is_forward(it, id) && leaf == DTG_LOOP_SLICE)
    return (struct factor){.known = true, .number = inputs[it->loop.carries + index]};
  if (is_forward(it, id) &&
      (leaf == DTG_LOOP_CARRY || (leaf == DTG_LOOP_NONE && !made_again(it, both_node(it, id)))))
    return (struct factor){.known = true, .number = saved_stack(it, id)};
  return (struct factor){.number = add_root(it, false, id)};
}

static void list_products(struct loop_grad *it, uint32_t id, struct source *out) {
  const struct dtg_node node = *both_node(it, id);
  for (uint32_t i = 0; i < 2; i++) {
    if (is_product(&node))
      dtg_vec_push(it->arena, &out->factors, make_factor(it, node.inputs[i]));
    else
      list_products(it, node.inputs[i], out);
  }
}

/* The sum over the iterations as a carry. */
static uint32_t accumulate(struct loop_grad *it, uint32_t grad) {
  struct dtg_type type = both_node(it, grad)->type;
  uint32_t leaf = dtg_loop_add_leaf(it->both, DTG_LOOP_CARRY, 0, type);
  dtg_vec_push(it->arena, &it->sums, leaf);
  return add_root(it, true, dtg_add_binary(it->both, "add", leaf, grad));
}

/* ---- around ---- */

static uint32_t rows_of(struct dtg_graph *graph, uint32_t x) {
  struct dtg_shape shape = dtg_graph_node(graph, x)->type.shape;
  struct dtg_shape rows = {.rank = 2, .dims = {shape.dims[0] * shape.dims[1], shape.dims[2]}};
  return dtg_add_reshape(graph, x, &rows);
}

static uint32_t add_products(struct loop_grad *it, const struct source *source, uint32_t scan) {
  uint32_t total = DTG_NO_NODE;
  for (size_t i = 0; i < source->factors.len; i += 2) {
    uint32_t rows[2];
    for (size_t k = 0; k < 2; k++) {
      const struct factor *factor = &source->factors.data[i + k];
      uint32_t stack =
          factor->known
              ? factor->number
              : dtg_loop_add_result(it->graph, scan, (uint32_t)it->roots[0].len + factor->number);
      rows[k] = rows_of(it->graph, stack);
    }
    uint32_t product = dtg_add_matmul(it->graph, rows[0], rows[1], true, false);
    total = total == DTG_NO_NODE ? product : dtg_add_binary(it->graph, "add", total, product);
  }
  return total;
}

/* Leaves of the backward body that are none of the forward one, carries in the order of their
 * roots: those of the results' gradients first. */
static void place_seeds(struct loop_grad *it) {
  for (uint32_t i = 0; i < it->loop.results; i++) {
    if (it->seed[i] == DTG_NO_NODE)
      continue;
    struct dtg_type type = both_node(it, it->seed[i])->type;
    uint32_t given = it->result_grads[i];
    if (given == DTG_NO_NODE)
      given = dtg_add_const(it->graph, 0, type.dtype, &type.shape);
    it->map[it->seed[i]] =
        place_leaf(it, i < it->loop.carries ? DTG_LOOP_CARRY : DTG_LOOP_SLICE, given, type);
  }
  for (size_t i = 0; i < it->sums.len; i++) {
    struct dtg_type type = both_node(it, it->sums.data[i])->type;
    uint32_t zero = dtg_add_const(it->graph, 0, type.dtype, &type.shape);
    it->map[it->sums.data[i]] = place_leaf(it, DTG_LOOP_CARRY, zero, type);
  }
}

/* The roots of the backward scan: gradients of the carries first, in the order of their seeds. */
static void find_sources(struct loop_grad *it, struct source *sources) {
  uint32_t carries = it->loop.carries, values = carries + it->loop.slices;
  for (uint32_t i = 0; i < carries; i++) {
    if (!it->active[i])
      continue;
    struct dtg_type type = both_node(it, it->seed[i])->type;
    if (it->grad[i] == DTG_NO_NODE)
      it->grad[i] = dtg_add_const(it->both, 0, type.dtype, &type.shape);
    sources[i] = (struct source){.kind = SOURCE_CARRY, .number = add_root(it, true, it->grad[i])};
  }
  for (uint32_t i = carries; i < values + it->loop.values; i++) {
    if (it->grad[i] == DTG_NO_NODE)
      continue;
    if (i < values) {
      sources[i].kind = SOURCE_STACK;
      sources[i].number = add_root(it, false, it->grad[i]);
    } else if (only_products(it, it->grad[i], 0)) {
      sources[i].kind = SOURCE_PRODUCT;
      list_products(it, it->grad[i], &sources[i]);
    } else {
      sources[i].kind = SOURCE_CARRY;
      sources[i].number = accumulate(it, it->grad[i]);
    }
  }
}

static uint32_t add_backward(struct loop_grad *it) {
  DTG_VEC(uint32_t) inputs = {0};
  for (int kind = 0; kind < 2; kind++) {
    for (size_t i = 0; i < it->roots[kind].len; i++) {
      uint32_t node = it->roots[kind].data[i];
      dtg_loop_add_root(it->backward, kind == 0, it->map[node], both_node(it, node)->span);
    }
  }
  for (int leaf = DTG_LOOP_CARRY; leaf < DTG_LOOP_INDEX; leaf++) {
    for (size_t i = 0; i < it->operands[leaf].len; i++)
      dtg_vec_push(it->arena, &inputs, it->operands[leaf].data[i]);
  }
  struct dtg_loop loop = {.body = it->backward,
                          .count = it->loop.count,
                          .carries = (uint32_t)it->operands[DTG_LOOP_CARRY].len,
                          .slices = (uint32_t)it->operands[DTG_LOOP_SLICE].len,
                          .values = (uint32_t)it->operands[DTG_LOOP_VALUE].len,
                          .reverse = !it->loop.reverse};
  return dtg_loop_add(it->graph, &loop, inputs.data);
}

static uint32_t gradient(struct loop_grad *it, const struct source *source, uint32_t scan) {
  switch (source->kind) {
  case SOURCE_CARRY:
    return dtg_loop_add_result(it->graph, scan, source->number);
  case SOURCE_STACK:
    return dtg_loop_add_result(it->graph, scan, (uint32_t)it->roots[0].len + source->number);
  case SOURCE_PRODUCT:
    return add_products(it, source, scan);
  default:
    return DTG_NO_NODE;
  }
}

static void begin(struct loop_grad *it) {
  uint32_t operands = it->loop.carries + it->loop.slices + it->loop.values;
  it->active = DTG_NEW_ARRAY(it->arena, bool, it->loop.carries);
  it->leaf = no_nodes(it->arena, operands);
  it->grad = no_nodes(it->arena, operands);
  it->seed = no_nodes(it->arena, it->loop.results);
  copy_body(it);
  find_active(it);
}

static void make_scans(struct loop_grad *it, uint32_t *grads) {
  uint32_t operands = it->loop.carries + it->loop.slices + it->loop.values;
  struct source *sources = DTG_NEW_ARRAY(it->arena, struct source, operands);
  it->saved = no_nodes(it->arena, it->loop.results + it->both->nodes.len);
  make_forward(it);
  find_sources(it, sources);
  it->map = no_nodes(it->arena, it->both->nodes.len);
  it->backward = dtg_loop_body_new(it->graph);
  place_seeds(it);
  copy_wanted(it);
  dtg_graph_node(it->graph, it->loop.node)->body = it->forward;
  uint32_t scan = add_backward(it);
  for (uint32_t i = 0; i < operands; i++) {
    if (it->needed[i])
      grads[i] = gradient(it, &sources[i], scan);
  }
}

bool dtg_grad_loop(struct dtg_graph *graph, uint32_t scan, const uint32_t *result_grads,
                   const bool *needed, uint32_t *grads, const struct dtg_node **culprit) {
  struct dtg_arena arena = {0};
  struct loop_grad it = {.graph = graph,
                         .arena = &arena,
                         .loop = dtg_loop_of(graph, scan),
                         .needed = needed,
                         .result_grads = result_grads};
  begin(&it);
  bool good = differentiate(&it, culprit);
  if (good)
    make_scans(&it, grads);
  dtg_arena_free(&arena);
  return good;
}
