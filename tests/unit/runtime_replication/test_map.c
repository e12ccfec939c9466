/* Unfolded maps, parts of the tree, and tables that contradict each other. */
#include "runtime/replicate/map.h"
#include "sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct dtr_program *program_of(struct sample_strategy strategy) {
  struct sample_options options = sample_defaults();
  options.shards = 12;
  options.strategy = strategy;
  return sample_program(&options);
}

static void maximal_subtrees_cover_a_block(void **state) {
  (void)state;
  for (int64_t shards = 1; shards <= 33; shards++)
    for (int64_t first = 0; first < shards; first++)
      for (int64_t count = 1; first + count <= shards; count++) {
        struct dtr_span block = {first, count}, found[64];
        uint32_t number = dtr_tree_subtrees(shards, block, found);
        int64_t next = first;
        assert_int_equal(number, dtr_tree_subtrees(shards, block, NULL));
        for (uint32_t i = 0; i < number; i++) {
          assert_int_equal(found[i].first, next);
          next += found[i].count;
        }
        assert_int_equal(next, first + count);
      }
}

static void every_element_has_one_owner(void **state) {
  (void)state;
  struct dtr_map *map;
  struct dtr_error error;
  dtr_error_clear(&error);
  const struct dtr_program *program =
      program_of((struct sample_strategy){.ps = 3, .workers = 2, .cpu = 2, .split = true});
  assert_true(dtr_map_new(program, &map, &error));
  assert_int_equal(map->task_count, 5);
  assert_int_equal(map->device_count, 7);
  assert_int_equal(map->client_count, 2);
  assert_string_equal(map->tasks[4].name, "worker/1");
  assert_int_equal(map->replicas[3].device, 6);
  assert_int_equal(map->replicas[3].client, 1);
  assert_int_equal(map->replicas[3].shards.first, 9);
  int64_t held[16] = {0};
  for (uint32_t o = 0; o < map->owner_count; o++)
    for (uint32_t p = 0; p < map->owners[o].piece_count; p++)
      held[map->owners[o].pieces[p].variable] += map->owners[o].pieces[p].elements;
  for (uint32_t v = 0; v < program->variable_count; v++)
    assert_int_equal(held[v], program->variables[v].elements);
  dtr_map_free(map);
}

static void expect_refusal(const struct dtr_program *program, const struct dtr_replication *tables,
                           enum dtr_status status, const char *message) {
  struct dtr_program wrong = *program;
  struct dtr_map *map;
  struct dtr_error error;
  dtr_error_clear(&error);
  wrong.replication = tables;
  assert_false(dtr_map_new(&wrong, &map, &error));
  assert_int_equal(error.status, status);
  assert_string_equal(error.message, message);
}

static void wrong_tables_are_refused(void **state) {
  (void)state;
  const struct dtr_program *program =
      program_of((struct sample_strategy){.ps = 1, .workers = 2, .cpu = 1});
  const struct dtr_replication *good = program->replication;
  struct dtr_replication tables = *good;
  struct dtr_slice slices[64];
  memcpy(slices, good->slices, good->slice_count * sizeof *slices);
  tables.slices = slices;
  slices[1].first = 1; /* no block edge */
  expect_refusal(program, &tables, DTR_STATUS_BUG, "the replication tables are wrong: slice 1");
  slices[1] = good->slices[1];
  slices[1].elements++;
  expect_refusal(program, &tables, DTR_STATUS_BUG, "the replication tables are wrong: slice 1");
  slices[1] = good->slices[1];
  slices[2].owner = 3;
  expect_refusal(program, &tables, DTR_STATUS_BUG,
                 "the replication tables are wrong: there is no device 3");

  tables = *good;
  tables.replicas = 5;
  expect_refusal(program, &tables, DTR_STATUS_BUG,
                 "the replication tables are wrong: 5 replicas cannot have 12 shards in equal "
                 "blocks");

  struct dtr_replica_family replicas = good->replica_families[0];
  tables = *good;
  tables.replica_families = &replicas;
  replicas.outer_stride = 0;
  expect_refusal(program, &tables, DTR_STATUS_BUG,
                 "the replication tables are wrong: two replicas on device 1");
  replicas = good->replica_families[0];
  replicas.outer = 1;
  expect_refusal(program, &tables, DTR_STATUS_BUG,
                 "the replication tables are wrong: the families do not make the replicas 1");

  struct dtr_client_family clients = good->client_families[0];
  tables = *good;
  tables.client_families = &clients;
  clients.count = 1;
  expect_refusal(program, &tables, DTR_STATUS_BUG,
                 "the replication tables are wrong: no client for replica 1");

  struct dtr_job jobs[2] = {good->jobs[0], good->jobs[1]};
  tables = *good;
  tables.jobs = jobs;
  jobs[1].cpu = 0;
  jobs[1].gpu = 1;
  expect_refusal(program, &tables, DTR_STATUS_CONFIG,
                 "device 0 of task worker/0 is a GPU; this program runs on CPUs");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maximal_subtrees_cover_a_block),
      cmocka_unit_test(every_element_has_one_owner),
      cmocka_unit_test(wrong_tables_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
