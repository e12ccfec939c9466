/* The grammar of the language: structure alone. Checks and messages are in node_*.c and
   syntax_error.c. After an error the lexer finds the next statement, clause or item (RESYNC). */
%require "3.8"
%define api.pure full
%define api.prefix {dtg_bison_}
%define api.token.prefix {DTG_BISON_}
%define api.location.type {struct dtg_span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {struct dtg_parser *parser}

%code requires {
#include "grammar/node.h"
}

%code {
/* Bounds the depth of right recursion, and with it that of the tree. */
#define YYMAXDEPTH 3000

#define YYLLOC_DEFAULT(result, rhs, n) \
  do { \
    if (n) { \
      (result) = YYRHSLOC(rhs, 1); \
      (result).end = YYRHSLOC(rhs, n).end; \
    } else { \
      (result) = YYRHSLOC(rhs, 0); \
      (result).begin = (result).end; \
    } \
  } while (0)

#define NO_NAME ((struct dtg_ast_name){0})
#define PUSH(list, value) dtg_vec_push(&parser->ctx->arena, &(list)->vec, (value))
#define NEW(type) DTG_NEW(&parser->ctx->arena, type)

static int dtg_bison_lex(union DTG_BISON_VALUE *value, struct dtg_span *span,
                         struct dtg_parser *parser);
static void dtg_bison_error(struct dtg_span *span, struct dtg_parser *parser, const char *message);

static struct dtg_ast_name name_of(struct dtg_lexed token)
{
  return (struct dtg_ast_name){token.value.name, token.span};
}
}

%define api.value.union.name DTG_BISON_VALUE
%union {
  struct dtg_lexed token;
  struct dtg_ast_name name;
  struct dtg_ast_string *string;
  struct dtg_ast_expr *expr;
  struct dtg_ast_argument argument;
  struct dtg_ast_subscript_part part;
  enum dtg_ast_binary_op binary_op;
  struct dtg_ast_label *label;
  struct dtg_ast_type *type;
  struct dtg_ast_dim dim;
  struct dtg_list_dims *dims;
  struct dtg_ast_parameter parameter;
  struct dtg_list_parameters *parameters;
  struct dtg_ast_body *body;
  struct dtg_ast_stmt *stmt;
  struct dtg_list_entries *entries;
  struct dtg_list_clauses *clauses;
  struct dtg_ast_clause clause;
  struct dtg_list_levels *levels;
  struct dtg_ast_replicate_level level;
  enum dtg_ast_balance balance;
  struct dtg_device_part device_part;
  struct dtg_list_device_parts *device_parts;
  struct dtg_list_names *names;
  struct dtg_list_imports *imports;
  struct dtg_ast_import_name import_name;
  struct dtg_ast_item *item;
  bool flag;
}

/* In the order of tokens.def, which the end of this file asserts. */
%token <token> NAME INT FLOAT SIZE STRING
%token ASSIGN COLON SLICE_COLON COMMA DOT RANGE ELLIPSIS ARROW PIPE TILDE
%token LPAREN RPAREN LBRACKET SUBSCRIPT RBRACKET LBRACE RBRACE
%token PLUS MINUS STAR SLASH PERCENT AT POWER LT LE GT GE EQ NE
%token IMPORT CONST <token>FN FOR IN IF THEN ELSE RETURN AND OR NOT <token>TRUE <token>FALSE BY
%token <token> AS LAYER MODEL OPTIMIZER DATA TRAIN STRATEGY PARAM STATE UPDATE METRIC OUTPUT
%token <token> SCAN COLLECT RECOMPUTE
%token REPLICATE IN_GRAPH BETWEEN_GRAPH OVER PARAMS ON BALANCE BYTES ROUND_ROBIN SPLIT MIRRORED
%token SHARDED SYNC ASYNC BACKUP STALENESS PLACE PREFER
%token RESYNC INVALID

%type <token> soft_word
%type <name> name alias by
%type <names> module
%type <imports> import_names import_list
%type <import_name> import_name
%type <item> item
%type <parameters> parameters parameter_list
%type <parameter> parameter
%type <expr> default
%type <type> type result
%type <dims> dims dim_list
%type <dim> dim
%type <body> body stmts else
%type <stmt> stmt if_stmt
%type <flag> recompute
%type <label> label
%type <expr> initializer
%type <entries> entries
%type <clauses> clauses
%type <clause> clause owner
%type <levels> levels
%type <level> level
%type <string> pattern
%type <balance> balance
%type <expr> split
%type <device_parts> device path
%type <device_part> device_part device_head
%type <expr> expr pipe disjunction conjunction negation comparison sum term factor power operand
%type <expr> postfix callee primary arguments argument_list elements element_list
%type <argument> argument
%type <expr> subscript_parts optional_sum
%type <part> subscript_part
%type <binary_op> comparison_op sum_op term_op

%%

file: items;

items
  : %empty
  | items item         { dtg_node_add_item(parser, $2); }
  | items error RESYNC { yyerrok; }
  ;

item
  : IMPORT module alias import_names
      { $$ = dtg_node_import(parser, @$, $2, NULL, $3, $4); }
  | IMPORT STRING alias import_names
      { $$ = dtg_node_import(parser, @$, NULL, $2.value.string, $3, $4); }
  | CONST name ASSIGN expr
      { $$ = dtg_node_value_item(parser, DTG_ITEM_CONST, @$, $2, $4); }
  | FN name parameters result ASSIGN expr
      { $$ = dtg_node_function(parser, DTG_ITEM_FN, @$, $2, $3, $4, $6, NULL); }
  | FN name parameters result body
      { $$ = dtg_node_function(parser, DTG_ITEM_FN, @$, $2, $3, $4, NULL, $5); }
  | LAYER name parameters result body
      { $$ = dtg_node_function(parser, DTG_ITEM_LAYER, @$, $2, $3, $4, NULL, $5); }
  | MODEL name parameters body
      { $$ = dtg_node_function(parser, DTG_ITEM_MODEL, @$, $2, $3, NULL, NULL, $4); }
  | OPTIMIZER name parameters body
      { $$ = dtg_node_function(parser, DTG_ITEM_OPTIMIZER, @$, $2, $3, NULL, NULL, $4); }
  | DATA name ASSIGN expr
      { $$ = dtg_node_value_item(parser, DTG_ITEM_DATA, @$, $2, $4); }
  | TRAIN LBRACE entries RBRACE
      { $$ = dtg_node_item(parser, DTG_ITEM_TRAIN, @$, NO_NAME);
        DTG_MOVE_VEC($$->train.entries, $3->vec); }
  | STRATEGY name LBRACE clauses RBRACE
      { $$ = dtg_node_item(parser, DTG_ITEM_STRATEGY, @$, $2);
        DTG_MOVE_VEC($$->strategy.clauses, $4->vec); }
  ;

/* ---- names ---- */

name
  : NAME      { $$ = name_of($1); }
  | soft_word { $$ = name_of($1); }
  ;

soft_word
  : AS | LAYER | MODEL | OPTIMIZER | DATA | TRAIN | STRATEGY | PARAM | STATE | UPDATE | METRIC
  | OUTPUT | SCAN | COLLECT | RECOMPUTE
  ;

/* ---- imports ---- */

module
  : name            { $$ = NEW(struct dtg_list_names); PUSH($$, $1); }
  | module DOT name { $$ = $1; PUSH($$, $3); }
  ;

alias
  : %empty  { $$ = NO_NAME; }
  | AS name { $$ = $2; }
  ;

import_names
  : %empty                           { $$ = NULL; }
  | LBRACE import_list comma RBRACE  { $$ = $2; }
  ;

import_list
  : import_name                   { $$ = NEW(struct dtg_list_imports); PUSH($$, $1); }
  | import_list COMMA import_name { $$ = $1; PUSH($$, $3); }
  ;

import_name: name alias { $$ = (struct dtg_ast_import_name){$1, $2}; };

comma: %empty | COMMA;

/* ---- parameters and types ---- */

parameters
  : LPAREN RPAREN                      { $$ = NEW(struct dtg_list_parameters); }
  | LPAREN parameter_list comma RPAREN { $$ = $2; }
  ;

parameter_list
  : parameter                      { $$ = NEW(struct dtg_list_parameters); PUSH($$, $1); }
  | parameter_list COMMA parameter { $$ = $1; PUSH($$, $3); }
  ;

parameter
  : name default            { $$ = (struct dtg_ast_parameter){@$, $1, NULL, $2}; }
  | name COLON type default { $$ = (struct dtg_ast_parameter){@$, $1, $3, $4}; }
  ;

default
  : %empty      { $$ = NULL; }
  | ASSIGN expr { $$ = $2; }
  ;

result
  : %empty     { $$ = NULL; }
  | ARROW type { $$ = $2; }
  ;

type
  : name                         { $$ = dtg_node_type(parser, @$, $1, NULL); }
  | name SUBSCRIPT dims RBRACKET { $$ = dtg_node_type(parser, @$, $1, $3); }
  | FN                           { $$ = dtg_node_type(parser, @$, name_of($1), NULL); }
  ;

dims
  : %empty         { $$ = NEW(struct dtg_list_dims); }
  | dim_list comma
  ;

dim_list
  : dim                { $$ = NEW(struct dtg_list_dims); PUSH($$, $1); }
  | dim_list COMMA dim { $$ = $1; PUSH($$, $3); }
  ;

dim
  : expr     { $$ = (struct dtg_ast_dim){@$, false, $1}; }
  | ELLIPSIS { $$ = (struct dtg_ast_dim){@$, true, NULL}; }
  ;

/* ---- bodies ---- */

body: LBRACE stmts RBRACE { $$ = $2; $$->span = @$; };

stmts
  : %empty             { $$ = dtg_node_body(parser); }
  | stmts stmt         { $$ = $1; dtg_node_add_stmt(parser, $$, $2); }
  | stmts error RESYNC { $$ = $1; yyerrok; }
  ;

stmt
  : label ASSIGN expr
      { $$ = dtg_node_assign(parser, @$, $1, $3); }
  | label COLON expr
      { $$ = dtg_node_label_stmt(parser, @$, $1, $3); }
  | PARAM name COLON type initializer
      { $$ = dtg_node_declare(parser, DTG_STMT_PARAM, @$, $2, $4, $5); }
  | STATE name initializer
      { $$ = dtg_node_declare(parser, DTG_STMT_STATE, @$, $2, NULL, $3); }
  | STATE name COLON type initializer
      { $$ = dtg_node_declare(parser, DTG_STMT_STATE, @$, $2, $4, $5); }
  | UPDATE name ASSIGN expr by
      { $$ = dtg_node_update(parser, @$, $2, $4, $5); }
  | FOR name IN expr RANGE expr body
      { $$ = dtg_node_for(parser, @$, $2, $4, $6, $7); }
  | SCAN name IN expr RANGE expr recompute body
      { $$ = dtg_node_for(parser, @$, $2, $4, $6, $8);
        $$->kind = DTG_STMT_SCAN;
        $$->for_in.recompute = $7; }
  | COLLECT name ASSIGN expr
      { $$ = dtg_node_value_stmt(parser, DTG_STMT_COLLECT, @$, $2, $4); }
  | if_stmt
  | RETURN expr
      { $$ = dtg_node_value_stmt(parser, DTG_STMT_RETURN, @$, NO_NAME, $2); }
  | METRIC name ASSIGN expr
      { $$ = dtg_node_value_stmt(parser, DTG_STMT_METRIC, @$, $2, $4); }
  | OUTPUT name ASSIGN expr
      { $$ = dtg_node_value_stmt(parser, DTG_STMT_OUTPUT, @$, $2, $4); }
  ;

recompute
  : %empty    { $$ = false; }
  | RECOMPUTE { $$ = true; }
  ;

if_stmt: IF expr body else { $$ = dtg_node_if_stmt(parser, @$, $2, $3, $4); };

else
  : %empty       { $$ = NULL; }
  | ELSE body    { $$ = $2; }
  | ELSE if_stmt { $$ = dtg_node_else_if(parser, $2); }
  ;

label
  : name                          { $$ = dtg_node_label(parser, $1); }
  | label DOT name                { $$ = $1; dtg_node_label_name(parser, $$, @$, $3); }
  | label SUBSCRIPT expr RBRACKET { $$ = $1; dtg_node_label_index(parser, $$, @$, $3); }
  ;

initializer
  : %empty     { $$ = NULL; }
  | TILDE expr { $$ = $2; }
  ;

by
  : %empty  { $$ = NO_NAME; }
  | BY name { $$ = $2; }
  ;

entries
  : %empty                   { $$ = NEW(struct dtg_list_entries); }
  | entries name ASSIGN expr
      { $$ = $1;
        struct dtg_ast_entry entry = {dtg_span_join(@2, @4), $2, $4};
        PUSH($$, entry); }
  | entries error RESYNC     { $$ = $1; yyerrok; }
  ;

/* ---- strategies ---- */

clauses
  : %empty               { $$ = NEW(struct dtg_list_clauses); }
  | clauses clause       { $$ = $1; $2.span = @2; PUSH($$, $2); }
  | clauses error RESYNC { $$ = $1; yyerrok; }
  ;

clause
  : REPLICATE levels
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_REPLICATE};
        DTG_MOVE_VEC($$.replicate.levels, $2->vec); }
  | PARAMS owner         { $$ = $2; }
  | PARAMS pattern owner { $$ = $3; $$.params.pattern = $2; }
  | UPDATE SYNC
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_UPDATE}; }
  | UPDATE SYNC BACKUP sum
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_UPDATE, .update.backup =
                                                          dtg_node_check_labeled(parser, $4)}; }
  | UPDATE ASYNC
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_UPDATE, .update.is_async = true}; }
  | UPDATE ASYNC STALENESS LE sum
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_UPDATE, .update.is_async = true,
                                     .update.staleness = dtg_node_check_labeled(parser, $5)}; }
  | PLACE pattern ON device
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_PLACE, .place.pattern = $2};
        $$.place.device = dtg_node_device(parser, @4, $4); }
  | PREFER pattern ON device
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_PREFER, .place.pattern = $2};
        $$.place.device = dtg_node_device(parser, @4, $4); }
  ;

levels
  : level              { $$ = NEW(struct dtg_list_levels); PUSH($$, $1); }
  | levels COMMA level { $$ = $1; PUSH($$, $3); }
  ;

level
  : IN_GRAPH OVER name
      { $$ = (struct dtg_ast_replicate_level){@$, DTG_REPLICATE_IN_GRAPH, $3}; }
  | BETWEEN_GRAPH OVER name
      { $$ = (struct dtg_ast_replicate_level){@$, DTG_REPLICATE_BETWEEN_GRAPH, $3}; }
  ;

pattern: STRING { $$ = $1.value.string; };

owner
  : ON device balance split
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_PARAMS, .params.owner = DTG_OWNER_ON};
        $$.params.device = dtg_node_device(parser, @2, $2);
        $$.params.balance = $3;
        $$.params.split = $4; }
  | MIRRORED
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_PARAMS,
                                     .params.owner = DTG_OWNER_MIRRORED}; }
  | SHARDED
      { $$ = (struct dtg_ast_clause){.kind = DTG_CLAUSE_PARAMS,
                                     .params.owner = DTG_OWNER_SHARDED}; }
  ;

balance
  : %empty              { $$ = DTG_BALANCE_DEFAULT; }
  | BALANCE BYTES       { $$ = DTG_BALANCE_BYTES; }
  | ROUND_ROBIN         { $$ = DTG_BALANCE_ROUND_ROBIN; }
  | BALANCE ROUND_ROBIN { $$ = DTG_BALANCE_ROUND_ROBIN; }
  ;

split
  : %empty       { $$ = NULL; }
  | SPLIT GE sum { $$ = dtg_node_check_labeled(parser, $3); }
  ;

/* All near misses of a device are taken here, so that device.c can name the right spelling. */
device
  : device_head      { $$ = NEW(struct dtg_list_device_parts); PUSH($$, $1); }
  | device_head path
      { $$ = NEW(struct dtg_list_device_parts);
        PUSH($$, $1);
        for (size_t i = 0; i < $2->vec.len; i++)
          PUSH($$, $2->vec.data[i]); }
  | path
  ;

path
  : SLASH device_head
      { $$ = NEW(struct dtg_list_device_parts); $2.has_slash = true; PUSH($$, $2); }
  | path SLASH device_head
      { $$ = $1; $3.has_slash = true; PUSH($$, $3); }
  ;

device_head: device_part { $$ = $1; $$.span = @$; };

device_part
  : name
      { $$ = (struct dtg_device_part){.name = $1.text, .number = -1}; }
  | name COLON INT
      { $$ = (struct dtg_device_part){.name = $1.text, .number = $3.value.int_value}; }
  | name COLON name
      { $$ = (struct dtg_device_part){.name = $1.text, .word = $3.text, .number = -1}; }
  | name COLON name COLON INT
      { $$ = (struct dtg_device_part){.name = $1.text, .word = $3.text,
                                      .number = $5.value.int_value, .has_second_mark = true}; }
  ;

/* ---- expressions, from the loosest to the tightest ---- */

expr
  : pipe
  | name ARROW expr               { $$ = dtg_node_lambda(parser, @$, $1, $3); }
  | IF expr THEN expr ELSE expr   { $$ = dtg_node_if(parser, @$, $2, $4, $6); }
  ;

pipe
  : disjunction           { $$ = dtg_node_check_labeled(parser, $1); }
  | pipe PIPE disjunction { $$ = dtg_node_pipe(parser, @$, $1, $3); }
  ;

disjunction
  : conjunction
  | disjunction OR conjunction
      { $$ = dtg_node_binary(parser, @$, DTG_BINARY_OR, @2, $1, $3); }
  ;

conjunction
  : negation
  | conjunction AND negation
      { $$ = dtg_node_binary(parser, @$, DTG_BINARY_AND, @2, $1, $3); }
  ;

negation
  : comparison
  | NOT negation { $$ = dtg_node_unary(parser, @$, DTG_UNARY_NOT, $2); }
  ;

comparison
  : sum
  | comparison comparison_op sum { $$ = dtg_node_binary(parser, @$, $2, @2, $1, $3); }
  ;

comparison_op
  : LT { $$ = DTG_BINARY_LT; }
  | LE { $$ = DTG_BINARY_LE; }
  | GT { $$ = DTG_BINARY_GT; }
  | GE { $$ = DTG_BINARY_GE; }
  | EQ { $$ = DTG_BINARY_EQ; }
  | NE { $$ = DTG_BINARY_NE; }
  ;

sum
  : term
  | sum sum_op term { $$ = dtg_node_binary(parser, @$, $2, @2, $1, $3); }
  ;

sum_op
  : PLUS  { $$ = DTG_BINARY_ADD; }
  | MINUS { $$ = DTG_BINARY_SUB; }
  ;

term
  : factor
  | term term_op factor { $$ = dtg_node_binary(parser, @$, $2, @2, $1, $3); }
  ;

term_op
  : STAR    { $$ = DTG_BINARY_MUL; }
  | SLASH   { $$ = DTG_BINARY_DIV; }
  | PERCENT { $$ = DTG_BINARY_MOD; }
  | AT      { $$ = DTG_BINARY_MATMUL; }
  ;

factor
  : power
  | MINUS factor { $$ = dtg_node_unary(parser, @$, DTG_UNARY_NEG, $2); }
  ;

power
  : operand
  | operand POWER factor { $$ = dtg_node_binary(parser, @$, DTG_BINARY_POW, @2, $1, $3); }
  ;

operand
  : postfix
  | postfix COLON callee { $$ = dtg_node_labeled(parser, @$, $1, $3); }
  ;

postfix
  : primary
  | postfix DOT name
      { $$ = dtg_node_member(parser, @$, $1, $3); }
  | postfix LPAREN arguments RPAREN
      { $$ = dtg_node_finish_call(parser, @$, $1, $3); }
  | postfix SUBSCRIPT subscript_parts RBRACKET
      { $$ = dtg_node_finish_subscript(parser, @$, $1, $3); }
  | postfix COLON callee LPAREN arguments RPAREN
      { struct dtg_span span = dtg_span_join(@3, @6);
        $$ = dtg_node_labeled(parser, @$, $1, dtg_node_finish_call(parser, span, $3, $5)); }
  ;

callee
  : name            { $$ = dtg_node_name(parser, $1); }
  | callee DOT name { $$ = dtg_node_member(parser, @$, $1, $3); }
  ;

primary
  : name               { $$ = dtg_node_name(parser, $1); }
  | INT                { $$ = dtg_node_literal(parser, $1); }
  | FLOAT              { $$ = dtg_node_literal(parser, $1); }
  | SIZE               { $$ = dtg_node_literal(parser, $1); }
  | STRING             { $$ = dtg_node_literal(parser, $1); }
  | TRUE               { $$ = dtg_node_literal(parser, $1); }
  | FALSE              { $$ = dtg_node_literal(parser, $1); }
  | LPAREN expr RPAREN { $$ = dtg_node_parenthesized($2); }
  | LBRACKET elements RBRACKET { $$ = $2; $$->span = @$; }
  ;

arguments
  : %empty { $$ = dtg_node_call(parser); }
  | argument_list comma
  ;

argument_list
  : argument
      { $$ = dtg_node_call(parser); dtg_node_add_argument(parser, $$, $1); }
  | argument_list COMMA argument
      { $$ = $1; dtg_node_add_argument(parser, $$, $3); }
  ;

argument
  : expr             { $$ = (struct dtg_ast_argument){@$, NO_NAME, $1}; }
  | name ASSIGN expr { $$ = (struct dtg_ast_argument){@$, $1, $3}; }
  ;

subscript_parts
  : subscript_part
      { $$ = dtg_node_subscript(parser); dtg_node_add_part(parser, $$, $1); }
  | subscript_parts COMMA subscript_part
      { $$ = $1; dtg_node_add_part(parser, $$, $3); }
  ;

subscript_part
  : expr
      { $$ = (struct dtg_ast_subscript_part){.kind = DTG_SUBSCRIPT_INDEX, .span = @$,
                                             .index = $1}; }
  | ELLIPSIS
      { $$ = (struct dtg_ast_subscript_part){.kind = DTG_SUBSCRIPT_ELLIPSIS, .span = @$}; }
  | optional_sum SLICE_COLON optional_sum
      { $$ = (struct dtg_ast_subscript_part){.kind = DTG_SUBSCRIPT_SLICE, .span = @$,
                                             .begin = $1, .end = $3}; }
  | optional_sum SLICE_COLON optional_sum SLICE_COLON optional_sum
      { $$ = (struct dtg_ast_subscript_part){.kind = DTG_SUBSCRIPT_SLICE, .span = @$,
                                             .begin = $1, .end = $3, .stride = $5}; }
  ;

optional_sum
  : %empty { $$ = NULL; }
  | sum
  ;

elements
  : %empty { $$ = dtg_node_list(parser); }
  | element_list comma
  ;

element_list
  : expr
      { $$ = dtg_node_list(parser); dtg_node_add_element(parser, $$, $1); }
  | element_list COMMA expr
      { $$ = $1; dtg_node_add_element(parser, $$, $3); }
  ;

%%

static int dtg_bison_lex(union DTG_BISON_VALUE *value, struct dtg_span *span,
                         struct dtg_parser *parser)
{
  value->token = dtg_lex_next(&parser->lexer);
  *span = value->token.span;
  return value->token.token;
}

/* Bison's own errors: the stack is full, or the memory is. */
static void dtg_bison_error(struct dtg_span *span, struct dtg_parser *parser, const char *message)
{
  (void)message;
  dtg_report_depth(parser, *span);
}

/* The token of a terminal symbol; symbols count from the first declared token, tokens likewise. */
static enum dtg_token token_of(yysymbol_kind_t symbol)
{
  return symbol == YYSYMBOL_YYEOF
             ? DTG_TOKEN_EOF
             : (enum dtg_token)(symbol - YYSYMBOL_NAME + DTG_TOKEN_NAME);
}

static int yyreport_syntax_error(const yypcontext_t *context, struct dtg_parser *parser)
{
  yysymbol_kind_t symbols[YYNTOKENS];
  enum dtg_token tokens[YYNTOKENS];
  /* Past the cap nobody reads the message, and asking what would have been right takes long. */
  bool is_shown = parser->ctx->diags.errors < DTG_DIAGS_MAX;
  int count = is_shown ? yypcontext_expected_tokens(context, symbols, YYNTOKENS) : 0;
  if (count < 0)
    return count;
  for (int i = 0; i < count; i++)
    tokens[i] = token_of(symbols[i]);
  dtg_report_syntax_error(parser, *yypcontext_location(context),
                          token_of(yypcontext_token(context)), tokens, (size_t)count);
  dtg_lex_recover(&parser->lexer);
  return 0;
}

#define DTG_TOKEN(name, class, text) \
  _Static_assert((int)DTG_TOKEN_##name == (int)DTG_BISON_##name, "tokens.def and dtg.y differ");
#include "grammar/tokens.def"
#undef DTG_TOKEN
