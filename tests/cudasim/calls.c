/* Frames: registers, parameters and local memory of a function that a thread is in. */
#include "tests/cudasim/internal.h"

#include <stdlib.h>
#include <string.h>

bool sim_push(struct sim_context *c, const struct ptx_function *function) {
  struct sim_thread *thread = c->thread;
  if (thread->depth == SIM_DEPTH)
    return sim_fail(c, "calls are %d deep", SIM_DEPTH);
  struct sim_frame *frame = &thread->frames[thread->depth];
  *frame = (struct sim_frame){.function = function};
  frame->registers = calloc(function->register_count + 1, sizeof *frame->registers);
  frame->params = calloc((size_t)function->param_bytes + 1, 1);
  frame->local = calloc((size_t)function->local_bytes + 1, 1);
  thread->depth++;
  return (frame->registers && frame->params && frame->local) || sim_fail(c, "out of memory");
}

void sim_pop(struct sim_thread *thread) {
  struct sim_frame *frame = &thread->frames[--thread->depth];
  free(frame->registers);
  free(frame->params);
  free(frame->local);
}

static const struct ptx_symbol *symbol_at(const struct sim_context *c, uint32_t number) {
  return &c->block->launch->module->symbols[number];
}

/* call.uni (results), function, (parameters); or without results. */
bool sim_call(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  uint32_t at = inst->operands[0].kind == PTX_OPERAND_LIST ? 1 : 0;
  const struct ptx_operand *list = &inst->operands[at + 1];
  const struct ptx_function *callee = &c->block->launch->module->functions[inst->operands[at].reg];
  const struct sim_frame *caller = sim_frame(c->thread);
  if (inst->operands[at].kind != PTX_OPERAND_FUNCTION || callee->inst_count == 0)
    return sim_fail(c, "calls what is no function of the module");
  if (!sim_push(c, callee))
    return false;
  struct sim_frame *frame = sim_frame(c->thread);
  for (uint32_t i = 0; i < list->part_count && i < callee->param_count; i++) {
    const struct ptx_symbol *from = symbol_at(c, list->parts[i]);
    const struct ptx_symbol *to = symbol_at(c, callee->params[i]);
    if (from->size != to->size)
      return sim_fail(c, "passes %lld bytes for %lld", (long long)from->size, (long long)to->size);
    memcpy(frame->params + to->offset, caller->params + from->offset, (size_t)to->size);
  }
  return true;
}

bool sim_return(struct sim_context *c) {
  struct sim_thread *thread = c->thread;
  if (thread->depth == 1) {
    sim_pop(thread);
    thread->state = SIM_ENDED;
    return true;
  }
  const struct sim_frame *frame = sim_frame(thread);
  struct sim_frame *caller = &thread->frames[thread->depth - 2];
  const struct ptx_inst *call = &caller->function->insts[caller->at - 1];
  for (uint32_t i = 0; i < frame->function->result_count; i++) {
    const struct ptx_symbol *from = symbol_at(c, frame->function->results[i]);
    const struct ptx_symbol *to = symbol_at(c, call->operands[0].parts[i]);
    memcpy(caller->params + to->offset, frame->params + from->offset, (size_t)to->size);
  }
  sim_pop(thread);
  return true;
}
