/* A nest as loops: kept axes outside, one pass over the reduced axes after the other inside; the
 * last axis is the vector loop. A value is emitted in the outermost loop where all it needs is
 * known. */
#include "codegen/lower/internal.h"

#include "compiler/base/bug.h"

#include <string.h>

/* Where a gather reads: its position along the axis, and whether that is in range (CG_NO_VALUE: it
 * is known to be). Emitted as soon as the index is known, so that whole rows are read by one
 * position. */
struct cg_pick {
  uint32_t at, inside;
};

struct cg_nest_emitter {
  struct cg_builder builder;
  const struct dtg_nest *nest;
  uint32_t *slots; /* per value: its instruction, or CG_NO_VALUE */
  uint32_t *accumulators;
  struct cg_pick *picks; /* per GATHER value */
  bool *needed;          /* of the pass being emitted */
  uint32_t *cached;
  uint32_t loops[DTG_FORM_AXES]; /* per axis: its open loop */
  uint32_t open;                 /* mask of the axes */
  uint32_t level;                /* passes that are over */
  uint32_t parallel;             /* the root loop */
  uint32_t cut_axis;             /* the kept axis that the tiles cut, or DTG_FORM_AXES */
  int64_t cut;                   /* its block */
  int64_t block;                 /* elements of a tile, if they are given; else 0 */
};

static struct cg_address address_of(const struct cg_nest_emitter *it, uint32_t buffer,
                                    const struct dtg_form *form) {
  struct cg_address address = cg_address_at(buffer);
  address.base = form->base;
  for (uint32_t i = 0; i < it->nest->rank; i++)
    cg_address_add(&address, it->loops[i], form->coef[i]);
  return address;
}

static uint32_t form_value(struct cg_nest_emitter *it, const struct dtg_form *form) {
  struct cg_builder *b = &it->builder;
  uint32_t sum = CG_NO_VALUE;
  for (uint32_t i = 0; i < it->nest->rank; i++) {
    if (form->coef[i] == 0)
      continue;
    uint32_t term = cg_index(b, it->loops[i]);
    if (form->coef[i] != 1)
      term = cg_binary(b, CG_MUL, term, cg_const_i(b, DTG_I64, form->coef[i]));
    sum = sum == CG_NO_VALUE ? term : cg_binary(b, CG_ADD, sum, term);
  }
  if (sum == CG_NO_VALUE)
    return cg_const_i(b, DTG_I64, form->base);
  return form->base == 0 ? sum : cg_binary(b, CG_ADD, sum, cg_const_i(b, DTG_I64, form->base));
}

uint32_t cg_lower_const(struct cg_builder *builder, enum dtg_dtype dtype, double value) {
  return dtg_dtype_is_float(dtype) ? cg_const_f(builder, dtype, value)
                                   : cg_const_i(builder, dtype, (int64_t)value);
}

/* Checks of the group before this node, in the order of the graph: the program's tables have the
 * same. */
static uint32_t check_number(const struct cg_nest_emitter *it, uint32_t id) {
  const struct dtg_links *links = it->nest->links;
  uint32_t count = 0;
  if (!(dtg_graph_node(links->graph, id)->op->flags & DTG_OP_CHECKS))
    return 0;
  for (uint32_t i = 0; i < id; i++)
    count += links->group[i] == it->nest->group &&
             (dtg_graph_node(links->graph, i)->op->flags & DTG_OP_CHECKS) != 0;
  return count;
}

static uint32_t emit_compute(struct cg_nest_emitter *it, const struct dtg_nest_value *value) {
  const struct dtg_graph *graph = it->nest->links->graph;
  const struct dtg_node *node = dtg_graph_node(graph, value->node);
  struct dtg_arena *arena = it->builder.kernel->arena;
  uint32_t *operands = DTG_NEW_ARRAY(arena, uint32_t, value->operand_count);
  struct dtg_type *types = DTG_NEW_ARRAY(arena, struct dtg_type, value->operand_count);
  uint32_t index[DTG_MAX_RANK];
  bool indexed = node->op->class == DTG_CLASS_GENERATE || (node->op->flags & DTG_OP_INDEXED) != 0;
  for (uint32_t i = 0; i < value->operand_count; i++) {
    operands[i] = it->slots[value->operands[i]];
    types[i] = dtg_graph_node(graph, node->inputs[i])->type;
    if (operands[i] == CG_NO_VALUE)
      dtg_bug("operand %u of `%s` is not emitted yet", i, node->op->name);
  }
  for (uint32_t i = 0; i < node->type.shape.rank && indexed; i++)
    index[i] = form_value(it, &value->index[i]);
  struct dtg_lower_call call = {.builder = &it->builder,
                                .node = node,
                                .input_types = types,
                                .values = operands,
                                .check = check_number(it, value->node),
                                .index = indexed ? index : NULL};
  return node->op->lower(&call);
}

/* The index has been checked against a limit within the table. */
static bool is_checked(const struct cg_nest_emitter *it, uint32_t operand, int64_t extent) {
  const struct dtg_node *node =
      dtg_graph_node(it->nest->links->graph, it->nest->values.data[operand].node);
  return node->op->flags & DTG_OP_CHECKS && dtg_node_int(node, "limit", INT64_MAX) <= extent;
}

static const struct dtg_shape *gather_table(const struct cg_nest_emitter *it,
                                            const struct dtg_nest_value *value, uint32_t *axis) {
  const struct dtg_graph *graph = it->nest->links->graph;
  const struct dtg_node *node = dtg_graph_node(graph, value->node);
  *axis = (uint32_t)dtg_node_int(node, "axis", 0);
  return &dtg_graph_node(graph, node->inputs[0])->type.shape;
}

/* An index that nothing has checked reads element 0, of which emit_gather makes 0. */
static void emit_pick(struct cg_nest_emitter *it, const struct dtg_nest_value *value,
                      struct cg_pick *pick) {
  struct cg_builder *b = &it->builder;
  uint32_t axis;
  int64_t extent = gather_table(it, value, &axis)->dims[axis];
  pick->at = cg_cast(b, it->slots[value->operands[0]], DTG_I64);
  pick->inside = CG_NO_VALUE;
  if (is_checked(it, value->operands[0], extent))
    return;
  uint32_t zero = cg_const_i(b, DTG_I64, 0);
  pick->inside = cg_binary(b, CG_AND, cg_binary(b, CG_GE, pick->at, zero),
                           cg_binary(b, CG_LT, pick->at, cg_const_i(b, DTG_I64, extent)));
  pick->at = cg_select(b, pick->inside, pick->at, zero);
}

/* `wanted`: values of the pass; NULL: all. */
static void emit_picks(struct cg_nest_emitter *it, const bool *wanted) {
  for (uint32_t i = 0; i < it->nest->values.len; i++) {
    const struct dtg_nest_value *value = &it->nest->values.data[i];
    if (value->kind == DTG_VALUE_GATHER && it->picks[i].at == CG_NO_VALUE &&
        it->slots[value->operands[0]] != CG_NO_VALUE && (!wanted || wanted[i]))
      emit_pick(it, value, &it->picks[i]);
  }
}

static uint32_t emit_gather(struct cg_nest_emitter *it, uint32_t index) {
  struct cg_builder *b = &it->builder;
  const struct dtg_nest_value *value = &it->nest->values.data[index];
  struct cg_pick *pick = &it->picks[index];
  uint32_t axis;
  int64_t strides[DTG_MAX_RANK];
  struct cg_address address = address_of(it, value->buffer, &value->index[0]);
  dtg_shape_strides(gather_table(it, value, &axis), strides);
  if (pick->at == CG_NO_VALUE)
    emit_pick(it, value, pick);
  address.dynamic = pick->at;
  address.dynamic_coef = strides[axis];
  uint32_t element = cg_load(b, &address);
  if (pick->inside == CG_NO_VALUE)
    return element;
  enum dtg_dtype dtype = b->kernel->buffers.data[value->buffer].dtype;
  return cg_select(b, pick->inside, element, cg_lower_const(b, dtype, 0));
}

static uint32_t emit_value(struct cg_nest_emitter *it, uint32_t index) {
  const struct dtg_nest_value *value = &it->nest->values.data[index];
  struct cg_address address;
  switch (value->kind) {
  case DTG_VALUE_LOAD:
    address = address_of(it, value->buffer, &value->index[0]);
    return cg_load(&it->builder, &address);
  case DTG_VALUE_COMPUTE:
    return emit_compute(it, value);
  case DTG_VALUE_GATHER:
    return emit_gather(it, index);
  default:
    dtg_bug("a reduction is read at the end of its pass");
  }
}

static uint32_t load_output(struct cg_nest_emitter *it, const struct dtg_nest_output *output) {
  struct cg_address address = address_of(it, output->buffer, &output->address);
  it->builder.kernel->buffers.data[output->buffer].read = true;
  return cg_load(&it->builder, &address);
}

/* What the row knows: all that depends on kept axes alone. */
static void emit_row_values(struct cg_nest_emitter *it) {
  for (uint32_t i = 0; i < it->nest->values.len; i++) {
    const struct dtg_nest_value *value = &it->nest->values.data[i];
    if (it->slots[i] == CG_NO_VALUE && value->kind != DTG_VALUE_REDUCED &&
        !dtg_nest_in_row(it->nest, value) && (value->axes & ~it->open) == 0 &&
        value->level <= it->level)
      it->slots[i] = emit_value(it, i);
  }
  emit_picks(it, NULL);
}

static void emit_pass_values(struct cg_nest_emitter *it) {
  for (uint32_t i = 0; i < it->nest->values.len; i++) {
    const struct dtg_nest_value *value = &it->nest->values.data[i];
    uint32_t axes = value->axes;
    if (it->cached[i])
      axes = dtg_form_axes(&it->nest->outputs.data[it->cached[i] - 1].address);
    if (it->slots[i] != CG_NO_VALUE || !it->needed[i] || (axes & ~it->open) != 0)
      continue;
    it->slots[i] = it->cached[i] ? load_output(it, &it->nest->outputs.data[it->cached[i] - 1])
                                 : emit_value(it, i);
  }
  emit_picks(it, it->needed);
}

static void store_output(struct cg_nest_emitter *it, const struct dtg_nest_output *output) {
  struct cg_address address = address_of(it, output->buffer, &output->address);
  cg_store(&it->builder, &address, it->slots[output->value]);
}

static void open_axis(struct cg_nest_emitter *it, uint32_t axis) {
  const struct dtg_nest_axis *a = &it->nest->axes[axis];
  enum cg_loop_kind kind = axis + 1 == it->nest->rank ? CG_LOOP_VECTOR : CG_LOOP_SEQUENTIAL;
  if (axis == it->cut_axis)
    it->loops[axis] = cg_loop_begin_block(&it->builder, kind, it->cut, it->parallel, a->extent);
  else if (a->block != 0)
    it->loops[axis] = cg_loop_begin_block(&it->builder, kind, a->block, it->parallel, a->extent);
  else
    it->loops[axis] = cg_loop_begin(&it->builder, kind, a->extent);
  it->open |= 1u << axis;
}

static void close_axis(struct cg_nest_emitter *it, uint32_t axis) {
  cg_loop_end(&it->builder);
  it->open &= ~(1u << axis);
}

static bool is_arg(const struct dtg_node *node) {
  return node->op->accumulate == CG_ACCUMULATE_ARGMAX ||
         node->op->accumulate == CG_ACCUMULATE_ARGMIN;
}

/* bf16 and the like accumulate in the type that the op computes in. */
static enum dtg_dtype accumulator_type(const struct dtg_nest *nest, const struct dtg_node *node) {
  enum dtg_dtype dtype = dtg_graph_node(nest->links->graph, node->inputs[0])->type.dtype;
  if (dtype == DTG_BF16)
    return DTG_F32;
  return dtype == DTG_U8 || dtype == DTG_BOOL ? DTG_I32 : dtype;
}

static bool reduced_in(const struct dtg_nest *nest, uint32_t value, uint32_t pass) {
  return nest->values.data[value].kind == DTG_VALUE_REDUCED &&
         nest->values.data[value].level == pass + 1;
}

static const struct dtg_node *value_node(const struct dtg_nest *nest, uint32_t value) {
  return dtg_graph_node(nest->links->graph, nest->values.data[value].node);
}

static void accumulate(struct cg_nest_emitter *it, uint32_t pass) {
  const struct dtg_nest *nest = it->nest;
  for (uint32_t i = 0; i < nest->values.len; i++) {
    if (!reduced_in(nest, i, pass))
      continue;
    const struct dtg_nest_value *value = &nest->values.data[i];
    const struct dtg_node *node = value_node(nest, i);
    uint32_t position = is_arg(node) ? form_value(it, &value->index[0]) : CG_NO_VALUE;
    uint32_t element =
        cg_cast(&it->builder, it->slots[value->operands[0]], accumulator_type(nest, node));
    cg_acc_add(&it->builder, it->accumulators[i], element, position);
  }
}

static void store_pass_outputs(struct cg_nest_emitter *it, uint32_t pass) {
  for (size_t i = 0; i < it->nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &it->nest->outputs.data[i];
    if (output->in_row && it->nest->values.data[output->value].level == pass)
      store_output(it, output);
  }
}

static void end_pass(struct cg_nest_emitter *it, uint32_t pass) {
  const struct dtg_nest *nest = it->nest;
  for (uint32_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *value = &nest->values.data[i];
    if (dtg_nest_in_row(nest, value))
      it->slots[i] = CG_NO_VALUE;
    if (value->kind == DTG_VALUE_GATHER &&
        dtg_nest_in_row(nest, &nest->values.data[value->operands[0]]))
      it->picks[i].at = CG_NO_VALUE;
  }
  for (uint32_t i = 0; i < nest->values.len; i++) {
    if (reduced_in(nest, i, pass))
      it->slots[i] = cg_cast(&it->builder, cg_acc_read(&it->builder, it->accumulators[i]),
                             value_node(nest, i)->type.dtype);
  }
  it->level = pass + 1;
  emit_row_values(it);
}

static void emit_pass(struct cg_nest_emitter *it, uint32_t pass) {
  const struct dtg_nest *nest = it->nest;
  dtg_nest_pass(nest, pass, it->needed, it->cached);
  for (uint32_t i = 0; i < nest->values.len; i++) {
    if (reduced_in(nest, i, pass)) {
      const struct dtg_node *node = value_node(nest, i);
      it->accumulators[i] =
          cg_acc_new(&it->builder, node->op->accumulate, accumulator_type(nest, node));
    }
  }
  for (uint32_t axis = 0; axis < nest->rank; axis++) {
    if (!nest->axes[axis].reduced)
      continue;
    open_axis(it, axis);
    emit_pass_values(it);
  }
  accumulate(it, pass);
  store_pass_outputs(it, pass);
  for (uint32_t axis = nest->rank; axis-- > 0;) {
    if (nest->axes[axis].reduced)
      close_axis(it, axis);
  }
  end_pass(it, pass);
}

/* Tiles of whole rows of axis 0, `it->block` elements each. */
static int64_t plan_blocks(struct cg_nest_emitter *it, int64_t elements) {
  if (elements <= it->block)
    return 1;
  it->cut_axis = 0;
  it->cut = it->block / (elements / it->nest->axes[0].extent);
  return (it->nest->axes[0].extent + it->cut - 1) / it->cut;
}

/* Which kept axis the tiles cut, and how: a function of the extents alone. */
static int64_t plan_tiles(struct cg_nest_emitter *it) {
  const struct dtg_nest *nest = it->nest;
  int64_t elements = dtg_nest_count(nest, nest->full_mask | nest->kept_mask), longest = 0;
  it->cut_axis = DTG_FORM_AXES;
  if (nest->blocked)
    return nest->axes[0].extent;
  if (it->block != 0)
    return plan_blocks(it, elements);
  if (elements * (nest->passes > 1 ? nest->passes : 1) <= CG_ONE_TILE)
    return 1;
  for (uint32_t i = 0; i < nest->rank; i++) {
    if (nest->axes[i].reduced || nest->axes[i].extent <= longest)
      continue;
    longest = nest->axes[i].extent;
    it->cut_axis = i;
  }
  if (it->cut_axis == DTG_FORM_AXES)
    return 1;
  int64_t inner = elements / longest;
  it->cut = (CG_TILE_ELEMENTS + inner - 1) / inner;
  if (it->cut_axis + 1 == nest->rank)
    it->cut = (it->cut + CG_TILE_COLUMNS - 1) / CG_TILE_COLUMNS * CG_TILE_COLUMNS;
  if (it->cut >= longest) {
    it->cut_axis = DTG_FORM_AXES;
    return 1;
  }
  return (longest + it->cut - 1) / it->cut;
}

static void emit_row(struct cg_nest_emitter *it) {
  for (uint32_t pass = 0; pass < it->nest->passes; pass++)
    emit_pass(it, pass);
  for (size_t i = 0; i < it->nest->outputs.len; i++) {
    if (!it->nest->outputs.data[i].in_row)
      store_output(it, &it->nest->outputs.data[i]);
  }
}

void cg_lower_nest(struct cg_kernel *kernel, const struct dtg_nest *nest, int64_t block) {
  struct cg_nest_emitter it = {.nest = nest, .block = block};
  size_t count = nest->values.len;
  it.slots = DTG_NEW_ARRAY(kernel->arena, uint32_t, count);
  it.accumulators = DTG_NEW_ARRAY(kernel->arena, uint32_t, count);
  it.needed = DTG_NEW_ARRAY(kernel->arena, bool, count);
  it.cached = DTG_NEW_ARRAY(kernel->arena, uint32_t, count);
  it.picks = DTG_NEW_ARRAY(kernel->arena, struct cg_pick, count);
  for (size_t i = 0; i < count; i++) {
    it.slots[i] = CG_NO_VALUE;
    it.picks[i].at = CG_NO_VALUE;
  }
  cg_builder_init(&it.builder, kernel);
  it.parallel = cg_loop_begin(&it.builder, CG_LOOP_PARALLEL, plan_tiles(&it));
  if (nest->blocked) {
    it.loops[0] = it.parallel;
    it.open = 1;
  }
  emit_row_values(&it);
  for (uint32_t axis = nest->blocked ? 1 : 0; axis < nest->rank; axis++) {
    if (nest->axes[axis].reduced)
      continue;
    open_axis(&it, axis);
    emit_row_values(&it);
  }
  emit_row(&it);
  for (uint32_t axis = nest->rank; axis-- > (nest->blocked ? 1u : 0u);) {
    if (!nest->axes[axis].reduced)
      close_axis(&it, axis);
  }
  cg_loop_end(&it.builder);
}
