// Tasks by name, the width of the table of strategies, and messages one by one against their
// families.
#include "compiler/tools/compare.h"
#include "compiler/tools/traffic.h"
#include "compiler/tools/why.h"
#include "tests/unit/prove/plan_case.h"

#include "compiler/base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void tasks(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int task; // -1: there is none
  } rows[] = {
      {"ps/0", 0},
      {"ps/1", 1},
      {"ps/2", -1},
      {"worker/0", 2},
      {"worker/2", 4},
      {"worker/3", -1},
      {"worker", -1},
      {"worker/", -1},
      {"worker/-1", -1},
      {"worker/1x", -1},
      {"work/1", -1},
      {"/job:worker/task:1", 3},
      {"/job:worker/1", -1},
      {"/job:ps/task:7", -1},
      {"worker/4294967297", -1},
      {"", -1},
      {"/job:worker/task:1/device:CPU:0", -1},
  };
  struct dtg_ctx ctx;
  struct dtg_cluster cluster;
  dtg_ctx_init(&ctx);
  assert_true(dtg_cluster_inline(&ctx, "ps=2,worker=3", "x86-64-v2", &cluster));
  assert_int_equal(dtg_task_count(&cluster), 5);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t task = UINT32_MAX;
    bool found = dtg_task_find(&cluster, rows[i].name, &task);
    if (found != (rows[i].task >= 0) || (found && task != (uint32_t)rows[i].task))
      fail_msg("`%s`: %s, task %u", rows[i].name, found ? "found" : "not found", task);
  }
  dtg_ctx_free(&ctx);
}

static size_t longest_line(const char *text) {
  size_t longest = 0;
  for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
    size_t length = strcspn(text, "\n");
    longest = length > longest ? length : longest;
  }
  return longest;
}

// Five strategies in two groups; long words are broken, nothing is lost, a refused one stands
// below.
static void table(void **state) {
  (void)state;
  struct dtg_compare_column columns[6] = {0};
  struct dtg_strbuf out = {0};
  for (int c = 0; c < 6; c++) {
    columns[c].name = "name_of_a_strategy_that_is_longer_than_its_column";
    for (int row = 0; row < DTG_COMPARE_ROWS; row++)
      columns[c].cells[row] = row % 2 ? "1234567890 2234567890 3234567890 4234567890" : "1";
  }
  columns[3].refused = "the cluster has no job `ps`";
  dtg_compare_print(columns, 6, &out);
  const char *text = dtg_strbuf_text(&out);
  const char *below =
      strstr(text, "\nname_of_a_strategy_that_is_longer_than_its_column is refused on "
                   "this cluster: the cluster has no job `ps`\n");
  assert_non_null(below);
  struct dtg_strbuf above = {0};
  dtg_strbuf_write(&above, text, (size_t)(below - text));
  assert_in_range(longest_line(dtg_strbuf_text(&above)), 80, 100);
  size_t words = 0;
  for (const char *at = text; (at = strstr(at, "4234567890")); at++)
    words++;
  assert_int_equal(words, 5 * (DTG_COMPARE_ROWS / 2));
  assert_null(strstr(text, " \n"));
  dtg_strbuf_free(&above);
  dtg_strbuf_free(&out);
}

static void count_message(void *context, const struct dtg_transfer *t, uint32_t from, uint32_t to) {
  (void)t, (void)from, (void)to;
  ++*(uint64_t *)context;
}

// Every family has as many messages as it says, each is seen from both of its tasks, and what the
// tasks send is what they receive.
static void check_traffic(const char *strategy, const char *cluster) {
  struct plan_case made;
  plan_case_open(&made, 12, "adam(lr = 0.01)\n  gradient = clip_by_global_norm(1.0)", strategy,
                 cluster);
  assert_non_null(made.partition);
  const struct dtg_partition *p = made.partition;
  struct dtg_traffic traffic = dtg_traffic_measure(&made.ctx.arena, p);
  int64_t total = 0, sent = 0, received = 0;
  for (size_t i = 0; i < p->sends.len; i++) {
    uint64_t count = 0;
    dtg_transfer_each(p, &p->sends.data[i], UINT32_MAX, count_message, &count);
    assert_int_equal(count, p->sends.data[i].messages);
    if (p->sends.data[i].moment == DTG_MOMENT_STEP)
      total += dtg_transfer_total(&p->sends.data[i]);
  }
  for (uint32_t task = 0; task < traffic.tasks; task++) {
    sent += traffic.links[task].sent;
    received += traffic.links[task].received;
  }
  assert_int_equal(traffic.all + traffic.inside, total);
  assert_int_equal(sent, traffic.all);
  assert_int_equal(received, traffic.all);
  plan_case_close(&made);
}

static void traffic_adds_up(void **state) {
  (void)state;
  check_traffic("replicate in_graph over worker params on ps", "ps=2,worker=4");
  check_traffic("replicate in_graph over cpu params on cpu:1", "worker=1:cpu=4");
  check_traffic("replicate between_graph over worker params on ps balance bytes split >= 32KiB",
                "ps=3,worker=4");
  check_traffic("replicate between_graph over worker, in_graph over cpu params mirrored",
                "worker=2:cpu=2");
  check_traffic("replicate between_graph over worker, in_graph over cpu params \"a.**\" on ps "
                "params mirrored",
                "ps=1,worker=3:cpu=2");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tasks), cmocka_unit_test(table),
                                     cmocka_unit_test(traffic_adds_up)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
