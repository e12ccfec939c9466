// Whole lines of a task, passed on to standard error behind the task's name.
//
// Ownership: the struct owns its bytes and the descriptor. Thread rule: one thread.
#ifndef DTG_RUN_LINES_H
#define DTG_RUN_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { DTG_LINE_LIMIT = 65536 }; // bytes; a longer line is cut into several

struct dtg_lines {
  int file; // a pipe's end, not blocking; -1: closed
  size_t length;
  char *bytes; // DTG_LINE_LIMIT
};

// False: no memory.
bool dtg_lines_open(struct dtg_lines *lines, int file);
// What can be read now. False: the other end is closed, and everything has been written.
bool dtg_lines_forward(struct dtg_lines *lines, const char *name);
void dtg_lines_close(struct dtg_lines *lines);

#endif
