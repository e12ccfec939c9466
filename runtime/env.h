/* Everything the runtime asks of the outside world: time, files and the network.
 *
 * A `struct dtr_env` is a table of functions with a context, so that a simulator can give virtual
 * time and failing disks. Code of the runtime calls nothing else for these (no open, fopen, clock).
 * Ownership: the table and its context belong to the caller and outlive everything made with them.
 * Threads: the functions of the real row may be called from any thread; one file is used by one
 * thread at a time, except pread. Another row states its own rule.
 *
 * Functions that can fail return a negative errno (-ENOENT), else 0 or a count.
 */
#ifndef DTR_ENV_H
#define DTR_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum dtr_file_mode {
  DTR_FILE_READ,   /* must exist; opening does not wait for the writer of a pipe */
  DTR_FILE_CREATE, /* made, or emptied, for writing */
  DTR_FILE_APPEND  /* made if missing, written at its end */
};

struct dtr_file_info {
  int64_t size; /* bytes */
  bool is_directory;
  bool is_regular; /* has bytes of its own: no folder, pipe or device */
  unsigned mode;   /* who may read and write it, as chmod counts */
};

/* Called for each entry of a folder ("." and ".." left out), in no particular order. */
typedef void dtr_list_visitor(void *visitor_context, const char *name);

enum { DTR_NO_SUCH_HOST = 4096 }; /* beyond all errnos */
enum { DTR_POLL_READ = 1, DTR_POLL_WRITE = 2 };
struct dtr_poll_event {
  uint64_t tag;
  unsigned events;
};

struct dtr_env {
  void *context;

  int64_t (*now)(void *context);       /* monotonic, nanoseconds */
  int64_t (*wall_time)(void *context); /* nanoseconds since 1970-01-01 UTC */

  int (*file_open)(void *context, const char *path, enum dtr_file_mode mode); /* a handle >= 0 */
  int (*file_close)(void *context, int file);
  /* May transfer less than asked for; a read of 0 bytes is the end of the file. A row may refuse to
   * go on reading with -ECANCELED, when the run is to end. */
  int64_t (*file_read)(void *context, int file, void *bytes, size_t size);
  int64_t (*file_pread)(void *context, int file, void *bytes, size_t size, int64_t offset);
  int64_t (*file_write)(void *context, int file, const void *bytes, size_t size);
  int (*file_sync)(void *context, int file); /* its bytes are on the disk */
  int (*file_info)(void *context, int file, struct dtr_file_info *info);

  int (*path_info)(void *context, const char *path, struct dtr_file_info *info);
  int (*path_rename)(void *context, const char *from, const char *to); /* replaces `to` */
  int (*path_unlink)(void *context, const char *path);
  int (*path_mkdir)(void *context, const char *path); /* -EEXIST if it is there */
  int (*path_list)(void *context, const char *path, dtr_list_visitor *visit, void *visitor_context);
  int (*path_sync)(void *context, const char *path); /* a folder: its entries are on the disk */
  /* Takes a folder or a file for this process: a handle that file_close gives back, -EWOULDBLOCK if
   * another process has it. Not every file system can: any other error says nothing. */
  int (*path_lock)(void *context, const char *path);
  const char *(*variable)(void *context, const char *name); /* environment variable or NULL */

  /* ---- the network; NULL in rows that have none ----
   * Sockets carry bytes in order (TCP) and never block: -EAGAIN, try again after an event. Handles
   * are given back by file_close. `host` is a name or a number; one that does not resolve gives
   * -DTR_NO_SUCH_HOST, and looking it up may take seconds. */
  int (*socket_listen)(void *context, const char *host, int port); /* port 0: any free one */
  int (*socket_adopt)(void *context, int listener); /* of whoever started this process */
  int (*socket_port)(void *context, int listener);
  /* `from`: who it is, "10.0.0.3:41234". */
  int (*socket_accept)(void *context, int listener, char *from, size_t size);
  /* Begins; an event says when it is over, and socket_status how: 0 or a negative errno. `from`:
   * the host of this machine to come from, or NULL. */
  int (*socket_connect)(void *context, const char *host, int port, const char *from);
  int (*socket_status)(void *context, int socket);
  int64_t (*socket_read)(void *context, int socket, void *bytes, size_t size); /* 0: the end */
  int64_t (*socket_write)(void *context, int socket, const struct iovec *parts, int count);

  /* A set of sockets and alarms that one thread waits for. `events`: what is asked for, 0 removes;
   * the end of a connection is told as DTR_POLL_READ. */
  int (*poll_new)(void *context);
  int (*poll_set)(void *context, int poll, int handle, unsigned events, uint64_t tag);
  /* How many events; 0: `deadline` (of `now`, INT64_MAX: none) has passed, or a signal came. */
  int (*poll_wait)(void *context, int poll, int64_t deadline, struct dtr_poll_event *events,
                   int count);
  /* Any thread may ring an alarm: an event for who polls it, until it is cleared. */
  int (*alarm_new)(void *context);
  void (*alarm_ring)(void *context, int alarm);
  void (*alarm_clear)(void *context, int alarm);
  void (*random)(void *context, void *bytes, size_t size); /* that nobody can guess */
};

/* The row of the operating system; handles are file descriptors, so 1 and 2 are open. */
const struct dtr_env *dtr_env_real(void);

/* Whole transfers on top of a row: 0, or a negative errno. A read that meets the end of the file
 * first gives -ENODATA. */
int dtr_env_pread_all(const struct dtr_env *env, int file, void *bytes, size_t size,
                      int64_t offset);
int dtr_env_write_all(const struct dtr_env *env, int file, const void *bytes, size_t size);
/* Makes `path` and its missing parents. 0 also if it is there already. */
int dtr_env_mkdir_all(const struct dtr_env *env, const char *path);
int64_t dtr_env_now(const struct dtr_env *env);
/* "No such file or directory", or that a host name does not resolve. `error`: negative or not. */
const char *dtr_env_error_text(int error);

/* ---- a row that fails on purpose, for tests ---- */

/* Counts from 1; 0 = never. Once the n-th call failed, later ones succeed again unless `sticky`. */
struct dtr_env_fault {
  const struct dtr_env *below; /* what the calls are passed on to */
  int64_t fail_write, fail_sync, fail_rename, fail_open, fail_read, fail_close;
  int error;               /* positive errno of the failure, such as ENOSPC */
  bool sticky;             /* a full disk stays full */
  size_t longest_transfer; /* reads and writes move at most so much; 0 = no limit */
  int64_t writes, syncs, renames, opens, reads, closes; /* calls seen so far */
};
/* `fault` is filled in by the caller and must stay where it is. Not thread-safe. */
struct dtr_env dtr_env_faulty(struct dtr_env_fault *fault);

#endif
