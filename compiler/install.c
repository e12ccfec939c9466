#include "compiler/install.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *prefix(struct dtg_ctx *ctx) {
  const char *home = getenv("DTG_HOME");
  if (home && *home)
    return home;
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0)
    return ".";
  path[length] = '\0';
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(path, '/');
    if (slash)
      *slash = '\0';
  }
  return dtg_arena_strdup(&ctx->arena, path);
}

bool dtg_install_find(struct dtg_ctx *ctx, struct dtg_install *out) {
  const char *home = prefix(ctx);
  struct dtg_install found = {.std_dir = dtg_arena_printf(&ctx->arena, "%s/share/dtg", home),
                              .include_dir =
                                  dtg_arena_printf(&ctx->arena, "%s/share/dtg/include", home),
                              .runtime = dtg_arena_printf(&ctx->arena, "%s/lib/libdtgrt.a", home)};
  const char *needed[] = {dtg_arena_printf(&ctx->arena, "%s/std", found.std_dir),
                          dtg_arena_printf(&ctx->arena, "%s/dtr_abi.h", found.include_dir),
                          found.runtime};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (access(needed[i], R_OK) == 0)
      continue;
    struct dtg_diag *diag = dtg_error(&ctx->diags, DTG_SPAN_NONE,
                                      "a part of dtgc's installation is missing: %s", needed[i]);
    dtg_diag_hint(diag, "set DTG_HOME to the folder that holds share/dtg and lib");
    return false;
  }
  *out = found;
  return true;
}

const char *dtg_relative_path(struct dtg_arena *arena, const char *from, const char *to) {
  size_t common = 0, i = 0;
  for (; from[i] && from[i] == to[i]; i++)
    if (from[i] == '/')
      common = i;
  if ((!from[i] && (!to[i] || to[i] == '/')) || (!to[i] && from[i] == '/'))
    common = i;
  const char *path = "";
  for (const char *p = from + common; *p; p++)
    if (*p == '/' && p[1])
      path = dtg_arena_printf(arena, "%s%s..", path, *path ? "/" : "");
  const char *rest = to + common + (to[common] == '/');
  path = dtg_arena_printf(arena, "%s%s%s", path, *path && *rest ? "/" : "", rest);
  return *path ? path : ".";
}
