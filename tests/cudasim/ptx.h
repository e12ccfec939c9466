/* PTX as data: what the simulator executes.
 *
 * Purpose: a module is parsed once into functions of decoded instructions; registers, symbols and
 * labels are numbers. Only what NVRTC makes of our kernels is understood; anything else is an error
 * that names the line. Ownership: a module owns all it holds. Threads: read-only after parsing.
 */
#ifndef CUDASIM_PTX_H
#define CUDASIM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_NONE = UINT32_MAX, PTX_OPERANDS = 6, PTX_TEXT = 256 };

enum ptx_op {
#define X(name) PTX_##name,
#include "tests/cudasim/ptx_ops.def"
#undef X
  PTX_OPS
};

/* What stands behind the dots of an opcode, but for types. */
enum ptx_word {
#define W(name) PTX_W_##name,
#include "tests/cudasim/ptx_words.def"
#undef W
  PTX_WORDS
};

enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM };

/* 'b' bits, 'u' unsigned, 's' signed, 'f' float, 'p' predicate. */
struct ptx_type {
  char kind;
  uint8_t bits;
};

enum ptx_operand_kind {
  PTX_OPERAND_NONE,
  PTX_OPERAND_REGISTER,  /* reg */
  PTX_OPERAND_IMMEDIATE, /* value: the bits */
  PTX_OPERAND_SPECIAL,   /* value: enum ptx_special */
  PTX_OPERAND_SYMBOL,    /* reg: symbol; value: offset */
  PTX_OPERAND_MEMORY,    /* [reg + value], or a symbol if `is_symbol` */
  PTX_OPERAND_VECTOR,    /* parts */
  PTX_OPERAND_LABEL,     /* value: instruction */
  PTX_OPERAND_FUNCTION,  /* reg: function */
  PTX_OPERAND_LIST       /* parts: parameter symbols of a call */
};

enum ptx_special {
  PTX_TID_X,
  PTX_TID_Y,
  PTX_TID_Z,
  PTX_NTID_X,
  PTX_NTID_Y,
  PTX_NTID_Z,
  PTX_CTAID_X,
  PTX_CTAID_Y,
  PTX_CTAID_Z,
  PTX_NCTAID_X,
  PTX_NCTAID_Y,
  PTX_NCTAID_Z,
  PTX_LANEID,
  PTX_WARPID
};

struct ptx_operand {
  enum ptx_operand_kind kind;
  bool is_symbol, is_negated;
  uint32_t reg, part_count;
  uint32_t parts[4]; /* registers; PTX_NONE: a sink */
  uint32_t second;   /* setp p|q, shfl d|p: the other register, or PTX_NONE */
  int64_t value;
};

struct ptx_inst {
  enum ptx_op op;
  uint64_t words; /* bits of enum ptx_word */
  struct ptx_type types[3];
  uint32_t type_count;
  enum ptx_space space;
  uint32_t operand_count;
  struct ptx_operand operands[PTX_OPERANDS];
  uint32_t guard; /* predicate register, or PTX_NONE */
  bool guard_negated;
  uint32_t line;
};
#define PTX_HAS(inst, word) (((inst)->words >> PTX_W_##word & 1) != 0)

struct ptx_symbol {
  char *name;
  enum ptx_space space;
  bool in_function;            /* shared: behind the variables of the module */
  int64_t size, align, offset; /* offset: in the memory of its space and function */
  uint8_t *initial;            /* global: its bytes, or NULL */
  void *memory;                /* global: where it lies once the module is loaded */
};

struct ptx_function {
  char *name;
  bool is_entry;
  uint32_t register_count;
  int64_t shared_bytes, local_bytes, param_bytes;
  uint32_t param_count, result_count;
  uint32_t *params, *results; /* symbols */
  uint32_t inst_count, inst_space;
  struct ptx_inst *insts;
  uint32_t max_threads; /* .maxntid; 0: none */
};

struct ptx_module {
  uint32_t function_count, symbol_count;
  struct ptx_function *functions;
  struct ptx_symbol *symbols;
  int64_t shared_bytes; /* of variables of the module */
};

/* False with a reason ("line 12: unknown instruction `foo.s32`") in `why`, PTX_TEXT bytes. */
bool ptx_parse(const char *text, struct ptx_module **module, char *why);
void ptx_free(struct ptx_module *module);
const struct ptx_function *ptx_find(const struct ptx_module *module, const char *name);
const char *ptx_op_name(enum ptx_op op);

#endif
