/* Kernels of their own that move or combine what lies in memory: scatter_add, pad, concat,
 * tree_sum. */
#include "codegen/lower/internal.h"

#include "compiler/base/bug.h"

/* out[lead, row, inner] */
struct cg_scatter {
  struct cg_builder b;
  int64_t lead, extent, inner, picks;
  uint32_t base, index, updates, out; /* buffers; base: CG_NO_VALUE for a constant */
  double constant;
  uint32_t parallel, lead_loop;
  int64_t columns; /* of a tile */
};

static uint32_t scatter_columns(struct cg_scatter *it) {
  if (it->columns < it->inner)
    return cg_loop_begin_block(&it->b, CG_LOOP_VECTOR, it->columns, it->parallel, it->inner);
  return cg_loop_begin(&it->b, CG_LOOP_VECTOR, it->inner);
}

static struct cg_address scatter_address(const struct cg_scatter *it, uint32_t buffer,
                                         int64_t lead_stride, uint32_t column) {
  struct cg_address address = cg_address_at(buffer);
  if (it->lead > 1)
    cg_address_add(&address, it->lead_loop, lead_stride);
  cg_address_add(&address, column, 1);
  return address;
}

static void scatter_start(struct cg_scatter *it, enum dtg_dtype dtype) {
  uint32_t row = cg_loop_begin(&it->b, CG_LOOP_SEQUENTIAL, it->extent);
  uint32_t column = scatter_columns(it);
  struct cg_address to = scatter_address(it, it->out, it->extent * it->inner, column);
  cg_address_add(&to, row, it->inner);
  struct cg_address from = to;
  from.buffer = it->base;
  cg_store(&it->b, &to,
           it->base == CG_NO_VALUE ? cg_lower_const(&it->b, dtype, it->constant)
                                   : cg_load(&it->b, &from));
  cg_loop_end(&it->b);
  cg_loop_end(&it->b);
}

/* Picks in order, so that repeats add up the same way every time; those out of range add nothing.
 */
static void scatter_add(struct cg_scatter *it) {
  struct cg_builder *b = &it->b;
  uint32_t pick = cg_loop_begin(b, CG_LOOP_SEQUENTIAL, it->picks);
  struct cg_address at = cg_address_at(it->index);
  cg_address_add(&at, pick, 1);
  uint32_t zero = cg_const_i(b, DTG_I64, 0);
  uint32_t row = cg_cast(b, cg_load(b, &at), DTG_I64);
  uint32_t inside = cg_binary(b, CG_AND, cg_binary(b, CG_GE, row, zero),
                              cg_binary(b, CG_LT, row, cg_const_i(b, DTG_I64, it->extent)));
  row = cg_select(b, inside, row, zero);
  uint32_t column = scatter_columns(it);
  struct cg_address to = scatter_address(it, it->out, it->extent * it->inner, column);
  struct cg_address from = scatter_address(it, it->updates, it->picks * it->inner, column);
  cg_address_add(&from, pick, it->inner);
  to.dynamic = row;
  to.dynamic_coef = it->inner;
  uint32_t old = cg_load(b, &to);
  uint32_t sum = cg_binary(b, CG_ADD, old, cg_load(b, &from));
  cg_store(b, &to, cg_select(b, inside, sum, old));
  cg_loop_end(b);
  cg_loop_end(b);
}

/* Tiles over the leading axes, or else over columns. */
static int64_t scatter_tiles(struct cg_scatter *it) {
  int64_t elements = it->lead * (it->extent + it->picks) * it->inner;
  it->columns = it->inner;
  if (elements <= CG_ONE_TILE)
    return 1;
  if (it->lead > 1)
    return it->lead;
  it->columns =
      (CG_TILE_ELEMENTS / (it->extent + it->picks) / CG_TILE_COLUMNS + 1) * CG_TILE_COLUMNS;
  if (it->columns > it->inner)
    it->columns = it->inner;
  return (it->inner - 1) / it->columns + 1;
}

void cg_lower_scatter(struct cg_kernel *kernel, const struct dtg_graph *graph,
                      const struct dtg_group *group) {
  const struct dtg_node *node = dtg_graph_node(graph, group->members[0]);
  const struct dtg_shape *shape = &node->type.shape;
  uint32_t axis = (uint32_t)dtg_node_int(node, "axis", 0), first = (uint32_t)group->buffers.len - 3;
  struct cg_scatter it = {.lead = 1,
                          .extent = shape->dims[axis],
                          .inner = 1,
                          .index = first,
                          .updates = first + 1,
                          .out = first + 2,
                          .base = first == 1 ? 0 : CG_NO_VALUE};
  it.picks = dtg_shape_count(&dtg_graph_node(graph, node->inputs[1])->type.shape);
  for (uint32_t i = 0; i < shape->rank; i++) {
    it.lead *= i < axis ? shape->dims[i] : 1;
    it.inner *= i > axis ? shape->dims[i] : 1;
  }
  if (first == 0 && !dtg_graph_splat(graph, node->inputs[0], &it.constant))
    dtg_bug("the base of a scatter is neither in memory nor a constant");
  cg_builder_init(&it.b, kernel);
  int64_t tiles = scatter_tiles(&it);
  it.lead_loop = it.parallel = cg_loop_begin(&it.b, CG_LOOP_PARALLEL, tiles);
  bool walk = it.lead > 1 && tiles == 1;
  if (walk)
    it.lead_loop = cg_loop_begin(&it.b, CG_LOOP_SEQUENTIAL, it.lead);
  scatter_start(&it, node->type.dtype);
  scatter_add(&it);
  if (walk)
    cg_loop_end(&it.b);
  cg_loop_end(&it.b);
}

/* A copy of a block: dims with their strides in source and destination. */
struct cg_block {
  uint32_t rank;
  int64_t dims[DTG_MAX_RANK], from[DTG_MAX_RANK], to[DTG_MAX_RANK];
};

/* Axes of 1 dropped, neighbours that both sides walk as one merged. */
static struct cg_block block_of(const struct dtg_shape *from, const struct dtg_shape *to) {
  struct cg_block block = {0};
  int64_t source[DTG_MAX_RANK], target[DTG_MAX_RANK];
  dtg_shape_strides(from, source);
  dtg_shape_strides(to, target);
  for (uint32_t i = 0; i < from->rank; i++) {
    uint32_t last = block.rank - 1;
    if (from->dims[i] == 1)
      continue;
    if (block.rank > 0 && block.from[last] == source[i] * from->dims[i] &&
        block.to[last] == target[i] * from->dims[i]) {
      block.dims[last] *= from->dims[i];
      block.from[last] = source[i];
      block.to[last] = target[i];
      continue;
    }
    block.dims[block.rank] = from->dims[i];
    block.from[block.rank] = source[i];
    block.to[block.rank++] = target[i];
  }
  return block;
}

static void copy_block(struct cg_builder *b, const struct cg_block *block, uint32_t from,
                       uint32_t to, int64_t offset) {
  struct cg_address source = cg_address_at(from), target = cg_address_at(to);
  target.base = offset;
  for (uint32_t i = 0; i < block->rank; i++) {
    uint32_t loop = cg_loop_begin(b, i + 1 == block->rank ? CG_LOOP_VECTOR : CG_LOOP_SEQUENTIAL,
                                  block->dims[i]);
    cg_address_add(&source, loop, block->from[i]);
    cg_address_add(&target, loop, block->to[i]);
  }
  cg_store(b, &target, cg_load(b, &source));
  for (uint32_t i = 0; i < block->rank; i++)
    cg_loop_end(b);
}

static void fill(struct cg_builder *b, uint32_t to, int64_t count, enum dtg_dtype dtype,
                 double value) {
  struct cg_address target = cg_address_at(to);
  uint32_t loop = cg_loop_begin(b, CG_LOOP_VECTOR, count);
  cg_address_add(&target, loop, 1);
  cg_store(b, &target, cg_lower_const(b, dtype, value));
  cg_loop_end(b);
}

void cg_lower_assemble(struct cg_kernel *kernel, const struct dtg_graph *graph,
                       const struct dtg_group *group) {
  const struct dtg_node *node = dtg_graph_node(graph, group->members[0]);
  uint32_t out = (uint32_t)group->buffers.len - 1;
  int64_t strides[DTG_MAX_RANK];
  struct cg_builder b;
  cg_builder_init(&b, kernel);
  cg_loop_begin(&b, CG_LOOP_PARALLEL, 1);
  dtg_shape_strides(&node->type.shape, strides);
  for (uint32_t i = 0; i < node->input_count; i++) {
    const struct dtg_shape *from = &dtg_graph_node(graph, node->inputs[i])->type.shape;
    struct dtg_placement placement;
    int64_t offset = 0;
    if (!dtg_index_placement(graph, node, i, &placement))
      dtg_bug("`%s` does not say where its operands go", node->op->name);
    if (!placement.covered && i == 0)
      fill(&b, out, dtg_shape_count(&node->type.shape), node->type.dtype, placement.fill);
    for (uint32_t k = 0; k < from->rank; k++)
      offset += placement.offset[k] * strides[k];
    struct cg_block block = block_of(from, &node->type.shape);
    copy_block(&b, &block, i, out, offset);
  }
  cg_loop_end(&b);
}

static uint32_t tree_load(struct cg_builder *b, uint32_t buffer, int64_t base, uint32_t loop,
                          int64_t coef) {
  struct cg_address address = cg_address_at(buffer);
  address.base = base;
  if (loop != CG_NO_VALUE)
    cg_address_add(&address, loop, coef);
  return cg_load(b, &address);
}

static void tree_store(struct cg_builder *b, uint32_t buffer, int64_t base, uint32_t loop,
                       uint32_t value) {
  struct cg_address address = cg_address_at(buffer);
  address.base = base;
  if (loop != CG_NO_VALUE)
    cg_address_add(&address, loop, 1);
  cg_store(b, &address, value);
}

/* Pairs of neighbours, level by level, an odd one going up as it is: the same tree as splitting at
 * the largest power of two below the count. */
void cg_lower_tree(struct cg_kernel *kernel, const struct dtg_graph *graph,
                   const struct dtg_group *group) {
  const struct dtg_node *node = dtg_graph_node(graph, group->members[0]);
  int64_t count = dtg_shape_count(&dtg_graph_node(graph, node->inputs[0])->type.shape);
  uint32_t from = 0;
  struct cg_builder b;
  cg_builder_init(&b, kernel);
  cg_loop_begin(&b, CG_LOOP_PARALLEL, 1);
  for (; count > 2; count = (count + 1) / 2, from = 2) {
    uint32_t loop = cg_loop_begin(&b, CG_LOOP_SEQUENTIAL, count / 2);
    uint32_t left = tree_load(&b, from, 0, loop, 2), right = tree_load(&b, from, 1, loop, 2);
    tree_store(&b, 2, 0, loop, cg_binary(&b, CG_ADD, left, right));
    cg_loop_end(&b);
    if (count % 2 != 0)
      tree_store(&b, 2, count / 2, CG_NO_VALUE, tree_load(&b, from, count - 1, CG_NO_VALUE, 0));
  }
  uint32_t sum = tree_load(&b, from, 0, CG_NO_VALUE, 0);
  if (count == 2)
    sum = cg_binary(&b, CG_ADD, sum, tree_load(&b, from, 1, CG_NO_VALUE, 0));
  tree_store(&b, 1, 0, CG_NO_VALUE, sum);
  cg_loop_end(&b);
}
