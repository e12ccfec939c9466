#include "compiler/run/processes.h"

#include "compiler/base/strbuf.h"
#include "compiler/run/lines.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  BACKLOG = 128,
  // After the chief has ended: the program's own deadline for a shutdown, then a signal, then none.
  GRACE = 35000, // ms
  KILL = 3000,
  STATUS_FAILED = 1,
  STATUS_PEER_LOST = 3
};

struct task {
  char *name; // "worker/1"
  int socket; // listens; kept while the task is started again
  pid_t pid;  // 0: not running
  int64_t generation;
  int status; // as wait() tells it, of the last time
  struct dtg_lines lines;
};

struct launcher {
  struct dtg_ctx *ctx;
  const struct dtg_run_input *input;
  struct task *tasks;
  uint32_t count, chief, running;
  char *addresses; // the text of DTG_ADDRESSES
  char run[33];    // the text of DTG_RUN
  int signals;     // a signalfd
  sigset_t before; // the mask that tasks start with
  int stops;       // how often somebody asked for the end
  int64_t end_by;  // monotonic milliseconds: when the rest is ended; 0: not yet
  bool is_killing; // the last signal has been sent
};

// ---- whether it can be done ----

static bool is_loopback(const char *address) {
  return strncmp(address, "127.", 4) == 0 || strncmp(address, "localhost:", 10) == 0 ||
         strncmp(address, "[::1]:", 6) == 0;
}

static const char *far_address(const struct dtg_job *job) {
  for (uint32_t t = 0; job->addresses && t < job->task_count; t++)
    if (!is_loopback(job->addresses[t]))
      return job->addresses[t];
  return NULL;
}

bool dtg_run_check(struct dtg_ctx *ctx, const struct dtg_run_input *input) {
  uint32_t count = 0;
  for (uint32_t j = 0; j < input->cluster->job_count; j++) {
    const struct dtg_job *job = &input->cluster->jobs[j];
    const char *address = far_address(job);
    count += job->task_count;
    if (address) {
      struct dtg_diag *diag =
          dtg_error(&ctx->diags, job->span,
                    "--processes starts tasks on this machine, and job `%s` has the address `%s`",
                    job->name, address);
      dtg_diag_hint(diag, "--emit=slurm, k8s or hostfile writes what starts them on their hosts; a "
                          "cluster such as `ps=1,worker=2` is local");
      return false;
    }
  }
  if (count <= DTG_RUN_MAX_TASKS)
    return true;
  dtg_error(&ctx->diags, input->cluster->jobs[0].span,
            "--processes starts at most %d tasks on one machine, and the cluster has %u",
            DTG_RUN_MAX_TASKS, count);
  return false;
}

static int64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// The rest has so long to end by itself.
static void end_soon(struct launcher *l, int64_t by_default) {
  l->end_by = milliseconds() + (l->input->grace > 0 ? l->input->grace : by_default);
}

static bool fail(struct launcher *l, const char *what) {
  dtg_error(&l->ctx->diags, DTG_SPAN_NONE, "cannot start the tasks: %s: %s", what, strerror(errno));
  return false;
}

// ---- what tasks are given ----

static bool open_socket(struct launcher *l, struct task *task, struct dtg_strbuf *addresses) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  task->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (task->socket < 0 || bind(task->socket, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(task->socket, BACKLOG) != 0 ||
      getsockname(task->socket, (struct sockaddr *)&address, &size) != 0)
    return fail(l, "a socket on the loopback interface");
  dtg_strbuf_printf(addresses, "%s127.0.0.1:%d", addresses->len > 0 ? "," : "",
                    ntohs(address.sin_port));
  return true;
}

// A name that no other start has: an earlier run's checkpoints in the same folder are not this
// one's.
static bool name_run(struct launcher *l) {
  uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return fail(l, "a name for the run");
  snprintf(l->run, sizeof l->run, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  return true;
}

static bool make_tasks(struct launcher *l) {
  const struct dtg_cluster *cluster = l->input->cluster;
  struct dtg_arena *arena = &l->ctx->arena;
  struct dtg_strbuf addresses = {0};
  uint32_t at = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++)
    l->count += cluster->jobs[j].task_count;
  l->tasks = DTG_NEW_ARRAY(arena, struct task, l->count);
  for (uint32_t t = 0; t < l->count; t++)
    l->tasks[t] = (struct task){.socket = -1, .lines = {.file = -1}};
  for (uint32_t j = 0; j < cluster->job_count; j++)
    for (uint32_t t = 0; t < cluster->jobs[j].task_count; t++, at++) {
      l->tasks[at].name = dtg_arena_printf(arena, "%s/%u", cluster->jobs[j].name, t);
      if (j == cluster->chief_job && t == cluster->chief_task)
        l->chief = at;
      if (!open_socket(l, &l->tasks[at], &addresses)) {
        dtg_strbuf_free(&addresses);
        return false;
      }
    }
  l->addresses = dtg_arena_printf(arena, "%s", dtg_strbuf_text(&addresses));
  dtg_strbuf_free(&addresses);
  return true;
}

// ---- starting ----

static bool set_number(const char *name, long long value) {
  char text[24];
  snprintf(text, sizeof text, "%lld", value);
  return setenv(name, text, 1) == 0;
}

// In the child: it dies with the launcher, even if that is killed; its group is its own, so that
// the terminal's Control-C reaches the launcher alone.
static void become(const struct launcher *l, const struct task *task, pid_t launcher, int output) {
  const char *program = l->input->argv[0];
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != launcher)
    _exit(STATUS_FAILED);
  sigprocmask(SIG_SETMASK, &l->before, NULL);
  if (output >= 0 && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0))
    _exit(STATUS_FAILED);
  int socket = dup(task->socket); // without close-on-exec
  if (socket >= 0 && set_number("DTG_LISTEN_FD", socket) &&
      set_number("DTG_GENERATION", task->generation) && setenv("DTG_RUN", l->run, 1) == 0 &&
      setenv("DTG_ADDRESSES", l->addresses, 1) == 0 && setenv("DTG_TASK", task->name, 1) == 0)
    execv(program, (char *const *)(uintptr_t)l->input->argv);
  fprintf(stderr, "dtgc: cannot start %s: %s\n", program, strerror(errno));
  _exit(STATUS_FAILED);
}

static bool start(struct launcher *l, struct task *task) {
  bool is_chief = task == &l->tasks[l->chief];
  int ends[2] = {-1, -1};
  pid_t launcher = getpid();
  if (!is_chief && (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ||
                    !dtg_lines_open(&task->lines, ends[0])))
    return fail(l, "a pipe");
  fflush(NULL);
  task->pid = fork();
  if (task->pid == 0)
    become(l, task, launcher, ends[1]);
  if (ends[1] >= 0)
    close(ends[1]);
  if (task->pid < 0) {
    task->pid = 0;
    return fail(l, "fork");
  }
  l->running++;
  return true;
}

// ---- ends ----

static const char *end_text(struct dtg_arena *arena, int status) {
  if (WIFSIGNALED(status)) {
    const char *name = sigabbrev_np(WTERMSIG(status));
    return dtg_arena_printf(arena, "was killed by SIG%s", name ? name : "?");
  }
  return dtg_arena_printf(arena, "ended with exit status %d", WEXITSTATUS(status));
}

static void say(const char *name, const char *text) {
  fprintf(stderr, "%sdtgc: %s %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", name, text);
}

// Only who was killed comes back: an error of its own would come again.
static void take_end(struct launcher *l, struct task *task, int status) {
  bool is_chief = task == &l->tasks[l->chief];
  struct dtg_arena *arena = &l->ctx->arena;
  task->pid = 0;
  task->status = status;
  l->running--;
  if (!is_chief) {
    dtg_lines_forward(&task->lines, task->name);
    dtg_lines_close(&task->lines);
  }
  if (WIFSIGNALED(status) && l->stops == 0 && l->end_by == 0 &&
      task->generation < l->input->restarts) {
    task->generation++;
    say(task->name,
        dtg_arena_printf(arena, "%s; it is started again (%lld of %lld)", end_text(arena, status),
                         (long long)task->generation, (long long)l->input->restarts));
    if (start(l, task))
      return;
  } else if (status != 0 && (!is_chief || WIFSIGNALED(status)) && !l->is_killing) {
    say(task->name, end_text(arena, status));
  }
  if (is_chief && l->end_by == 0)
    end_soon(l, GRACE);
}

static void reap(struct launcher *l) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
    for (uint32_t t = 0; t < l->count; t++)
      if (l->tasks[t].pid == pid)
        take_end(l, &l->tasks[t], status);
}

static void signal_all(const struct launcher *l, int number) {
  for (uint32_t t = 0; t < l->count; t++)
    if (l->tasks[t].pid > 0)
      kill(l->tasks[t].pid, number);
}

// Whoever is left although the chief has gone, or was asked to end the run and did not. The second
// time nothing is left to them: a signal that they may ignore was sent before.
static void end_the_rest(struct launcher *l) {
  bool is_asked = l->tasks[l->chief].pid > 0;
  if (l->end_by == 0 || milliseconds() < l->end_by)
    return;
  for (uint32_t t = 0; t < l->count && !l->is_killing; t++)
    if (l->tasks[t].pid > 0)
      say(l->tasks[t].name, is_asked ? "did not end when it was asked to, and is stopped"
                                     : "did not end with the chief, and is stopped");
  signal_all(l, l->is_killing ? SIGKILL : SIGTERM);
  l->is_killing = true;
  end_soon(l, KILL);
}

// ---- signals ----

// The first request is the chief's to fulfil, the second is everybody's.
static void take_stop(struct launcher *l, int number) {
  struct task *chief = &l->tasks[l->chief];
  l->stops++;
  if (l->stops == 1 && chief->pid > 0)
    kill(chief->pid, number);
  else
    signal_all(l, l->stops > 2 ? SIGKILL : SIGTERM);
  if (l->stops > 1)
    end_soon(l, KILL);
  else if (l->end_by == 0)
    end_soon(l, GRACE);
}

static void take_signals(struct launcher *l) {
  struct signalfd_siginfo info;
  while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info)
    if (info.ssi_signo == SIGCHLD)
      reap(l);
    else if (info.ssi_signo == SIGUSR1)
      signal_all(l, SIGUSR1);
    else
      take_stop(l, (int)info.ssi_signo);
}

static bool watch_signals(struct launcher *l) {
  static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
    sigaddset(&set, watched[i]);
  sigprocmask(SIG_BLOCK, &set, &l->before);
  l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return l->signals >= 0 || fail(l, "signalfd");
}

// ---- the loop ----

// How long poll() may sleep; -1: until something happens.
static int time_left(const struct launcher *l) {
  int64_t left = l->end_by - milliseconds();
  return l->end_by == 0 ? -1 : left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static void watch(struct launcher *l) {
  struct pollfd *files = DTG_NEW_ARRAY(&l->ctx->arena, struct pollfd, l->count + 1);
  while (l->running > 0) {
    files[l->count] = (struct pollfd){.fd = l->signals, .events = POLLIN};
    for (uint32_t t = 0; t < l->count; t++)
      files[t] = (struct pollfd){.fd = l->tasks[t].lines.file, .events = POLLIN};
    poll(files, l->count + 1, time_left(l));
    for (uint32_t t = 0; t < l->count; t++)
      if (files[t].revents && !dtg_lines_forward(&l->tasks[t].lines, l->tasks[t].name))
        dtg_lines_close(&l->tasks[t].lines);
    take_signals(l);
    end_the_rest(l);
  }
}

static int exit_status(const struct launcher *l) {
  int status = l->tasks[l->chief].status;
  return WIFSIGNALED(status) ? STATUS_PEER_LOST : WEXITSTATUS(status);
}

static bool run(struct launcher *l) {
  if (!watch_signals(l) || !name_run(l) || !make_tasks(l))
    return false;
  for (uint32_t t = 0; t < l->count; t++)
    if (!start(l, &l->tasks[t])) {
      signal_all(l, SIGKILL);
      l->stops = 1;
      watch(l);
      return false;
    }
  watch(l);
  return true;
}

int dtg_run_processes(struct dtg_ctx *ctx, const struct dtg_run_input *input) {
  struct launcher launcher = {.ctx = ctx, .input = input, .signals = -1};
  int status = run(&launcher) ? exit_status(&launcher) : STATUS_FAILED;
  for (uint32_t t = 0; t < launcher.count && launcher.tasks; t++) {
    if (launcher.tasks[t].socket >= 0)
      close(launcher.tasks[t].socket);
    dtg_lines_close(&launcher.tasks[t].lines);
  }
  if (launcher.signals >= 0) {
    close(launcher.signals);
    sigprocmask(SIG_SETMASK, &launcher.before, NULL);
  }
  return status;
}
