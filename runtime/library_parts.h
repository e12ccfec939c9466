/* What the files behind dtr_library.h share.
 *
 * Purpose: one file for matrix products, one for windows. Ownership and threads: those of
 * dtr_library.h.
 */
#ifndef DTR_LIBRARY_PARTS_H
#define DTR_LIBRARY_PARTS_H

#include "dtr_library.h"

#include <oneapi/dnnl/dnnl.h>

/* Tiles of full size, and the shorter last one. */
enum { TILE_WHOLE, TILE_LAST, TILE_KINDS };

/* One primitive with the memory objects of one thread. */
struct dtr_library_product {
  dnnl_primitive_t primitive; /* NULL: no tile of this kind */
  int64_t packed; /* bytes of the packed tile of A, first in the scratch; 0: not packed */
  dnnl_memory_t a, b, c, scratch;
};

struct dtr_library_window_call;

struct dtr_library {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  struct dtr_library_calls calls;
  struct dtr_library_product (*products)[TILE_KINDS];
  struct dtr_library_window_call *(*windows)[TILE_KINDS]; /* NULL: no tile of this kind */
};

/* Limits the instruction set of the process; false if it cannot be done any more. */
bool dtr_library_limit_isa(const char *cpu_arch);
/* Fills and frees `windows`. False with a reason. */
bool dtr_library_add_windows(struct dtr_library *library, char *why, size_t why_size);
void dtr_library_free_windows(struct dtr_library *library);

#endif
