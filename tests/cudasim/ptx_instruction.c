/* One instruction: guard, opcode with its words, operands. */
#include "tests/cudasim/ptx_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[] = {
#define X(name) #name,
#include "tests/cudasim/ptx_ops.def"
#undef X
};
static const char *const words[] = {
#define W(name) #name,
#include "tests/cudasim/ptx_words.def"
#undef W
};

const char *ptx_op_name(enum ptx_op op) {
  return op_names[op];
}

/* Say nothing that the simulator does not do anyway. */
static const char *const silent_words[] = {"nc",  "volatile", "relaxed", "acquire", "release",
                                           "gpu", "cta",      "sys",     "aligned", "acq_rel",
                                           "sc",  "gl",       "L1",      "const"};

static bool take_word(struct ptx_inst *inst, const char *word) {
  static const struct {
    const char *word;
    enum ptx_space space;
  } spaces[] = {{"global", PTX_GLOBAL}, {"shared", PTX_SHARED}, {"shared::cta", PTX_SHARED},
                {"local", PTX_LOCAL},   {"param", PTX_PARAM},   {"const", PTX_GLOBAL}};
  struct ptx_type type;
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (strcmp(word, spaces[i].word) == 0) {
      inst->space = spaces[i].space;
      return true;
    }
  if (ptx_type_of(word, &type)) {
    if (inst->type_count < 3)
      inst->types[inst->type_count++] = type;
    return true;
  }
  for (int i = 0; i < PTX_WORDS; i++)
    if (strcmp(word, words[i]) == 0) {
      inst->words |= (uint64_t)1 << i;
      return true;
    }
  for (size_t i = 0; i < sizeof silent_words / sizeof *silent_words; i++)
    if (strcmp(word, silent_words[i]) == 0)
      return true;
  return false;
}

static bool parse_opcode(struct ptx_parser *p, struct ptx_inst *inst) {
  char text[sizeof p->token], *rest = text;
  memcpy(text, p->token, sizeof text);
  char *word = strsep(&rest, ".");
  int op = 0;
  while (op < PTX_OPS && strcmp(op_names[op], word) != 0)
    op++;
  if (op == PTX_OPS)
    return ptx_fail(p, "unknown instruction `%s`", p->token);
  inst->op = (enum ptx_op)op;
  while ((word = strsep(&rest, ".")))
    if (*word && !take_word(inst, word))
      return ptx_fail(p, "`%s` in `%s` is not understood", word, p->token);
  ptx_next(p);
  return true;
}

static bool special_of(const char *name, struct ptx_operand *operand) {
  static const char *const names[] = {"%tid.x",    "%tid.y",    "%tid.z",   "%ntid.x",  "%ntid.y",
                                      "%ntid.z",   "%ctaid.x",  "%ctaid.y", "%ctaid.z", "%nctaid.x",
                                      "%nctaid.y", "%nctaid.z", "%laneid",  "%warpid"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) {
      operand->kind = PTX_OPERAND_SPECIAL;
      operand->value = (int64_t)i;
      return true;
    }
  return false;
}

static uint32_t find_register(struct ptx_parser *p) {
  uint32_t number = ptx_find_register(p, p->token);
  if (number == PTX_NONE && !ptx_is(p, "_"))
    ptx_fail(p, "`%s` is no register", p->token);
  ptx_next(p);
  return number;
}

static bool parse_memory(struct ptx_parser *p, struct ptx_operand *operand) {
  operand->kind = PTX_OPERAND_MEMORY;
  ptx_next(p);
  operand->reg = ptx_find_register(p, p->token);
  if (operand->reg == PTX_NONE && isdigit((unsigned char)p->token[0])) {
    operand->value = ptx_number(p);
    return ptx_expect(p, "]");
  }
  if (operand->reg == PTX_NONE) {
    operand->is_symbol = true;
    operand->reg = ptx_find_symbol(p, p->token);
    if (operand->reg == PTX_NONE)
      return ptx_fail(p, "`%s` is no variable", p->token);
  }
  ptx_next(p);
  if (ptx_take(p, "+"))
    operand->value = ptx_number(p);
  return ptx_expect(p, "]");
}

static bool parse_vector(struct ptx_parser *p, struct ptx_operand *operand) {
  operand->kind = PTX_OPERAND_VECTOR;
  ptx_next(p);
  while (!ptx_is(p, "}") && !p->why[0] && operand->part_count < 4) {
    operand->parts[operand->part_count++] = find_register(p);
    ptx_take(p, ",");
  }
  return ptx_expect(p, "}");
}

static bool parse_list(struct ptx_parser *p, struct ptx_operand *operand) {
  operand->kind = PTX_OPERAND_LIST;
  ptx_next(p);
  while (!ptx_is(p, ")") && !p->why[0]) {
    uint32_t symbol = ptx_find_symbol(p, p->token);
    if (symbol == PTX_NONE || operand->part_count == 4)
      return ptx_fail(p, "`%s` cannot be passed", p->token);
    operand->parts[operand->part_count++] = symbol;
    ptx_next(p);
    ptx_take(p, ",");
  }
  return ptx_expect(p, ")");
}

static bool parse_name(struct ptx_parser *p, struct ptx_function *f, struct ptx_operand *operand) {
  const struct ptx_inst *inst = &f->insts[f->inst_count];
  uint32_t number;
  if (special_of(p->token, operand)) {
    ptx_next(p);
    return true;
  }
  operand->reg = ptx_find_register(p, p->token);
  if (operand->reg != PTX_NONE) {
    operand->kind = PTX_OPERAND_REGISTER;
    ptx_next(p);
    if (ptx_take(p, "|"))
      operand->second = find_register(p);
    return !p->why[0];
  }
  if (inst->op == PTX_bra) {
    operand->kind = PTX_OPERAND_LABEL;
    ptx_use_label(p, p->token, f->inst_count);
    ptx_next(p);
    return true;
  }
  if (inst->op == PTX_call) {
    for (number = 0; number < p->module->function_count; number++)
      if (ptx_is(p, p->module->functions[number].name)) {
        operand->kind = PTX_OPERAND_FUNCTION;
        operand->reg = number;
        ptx_next(p);
        return true;
      }
  }
  number = ptx_find_symbol(p, p->token);
  if (number == PTX_NONE)
    return ptx_fail(p, "`%s` is not known", p->token);
  operand->kind = PTX_OPERAND_SYMBOL;
  operand->reg = number;
  ptx_next(p);
  if (ptx_take(p, "+"))
    operand->value = ptx_number(p);
  return true;
}

static bool parse_operand(struct ptx_parser *p, struct ptx_function *f,
                          struct ptx_operand *operand) {
  *operand = (struct ptx_operand){.reg = PTX_NONE, .second = PTX_NONE};
  operand->is_negated = ptx_take(p, "!");
  if (ptx_is(p, "["))
    return parse_memory(p, operand);
  if (ptx_is(p, "{"))
    return parse_vector(p, operand);
  if (ptx_is(p, "("))
    return parse_list(p, operand);
  if (ptx_is(p, "_")) {
    operand->kind = PTX_OPERAND_REGISTER;
    ptx_next(p);
    return true;
  }
  if (ptx_is(p, "-") || isdigit((unsigned char)p->token[0])) {
    operand->kind = PTX_OPERAND_IMMEDIATE;
    operand->value = ptx_number(p);
    return !p->why[0];
  }
  return parse_name(p, f, operand);
}

bool ptx_parse_instruction(struct ptx_parser *p, struct ptx_function *f) {
  f->insts = ptx_grow(f->insts, f->inst_count, sizeof *f->insts);
  struct ptx_inst *inst = &f->insts[f->inst_count];
  *inst = (struct ptx_inst){.guard = PTX_NONE, .line = p->line};
  if (ptx_take(p, "@")) {
    inst->guard_negated = ptx_take(p, "!");
    inst->guard = find_register(p);
  }
  if (p->why[0] || !parse_opcode(p, inst))
    return false;
  while (!ptx_is(p, ";")) {
    if (inst->operand_count == PTX_OPERANDS)
      return ptx_fail(p, "too many operands");
    if (!parse_operand(p, f, &inst->operands[inst->operand_count++]))
      return false;
    if (!ptx_is(p, ";") && !ptx_expect(p, ","))
      return false;
  }
  ptx_next(p);
  f->inst_count++;
  return true;
}
