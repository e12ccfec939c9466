/* TF_CONFIG, the cluster description that TensorFlow's launchers set, read for a plan of dtg.
 *
 * Purpose: {"cluster": {"ps": ["host:port"], "worker": [...]}, "task": {"type": "ps", "index": 0}}.
 * A task of type `chief` (or its old name `master`) is worker 0, and the workers come after it; a
 * plan that has a job of that name takes it as it is. Ownership: see identity.h. Threads: one.
 */
#ifndef DTR_START_TF_CONFIG_H
#define DTR_START_TF_CONFIG_H

#include "runtime/start/identity.h"

enum { DTR_TF_CONFIG_LIMIT = 1 << 24 }; /* bytes of text */

/* Sets task and addresses. Errors (status CONFIG) name the key and what belongs there; other keys
 * than `cluster` and `task` are none of ours. */
bool dtr_tf_config_read(const char *text, const struct dtr_replication *replication,
                        struct dtr_identity *identity, struct dtr_error *error);

#endif
