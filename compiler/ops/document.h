// The op table as documentation.
//
// Purpose: `dtgc --list-ops=md`. Ownership: none. Thread rule: none, the table is constant.
#ifndef DTG_OPS_DOCUMENT_H
#define DTG_OPS_DOCUMENT_H

#include "compiler/base/strbuf.h"

// A row of Markdown for each op of the table, in its order: operands, attributes, what it is,
// whether it has a gradient, how it splits over shards, and the kind of kernel it becomes.
void dtg_ops_document(struct dtg_strbuf *out);

#endif
