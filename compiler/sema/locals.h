// Local names while the bodies of a file are resolved. Private to compiler/sema/.
//
// A region is a body, one branch of an `if` or one `for` body. A name may be bound once in a
// region; a region inside may bind it anew (rebind it). Leaving an `if`, the names of its branches
// become names of the region around it.
#ifndef DTG_SEMA_LOCALS_H
#define DTG_SEMA_LOCALS_H

#include "compiler/sema/internal.h"

enum dtg_local_kind {
  DTG_LOCAL_NAME,      // assigned or labelled
  DTG_LOCAL_PARAMETER, // of a function, layer, model
  DTG_LOCAL_DIM,       // bound by a type
  DTG_LOCAL_PARAM,     // param w
  DTG_LOCAL_STATE,     // state m
  DTG_LOCAL_LOOP,      // the variable of a `for`
  DTG_LOCAL_GIVEN      // param and grad of an optimizer
};

struct dtg_local {
  const char *name;
  struct dtg_span span;
  enum dtg_local_kind kind;
  uint32_t region;
  bool used;
};

struct dtg_locals {
  struct dtg_sema *sema;
  bool silent; // no warnings: a file of the standard library
  DTG_VEC(struct dtg_local) list;
  DTG_VEC(uint32_t) open; // regions, outermost first
  uint32_t next;
};

void dtg_locals_enter(struct dtg_locals *locals);
// Leaves the region; its names go out of scope, and those never used are reported.
void dtg_locals_leave(struct dtg_locals *locals, size_t first);
// Leaves the region only: the names from `first` on stay, for dtg_locals_merge.
void dtg_locals_close(struct dtg_locals *locals);
// The names [first, end) of one branch and those in `other`: now names of the open region.
void dtg_locals_merge(struct dtg_locals *locals, size_t first, const struct dtg_local *other,
                      size_t other_count);
struct dtg_local *dtg_locals_find(struct dtg_locals *locals, const char *name);
// Binds or rebinds; an error if that is not allowed.
void dtg_locals_bind(struct dtg_locals *locals, struct dtg_ast_name name, enum dtg_local_kind kind);

#endif
