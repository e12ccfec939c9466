#include "tests/cudasim/run_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void launch(struct sim_device *device, struct ptx_module *module, const char *kernel,
                   uint32_t blocks, uint32_t threads, const struct run_buffer *buffers,
                   uint32_t count) {
  uint64_t addresses[RUN_BUFFERS];
  const void *arguments[RUN_BUFFERS];
  struct sim_launch l = {.module = module,
                         .function = ptx_find(module, kernel),
                         .grid = {blocks, 1, 1},
                         .block = {threads, 1, 1},
                         .arguments = arguments};
  for (uint32_t i = 0; i < count; i++) {
    addresses[i] = sim_malloc(device, buffers[i].size);
    arguments[i] = &addresses[i];
    if (!buffers[i].is_blank)
      sim_write(device, addresses[i], buffers[i].bytes, buffers[i].size);
  }
  bool good = sim_load(device, module) && sim_run(device, &l);
  for (uint32_t i = 0; i < count && good; i++)
    if (!buffers[i].is_blank)
      sim_read(device, addresses[i], buffers[i].bytes, buffers[i].size);
}

const char *run_ptx(const char *ptx, const char *kernel, uint32_t blocks, uint32_t threads,
                    const struct run_buffer *buffers, uint32_t count) {
  static _Thread_local char error[1024];
  struct ptx_module *module;
  char why[PTX_TEXT];
  if (!ptx_parse(ptx, &module, why)) {
    snprintf(error, sizeof error, "%s", why);
    return error;
  }
  struct sim_device *device = sim_device_new(1 << 24);
  launch(device, module, kernel, blocks, threads, buffers, count);
  snprintf(error, sizeof error, "%s", sim_error(device));
  sim_device_free(device);
  ptx_free(module);
  return error;
}
