/* The simulated GPU: memory that knows what was written, and launches that are watched.
 *
 * Purpose: runs kernels as a GPU would, thread by thread, and reports what a GPU would do in
 * silence: accesses outside an allocation, misaligned or never written; two threads on one byte
 * without a barrier between them; barriers that not every thread of a block reaches. Ownership: a
 * device owns its allocations. Threads: one at a time.
 */
#ifndef CUDASIM_DEVICE_H
#define CUDASIM_DEVICE_H

#include "tests/cudasim/ptx.h"

struct sim_device;

struct sim_device *sim_device_new(int64_t memory_bytes);
void sim_device_free(struct sim_device *device);

/* An address, as kernels see it, or 0: no memory is left. */
uint64_t sim_malloc(struct sim_device *device, int64_t bytes);
/* False: no allocation begins there. */
bool sim_release(struct sim_device *device, uint64_t address);
/* Copies to and from the device; the bytes must lie in one allocation. Reading what was never
 * written is an error of the caller. */
bool sim_write(struct sim_device *device, uint64_t address, const void *bytes, int64_t size);
bool sim_read(struct sim_device *device, uint64_t address, void *bytes, int64_t size);
bool sim_fill(struct sim_device *device, uint64_t address, uint8_t value, int64_t size);
int64_t sim_memory_used(const struct sim_device *device);
uint32_t sim_allocation_count(const struct sim_device *device);

/* Puts the module's variables into the device's memory. */
bool sim_load(struct sim_device *device, struct ptx_module *module);
void sim_unload(struct sim_device *device, struct ptx_module *module);

struct sim_launch {
  const struct ptx_module *module;
  const struct ptx_function *function;
  uint32_t grid[3], block[3];
  const void *const *arguments; /* pointer to the value of each parameter */
};

/* False when something was wrong; sim_error says what. The launch ends at the first error. */
bool sim_run(struct sim_device *device, const struct sim_launch *launch);
/* "" or the first error since the device was made: kernel, block, thread, line of PTX, what. */
const char *sim_error(const struct sim_device *device);
void sim_clear_error(struct sim_device *device);
int64_t sim_instruction_count(const struct sim_device *device);

#endif
