#include "plan_run.h"

#include "codegen/lower/lower.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/group.h"
#include "compiler/opt/opt.h"
#include "compiler/schedule/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float bf16_value(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void put_element(enum dtg_dtype dtype, char *at, double value) {
  float f = (float)value;
  int32_t i = (int32_t)value;
  int64_t l = (int64_t)value;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint16_t half = (uint16_t)(bits >> 16); /* leaves of bf16 hold what bf16 can */
  uint8_t byte = (uint8_t)value;
  const void *from[DTG_DTYPE_COUNT] = {
      [DTG_F32] = &f, [DTG_F64] = &value, [DTG_BF16] = &half, [DTG_I32] = &i,
      [DTG_I64] = &l, [DTG_U8] = &byte,   [DTG_BOOL] = &byte};
  memcpy(at, from[dtype], dtg_dtype_size(dtype));
}

static double get_element(enum dtg_dtype dtype, const char *at) {
  float f;
  double d;
  int32_t i;
  int64_t l;
  uint16_t half;
  switch (dtype) {
  case DTG_F32:
    memcpy(&f, at, sizeof f);
    return (double)f;
  case DTG_F64:
    memcpy(&d, at, sizeof d);
    return d;
  case DTG_BF16:
    memcpy(&half, at, sizeof half);
    return (double)bf16_value(half);
  case DTG_I32:
    memcpy(&i, at, sizeof i);
    return i;
  case DTG_I64:
    memcpy(&l, at, sizeof l);
    return (double)l;
  default:
    return (uint8_t)*at;
  }
}

static char *memory_at(struct plan_memory *memory, const struct dtg_location *location) {
  struct dtg_location here = dtg_location_at(location, memory->iterations), *at = &here;
  switch (at->space) {
  case DTG_SPACE_ITERATION:
    return (char *)&memory->iterations[at->index].index;
  case DTG_SPACE_ARENA:
    return memory->arena + at->offset;
  case DTG_SPACE_VARIABLE:
    return memory->variables + at->offset;
  case DTG_SPACE_CONTRIBUTION:
    return memory->contribution + at->offset;
  case DTG_SPACE_FEED:
    return memory->feeds[at->index];
  default:
    return (char *)&memory->scalars[at->index];
  }
}

/* Arenas align to 16 bytes, the program to 64. */
static char *block(struct dtg_arena *arena, int64_t bytes) {
  uintptr_t at = (uintptr_t)dtg_alloc(arena, (size_t)bytes + 128);
  return (char *)((at + 63) / 64 * 64);
}

static void fill_leaf(struct dtg_arena *arena, struct plan_memory *memory,
                      const struct dtg_node *node, dtg_leaf_value *leaf, void *context) {
  struct dtg_location at = dtg_leaf_location(memory->plan, &memory->options, node);
  int64_t count = dtg_shape_count(&node->type.shape);
  size_t size = dtg_dtype_size(node->type.dtype);
  struct dtg_ref_tensor tensor = {.type = node->type, .data = DTG_NEW_ARRAY(arena, double, count)};
  if (at.space == DTG_SPACE_FEED && !memory->feeds[at.index])
    memory->feeds[at.index] = block(arena, count * (int64_t)size);
  leaf(context, node, &tensor);
  char *bytes = memory_at(memory, &at);
  for (int64_t i = 0; i < count; i++)
    put_element(node->type.dtype, bytes + (size_t)i * size, tensor.data[i]);
}

/* In a body: of its own piece of the arena. */
static void poison(struct plan_memory *memory, const struct dtg_plan_function *function,
                   int64_t arena_offset, uint32_t step) {
  size_t bytes = (size_t)function->arena_bytes;
  char *live = calloc(bytes + 1, 1);
  assert(live);
  for (size_t i = 0; i < function->buffers.len; i++) {
    const struct dtg_plan_buffer *buffer = &function->buffers.data[i];
    int64_t at = buffer->at.offset - arena_offset;
    if (buffer->at.space == DTG_SPACE_ARENA && buffer->first_step < step &&
        step <= buffer->last_step && !buffer->at.moves && at >= 0 &&
        at + buffer->bytes <= function->arena_bytes)
      memset(live + at, 1, (size_t)buffer->bytes);
  }
  for (size_t i = 0; i < bytes; i++) {
    if (!live[i])
      memory->arena[arena_offset + (int64_t)i] = (char)0xff;
  }
  free(live);
}

static void interpret(void *context, const struct dtg_plan *plan, uint32_t kernel,
                      void *const *buffers) {
  (void)context;
  cg_kernel_interpret(plan->kernels.data[kernel], buffers);
}

struct plan_memory *plan_run(struct dtg_arena *arena, const struct dtg_plan *plan, int number,
                             dtg_leaf_value *leaf, void *context) {
  return plan_run_with(arena, plan, number, leaf, context, interpret, NULL);
}

struct runner {
  struct plan_memory *memory;
  plan_launch *launch;
  void *context;
};

static void run_function(struct runner *it, const struct dtg_plan_function *function,
                         int64_t arena_offset);

static void run_loop(struct runner *it, const struct dtg_plan_loop *loop) {
  for (int64_t n = 0; n < loop->count; n++) {
    it->memory->iterations[loop->depth] =
        (struct dtg_iteration){n, loop->reverse ? loop->count - 1 - n : n};
    run_function(it, &loop->body, loop->arena_offset);
  }
}

static void run_function(struct runner *it, const struct dtg_plan_function *function,
                         int64_t arena_offset) {
  struct plan_memory *memory = it->memory;
  for (uint32_t s = 0; s < function->steps.len; s++) {
    struct dtg_plan_step *step = &function->steps.data[s];
    void *buffers[64];
    poison(memory, function, arena_offset, s);
    if (step->loop) {
      run_loop(it, step->loop);
      continue;
    }
    assert(step->args.len == memory->plan->kernels.data[step->kernel]->buffers.len);
    assert(step->args.len <= 64);
    for (size_t i = 0; i < step->args.len; i++)
      buffers[i] = memory_at(memory, &step->args.data[i]);
    it->launch(it->context, memory->plan, step->kernel, buffers);
  }
}

struct plan_memory *plan_run_with(struct dtg_arena *arena, const struct dtg_plan *plan, int number,
                                  dtg_leaf_value *leaf, void *context, plan_launch *launch,
                                  void *launch_context) {
  const struct dtg_plan_function *function = &plan->functions[number];
  struct plan_memory *memory = DTG_NEW(arena, struct plan_memory);
  memory->plan = plan;
  memory->function = number;
  memory->arena = block(arena, function->arena_bytes);
  memory->variables = block(arena, plan->variables_bytes);
  memory->contribution =
      block(arena, plan->contribution_bytes > plan->metrics_bytes ? plan->contribution_bytes
                                                                  : plan->metrics_bytes);
  for (uint32_t i = 0; i < function->graph->nodes.len; i++) {
    const struct dtg_node *node = dtg_graph_node(function->graph, i);
    if (node->op->class == DTG_CLASS_LEAF)
      fill_leaf(arena, memory, node, leaf, context);
  }
  struct runner runner = {memory, launch, launch_context};
  run_function(&runner, function, 0);
  return memory;
}

static char *root_bytes(struct plan_memory *memory, size_t index) {
  const struct dtg_plan_function *function = &memory->plan->functions[memory->function];
  uint32_t base = dtg_links_base(function->groups->links, function->graph->roots.data[index].node);
  for (size_t i = 0; i < function->buffers.len; i++) {
    if (function->buffers.data[i].node == base)
      return memory_at(memory, &function->buffers.data[i].at);
  }
  struct dtg_location at =
      dtg_leaf_location(memory->plan, &memory->options, dtg_graph_node(function->graph, base));
  return memory_at(memory, &at);
}

const void *plan_run_root_bytes(struct plan_memory *memory, size_t index, size_t *size) {
  const struct dtg_graph *graph = memory->plan->functions[memory->function].graph;
  *size = (size_t)dtg_type_bytes(&dtg_graph_node(graph, graph->roots.data[index].node)->type);
  return root_bytes(memory, index);
}

double *plan_run_root(struct dtg_arena *arena, struct plan_memory *memory, size_t index) {
  const struct dtg_graph *graph = memory->plan->functions[memory->function].graph;
  const struct dtg_type *type = &dtg_graph_node(graph, graph->roots.data[index].node)->type;
  int64_t count = dtg_shape_count(&type->shape);
  double *values = DTG_NEW_ARRAY(arena, double, count);
  const char *bytes = root_bytes(memory, index);
  for (int64_t i = 0; i < count; i++)
    values[i] = get_element(type->dtype, bytes + (size_t)i * dtg_dtype_size(type->dtype));
  return values;
}

void plan_leaf(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  uint64_t state = *(uint64_t *)context;
  const char *key = NULL;
  dtg_leaf_of(leaf, &key);
  for (const char *c = key; *c; c++)
    state = (state ^ (unsigned char)*c) * 0x100000001B3u;
  for (int64_t i = 0; i < dtg_shape_count(&out->type.shape); i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t bits = (uint32_t)(state >> 33);
    if (dtg_dtype_is_float(out->type.dtype)) /* eight bits: bf16 holds them too */
      out->data[i] = ((double)(bits % 256) - 128) / 64;
    else
      out->data[i] = bits % (out->type.dtype == DTG_BOOL ? 2 : 5);
  }
}

struct dtg_plan *plan_make(struct dtg_ctx *ctx, const struct dtg_graph *graph, bool fused) {
  struct dtg_module *module = DTG_NEW(&ctx->arena, struct dtg_module);
  static const struct dtg_schedule_options options;
  struct dtg_strbuf why = {0};
  module->arena = &ctx->arena;
  module->names = &ctx->names;
  module->train = fused ? dtg_opt_graph(graph) : dtg_opt_unfused(graph);
  struct dtg_plan *plan = dtg_schedule(ctx, module, &options);
  bool good = dtg_plan_verify(plan, &why);
  if (!good)
    fprintf(stderr, "%s\n", dtg_strbuf_text(&why));
  assert(good);
  dtg_strbuf_free(&why);
  cg_lower(ctx, plan);
  return plan;
}
