/* CUDA C or PTX text, run on a small simulated device with buffers of bytes. */
#ifndef CUDASIM_RUN_CUDA_H
#define CUDASIM_RUN_CUDA_H

#include "tests/cudasim/device.h"

enum { RUN_BUFFERS = 4 };

struct run_buffer {
  void *bytes; /* in and out */
  int64_t size;
  bool is_blank; /* not written before the launch, not read after it */
};

/* Parses `ptx`, launches `kernel` with a pointer per buffer. Returns the error, "" for none, valid
 * until the next call. */
const char *run_ptx(const char *ptx, const char *kernel, uint32_t blocks, uint32_t threads,
                    const struct run_buffer *buffers, uint32_t count);

#endif
