// The text of prelude.cu, which is CUDA C and not ours to compile, as bytes of this program.
#include "codegen/cuda/cuda.h"

#include "compiler/base/strbuf.h"

extern const char cg_cuda_prelude_begin[], cg_cuda_prelude_end[];
__asm__(".pushsection .rodata\n"
        ".global cg_cuda_prelude_begin, cg_cuda_prelude_end\n"
        "cg_cuda_prelude_begin: .incbin \"" CG_CUDA_PRELUDE "\"\n"
        "cg_cuda_prelude_end: .byte 0\n"
        ".popsection\n");

void cg_cuda_prelude(struct dtg_strbuf *out) {
  dtg_strbuf_write(out, cg_cuda_prelude_begin,
                   (size_t)(cg_cuda_prelude_end - cg_cuda_prelude_begin));
}
