/* Inside of an owner; for the files owner*.c only. Threads and ownership: see owner.h. */
#ifndef DTR_REPLICATE_OWNER_PARTS_H
#define DTR_REPLICATE_OWNER_PARTS_H

#include "runtime/replicate/owner.h"
#include "runtime/update.h"

enum dtr_owner_state {
  DTR_OWNER_BEGIN,
  DTR_OWNER_SCATTER,
  DTR_OWNER_WITHDRAW, /* backup: the version before */
  DTR_OWNER_PUBLISH,
  DTR_OWNER_COLLECT,
  DTR_OWNER_UPDATE,
  DTR_OWNER_EXCHANGE
};

enum dtr_presence { DTR_PRESENT, DTR_GONE, DTR_JOINING };
struct dtr_stay {
  enum dtr_presence presence;
  int64_t first; /* step */
  int64_t number;
  int64_t next, round; /* joining: the number from when so many decisions are carried out */
};

/* Of `backup` and `async`. */
struct dtr_relaxed {
  char **blocks;             /* [leaf] staged; NULL: nothing */
  uint32_t *arrived;         /* [client] replicas whose contribution is staged */
  int64_t *staged;           /* [client] last step staged completely; -1: none */
  struct dtr_staged *report; /* the same, as told to the arbiter */
  int64_t *read;             /* [client] async: updates made when its version was */
  int64_t *refused;          /* [client] last step of which a contribution was dropped */
  bool *has;                 /* [client] the decision */
  int64_t step;              /* of the decision: the contributors' */
  int64_t first;             /* step of the first version */
  int64_t rounds;            /* updates made */
  int64_t decisions;         /* of the arbiter, carried out */
  int64_t last;  /* async: after these steps of all comes what the chief asks for next; -1 */
  uint32_t turn; /* client that is looked at first */
  bool is_news;  /* the arbiter does not know yet */
  bool is_fresh_due;
  bool is_live;     /* the first version is one that was made before */
  char **published; /* [client] async: packed, as it was read */
  char *owed;       /* [replica] async: its version is not on its way yet */
  char *before;     /* async: states before the update, packed like a version */
  struct dtr_owner_stats *stats, *stats_sent;
  /* Tasks that were lost and come back. */
  struct dtr_stay *stays; /* [client] */
};

struct dtr_owner {
  struct dtr_party party;
  const struct dtr_owner_map *map;
  uint32_t index;
  struct dtr_executor *executor;
  enum dtr_owner_state state;

  char *memory;                   /* of the pieces */
  int64_t version;                /* that they are; -1: none yet */
  bool is_torn;                   /* some are of the next one */
  struct dtr_contribution *table; /* the shares as a contribution block */
  struct dtr_tree *tree;          /* over all leaves */
  char *reduced;                  /* between collect and the end of the update */

  char *arena;  /* of the update */
  char *block;  /* publish: packed */
  char *gather; /* packed */
  char *norms;  /* packed, of one phase */
  bool *have;   /* [replica] pushed in this step; [owner] block sums of this phase */
  uint32_t missing;
  uint32_t next; /* publish, exchange: the next one to send to */
  struct dtr_update *update;
  uint32_t phase;      /* of the update under way */
  int64_t block_bytes; /* of the message in `block` */
  bool is_first;       /* the version that is packed next goes to replicas that have none */
  bool is_gathering;   /* the reply to the chief is under way */
  int64_t gather_step;
  struct dtr_relaxed *relaxed; /* NULL: sync */
  struct dtr_scalars scalars;
};

/* The published pieces into a message, of those that are rows the ones that the reduced block has;
 * returns its bytes. */
int64_t dtr_owner_pack(const struct dtr_owner *owner, char *message);
/* Refuses a push whose rows are not what the replica may send. */
bool dtr_owner_check_push(struct dtr_owner *owner, uint32_t replica, const char *bytes,
                          int64_t size);
/* A leaf's shares out of a checked push: returns where the next begins. */
const char *dtr_owner_unpack_leaf(const struct dtr_owner *owner, char *block, const char *bytes);
/* Commands of the chief after the beginning. */
bool dtr_owner_hear_chief(struct dtr_owner *owner);

bool dtr_owner_new_relaxed(struct dtr_owner *owner); /* false: no memory */
void dtr_owner_free_relaxed(struct dtr_owner *owner);
/* What outlives a generation. */
void dtr_owner_renew_relaxed(struct dtr_owner *owner, const struct dtr_relaxed *before);
/* Async: all steps that come before what the chief asks for next are made. */
bool dtr_owner_has_made_last(const struct dtr_owner *owner);
bool dtr_owner_serves(const struct dtr_owner *owner, uint32_t replica);
bool dtr_owner_collect_relaxed(struct dtr_owner *owner);
void dtr_owner_publish_async(struct dtr_owner *owner, bool first);
/* Sends versions that are due. */
bool dtr_owner_pay(struct dtr_owner *owner);
bool dtr_owner_withdraw(struct dtr_owner *owner);

/* Finds what the launches work on; refuses one that uses what the owner does not hold. */
bool dtr_owner_new_update(struct dtr_owner *owner, struct dtr_error *error);
/* Begins the update with what the tree has given. */
void dtr_owner_enter_update(struct dtr_owner *owner);
/* Packs the block sums of the current phase; false if there are none. */
int64_t dtr_owner_pack_norms(struct dtr_owner *owner);
void dtr_owner_unpack_norms(struct dtr_owner *owner, uint32_t from, const char *bytes);

#endif
