#include "tests/cudasim/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, GAP = 4096 }; /* between allocations, so that an overrun meets nothing */

/* ---- errors ---- */

bool sim_fail(struct sim_context *c, const char *format, ...) {
  struct sim_device *device = c->block->device;
  char text[SIM_ERROR / 2];
  va_list args;
  if (device->error[0])
    return false;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  snprintf(device->error, SIM_ERROR, "kernel %s, block %u, thread %u, line %u (%s): %s",
           c->block->launch->function->name, c->block->number, c->thread->number,
           c->inst ? c->inst->line : 0, c->inst ? ptx_op_name(c->inst->op) : "-", text);
  return false;
}

/* ---- regions ---- */

bool sim_region_new(struct sim_region *region, uint64_t address, int64_t size) {
  size_t count = size > 0 ? (size_t)size : 1;
  *region = (struct sim_region){.address = address, .size = size};
  region->bytes = calloc(count, 1);
  region->written = calloc(count, 1);
  region->writers = calloc(count, sizeof *region->writers);
  region->readers = calloc(count, sizeof *region->readers);
  if (region->bytes && region->written && region->writers && region->readers)
    return true;
  sim_region_free(region);
  return false;
}

void sim_region_free(struct sim_region *region) {
  free(region->bytes);
  free(region->written);
  free(region->writers);
  free(region->readers);
  *region = (struct sim_region){0};
}

/* The region that holds the address, or the last one before it. */
struct sim_region *sim_find_region(const struct sim_device *device, uint64_t address) {
  uint32_t low = 0, high = device->region_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (device->regions[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 ? &device->regions[low - 1] : NULL;
}

static bool holds(const struct sim_region *region, uint64_t address, int64_t size) {
  return region && size >= 0 && address >= region->address &&
         address - region->address <= (uint64_t)region->size &&
         (uint64_t)size <= (uint64_t)region->size - (address - region->address);
}

/* ---- the device ---- */

struct sim_device *sim_device_new(int64_t memory_bytes) {
  struct sim_device *device = calloc(1, sizeof *device);
  if (device) {
    device->limit = memory_bytes;
    device->next = 0x7f0000000000u;
  }
  return device;
}

void sim_device_free(struct sim_device *device) {
  for (uint32_t i = 0; i < device->region_count; i++)
    sim_region_free(&device->regions[i]);
  free(device->regions);
  free(device);
}

uint64_t sim_malloc(struct sim_device *device, int64_t bytes) {
  if (bytes <= 0 || bytes > device->limit - device->used)
    return 0;
  struct sim_region *grown =
      realloc(device->regions, (device->region_count + 1) * sizeof *device->regions);
  if (!grown)
    return 0;
  device->regions = grown;
  if (!sim_region_new(&grown[device->region_count], device->next, bytes))
    return 0;
  device->region_count++;
  device->used += bytes;
  uint64_t address = device->next;
  device->next += ((uint64_t)bytes + GAP + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return address;
}

bool sim_release(struct sim_device *device, uint64_t address) {
  struct sim_region *region = sim_find_region(device, address);
  if (!region || region->address != address)
    return false;
  device->used -= region->size;
  sim_region_free(region);
  uint32_t at = (uint32_t)(region - device->regions);
  device->region_count--;
  memmove(region, region + 1, (device->region_count - at) * sizeof *region);
  return true;
}

int64_t sim_memory_used(const struct sim_device *device) {
  return device->used;
}

uint32_t sim_allocation_count(const struct sim_device *device) {
  return device->region_count;
}

static uint8_t *host_access(struct sim_device *device, uint64_t address, int64_t size,
                            const char *what) {
  struct sim_region *region = sim_find_region(device, address);
  if (holds(region, address, size))
    return region->bytes + (address - region->address);
  if (!device->error[0])
    snprintf(device->error, SIM_ERROR, "a copy %s %lld bytes at 0x%llx, which no allocation holds",
             what, (long long)size, (unsigned long long)address);
  return NULL;
}

static uint8_t *written_of(struct sim_device *device, uint64_t address) {
  struct sim_region *region = sim_find_region(device, address);
  return region->written + (address - region->address);
}

bool sim_write(struct sim_device *device, uint64_t address, const void *bytes, int64_t size) {
  uint8_t *to = host_access(device, address, size, "to");
  if (!to)
    return false;
  memcpy(to, bytes, (size_t)size);
  memset(written_of(device, address), 1, (size_t)size);
  return true;
}

bool sim_fill(struct sim_device *device, uint64_t address, uint8_t value, int64_t size) {
  uint8_t *to = host_access(device, address, size, "to");
  if (!to)
    return false;
  memset(to, value, (size_t)size);
  memset(written_of(device, address), 1, (size_t)size);
  return true;
}

bool sim_read(struct sim_device *device, uint64_t address, void *bytes, int64_t size) {
  const uint8_t *from = host_access(device, address, size, "of");
  if (!from)
    return false;
  const uint8_t *hole = memchr(written_of(device, address), 0, (size_t)size);
  if (hole && !device->error[0])
    snprintf(device->error, SIM_ERROR,
             "a copy of %lld bytes at 0x%llx meets byte %lld, which was "
             "never written",
             (long long)size, (unsigned long long)address,
             (long long)(hole - written_of(device, address)));
  memcpy(bytes, from, (size_t)size);
  return !hole;
}

const char *sim_error(const struct sim_device *device) {
  return device->error;
}

void sim_clear_error(struct sim_device *device) {
  device->error[0] = '\0';
}

int64_t sim_instruction_count(const struct sim_device *device) {
  return device->instructions;
}

/* ---- variables of a module ---- */

bool sim_load(struct sim_device *device, struct ptx_module *module) {
  for (uint32_t i = 0; i < module->symbol_count; i++) {
    struct ptx_symbol *symbol = &module->symbols[i];
    if (symbol->space != PTX_GLOBAL || symbol->size == 0)
      continue;
    uint64_t address = sim_malloc(device, symbol->size);
    if (address == 0)
      return false;
    symbol->memory = (void *)(uintptr_t)address;
    if (symbol->initial)
      sim_write(device, address, symbol->initial, symbol->size);
    else
      sim_fill(device, address, 0, symbol->size);
  }
  return true;
}

void sim_unload(struct sim_device *device, struct ptx_module *module) {
  for (uint32_t i = 0; i < module->symbol_count; i++)
    if (module->symbols[i].memory)
      sim_release(device, (uint64_t)(uintptr_t)module->symbols[i].memory);
}

/* ---- accesses of threads ---- */

/* Ordered by a barrier of the block, or of the warp that both threads are of. */
static bool is_ordered(const struct sim_context *c, const struct sim_touch *before) {
  if (before->block == 0 ||
      (before->block == c->block->number + 1 && before->thread == c->thread->number + 1))
    return true;
  if (before->block != c->block->number + 1)
    return false;
  if (before->barriers != c->block->barriers)
    return true;
  return (before->thread - 1) / SIM_WARP == c->thread->number / SIM_WARP &&
         before->syncs < c->thread->syncs;
}

static bool race(struct sim_context *c, const struct sim_touch *before, const char *did,
                 bool writes, uint64_t address) {
  return sim_fail(c,
                  "%s byte 0x%llx, which thread %u of block %u %s without a barrier between them",
                  writes ? "writes" : "reads", (unsigned long long)address, before->thread - 1,
                  before->block - 1, did);
}

static bool check_races(struct sim_context *c, struct sim_region *region, int64_t at, int64_t size,
                        bool writes) {
  struct sim_touch now = {c->block->number + 1, c->thread->number + 1, c->block->barriers,
                          c->thread->syncs};
  for (int64_t i = at; i < at + size; i++) {
    if (!is_ordered(c, &region->writers[i]))
      return race(c, &region->writers[i], "wrote", writes, region->address + (uint64_t)i);
    if (writes && !is_ordered(c, &region->readers[i]))
      return race(c, &region->readers[i], "read", writes, region->address + (uint64_t)i);
    *(writes ? &region->writers[i] : &region->readers[i]) = now;
  }
  return true;
}

static void forget_touches(struct sim_region *region, int64_t launch) {
  if (region->launch == launch)
    return;
  memset(region->writers, 0, (size_t)region->size * sizeof *region->writers);
  memset(region->readers, 0, (size_t)region->size * sizeof *region->readers);
  region->launch = launch;
}

static uint8_t *access_region(struct sim_context *c, struct sim_region *region, uint64_t address,
                              int64_t size, bool writes, bool is_atomic) {
  if (!holds(region, address, size)) {
    sim_fail(c, "%s %lld bytes at 0x%llx, outside of every allocation%s",
             writes ? "writes" : "reads", (long long)size, (unsigned long long)address,
             region && address >= region->address &&
                     address - region->address < GAP + (uint64_t)region->size
                 ? " (just past one)"
                 : "");
    return NULL;
  }
  int64_t at = (int64_t)(address - region->address);
  if (address % (uint64_t)size != 0) {
    sim_fail(c, "%s %lld bytes at 0x%llx, which is not aligned to them",
             writes ? "writes" : "reads", (long long)size, (unsigned long long)address);
    return NULL;
  }
  if (!writes || is_atomic)
    for (int64_t i = at; i < at + size; i++)
      if (!region->written[i]) {
        sim_fail(c, "reads %lld bytes at 0x%llx, which were never written", (long long)size,
                 (unsigned long long)address);
        return NULL;
      }
  forget_touches(region, c->block->device->launches);
  if (!is_atomic && !check_races(c, region, at, size, writes))
    return NULL;
  if (writes)
    memset(region->written + at, 1, (size_t)size);
  return region->bytes + at;
}

static uint8_t *access_private(struct sim_context *c, uint8_t *memory, int64_t limit, uint64_t at,
                               int64_t size, const char *what) {
  if (at <= (uint64_t)limit && (uint64_t)size <= (uint64_t)limit - at && at % (uint64_t)size == 0)
    return memory + at;
  sim_fail(c, "%lld bytes at %llu are not in the %lld bytes of %s memory", (long long)size,
           (unsigned long long)at, (long long)limit, what);
  return NULL;
}

uint8_t *sim_access(struct sim_context *c, enum ptx_space space, uint64_t address, int64_t size,
                    bool writes, bool is_atomic) {
  struct sim_frame *frame = sim_frame(c->thread);
  if (space == PTX_GENERIC && (address & SIM_WINDOW_MASK) == SIM_SHARED_WINDOW)
    space = PTX_SHARED;
  else if (space == PTX_GENERIC && (address & SIM_WINDOW_MASK) == SIM_LOCAL_WINDOW)
    space = PTX_LOCAL;
  uint64_t offset = address & ~SIM_WINDOW_MASK;
  if (space == PTX_SHARED)
    return access_region(c, &c->block->shared, offset, size, writes, is_atomic);
  if (space == PTX_LOCAL)
    return access_private(c, frame->local, frame->function->local_bytes, offset, size, "local");
  if (space == PTX_PARAM)
    return access_private(c, frame->params, frame->function->param_bytes, address, size,
                          "parameter");
  return access_region(c, sim_find_region(c->block->device, address), address, size, writes,
                       is_atomic);
}
