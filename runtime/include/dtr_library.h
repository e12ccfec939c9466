/* Matrix products, convolutions and poolings of the device's library (oneDNN on the CPU), one
 * thread a call.
 *
 * Purpose: keeps the library behind one small interface, so that its scratch is known when a
 * program is compiled and nothing is created after the first step. Ownership: a handle belongs to
 * the thread that made it and copies no tables; free it with dtr_library_free. Threads: a handle
 * serves one thread at a time. Process: the library's instruction set is limited to `cpu_arch` on
 * first use and stays so.
 *
 * The bits of a result depend on the call, the tile and cpu_arch alone: never on the thread, on
 * OMP_NUM_THREADS or on what ran before.
 */
#ifndef DTR_LIBRARY_H
#define DTR_LIBRARY_H

#include "dtr_abi.h"

/* Bytes of scratch that one thread needs for any tile of `gemm` (its scratch_bytes is not read), or
 * -1 if the library cannot do it. `cpu_arch`: "x86-64-v2", "x86-64-v3" or "x86-64-v4". */
int64_t dtr_library_gemm_scratch(const struct dtr_gemm *gemm, const char *cpu_arch);

/* The same for a convolution or pooling. */
int64_t dtr_library_window_scratch(const struct dtr_window *window, const char *cpu_arch);
/* What the library makes of it, for the plan: its kernel's name and what is reordered on each call,
 * such as "jit:avx512_core, reorders w"; into `text` of `size` bytes. False as above. */
bool dtr_library_window_text(const struct dtr_window *window, const char *cpu_arch, char *text,
                             size_t size);

/* What a program asks of the library. */
struct dtr_library_calls {
  const struct dtr_gemm *gemms;
  uint32_t gemm_count;
  const struct dtr_window *windows;
  uint32_t window_count;
};
struct dtr_library_calls dtr_library_calls_of(const struct dtr_program *program);

/* Creates everything that `calls` need for the calling thread. NULL on error, with the reason in
 * `why` (of `why_size` bytes): a call the library refuses, or scratch larger than its
 * scratch_bytes. */
struct dtr_library *dtr_library_new(const struct dtr_library_calls *calls, const char *cpu_arch,
                                    char *why, size_t why_size);
void dtr_library_free(struct dtr_library *library);

/* Holds the library's own threading to one thread for calls made by the calling thread. */
void dtr_library_enter_thread(void);

/* Tiles of one gemm: the batch entries times row_tiles. */
int64_t dtr_library_gemm_tiles(const struct dtr_gemm *gemm);

/* Computes tile `tile` of gemms[gemm]. `a`, `b`, `c`: the whole buffers; `scratch`: scratch_bytes,
 * 64-byte aligned. Returns 0, or the library's status. */
int dtr_library_gemm(struct dtr_library *library, uint32_t gemm, int64_t tile, const char *a,
                     const char *b, char *c, char *scratch);

/* Buffers of a window call without scratch. */
int dtr_library_window_buffers(const struct dtr_window *window);
/* Tiles of one window call, and one of them: `buffers` as for dtr_window_run; `scratch` as above.
 */
int64_t dtr_library_window_tiles(const struct dtr_window *window);
int dtr_library_window(struct dtr_library *library, uint32_t window, int64_t tile,
                       char *const *buffers, char *scratch);

#endif
