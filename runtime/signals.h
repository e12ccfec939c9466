/* Signals, turned into flags that the driver looks at between two polls.
 *
 * SIGINT and SIGTERM ask for an end after the current step; a second one ends the process at once.
 * SIGUSR1 asks for a line about what the task is doing. A handler can reach nothing but a variable
 * of static duration: this is the runtime's only one. Threads: the main thread installs, any looks.
 */
#ifndef DTR_SIGNALS_H
#define DTR_SIGNALS_H

#include <stdbool.h>

void dtr_signals_install(void);
/* The signal that asked for the end, or 0. */
int dtr_signals_stop(void);
/* Whether SIGUSR1 came since the last call. */
bool dtr_signals_take_report(void);

#endif
