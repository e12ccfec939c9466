/* Inside of the simulated disk: names and contents; for env_sim.c and disk.c only.
 *
 * A name leads to a node now, and to another (or none) on the platter: what a crash may bring back.
 * Ownership: the volume owns names and nodes, and frees them all at its end. Threads: one.
 */
#ifndef DTR_SIM_DISK_H
#define DTR_SIM_DISK_H

#include "runtime/sim/env_sim.h"

struct dtr_sim_node {
  struct dtr_sim_node *next; /* of the volume */
  bool is_folder;
  char *bytes;
  int64_t size, room;
  char *synced; /* the contents on the platter */
  int64_t synced_size;
};

struct dtr_sim_name {
  struct dtr_sim_name *next;
  char *path;
  struct dtr_sim_node *now, *synced; /* NULL: no such file */
  bool is_imported;                  /* of the real disk, whose folders are not here */
};

struct dtr_sim_volume {
  struct dtr_sim_name *names;
  struct dtr_sim_node *nodes;
};

void dtr_sim_volume_free(struct dtr_sim_volume *volume);

/* Canonical form: without "./" at the start, doubled and trailing slashes. False: too long. */
bool dtr_sim_path(const char *path, char *canonical, size_t size);
/* The folder that holds a canonical path; "" and "/" always exist. */
void dtr_sim_parent(const char *path, char *parent, size_t size);

/* The name of a canonical path; NULL: never heard of (find) or no memory (add). */
struct dtr_sim_name *dtr_sim_name_find(const struct dtr_sim_volume *volume, const char *path);
struct dtr_sim_name *dtr_sim_name_add(struct dtr_sim_volume *volume, const char *path);
bool dtr_sim_folder_exists(const struct dtr_sim_volume *volume, const char *path);

struct dtr_sim_node *dtr_sim_node_new(struct dtr_sim_volume *volume, bool is_folder);
/* False: no memory. */
bool dtr_sim_node_append(struct dtr_sim_node *node, const void *bytes, int64_t size);
bool dtr_sim_node_sync(struct dtr_sim_node *node);

void dtr_sim_volume_crash(struct dtr_sim_volume *volume, struct dtr_sim_random *random,
                          struct dtr_sim_disk_counts *counts);

#endif
