/* Graph text: the deterministic, readable form of graphs and modules. GRAPH.md describes it.
 *
 * Purpose: dumps, goldens, and starting a stage from a file. Printing and reading are inverse: all
 * fields of nodes, roots and variables survive, whatever stage they come from.
 * Ownership: what is read lives in the given arena and name table. Threads: none.
 */
#ifndef DTG_IR_GRAPH_TEXT_H
#define DTG_IR_GRAPH_TEXT_H

#include "compiler/ir/graph.h"

struct dtg_strbuf;

/* `sources` adds "; model.dtg:12:9" to each line with a span; NULL leaves these comments out. */
void dtg_graph_print(const struct dtg_graph *graph, const struct dtg_source_set *sources,
                     struct dtg_strbuf *out);
void dtg_module_print(const struct dtg_module *module, const struct dtg_source_set *sources,
                      struct dtg_strbuf *out);

/* Reads one graph, or a module. Every node is checked against the op table as it is read, so that
 * the result is valid at level DTG_VERIFY_BUILD. False with "line N: reason" in `why`. */
bool dtg_graph_read(struct dtg_arena *arena, struct dtg_intern *names, const char *text,
                    size_t size, struct dtg_strbuf *why, struct dtg_graph **out);
bool dtg_module_read(struct dtg_arena *arena, struct dtg_intern *names, const char *text,
                     size_t size, struct dtg_strbuf *why, struct dtg_module **out);

/* Parts of the form, for tables that use its notation: "f32[3, 5] i32[4]" and
 * "axes=[0] keepdims=true" (commas between attributes are optional). */
struct dtg_type_list {
  DTG_VEC(struct dtg_type) list;
};
struct dtg_attr_list {
  DTG_VEC(struct dtg_attr) list;
};
bool dtg_types_read(struct dtg_arena *arena, const char *text, struct dtg_strbuf *why,
                    struct dtg_type_list *out);
bool dtg_attrs_read(struct dtg_arena *arena, struct dtg_intern *names, const char *text,
                    struct dtg_strbuf *why, struct dtg_attr_list *out);

/* One attribute as printed between braces: "axes=[0, 2]". */
void dtg_attr_print(const struct dtg_attr *attr, struct dtg_strbuf *out);

#endif
