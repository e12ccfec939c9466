// Stage 9, partition: what each class of devices runs, and every message of a run: of its
// beginning, of a step, of an evaluation and of a checkpoint. Only the messages of errors and of
// the end, which have no payload, stand in no plan.
//
// Purpose: after this stage no value crosses devices but in a transfer, and both ends of each
// transfer know its size. Transfers are families over replicas, clients and owners: a row stands
// for one message between every pair of its ends that does not share a device. Ownership: the
// context's arena. Thread rule: that of the context.
#ifndef DTG_PARTITION_PARTITION_H
#define DTG_PARTITION_PARTITION_H

#include "compiler/replicate/replicate.h"

struct dtg_strbuf;

// The nodes of one graph that one class of devices runs, in order: train and evaluation by every
// replica, the update by the owners.
struct dtg_part {
  const struct dtg_graph *graph;
  uint32_t device; // the first of the class
  uint32_t devices;
  DTG_VEC(uint32_t) nodes;
};

// In the order of a step (runtime/REPLICATION.md), then the others.
enum dtg_transfer_kind {
  DTG_TRANSFER_ASK,     // client -> arbiter of another task: may it start the step?
  DTG_TRANSFER_GRANT,   // arbiter -> client
  DTG_TRANSFER_START,   // client -> replica of another task
  DTG_TRANSFER_FEED,    // client -> replica of another task: its rows of every input
  DTG_TRANSFER_PUSH,    // replica -> owner: partial sums of the owner's slices
  DTG_TRANSFER_STAGED,  // owner -> arbiter of another device: whose contributions it has
  DTG_TRANSFER_DECIDE,  // arbiter -> owner: which of them make the update
  DTG_TRANSFER_NORM,    // owner -> owner: block sums, after a phase
  DTG_TRANSFER_PUBLISH, // owner -> replica: new values of its slices
  DTG_TRANSFER_FETCH,   // replica of another task -> its client: partial sums of loss and metrics
  DTG_TRANSFER_REPORT,  // client -> chief: the same of all its replicas
  DTG_TRANSFER_BEGIN,   // chief -> client: the run begins
  DTG_TRANSFER_COMMAND, // chief -> owner of another task: begin, or give your values
  DTG_TRANSFER_SCATTER, // chief -> owner of another task: its slices and their slots
  DTG_TRANSFER_GATHER,  // owner -> chief: the same
  DTG_TRANSFER_CHUNK,   // replica of another task -> chief: values of its evaluation chunks
  DTG_TRANSFER_KINDS
};

// When a message is sent.
enum dtg_moment {
  DTG_MOMENT_STEP,
  DTG_MOMENT_BEGIN,      // once; scatters where a run starts with saved values
  DTG_MOMENT_EVALUATION, // in each wave of `shards` chunks of batch/shards examples
  DTG_MOMENT_CHECKPOINT, // each time, and for --save
  DTG_MOMENTS
};

// What happens around a step, in roles; a transfer leads from one event to another.
enum dtg_event {
  DTG_EVENT_BEGIN,   // client: a step starts
  DTG_EVENT_COMPUTE, // replica: forward, backward, tree
  DTG_EVENT_REDUCE,  // owner: phase 0 ends the tree and updates; later ones read block sums
  DTG_EVENT_COPY,    // replica: has the next version
  DTG_EVENT_COLLECT, // client: has loss and metrics
  DTG_EVENT_CHIEF,   // chief: has them of all
  DTG_EVENT_ASK,     // client: before a step
  DTG_EVENT_GRANT,   // arbiter
  DTG_EVENT_STAGE,   // owner: has contributions, and waits for the decision
  DTG_EVENT_DECIDE,  // arbiter
  DTG_EVENT_LOAD,    // chief: begins the run
  DTG_EVENT_FIRST,   // owner: has its first values, and publishes them
  DTG_EVENT_WAVE,    // client: orders a wave of an evaluation
  DTG_EVENT_CHUNKS,  // replica: computes its chunks
  DTG_EVENT_VALUES,  // chief: has the values of the wave
  DTG_EVENT_SAVE,    // chief: wants a checkpoint
  DTG_EVENT_GIVE,    // owner: packs its values
  DTG_EVENT_SAVED,   // chief: has them all
  DTG_EVENT_COUNT
};

// The arbiter is on the device of owner 0, under relaxed rules only.
enum dtg_role { DTG_ROLE_REPLICA, DTG_ROLE_CLIENT, DTG_ROLE_OWNER, DTG_ROLE_ARBITER };

// Replicas or clients [first, first + count), or positions in `owners`. `sums`: of those, the
// replicas with so many partial sums, `members` of them; 0: all.
struct dtg_ends {
  enum dtg_role role;
  uint32_t first, count;
  uint32_t sums, members;
};

struct dtg_transfer {
  enum dtg_transfer_kind kind;
  enum dtg_moment moment;
  struct dtg_ends from, to;
  enum dtg_event before, after; // of `from` and of `to`
  uint32_t phase, next_phase;   // of REDUCE
  int64_t bytes;                // payload of one message
  // It may be smaller: it holds rows of sparse tables, or it is of an evaluation's last wave.
  bool at_most;
  uint64_t messages; // at that moment: pairs of ends without those that share a device
};

// What an owner holds and exchanges; in the order of replication->owners.
struct dtg_owner_load {
  uint32_t device;
  uint32_t slices;
  int64_t values, slots;        // bytes held
  int64_t states;               // of the values
  int64_t push, publish;        // bytes of one partial sum, and of one copy; of rows: at most
  int64_t first, packed;        // bytes of the first copy, which has all rows, and of any copy
  int64_t held, block;          // of values with slots, and of one partial sum, each slice aligned
  int64_t rows;                 // bytes for the update of sparse tables
  bool push_rows, publish_rows; // some of it is rows
  DTG_VEC(int64_t) norm;        // per phase: bytes of its block sums
};

struct dtg_partition {
  const struct dtg_replication *replication;
  DTG_VEC(struct dtg_part) parts; // by graph
  DTG_VEC(struct dtg_owner_load) loads;
  DTG_VEC(struct dtg_transfer) sends;    // as the senders see them
  DTG_VEC(struct dtg_transfer) receives; // as the receivers do, in the same order
  uint32_t phases;                       // of the update
};

// Requires: placed graphs. Guarantees: what dtg_partition_verify checks. Cost: linear in nodes,
// slices and owners.
struct dtg_partition *dtg_partition(struct dtg_ctx *ctx, const struct dtg_replication *replication);
// The level "partition", for all tasks together: every node in one part; every send has one receive
// of the same size and the other way round; every replica pushes all its partial sums to every
// owner and gets every slice back, so that each parameter is updated once from a complete sum; no
// cycle in the wait graph.
bool dtg_partition_verify(const struct dtg_partition *partition, struct dtg_strbuf *why);
void dtg_partition_print(const struct dtg_partition *partition, struct dtg_strbuf *out);

const char *dtg_transfer_name(enum dtg_transfer_kind kind);
const char *dtg_moment_name(enum dtg_moment moment);
const char *dtg_role_name(enum dtg_role role);
// Payload bytes of all its messages, at their moment.
int64_t dtg_transfer_total(const struct dtg_transfer *transfer);
// Whether clients ask the arbiter before a step, and whether it says which contributions make an
// update: with backups, and where asynchronous owners exchange block sums (`exchanges`).
bool dtg_arbiter_grants(const struct dtg_replication *replication);
bool dtg_arbiter_decides(const struct dtg_replication *replication, bool exchanges);
// Whether a step is followed by evaluations over all replicas, which take other tasks than the
// chief's; under relaxed rules, where versions differ, the chief's replicas evaluate.
bool dtg_evaluates_together(const struct dtg_replication *replication);

// An event that another of the same party, or of one that shares its memory, waits for: in the same
// step, or from one step to the next. By classes of parties; `phase` only where it is REDUCE.
struct dtg_order {
  enum dtg_event before, after;
  bool next_step;
  bool last_phase; // `before` is the last phase of REDUCE
};
const struct dtg_order *dtg_orders(size_t *count);

#endif
