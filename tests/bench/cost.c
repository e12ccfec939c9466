// usage: dtg_bench_cost COMMAND...: runs it without output and prints its CPU time in milliseconds
// and its largest memory in KiB.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double milliseconds(struct timeval t) {
  return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

int main(int argc, char **argv) {
  struct rusage used;
  int status = 0;
  if (argc < 2)
    return 2;
  pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
      _exit(126);
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0)
    return 1;
  printf("%.1f %ld\n", milliseconds(used.ru_utime) + milliseconds(used.ru_stime), used.ru_maxrss);
  return 0;
}
