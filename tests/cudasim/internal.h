/* What the parts of the simulated device share. Private to this folder. */
#ifndef CUDASIM_INTERNAL_H
#define CUDASIM_INTERNAL_H

#include "tests/cudasim/device.h"

enum { SIM_ERROR = 1024, SIM_DEPTH = 8, SIM_WARP = 32 };

/* Generic addresses: shared and local memory are windows that no allocation lies in. */
#define SIM_SHARED_WINDOW 0x7100000000000000u
#define SIM_LOCAL_WINDOW 0x7200000000000000u
#define SIM_WINDOW_MASK 0xff00000000000000u

/* Who touched a byte last, packed: block, thread, and how many barriers the block and syncs the
 * warp had passed. 0: nobody in this launch. */
struct sim_touch {
  uint32_t block, thread; /* counted from 1 */
  uint32_t barriers, syncs;
};

/* A piece of memory with what is known of its bytes. */
struct sim_region {
  uint64_t address;
  int64_t size;
  uint8_t *bytes;
  uint8_t *written; /* per byte */
  struct sim_touch *writers, *readers;
  int64_t launch; /* that the touches are of */
};

struct sim_device {
  int64_t limit, used, launches, instructions;
  uint64_t next; /* address of the next allocation */
  uint32_t region_count;
  struct sim_region *regions; /* by address */
  char error[SIM_ERROR];
};

enum sim_state { SIM_RUNS, SIM_AT_BARRIER, SIM_AT_WARP, SIM_ENDED };

struct sim_frame {
  const struct ptx_function *function;
  uint32_t at;
  uint64_t *registers;
  uint8_t *params, *local;
};

struct sim_thread {
  uint32_t number, x, y, z; /* in the block */
  enum sim_state state;
  bool carry;
  uint32_t depth;
  struct sim_frame frames[SIM_DEPTH];
  uint32_t mask; /* of the warp operation that it waits at */
  uint32_t syncs;
};

struct sim_block {
  struct sim_device *device;
  const struct sim_launch *launch;
  uint32_t number, x, y, z, thread_count, barriers;
  struct sim_thread *threads;
  struct sim_region shared;
};

struct sim_context {
  struct sim_block *block;
  struct sim_thread *thread;
  const struct ptx_inst *inst;
};

/* Keeps the first error, with the place. Always false. */
bool sim_fail(struct sim_context *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* memory.c */
bool sim_region_new(struct sim_region *region, uint64_t address, int64_t size);
void sim_region_free(struct sim_region *region);
struct sim_region *sim_find_region(const struct sim_device *device, uint64_t address);
/* The checked bytes of an access, or NULL after sim_fail. */
uint8_t *sim_access(struct sim_context *c, enum ptx_space space, uint64_t address, int64_t size,
                    bool writes, bool is_atomic);

/* execute.c: one instruction of a thread. False: an error. */
bool sim_step(struct sim_context *c);
uint64_t sim_value(struct sim_context *c, const struct ptx_operand *operand);
void sim_set(struct sim_context *c, const struct ptx_operand *operand, uint64_t value);
/* arithmetic.c: the value of an instruction that only computes. False: not one of these. */
bool sim_compute(struct sim_context *c, uint64_t *value);
/* calls.c */
bool sim_push(struct sim_context *c, const struct ptx_function *function);
void sim_pop(struct sim_thread *thread);
bool sim_call(struct sim_context *c);
bool sim_return(struct sim_context *c);

/* Where the shared variables of a function begin, behind those of the module. */
static inline int64_t sim_function_shared(const struct ptx_module *module) {
  return (module->shared_bytes + 15) / 16 * 16;
}

static inline struct sim_frame *sim_frame(struct sim_thread *thread) {
  return &thread->frames[thread->depth - 1];
}

#endif
