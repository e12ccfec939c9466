/* The network's functions of the operating system's row, for env.c only: TCP, epoll, eventfd.
 *
 * Contracts: env.h. Threads: any; one socket is used by one thread at a time.
 */
#ifndef DTR_ENV_NETWORK_H
#define DTR_ENV_NETWORK_H

#include "runtime/env.h"

int dtr_socket_listen(void *context, const char *host, int port);
int dtr_socket_adopt(void *context, int listener);
int dtr_socket_port(void *context, int listener);
int dtr_socket_accept(void *context, int listener, char *from, size_t size);
int dtr_socket_connect(void *context, const char *host, int port, const char *from);
int dtr_socket_status(void *context, int socket);
int64_t dtr_socket_read(void *context, int socket, void *bytes, size_t size);
int64_t dtr_socket_write(void *context, int socket, const struct iovec *parts, int count);
int dtr_poll_new(void *context);
int dtr_poll_set(void *context, int poll, int handle, unsigned events, uint64_t tag);
int dtr_poll_wait(void *context, int poll, int64_t deadline, struct dtr_poll_event *events,
                  int count);
int dtr_alarm_new(void *context);
void dtr_alarm_ring(void *context, int alarm);
void dtr_alarm_clear(void *context, int alarm);
void dtr_random(void *context, void *bytes, size_t size);

#endif
