// Loops at run time: `scan t in a..b { ... }`.
//
// The body is evaluated once, into the graph around it, with leaves for the loop variable and for
// the names that it binds anew. Then what depends on these leaves is moved into a body of its own;
// what does not is computed once, before the loop.
#include "compiler/build/internal.h"
#include "compiler/ir/loop.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_DEPTH = 64 }; // of what is followed or made inside anew

// ---- the loop variable in subscripts ----

struct affine {
  const struct dtg_build_scan *scan; // whose variable; NULL: none
  int64_t factor, offset;
};

static bool combine(const struct affine *x, const struct affine *y, int64_t sign,
                    struct affine *out) {
  int64_t factor, offset;
  if ((x->scan && y->scan && x->scan != y->scan) ||
      __builtin_mul_overflow(y->factor, sign, &factor) ||
      __builtin_mul_overflow(y->offset, sign, &offset))
    return false;
  out->scan = x->scan ? x->scan : y->scan;
  return !__builtin_add_overflow(x->factor, factor, &out->factor) &&
         !__builtin_add_overflow(x->offset, offset, &out->offset);
}

static bool scale(const struct affine *x, const struct affine *y, struct affine *out) {
  const struct affine *constant = x->scan ? y : x, *other = x->scan ? x : y;
  out->scan = other->scan;
  return !constant->scan &&
         !__builtin_mul_overflow(other->factor, constant->offset, &out->factor) &&
         !__builtin_mul_overflow(other->offset, constant->offset, &out->offset);
}

static bool whole_const(const struct dtg_node *node, int64_t *out) {
  double value = dtg_const_float(node);
  if (dtg_dtype_is_float(node->type.dtype) &&
      (value != (double)(int64_t)value || value > 1e15 || value < -1e15))
    return false;
  *out = dtg_dtype_is_float(node->type.dtype) ? (int64_t)value : dtg_const_int(node);
  return true;
}

// factor * variable + offset, seen through casts and broadcasts of scalars.
static bool affine_of(const struct dtg_build *b, uint32_t id, int depth, struct affine *out) {
  const struct dtg_node *node = dtg_graph_node(b->graph, id);
  const char *op = node->op->name;
  struct affine x, y;
  *out = (struct affine){0};
  if (node->type.shape.rank != 0 || depth > MAX_DEPTH)
    return false;
  if (node->op->class == DTG_CLASS_CONST)
    return whole_const(node, &out->offset);
  for (const struct dtg_build_scan *scan = b->scan; scan; scan = scan->around) {
    if (scan->index != id)
      continue;
    *out = (struct affine){.scan = scan, .factor = 1};
    return true;
  }
  if (strcmp(op, "cast") == 0 || strcmp(op, "reshape") == 0 || strcmp(op, "broadcast_to") == 0)
    return affine_of(b, node->inputs[0], depth + 1, out);
  if (strcmp(op, "neg") == 0)
    return affine_of(b, node->inputs[0], depth + 1, &x) &&
           combine(&(struct affine){0}, &x, -1, out);
  bool plus = strcmp(op, "add") == 0, minus = strcmp(op, "sub") == 0;
  if ((!plus && !minus && strcmp(op, "mul") != 0) ||
      !affine_of(b, node->inputs[0], depth + 1, &x) ||
      !affine_of(b, node->inputs[1], depth + 1, &y))
    return false;
  return plus || minus ? combine(&x, &y, minus ? -1 : 1, out) : scale(&x, &y, out);
}

bool dtg_build_scan_subscript(struct dtg_build *b, uint32_t value, uint32_t axis, int64_t size,
                              struct dtg_span span, uint32_t *index) {
  struct affine at;
  if (!affine_of(b, value, 0, &at) || !at.scan) {
    struct dtg_diag *diag = dtg_build_error(
        b, span,
        "a subscript must be an int known at compile time, or made of the variable of one "
        "`scan` by adding and multiplying ints");
    dtg_diag_hint(diag, "gather(x, indices, axis) takes computed positions");
    return false;
  }
  int64_t first = at.offset, last = at.factor * (at.scan->count - 1) + at.offset;
  int64_t bad = first < 0 || first >= size ? first : last;
  if (bad < 0 || bad >= size) {
    dtg_build_error(b, span,
                    "%" PRId64 " is outside axis %" PRIu32 ", whose size is %" PRId64
                    ": this subscript goes from %" PRId64 " to %" PRId64,
                    bad, axis, size, first, last);
    return false;
  }
  *index = at.scan->index;
  if (at.factor != 1)
    *index =
        dtg_add_binary(b->graph, "mul", *index,
                       dtg_add_const_int(b->graph, at.factor, DTG_I64, &(struct dtg_shape){0}));
  if (at.offset != 0)
    *index =
        dtg_add_binary(b->graph, "add", *index,
                       dtg_add_const_int(b->graph, at.offset, DTG_I64, &(struct dtg_shape){0}));
  return true;
}

// ---- names that the body binds anew ----

struct carry {
  const char *name;
  struct dtg_span span; // where the body binds it
  uint32_t first;       // node before the loop
  uint32_t leaf, next;
};

struct scan {
  struct dtg_build *b;
  struct dtg_build_env *env;
  const struct dtg_ast_stmt *stmt;
  struct dtg_build_scan own;
  uint32_t start, end; // nodes that the body has added
  DTG_VEC(struct carry) carries;
  bool failed;
  // extraction
  struct dtg_graph *body;
  bool *depends; // per node: on the leaves of this scan
  uint32_t *map; // per node: its node in the body, or DTG_NO_NODE
  DTG_VEC(uint32_t) slices;
  DTG_VEC(uint32_t) values;
  struct {
    uint32_t from, leaf;
    int64_t axis, factor, offset;
  } * cuts; // of `slices`
  size_t cut_count, cut_cap;
};

static void add_carry(struct scan *it, struct dtg_ast_name name) {
  struct dtg_binding *binding = dtg_env_find(it->env, name.text);
  if (!binding)
    return;
  if (binding->value.kind == DTG_VALUE_ERROR) {
    it->failed = true;
    return;
  }
  for (size_t i = 0; i < it->carries.len; i++) {
    if (it->carries.data[i].name == name.text) {
      it->carries.data[i].span = name.span;
      return;
    }
  }
  struct carry carry = {.name = name.text, .span = name.span};
  if (binding->value.kind != DTG_VALUE_TENSOR && binding->value.kind != DTG_VALUE_FLOAT) {
    struct dtg_diag *diag =
        dtg_build_error(it->b, name.span,
                        "`%s` is %s before the scan, and only a tensor can change "
                        "from one iteration to the next",
                        name.text, dtg_value_kind_text(&binding->value));
    if (binding->value.kind == DTG_VALUE_INT)
      dtg_diag_hint(diag, "make it a tensor: full([], %" PRId64 ")", binding->value.i);
    else
      dtg_diag_hint(diag, "`collect` gives a tensor of the values of all iterations");
    it->failed = true;
    return;
  }
  if (!dtg_build_as_tensor(it->b, &binding->value, name.text, name.span, &carry.first)) {
    it->failed = true;
    return;
  }
  dtg_vec_push(&it->b->ctx->arena, &it->carries, carry);
}

static void find_carries(struct scan *it, const struct dtg_ast_body *body, bool own) {
  for (size_t i = 0; i < body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = body->stmts.data[i];
    switch (stmt->kind) {
    case DTG_STMT_LABEL:
      if (stmt->label.label->parts.len == 1)
        add_carry(it, (struct dtg_ast_name){stmt->label.label->parts.data[0].name,
                                            stmt->label.label->parts.data[0].span});
      break;
    case DTG_STMT_ASSIGN:
      add_carry(it, stmt->name);
      break;
    case DTG_STMT_COLLECT: // those of an inner loop are names of this one
      if (!own)
        add_carry(it, stmt->name);
      break;
    case DTG_STMT_FOR:
    case DTG_STMT_SCAN:
      find_carries(it, stmt->for_in.body, false);
      break;
    case DTG_STMT_IF:
      find_carries(it, stmt->if_else.then_body, own);
      if (stmt->if_else.else_body)
        find_carries(it, stmt->if_else.else_body, own);
      break;
    default:
      break;
    }
  }
}

static void open_carries(struct scan *it) {
  for (size_t i = 0; i < it->carries.len; i++) {
    struct carry *carry = &it->carries.data[i];
    struct dtg_type type = *dtg_build_type(it->b, carry->first);
    carry->leaf = dtg_loop_add_leaf(it->b->graph, DTG_LOOP_CARRY, (uint32_t)i, type);
    dtg_graph_node(it->b->graph, carry->leaf)->name = carry->name;
    dtg_env_find(it->env, carry->name)->value = dtg_build_tensor(carry->leaf, false);
  }
}

static void close_carry(struct scan *it, struct carry *carry) {
  struct dtg_build *b = it->b;
  struct dtg_value value = dtg_env_find(it->env, carry->name)->value;
  const struct dtg_type *first = dtg_build_type(b, carry->first);
  if (value.kind == DTG_VALUE_ERROR ||
      !dtg_build_as_tensor(b, &value, "what an iteration leaves", carry->span, &carry->next)) {
    it->failed = true;
    return;
  }
  const struct dtg_type *next = dtg_build_type(b, carry->next);
  if (dtg_type_equal(first, next))
    return;
  struct dtg_diag *diag =
      dtg_build_error(b, carry->span, "`%s` is %s before the scan, but %s after an iteration",
                      carry->name, dtg_build_type_text(b, first), dtg_build_type_text(b, next));
  dtg_build_note(b, diag, carry->first);
  dtg_diag_hint(diag, "what goes from one iteration to the next keeps its type and shape");
  it->failed = true;
}

// ---- what may not stand in the body ----

static void mark_dependent(struct scan *it) {
  struct dtg_graph *graph = it->b->graph;
  it->end = (uint32_t)graph->nodes.len;
  it->depends = DTG_NEW_ARRAY(&it->b->ctx->arena, bool, it->end);
  it->map = DTG_NEW_ARRAY(&it->b->ctx->arena, uint32_t, it->end);
  for (uint32_t i = 0; i < it->end; i++)
    it->map[i] = DTG_NO_NODE;
  it->depends[it->own.leaf] = true;
  for (size_t i = 0; i < it->carries.len; i++)
    it->depends[it->carries.data[i].leaf] = it->carries.data[i].next != it->carries.data[i].leaf;
  for (uint32_t id = it->start; id < it->end; id++) {
    const struct dtg_node *node = dtg_graph_node(graph, id);
    for (uint32_t i = 0; i < node->input_count; i++)
      it->depends[id] = it->depends[id] || it->depends[node->inputs[i]];
  }
}

static void refuse_random(struct scan *it) {
  for (uint32_t id = it->start; id < it->end; id++) {
    const struct dtg_node *node = dtg_graph_node(it->b->graph, id);
    if (!(node->op->flags & DTG_OP_RANDOM))
      continue;
    struct dtg_diag *diag = dtg_build_error(
        it->b, node->span, "random numbers in a scan would be the same in every iteration");
    dtg_diag_hint(diag, "draw them before the scan, for all iterations, and take those of one by "
                        "a subscript");
    it->failed = true;
  }
}

static void refuse_roots(struct scan *it, size_t first) {
  struct dtg_graph *graph = it->b->graph;
  for (size_t i = first; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    dtg_build_error(it->b, root->span,
                    root->kind == DTG_ROOT_STATE
                        ? "a state gets one value a step: it cannot be updated inside a scan"
                        : "a result of the model cannot stand inside a scan");
    it->failed = true;
  }
  graph->roots.len = first;
}

// ---- extraction ----

// Costs nothing where it is used, but memory as a value from outside.
static bool made_inside(const struct dtg_graph *graph, const struct dtg_node *node) {
  double value;
  switch (node->op->class) {
  case DTG_CLASS_CONST:
  case DTG_CLASS_VIEW:
    return true;
  case DTG_CLASS_GENERATE:
    return node->input_count == 0;
  case DTG_CLASS_INDEX:
    return strcmp(node->op->name, "broadcast_to") == 0 || strcmp(node->op->name, "transpose") == 0;
  case DTG_CLASS_ELEMENTWISE:
    for (uint32_t i = 0; i < node->input_count; i++) {
      if (!dtg_graph_splat(graph, node->inputs[i], &value))
        return false;
    }
    return true;
  default:
    return false;
  }
}

static uint32_t import_value(struct scan *it, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(it->b->graph, id);
  uint32_t leaf = dtg_loop_add_leaf(it->body, DTG_LOOP_VALUE, (uint32_t)it->values.len, node->type);
  dtg_vec_push(&it->b->ctx->arena, &it->values, id);
  return leaf;
}

// Axis `axis` at the front, cut to the entries of the iterations, the first one first.
static uint32_t slice_operand(struct scan *it, uint32_t x, int64_t axis, int64_t factor,
                              int64_t offset) {
  struct dtg_graph *graph = it->b->graph;
  const struct dtg_shape shape = dtg_graph_node(graph, x)->type.shape;
  int64_t step = factor < 0 ? -factor : factor, count = it->own.count, size = shape.dims[axis];
  int64_t start[DTG_MAX_RANK] = {0}, stop[DTG_MAX_RANK], steps[DTG_MAX_RANK], perm[DTG_MAX_RANK];
  int64_t low = factor < 0 ? offset + factor * (count - 1) : offset;
  for (uint32_t i = 0; i < shape.rank; i++) {
    stop[i] = shape.dims[i];
    steps[i] = 1;
    perm[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
  }
  if (low != 0 || step != 1 || count != size) {
    start[axis] = low;
    stop[axis] = low + step * (count - 1) + 1;
    steps[axis] = step;
    struct dtg_attr attrs[] = {dtg_attr_ints("start", shape.rank, start),
                               dtg_attr_ints("step", shape.rank, steps),
                               dtg_attr_ints("stop", shape.rank, stop)};
    x = dtg_add(graph, "slice", &x, 1, attrs, 3);
  }
  if (factor < 0) {
    struct dtg_attr axes = dtg_attr_ints("axes", 1, &axis);
    x = dtg_add(graph, "reverse", &x, 1, &axes, 1);
  }
  struct dtg_attr order = dtg_attr_ints("perm", shape.rank, perm);
  return axis == 0 ? x : dtg_add(graph, "transpose", &x, 1, &order, 1);
}

static struct dtg_type entry_type(struct dtg_type type) {
  type.shape.rank--;
  memmove(type.shape.dims, type.shape.dims + 1, type.shape.rank * sizeof *type.shape.dims);
  return type;
}

// x[t] of what is known before the loop: a slice. DTG_NO_NODE: this is none.
static uint32_t import_slice(struct scan *it, const struct dtg_node *node) {
  struct affine at;
  struct dtg_build_scan *outer = it->b->scan;
  if (node->op->class != DTG_CLASS_GATHER || it->depends[node->inputs[0]])
    return DTG_NO_NODE;
  it->b->scan = &it->own;
  bool affine = affine_of(it->b, node->inputs[1], 0, &at) && at.scan == &it->own && at.factor != 0;
  it->b->scan = outer;
  if (!affine)
    return DTG_NO_NODE;
  uint32_t from = node->inputs[0];
  int64_t axis = dtg_node_int(node, "axis", 0);
  for (size_t i = 0; i < it->cut_count; i++) {
    if (it->cuts[i].from == from && it->cuts[i].axis == axis && it->cuts[i].factor == at.factor &&
        it->cuts[i].offset == at.offset)
      return it->cuts[i].leaf;
  }
  uint32_t operand = slice_operand(it, from, axis, at.factor, at.offset);
  uint32_t leaf = dtg_loop_add_leaf(it->body, DTG_LOOP_SLICE, (uint32_t)it->slices.len,
                                    entry_type(dtg_graph_node(it->b->graph, operand)->type));
  dtg_vec_push(&it->b->ctx->arena, &it->slices, operand);
  it->cuts =
      dtg_vec_grow(&it->b->ctx->arena, it->cuts, it->cut_count, &it->cut_cap, sizeof *it->cuts);
  it->cuts[it->cut_count].from = from;
  it->cuts[it->cut_count].leaf = leaf;
  it->cuts[it->cut_count].axis = axis;
  it->cuts[it->cut_count].factor = at.factor;
  it->cuts[it->cut_count++].offset = at.offset;
  return leaf;
}

static uint32_t import_node(struct scan *it, uint32_t id, int depth);

static uint32_t make_import(struct scan *it, uint32_t id, int depth) {
  struct dtg_node node = *dtg_graph_node(it->b->graph, id);
  uint32_t out;
  if (id == it->own.leaf) {
    out = dtg_loop_add_leaf(it->body, DTG_LOOP_INDEX, 0, node.type);
  } else if (!it->depends[id] && (depth >= MAX_DEPTH || !made_inside(it->b->graph, &node))) {
    for (size_t i = 0; i < it->carries.len; i++) { // a carry that keeps its value
      if (it->carries.data[i].leaf == id)
        return import_node(it, it->carries.data[i].first, depth + 1);
    }
    out = import_value(it, id);
  } else if (it->depends[id] && (out = import_slice(it, &node)) != DTG_NO_NODE) {
    dtg_graph_node(it->body, out)->name = dtg_graph_node(it->b->graph, node.inputs[0])->name;
  } else {
    for (uint32_t i = 0; i < node.input_count; i++)
      import_node(it, node.inputs[i], depth + 1);
    return dtg_loop_copy_node(it->body, &node, it->map);
  }
  struct dtg_node *leaf = dtg_graph_node(it->body, out);
  leaf->span = node.span;
  leaf->path = node.path;
  return out;
}

static uint32_t import_node(struct scan *it, uint32_t id, int depth) {
  if (it->map[id] == DTG_NO_NODE)
    it->map[id] = make_import(it, id, depth);
  return it->map[id];
}

// In node order, so that the recursion stays as deep as what is made inside anew.
static void import_body(struct scan *it, const struct dtg_build_collection *collected) {
  it->body = dtg_loop_body_new(it->b->graph);
  for (size_t i = 0; i < it->carries.len; i++) {
    const struct carry *carry = &it->carries.data[i];
    const struct dtg_node *leaf = dtg_graph_node(it->b->graph, carry->leaf);
    if (carry->next == carry->leaf)
      continue;
    it->map[carry->leaf] = dtg_loop_add_leaf(it->body, DTG_LOOP_CARRY, (uint32_t)i, leaf->type);
    *dtg_graph_node(it->body, it->map[carry->leaf]) = *leaf;
  }
  bool *live = DTG_NEW_ARRAY(&it->b->ctx->arena, bool, it->end);
  for (size_t i = 0; i < it->carries.len; i++)
    live[it->carries.data[i].next] = true;
  for (size_t i = 0; i < collected->entries.len; i++)
    live[collected->entries.data[i].nodes.data[0]] = true;
  for (uint32_t id = it->end; id-- > it->start;) {
    const struct dtg_node *node = dtg_graph_node(it->b->graph, id);
    for (uint32_t i = 0; live[id] && i < node->input_count; i++)
      live[node->inputs[i]] = true;
  }
  for (uint32_t id = it->start; id < it->end; id++) {
    if (live[id] && it->depends[id])
      import_node(it, id, 0);
  }
}

static uint32_t add_scan(struct scan *it, const struct dtg_build_collection *collected) {
  struct dtg_arena *arena = &it->b->ctx->arena;
  struct dtg_loop loop = {.body = it->body,
                          .count = it->own.count,
                          .slices = (uint32_t)it->slices.len,
                          .values = (uint32_t)it->values.len,
                          .recompute = it->stmt->for_in.recompute};
  size_t room = it->carries.len + it->slices.len + it->values.len, count = 0;
  uint32_t *inputs = DTG_NEW_ARRAY(arena, uint32_t, room);
  for (size_t i = 0; i < it->carries.len; i++) {
    const struct carry *carry = &it->carries.data[i];
    if (carry->next == carry->leaf)
      continue;
    uint32_t leaf = it->map[carry->leaf];
    struct dtg_attr number = dtg_attr_int("index", loop.carries);
    struct dtg_attr *copy = DTG_NEW(arena, struct dtg_attr);
    *copy = number;
    copy->name = dtg_graph_node(it->body, leaf)->attrs[0].name;
    dtg_graph_node(it->body, leaf)->attrs = copy;
    dtg_loop_add_root(it->body, true, import_node(it, carry->next, 0), carry->span);
    inputs[count++] = carry->first;
    loop.carries++;
  }
  for (size_t i = 0; i < collected->entries.len; i++) {
    const struct dtg_build_collected *entry = &collected->entries.data[i];
    dtg_loop_add_root(it->body, false, import_node(it, entry->nodes.data[0], 0), entry->span);
  }
  loop.slices = (uint32_t)it->slices.len; /* the roots may have brought more */
  loop.values = (uint32_t)it->values.len;
  uint32_t *all = DTG_NEW_ARRAY(arena, uint32_t, count + loop.slices + loop.values);
  memcpy(all, inputs, count * sizeof *inputs);
  for (size_t i = 0; i < it->slices.len; i++)
    all[count++] = it->slices.data[i];
  for (size_t i = 0; i < it->values.len; i++)
    all[count++] = it->values.data[i];
  return dtg_loop_add(it->b->graph, &loop, all);
}

static struct dtg_value result(struct scan *it, uint32_t node, uint32_t *number, const char *name) {
  uint32_t out = dtg_loop_add_result(it->b->graph, node, (*number)++);
  dtg_graph_node(it->b->graph, out)->name = name;
  return dtg_build_tensor(out, false);
}

static void extract(struct scan *it, const struct dtg_build_collection *collected) {
  uint32_t number = 0;
  for (size_t i = 0; i < collected->entries.len; i++) {
    const struct dtg_build_collected *entry = &collected->entries.data[i];
    if (dtg_build_type(it->b, entry->nodes.data[0])->shape.rank < DTG_MAX_RANK)
      continue;
    dtg_build_error(it->b, entry->span, "`%s` has %d axes already: no more can be collected",
                    entry->name, DTG_MAX_RANK);
    return;
  }
  import_body(it, collected);
  it->b->graph->span = it->stmt->span;
  uint32_t node = add_scan(it, collected);
  for (size_t i = 0; i < it->carries.len; i++) {
    const struct carry *carry = &it->carries.data[i];
    dtg_env_find(it->env, carry->name)->value = carry->next == carry->leaf
                                                    ? dtg_build_tensor(carry->first, false)
                                                    : result(it, node, &number, carry->name);
  }
  for (size_t i = 0; i < collected->entries.len; i++)
    dtg_build_bind(it->b, it->env, collected->entries.data[i].name,
                   result(it, node, &number, collected->entries.data[i].name));
}

// After an error: whatever reads the results stays silent.
static void give_up(struct scan *it) {
  for (size_t i = 0; i < it->carries.len; i++)
    dtg_env_find(it->env, it->carries.data[i].name)->value = dtg_value_error();
  dtg_build_miss_collected(it->b, it->env, it->stmt->for_in.body, false);
}

static void bind_variable(struct scan *it, int64_t first) {
  struct dtg_graph *graph = it->b->graph;
  it->own.leaf = dtg_loop_add_leaf(graph, DTG_LOOP_INDEX, 0, (struct dtg_type){.dtype = DTG_I64});
  uint32_t value = it->own.index = it->own.leaf;
  if (first != 0)
    value = dtg_add_binary(graph, "add", value,
                           dtg_add_const_int(graph, first, DTG_I64, &(struct dtg_shape){0}));
  dtg_graph_node(graph, it->own.leaf)->name = it->stmt->name.text;
  dtg_env_bind(it->b, it->env, it->stmt->name.text, dtg_build_tensor(value, true));
}

static void run_body(struct scan *it, int64_t first, struct dtg_build_collection *collected) {
  struct dtg_build *b = it->b;
  size_t outer = it->env->bindings.len, roots = b->graph->roots.len;
  bool returned = false;
  struct dtg_build_collection *around = b->collection;
  open_carries(it);
  bind_variable(it, first);
  it->own.around = b->scan;
  b->scan = &it->own;
  b->collection = collected;
  dtg_build_body(b, it->env, it->stmt->for_in.body, &returned);
  b->scan = it->own.around;
  b->collection = around;
  it->env->bindings.len = outer;
  for (size_t i = 0; i < it->carries.len; i++)
    close_carry(it, &it->carries.data[i]);
  for (size_t i = 0; i < collected->entries.len; i++)
    it->failed = it->failed || collected->entries.data[i].failed;
  mark_dependent(it);
  refuse_roots(it, roots);
  refuse_random(it);
}

void dtg_build_run_scan(struct dtg_build *b, struct dtg_build_env *env,
                        const struct dtg_ast_stmt *stmt, int64_t first, int64_t count) {
  struct scan it = {.b = b, .env = env, .stmt = stmt, .own.count = count};
  struct dtg_build_collection collected = {0};
  if (count < 1) {
    dtg_build_error(b, stmt->span,
                    "a scan makes at least one iteration, but this one goes from %" PRId64
                    " to %" PRId64,
                    first, first + count);
    dtg_build_miss_collected(b, env, stmt->for_in.body, true);
    return;
  }
  if (b->updating) {
    dtg_build_error(b, stmt->span, "a scan cannot stand in an optimizer: use `for`");
    b->stopped = true;
    return;
  }
  b->scanned = true;
  find_carries(&it, stmt->for_in.body, true);
  it.start = (uint32_t)b->graph->nodes.len;
  if (!it.failed)
    run_body(&it, first, &collected);
  if (!it.failed && !b->stopped && it.carries.len + collected.entries.len == 0) {
    struct dtg_diag *diag = dtg_build_error(b, stmt->span, "nothing comes out of this scan");
    dtg_diag_hint(diag, "bind a name from before the scan anew, or `collect` a value");
    it.failed = true;
  }
  if (it.failed || b->stopped)
    give_up(&it);
  else
    extract(&it, &collected);
}
