/* Index ops as maps of linear forms. */
#include "compiler/base/bug.h"
#include "compiler/ir/form.h"
#include "compiler/ir/op.h"

#include <string.h>

typedef void map_fn(const struct dtg_shape *from, const struct dtg_node *node,
                    const struct dtg_form *index, struct dtg_form *source);

static void map_broadcast(const struct dtg_shape *from, const struct dtg_node *node,
                          const struct dtg_form *index, struct dtg_form *source) {
  uint32_t added = node->type.shape.rank - from->rank;
  for (uint32_t i = 0; i < from->rank; i++)
    source[i] = from->dims[i] == 1 ? dtg_form_const(0) : index[added + i];
}

static void map_transpose(const struct dtg_shape *from, const struct dtg_node *node,
                          const struct dtg_form *index, struct dtg_form *source) {
  const int64_t *perm = NULL;
  uint32_t rank = dtg_node_ints(node, "perm", &perm);
  (void)from;
  for (uint32_t i = 0; i < rank; i++)
    source[perm[i]] = index[i];
}

static void map_reverse(const struct dtg_shape *from, const struct dtg_node *node,
                        const struct dtg_form *index, struct dtg_form *source) {
  const int64_t *axes = NULL;
  uint32_t count = dtg_node_ints(node, "axes", &axes);
  memcpy(source, index, from->rank * sizeof *index);
  for (uint32_t i = 0; i < count; i++) {
    source[axes[i]] = dtg_form_const(from->dims[axes[i]] - 1);
    dtg_form_add(&source[axes[i]], &index[axes[i]], -1);
  }
}

static void map_slice(const struct dtg_shape *from, const struct dtg_node *node,
                      const struct dtg_form *index, struct dtg_form *source) {
  const int64_t *start = NULL, *step = NULL;
  dtg_node_ints(node, "start", &start);
  dtg_node_ints(node, "step", &step);
  for (uint32_t i = 0; i < from->rank; i++) {
    source[i] = dtg_form_const(start[i]);
    dtg_form_add(&source[i], &index[i], step[i]);
  }
}

bool dtg_index_map(const struct dtg_graph *graph, const struct dtg_node *node,
                   const struct dtg_form *index, struct dtg_form *source) {
  static const struct {
    const char *op;
    map_fn *map;
  } maps[] = {{"broadcast_to", map_broadcast},
              {"transpose", map_transpose},
              {"reverse", map_reverse},
              {"slice", map_slice}};
  const struct dtg_shape *from = &dtg_graph_node(graph, node->inputs[0])->type.shape;
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
    if (strcmp(node->op->name, maps[i].op) == 0) {
      maps[i].map(from, node, index, source);
      return true;
    }
  }
  return false;
}

bool dtg_index_placement(const struct dtg_graph *graph, const struct dtg_node *node, uint32_t input,
                         struct dtg_placement *out) {
  struct dtg_placement place = {.fill = dtg_node_float(node, "value", 0)};
  const int64_t *before = NULL;
  int64_t axis = dtg_node_int(node, "axis", 0);
  if (strcmp(node->op->name, "pad") == 0) {
    uint32_t rank = dtg_node_ints(node, "before", &before);
    for (uint32_t i = 0; i < rank; i++)
      place.offset[i] = before[i];
  } else if (strcmp(node->op->name, "concat") == 0) {
    place.covered = true;
    for (uint32_t i = 0; i < input; i++)
      place.offset[axis] += dtg_graph_node(graph, node->inputs[i])->type.shape.dims[axis];
  } else {
    return false;
  }
  *out = place;
  return true;
}
