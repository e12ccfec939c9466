// Messages of a step one by one, and what they add up to per task.
//
// Purpose: transfers are families; people ask about a task and its peers. Ownership: the arena
// given. Thread rule: pure.
#ifndef DTG_TOOLS_TRAFFIC_H
#define DTG_TOOLS_TRAFFIC_H

#include "compiler/partition/partition.h"

// Task of one end; its device (of a client: DTG_NO_DEVICE; of the arbiter: that of owner 0).
uint32_t dtg_end_task(const struct dtg_partition *partition, enum dtg_role role, uint32_t index);
uint32_t dtg_end_device(const struct dtg_partition *partition, enum dtg_role role, uint32_t index);

// Calls `visit` for every message of a row: pairs of ends that do not share a device. `task`: only
// messages with an end there; UINT32_MAX: all. Cost: pairs of the ends.
typedef void dtg_message_visit(void *context, const struct dtg_transfer *transfer, uint32_t from,
                               uint32_t to);
void dtg_transfer_each(const struct dtg_partition *partition, const struct dtg_transfer *transfer,
                       uint32_t task, dtg_message_visit *visit, void *context);

// Payload bytes of a step over the link of each task: what it sends to other tasks and gets from
// them. Messages between devices of one task go over no link.
struct dtg_link_bytes {
  int64_t sent, received;
};
struct dtg_traffic {
  uint32_t tasks;
  struct dtg_link_bytes *links; // by task
  uint32_t busiest;             // the first task with the largest sum
  int64_t all;                  // sent by all tasks
  int64_t inside;               // between devices of one task
  bool at_most;                 // some messages hold as many rows as there are
  int64_t feeds;                // of `all`
  uint64_t control;             // messages that grant or start a step, decide, or collect its loss
};
struct dtg_traffic dtg_traffic_measure(struct dtg_arena *arena,
                                       const struct dtg_partition *partition);

#endif
