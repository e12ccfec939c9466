/* Words of the graph text, shared by its printer and its reader. Private to compiler/ir/. */
#ifndef DTG_IR_GRAPH_WORDS_H
#define DTG_IR_GRAPH_WORDS_H

#include "compiler/ir/graph.h"

enum {
  DTG_REDUCE_WORD_COUNT = DTG_REDUCE_MAX + 1,
  DTG_VARIABLE_WORD_COUNT = DTG_VARIABLE_SLOT + 1
};

extern const char *const dtg_root_words[DTG_ROOT_KIND_COUNT];
extern const char *const dtg_reduce_words[DTG_REDUCE_WORD_COUNT];
extern const char *const dtg_variable_words[DTG_VARIABLE_WORD_COUNT];

#endif
