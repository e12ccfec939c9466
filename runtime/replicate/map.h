/* The maps of a strategy, unfolded for one run: who is where, and who holds what.
 *
 * Purpose: turns the families of `struct dtr_replication` into tables by index: the device and the
 * client of every replica, the task of every client, the owners with the pieces of memory they
 * hold, and the subtrees of the reduction tree. A pure function of the program's tables, so every
 * task makes the same. Ownership: owns its tables, borrows the program. Threads: made once, then
 * read by any.
 *
 * A *leaf* is a maximal subtree of the tree over shards inside one replica's block; leaves are
 * numbered over replicas from left to right. A *piece* is a range of elements of one variable in an
 * owner's memory. A *share* is a range of elements of one contribution that an owner reduces.
 */
#ifndef DTR_REPLICATE_MAP_H
#define DTR_REPLICATE_MAP_H

#include "dtr_abi.h"
#include "runtime/error.h"
#include "runtime/tree.h"

enum { DTR_NONE = UINT32_MAX };

struct dtr_piece {
  uint32_t variable;
  int64_t first, elements;
  int64_t bytes;     /* of the elements, as in a message */
  int64_t offset;    /* in the owner's memory */
  bool is_published; /* parameters and states; not slots */
  /* Published as rows: of this share of the owner; DTR_NONE: as a whole. Then messages are a list
   * of rows (runtime/rows.h), or DTR_ALL_ROWS as their number and all elements. */
  uint32_t rows;
};

struct dtr_share {
  const struct dtr_slice *slice;
  uint32_t contribution;
  int64_t first, elements;
  int64_t bytes;                  /* of a leaf in a message; of rows: at most */
  int64_t offset;                 /* in a block of the owner's tree */
  int64_t most;                   /* rows of a leaf; 0: dense */
  struct dtr_contribution layout; /* of a block of the owner's tree */
};

struct dtr_owner_map {
  uint32_t device;
  uint32_t piece_count, share_count;
  const struct dtr_piece *pieces; /* by slice, then slot */
  const struct dtr_share *shares;
  int64_t memory_bytes;  /* of the pieces, each aligned */
  int64_t block_bytes;   /* of the shares, each aligned */
  int64_t publish_bytes; /* of messages: packed; with rows: at most */
  int64_t gather_bytes;
  int64_t share_bytes; /* of one leaf in a push; with rows: at most */
  bool pushes_rows, publishes_rows;
};

struct dtr_replica_map {
  uint32_t device, client;
  struct dtr_span shards;
  uint32_t first_leaf, leaf_count;
};

struct dtr_client_map {
  uint32_t task, first_replica, replica_count;
};

struct dtr_device_map {
  uint32_t task, index;    /* index: within its task */
  uint32_t replica, owner; /* or DTR_NONE */
};

struct dtr_task_map {
  uint32_t first_device, device_count;
  uint32_t threads; /* 0: as many as there are */
  char name[64];    /* "worker/0" */
};

/* When an owner applies (semantics.md 3). */
enum dtr_rule { DTR_RULE_SYNC, DTR_RULE_BACKUP, DTR_RULE_ASYNC };

struct dtr_map {
  const struct dtr_program *program;
  enum dtr_rule rule;
  bool is_ordered; /* async: the arbiter says in which order contributions are applied, because the
                    * update exchanges block sums */
  bool asks;       /* clients ask the arbiter before a step */
  uint32_t task_count, device_count, replica_count, client_count, owner_count, leaf_count;
  struct dtr_task_map *tasks;
  struct dtr_device_map *devices;
  struct dtr_replica_map *replicas;
  struct dtr_client_map *clients;
  struct dtr_owner_map *owners;
  struct dtr_span *leaves;
  struct dtr_piece *pieces;
  struct dtr_share *shares;
};

/* Refuses tables that contradict each other or deal shards in unequal blocks (status BUG), and
 * devices that are no CPUs. */
bool dtr_map_new(const struct dtr_program *program, struct dtr_map **map, struct dtr_error *error);
void dtr_map_free(struct dtr_map *map);
/* Whether a task has a client, a replica or an owner; the cluster may have tasks that a strategy
 * does not use. */
bool dtr_map_has_work(const struct dtr_map *map, uint32_t task);

/* Whether a replica is in its client's task: then they share memory, and it reads the rows there.
 */
bool dtr_map_is_local(const struct dtr_map *map, uint32_t replica);
/* Shards of all replicas of a client, one behind the other. */
struct dtr_span dtr_map_client_shards(const struct dtr_map *map, uint32_t client);
/* Bytes of the scalars that a leaf sends to the chief: loss and metrics, packed. */
int64_t dtr_map_fetch_bytes(const struct dtr_map *map);
/* Bytes of the rows of one example over all inputs. */
int64_t dtr_map_row_bytes(const struct dtr_map *map);

#endif
