#include "runtime/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static struct { volatile sig_atomic_t stop, report; } asked;

static void ask_stop(int signal_number) {
  if (asked.stop)
    _exit(128 + signal_number);
  asked.stop = signal_number;
}

static void ask_report(int signal_number) {
  (void)signal_number;
  asked.report = 1;
}

void dtr_signals_install(void) {
  struct sigaction action = {.sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  action.sa_handler = ask_stop;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  action.sa_handler = ask_report;
  sigaction(SIGUSR1, &action, NULL);
  struct sigaction before;
  action.sa_handler = ask_stop;
  if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup */
    sigaction(SIGHUP, &action, NULL);
  /* A file that may not grow is an error of the write, as a full disk is. */
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, NULL);
}

int dtr_signals_stop(void) {
  return asked.stop;
}

bool dtr_signals_take_report(void) {
  if (!asked.report)
    return false;
  asked.report = 0;
  return true;
}
