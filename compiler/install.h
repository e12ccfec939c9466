// Where the compiler's own files are: the standard library, the runtime, its header.
//
// Layout: PREFIX/bin/dtgc, PREFIX/share/dtg/std, PREFIX/share/dtg/include, PREFIX/lib/libdtgrt.a;
// the environment variable DTG_HOME names another PREFIX. Thread rule: pure.
#ifndef DTG_INSTALL_H
#define DTG_INSTALL_H

#include "compiler/base/ctx.h"

struct dtg_install {
  const char *std_dir;     // holds `std/`
  const char *include_dir; // holds dtr_abi.h
  const char *runtime;     // libdtgrt.a
};

// False with an error that says where was looked.
bool dtg_install_find(struct dtg_ctx *ctx, struct dtg_install *out);

// The path `to` as seen from the folder `from`; both absolute and free of links.
const char *dtg_relative_path(struct dtg_arena *arena, const char *from, const char *to);

#endif
