/* A launch: block after block; in a block the threads take turns, each until it waits or ends. */
#include "tests/cudasim/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024, STEP_LIMIT = 200000000 };

/* ---- warps ---- */

static uint32_t living(const struct sim_block *b, uint32_t first) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < SIM_WARP && first + i < b->thread_count; i++)
    if (b->threads[first + i].state != SIM_ENDED)
      mask |= 1u << i;
  return mask;
}

static const struct ptx_inst *waits_at(const struct sim_thread *thread) {
  const struct sim_frame *frame = &thread->frames[thread->depth - 1];
  return &frame->function->insts[frame->at - 1];
}

/* The lane that `lane` reads, and whether there is such a one. */
static uint32_t source_lane(const struct ptx_inst *inst, uint32_t lane, uint32_t b, uint32_t clamp,
                            bool *inside) {
  uint32_t segment = clamp >> 8 & 31, limit = (lane & segment) | (clamp & 31 & ~segment);
  uint32_t from = PTX_HAS(inst, bfly)   ? lane ^ b
                  : PTX_HAS(inst, down) ? lane + b
                  : PTX_HAS(inst, up)   ? lane - b
                                        : (lane & segment) | (b & ~segment & 31);
  *inside = PTX_HAS(inst, up) ? lane >= b && from >= limit : from <= limit;
  return *inside ? from & 31 : lane;
}

static bool shuffle(struct sim_block *b, uint32_t first, uint32_t mask) {
  uint64_t values[SIM_WARP] = {0};
  for (uint32_t i = 0; i < SIM_WARP; i++) {
    if (!(mask >> i & 1))
      continue;
    struct sim_context c = {b, &b->threads[first + i], waits_at(&b->threads[first + i])};
    values[i] = sim_value(&c, &c.inst->operands[1]);
  }
  for (uint32_t i = 0; i < SIM_WARP; i++) {
    if (!(mask >> i & 1))
      continue;
    struct sim_context c = {b, &b->threads[first + i], waits_at(&b->threads[first + i])};
    bool inside;
    uint32_t from = source_lane(c.inst, i, (uint32_t)sim_value(&c, &c.inst->operands[2]),
                                (uint32_t)sim_value(&c, &c.inst->operands[3]), &inside);
    if (!(mask >> from & 1))
      return sim_fail(&c, "lane %u reads lane %u, which takes no part", i, from);
    sim_set(&c, &c.inst->operands[0], values[from]);
    if (c.inst->operands[0].second != PTX_NONE)
      sim_frame(c.thread)->registers[c.inst->operands[0].second] = inside;
  }
  return true;
}

static void vote(struct sim_block *b, uint32_t first, uint32_t mask) {
  uint32_t ballot = 0;
  for (uint32_t i = 0; i < SIM_WARP; i++) {
    struct sim_context c = {b, &b->threads[first + i], NULL};
    if (!(mask >> i & 1))
      continue;
    c.inst = waits_at(c.thread);
    if (sim_value(&c, &c.inst->operands[1]))
      ballot |= 1u << i;
  }
  for (uint32_t i = 0; i < SIM_WARP; i++) {
    struct sim_context c = {b, &b->threads[first + i], NULL};
    if (!(mask >> i & 1))
      continue;
    c.inst = waits_at(c.thread);
    sim_set(&c, &c.inst->operands[0],
            PTX_HAS(c.inst, ballot) ? ballot
            : PTX_HAS(c.inst, any)  ? ballot != 0
                                    : ballot == mask);
  }
}

/* The threads of a mask go on together once all of them wait at the same instruction. */
static bool release_warp(struct sim_block *b, uint32_t first, bool *progress) {
  uint32_t alive = living(b, first);
  for (uint32_t i = 0; i < SIM_WARP && first + i < b->thread_count; i++) {
    struct sim_thread *leader = &b->threads[first + i];
    if (leader->state != SIM_AT_WARP)
      continue;
    const struct ptx_inst *inst = waits_at(leader);
    uint32_t mask = leader->mask & alive, here = 0;
    if (!(leader->mask >> i & 1)) {
      struct sim_context c = {b, leader, inst};
      return sim_fail(&c, "a thread is not in the mask of its own operation");
    }
    for (uint32_t k = 0; k < SIM_WARP && first + k < b->thread_count; k++)
      if (b->threads[first + k].state == SIM_AT_WARP && waits_at(&b->threads[first + k]) == inst &&
          b->threads[first + k].mask == leader->mask)
        here |= 1u << k;
    if ((here & mask) != mask)
      continue;
    if (inst->op == PTX_shfl && !shuffle(b, first, mask))
      return false;
    if (inst->op == PTX_vote)
      vote(b, first, mask);
    for (uint32_t k = 0; k < SIM_WARP; k++)
      if (mask >> k & 1) {
        b->threads[first + k].state = SIM_RUNS;
        b->threads[first + k].syncs++;
      }
    *progress = true;
  }
  return true;
}

/* ---- barriers ---- */

static const struct sim_thread *find_waiting(const struct sim_block *b,
                                             const struct ptx_inst *other_than) {
  for (uint32_t i = 0; i < b->thread_count; i++)
    if (b->threads[i].state == SIM_AT_BARRIER && waits_at(&b->threads[i]) != other_than)
      return &b->threads[i];
  return NULL;
}

static uint32_t count_state(const struct sim_block *b, enum sim_state state) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < b->thread_count; i++)
    count += b->threads[i].state == state;
  return count;
}

/* Every thread of the block must come to the same barrier. */
static bool release_barrier(struct sim_block *b, bool *progress) {
  uint32_t waiting = count_state(b, SIM_AT_BARRIER), ended = count_state(b, SIM_ENDED);
  if (waiting == 0 || waiting + ended < b->thread_count)
    return true;
  const struct sim_thread *first = find_waiting(b, NULL);
  const struct sim_thread *other = find_waiting(b, waits_at(first));
  struct sim_context c = {b, (struct sim_thread *)(uintptr_t)(other ? other : first), NULL};
  c.inst = waits_at(c.thread);
  if (ended > 0)
    return sim_fail(&c, "waits at a barrier that %u threads of the block have ended without",
                    ended);
  if (other)
    return sim_fail(&c, "waits at this barrier, and thread %u at the one of line %u", first->number,
                    waits_at(first)->line);
  b->barriers++;
  for (uint32_t i = 0; i < b->thread_count; i++)
    b->threads[i].state = SIM_RUNS;
  *progress = true;
  return true;
}

/* ---- a block ---- */

static bool run_thread(struct sim_block *b, struct sim_thread *thread, bool *progress) {
  struct sim_context c = {b, thread, NULL};
  for (int64_t steps = 0; thread->state == SIM_RUNS; steps++) {
    if (steps == STEP_LIMIT)
      return sim_fail(&c, "does not end: %d instructions without a barrier", STEP_LIMIT);
    if (!sim_step(&c))
      return false;
    *progress = true;
  }
  return true;
}

static bool run_threads(struct sim_block *b) {
  while (true) {
    bool progress = false, all_ended = true;
    for (uint32_t i = 0; i < b->thread_count; i++)
      if (!run_thread(b, &b->threads[i], &progress))
        return false;
    for (uint32_t i = 0; i < b->thread_count; i += SIM_WARP)
      if (!release_warp(b, i, &progress))
        return false;
    if (!release_barrier(b, &progress))
      return false;
    for (uint32_t i = 0; i < b->thread_count; i++)
      all_ended = all_ended && b->threads[i].state == SIM_ENDED;
    if (all_ended)
      return true;
    if (!progress) {
      uint32_t i = 0;
      while (b->threads[i].state == SIM_ENDED)
        i++;
      struct sim_context c = {b, &b->threads[i], waits_at(&b->threads[i])};
      return sim_fail(&c, "waits for threads of the block that never come: they have taken "
                          "another way");
    }
  }
}

static bool start_thread(struct sim_block *b, struct sim_thread *thread, uint32_t number) {
  const struct sim_launch *l = b->launch;
  struct sim_context c = {b, thread, NULL};
  *thread = (struct sim_thread){.number = number,
                                .x = number % l->block[0],
                                .y = number / l->block[0] % l->block[1],
                                .z = number / l->block[0] / l->block[1]};
  if (!sim_push(&c, l->function))
    return false;
  for (uint32_t i = 0; i < l->function->param_count; i++) {
    const struct ptx_symbol *symbol = &l->module->symbols[l->function->params[i]];
    memcpy(thread->frames[0].params + symbol->offset, l->arguments[i], (size_t)symbol->size);
  }
  return true;
}

static bool run_block(struct sim_device *device, const struct sim_launch *launch, uint32_t number) {
  struct sim_block b = {.device = device,
                        .launch = launch,
                        .number = number,
                        .x = number % launch->grid[0],
                        .y = number / launch->grid[0] % launch->grid[1],
                        .z = number / launch->grid[0] / launch->grid[1],
                        .thread_count = launch->block[0] * launch->block[1] * launch->block[2]};
  int64_t shared = sim_function_shared(launch->module) + launch->function->shared_bytes;
  b.threads = calloc(b.thread_count, sizeof *b.threads);
  struct sim_context c = {&b, b.threads, NULL};
  bool good = (b.threads && sim_region_new(&b.shared, 0, shared)) || sim_fail(&c, "no memory");
  b.shared.launch = device->launches;
  uint32_t started = 0;
  for (; good && started < b.thread_count; started++)
    good = start_thread(&b, &b.threads[started], started);
  good = good && run_threads(&b);
  for (uint32_t i = 0; i < started; i++)
    while (b.threads[i].depth > 0)
      sim_pop(&b.threads[i]);
  free(b.threads);
  sim_region_free(&b.shared);
  return good;
}

static bool check_launch(struct sim_device *device, const struct sim_launch *l) {
  struct sim_thread nobody = {0};
  struct sim_block none = {.device = device, .launch = l};
  struct sim_context c = {&none, &nobody, NULL};
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  if (threads == 0 || threads > MAX_THREADS || l->grid[0] == 0 || l->grid[1] == 0 ||
      l->grid[2] == 0)
    return sim_fail(&c, "a launch of %llu threads a block", (unsigned long long)threads);
  if (l->function->max_threads != 0 && threads > l->function->max_threads)
    return sim_fail(&c, "a launch of %llu threads a block, and the kernel takes %u",
                    (unsigned long long)threads, l->function->max_threads);
  return true;
}

bool sim_run(struct sim_device *device, const struct sim_launch *launch) {
  if (device->error[0] || !check_launch(device, launch))
    return false;
  device->launches++;
  uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  for (uint64_t i = 0; i < blocks; i++)
    if (!run_block(device, launch, (uint32_t)i))
      return false;
  return true;
}
