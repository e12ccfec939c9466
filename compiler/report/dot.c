// The launches of the plan and what passes between them, for Graphviz.
#include "compiler/base/strbuf.h"
#include "compiler/report/report.h"

static void put_quoted(struct dtg_strbuf *out, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\')
      dtg_strbuf_putc(out, '\\');
    dtg_strbuf_putc(out, *text);
  }
}

static void put_edges(const struct dtg_plan_function *f, int index, struct dtg_strbuf *out) {
  for (uint32_t n = 0; n < f->graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(f->graph, n);
    for (uint32_t i = 0; i < node->input_count; i++) {
      uint32_t from = dtg_graph_node(f->graph, node->inputs[i])->group;
      if (from == DTG_NO_GROUP || node->group == DTG_NO_GROUP || from == node->group)
        continue;
      dtg_strbuf_printf(out, "    g%d_%u -> g%d_%u;\n", index, from, index, node->group);
    }
  }
}

void dtg_report_dot(const struct dtg_report_input *input, struct dtg_strbuf *out) {
  dtg_strbuf_puts(out, "strict digraph plan {\n  rankdir = TB;\n  node [shape = box];\n");
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *f = &input->plan->functions[i];
    if (!f->graph)
      continue;
    dtg_strbuf_printf(out, "  subgraph cluster_%d {\n    label = \"%s\";\n", i, f->name);
    for (size_t s = 0; s < f->steps.len; s++) {
      const struct dtg_plan_loop *loop = f->steps.data[s].loop;
      dtg_strbuf_printf(out, "    g%d_%u [label = \"", i, f->steps.data[s].group);
      if (loop) {
        dtg_strbuf_printf(out, "loop of %lld: %zu launches", (long long)loop->count,
                          dtg_plan_launch_count(&loop->body));
      } else {
        const struct cg_kernel *kernel = input->plan->kernels.data[f->steps.data[s].kernel];
        put_quoted(out, kernel->comment ? kernel->comment : kernel->name);
      }
      dtg_strbuf_puts(out, "\"];\n");
    }
    put_edges(f, i, out);
    dtg_strbuf_puts(out, "  }\n");
  }
  dtg_strbuf_puts(out, "}\n");
}
