#include "codegen/host/internal.h"
#include "compiler/ir/group.h"

#include <string.h>

static const char *const function_names[DTG_PLAN_FUNCTIONS] = {"train", "evaluate", "evaluate_tail",
                                                               "update"};
static const char *const function_docs[DTG_PLAN_FUNCTIONS] = {
    "forward and backward of one shard", "evaluation of one shard's number of examples",
    "evaluation of one example", "reduced contributions in, new parameters and slots out"};

// What a launch computes: the last node of its group that the source names.
const struct dtg_node *cg_host_subject(const struct dtg_plan_function *function,
                                       const struct dtg_plan_step *step) {
  const struct dtg_node *subject = NULL, *last = NULL;
  for (uint32_t n = 0; n < function->graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(function->graph, n);
    if (node->group != step->group)
      continue;
    last = node;
    if (node->name || *node->path)
      subject = node;
  }
  return subject ? subject : last;
}

static const char *variable_at(const struct dtg_plan *plan, int64_t offset) {
  for (size_t v = 0; v < plan->module->variables.len; v++)
    if (plan->variable_offsets[v] == offset)
      return plan->module->variables.data[v].path;
  return NULL;
}

static const char *contribution_at(const struct cg_host *h, bool metrics, int64_t offset) {
  const struct dtg_plan *plan = h->in->plan;
  size_t count = metrics ? plan->metrics.len : plan->contributions.len;
  for (size_t i = 0; i < count; i++) {
    const struct dtg_plan_contribution *c =
        metrics ? &plan->metrics.data[i] : &plan->contributions.data[i];
    if (c->offset == offset)
      return c->kind == DTG_ROOT_LOSS ? "loss" : c->name;
  }
  return NULL;
}

const char *cg_host_location_name(const struct cg_host *h, int function,
                                  const struct dtg_location *at) {
  switch (at->space) {
  case DTG_SPACE_VARIABLE:
    return variable_at(h->in->plan, at->offset);
  case DTG_SPACE_CONTRIBUTION:
    return contribution_at(h, function == DTG_PLAN_EVAL || function == DTG_PLAN_TAIL, at->offset);
  case DTG_SPACE_FEED:
    return h->in->tables->inputs[at->index].name;
  default:
    return NULL;
  }
}

static void put_place(const struct cg_host *h, const struct dtg_location *at) {
  static const char *const scalars[] = {"step", "updates", "total_steps", "shard", "seed"};
  switch (at->space) {
  case DTG_SPACE_ARENA:
    dtg_strbuf_printf(h->out, "a + %lld", (long long)at->offset);
    break;
  case DTG_SPACE_VARIABLE:
    dtg_strbuf_printf(h->out, "v + %lld", (long long)at->offset);
    break;
  case DTG_SPACE_CONTRIBUTION:
    dtg_strbuf_printf(h->out, "c + %lld", (long long)at->offset);
    break;
  case DTG_SPACE_FEED:
    dtg_strbuf_printf(h->out, "f->feeds[%u]", at->index);
    break;
  case DTG_SPACE_SCALAR:
    dtg_strbuf_printf(h->out, "(char *)&f->scalars->%s", scalars[at->index]);
    break;
  case DTG_SPACE_ITERATION:
    dtg_strbuf_printf(h->out, "(char *)&i%u", at->index);
    break;
  }
}

// In a loop: n0 counts the iterations of the outermost one, i0 is the number that its body sees.
static void put_location(const struct cg_host *h, int function, const struct dtg_location *at) {
  const char *name = cg_host_location_name(h, function, at);
  int choices = 0;
  for (const struct dtg_move *move = at->moves; move; move = move->next) {
    if (move->kind == DTG_MOVE_STRIDE)
      continue;
    bool first = move->kind == DTG_MOVE_FIRST;
    dtg_strbuf_printf(h->out, first ? "(n%u == 0 ? " : "(n%u %% 2 != 0 ? ", move->depth);
    put_location(h, function, &move->other);
    dtg_strbuf_puts(h->out, " : ");
    choices++;
  }
  put_place(h, at);
  for (const struct dtg_move *move = at->moves; move; move = move->next)
    if (move->kind == DTG_MOVE_STRIDE)
      dtg_strbuf_printf(h->out, " + i%u * %lld", move->depth, (long long)move->stride);
  if (name)
    dtg_strbuf_printf(h->out, " /* %s */", name);
  for (; choices > 0; choices--)
    dtg_strbuf_putc(h->out, ')');
}

static void indent(const struct cg_host *h) {
  for (uint32_t i = 0; i < h->depth; i++)
    dtg_strbuf_puts(h->out, "  ");
}

static void put_launch_comment(const struct cg_host *h, const struct dtg_plan_function *function,
                               const struct dtg_plan_step *step, const struct cg_kernel *kernel) {
  const struct dtg_node *subject = cg_host_subject(function, step);
  indent(h);
  dtg_strbuf_puts(h->out, "  /* ");
  cg_host_put_title(h, subject, kernel);
  const char *where = subject ? dtg_span_short(h->arena, h->in->sources, subject->span) : "";
  if (*where)
    dtg_strbuf_printf(h->out, " -- %s", where);
  dtg_strbuf_puts(h->out, " */\n");
}

static void put_gemm(const struct cg_host *h, int function, uint32_t launch,
                     const struct dtg_plan_step *step) {
  indent(h);
  dtg_strbuf_printf(h->out, "  dtr_gemm_run(f, %u, %u", launch, h->call_index[step->kernel]);
  for (size_t i = 0; i < step->args.len; i++) {
    dtg_strbuf_puts(h->out, ", ");
    put_location(h, function, &step->args.data[i]);
  }
  if (step->args.len == 3)
    dtg_strbuf_puts(h->out, ", a");
  dtg_strbuf_puts(h->out, ");\n");
}

static void put_window(const struct cg_host *h, int function, uint32_t launch,
                       const struct dtg_plan_step *step, const struct cg_kernel *kernel) {
  indent(h);
  dtg_strbuf_printf(h->out, "  dtr_window_run(f, %u, %u, (char *[]){", launch,
                    h->call_index[step->kernel]);
  for (size_t i = 0; i < step->args.len; i++) {
    put_location(h, function, &step->args.data[i]);
    dtg_strbuf_puts(h->out, ", ");
  }
  dtg_strbuf_puts(h->out,
                  step->args.len == cg_window_buffers(kernel->window.kind) ? "a});\n" : "});\n");
}

static void put_loops(const struct cg_host *h, int function, uint32_t launch,
                      const struct dtg_plan_step *step, const struct cg_kernel *kernel) {
  indent(h);
  dtg_strbuf_printf(h->out, "  dtr_kernel(f, %u, %s, (char *[]){", launch, kernel->name);
  for (size_t i = 0; i < step->args.len; i++) {
    if (i)
      dtg_strbuf_puts(h->out, ", ");
    put_location(h, function, &step->args.data[i]);
  }
  dtg_strbuf_printf(h->out, "}, %lld);\n", (long long)kernel->tiles);
}

static bool location_uses(const struct dtg_location *at, enum dtg_space space) {
  bool used = at->space == space;
  for (const struct dtg_move *move = at->moves; move; move = move->next)
    used = used || (move->kind != DTG_MOVE_STRIDE && location_uses(&move->other, space));
  return used;
}

static bool uses(const struct dtg_launch_list *launches, enum dtg_space space) {
  for (size_t s = 0; s < launches->list.len; s++)
    for (size_t i = 0; i < launches->list.data[s].step->args.len; i++)
      if (location_uses(&launches->list.data[s].step->args.data[i], space))
        return true;
  return false;
}

static void put_steps(struct cg_host *h, int index, const struct dtg_plan_function *function,
                      uint32_t *launch);

static void put_loop(struct cg_host *h, int index, const struct dtg_plan_function *function,
                     const struct dtg_plan_step *step, uint32_t *launch) {
  const struct dtg_plan_loop *loop = step->loop;
  const struct dtg_node *scan =
      dtg_graph_node(function->graph, function->groups->groups[step->group].members[0]);
  unsigned d = loop->depth;
  long long count = (long long)loop->count;
  const char *where = dtg_span_short(h->arena, h->in->sources, scan->span);
  indent(h);
  dtg_strbuf_printf(h->out, "  /* %s%slooped %lld times%s%s */\n", scan->path,
                    *scan->path ? ": " : "", count, *where ? " -- " : "", where);
  indent(h);
  if (loop->reverse)
    dtg_strbuf_printf(h->out, "  for (int64_t n%u = 0, i%u = %lld; n%u < %lld; n%u++, i%u--) {\n",
                      d, d, count - 1, d, count, d, d);
  else
    dtg_strbuf_printf(h->out, "  for (int64_t n%u = 0, i%u = 0; n%u < %lld; n%u++, i%u++) {\n", d,
                      d, d, count, d, d);
  h->depth++;
  put_steps(h, index, &loop->body, launch);
  h->depth--;
  indent(h);
  dtg_strbuf_puts(h->out, "  }\n");
}

static void put_steps(struct cg_host *h, int index, const struct dtg_plan_function *function,
                      uint32_t *launch) {
  for (size_t s = 0; s < function->steps.len; s++) {
    const struct dtg_plan_step *step = &function->steps.data[s];
    if (step->loop) {
      put_loop(h, index, function, step, launch);
      continue;
    }
    const struct cg_kernel *kernel = h->in->plan->kernels.data[step->kernel];
    put_launch_comment(h, function, step, kernel);
    if (kernel->kind == CG_KERNEL_GEMM)
      put_gemm(h, index, *launch, step);
    else if (kernel->kind == CG_KERNEL_WINDOW)
      put_window(h, index, *launch, step, kernel);
    else
      put_loops(h, index, *launch, step, kernel);
    ++*launch;
  }
}

static void put_function(struct cg_host *h, int index, uint32_t *launch) {
  const struct dtg_plan_function *function = &h->in->plan->functions[index];
  dtg_strbuf_printf(h->out, "\n/* %s: %s. Arena %lld bytes, largest live set %lld. */\n",
                    function_names[index], function_docs[index], (long long)function->arena_bytes,
                    (long long)function->live_peak_bytes);
  dtg_strbuf_printf(h->out, "static void %s(struct dtr_frame *f) {\n", function_names[index]);
  bool calls = false;
  struct dtg_launch_list launches = {0};
  dtg_plan_launches(h->arena, function, &launches);
  for (size_t s = 0; s < launches.list.len; s++)
    calls |= h->in->plan->kernels.data[launches.list.data[s].step->kernel]->kind != CG_KERNEL_LOOPS;
  if (uses(&launches, DTG_SPACE_ARENA) || calls)
    dtg_strbuf_puts(h->out, "  char *const a = f->arena;\n");
  if (uses(&launches, DTG_SPACE_VARIABLE))
    dtg_strbuf_puts(h->out, "  char *const v = f->variables;\n");
  if (uses(&launches, DTG_SPACE_CONTRIBUTION))
    dtg_strbuf_puts(h->out, "  char *const c = f->contribution;\n");
  if (function->steps.len == 0)
    dtg_strbuf_puts(h->out, "  (void)f;\n");
  put_steps(h, index, function, launch);
  dtg_strbuf_puts(h->out, "}\n");
}

static void put_kernel_declarations(const struct cg_host *h) {
  const struct dtg_plan *plan = h->in->plan;
  bool any = false;
  for (size_t k = 0; k < plan->kernels.len; k++) {
    if (plan->kernels.data[k]->kind != CG_KERNEL_LOOPS)
      continue;
    dtg_strbuf_printf(h->out, "%s%s", any ? ",\n    " : "dtr_kernel_fn ",
                      plan->kernels.data[k]->name);
    any = true;
  }
  if (any)
    dtg_strbuf_puts(h->out, ";\n");
}

static void number_calls(struct cg_host *h) {
  const struct dtg_plan *plan = h->in->plan;
  h->call_index = DTG_NEW_ARRAY(h->arena, uint32_t, plan->kernels.len);
  for (size_t k = 0; k < plan->kernels.len; k++) {
    if (plan->kernels.data[k]->kind == CG_KERNEL_GEMM)
      h->call_index[k] = h->gemm_count++;
    else if (plan->kernels.data[k]->kind == CG_KERNEL_WINDOW)
      h->call_index[k] = h->window_count++;
  }
}

void cg_host_emit(const struct cg_host_input *input, struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  struct cg_host host = {.in = input, .out = out, .arena = &arena};
  number_calls(&host);
  dtg_strbuf_printf(
      out,
      "/* %s: the host program that %s wrote for %s.\n"
      " *\n"
      " * One function per graph calls the kernels in plan order; `a` is the scratch of\n"
      " * one thread, `v` holds parameters, states and slots, `c` is what a shard\n"
      " * contributes to the step. The rest is tables. */\n"
      "#include \"dtr_abi.h\"\n\n",
      input->tables->name, input->tables->compiler, input->tables->model_file);
  put_kernel_declarations(&host);
  uint32_t launch = 0;
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++)
    if (input->plan->functions[i].graph)
      put_function(&host, i, &launch);
  cg_host_put_tables(&host, function_names);
  dtg_arena_free(&arena);
}
