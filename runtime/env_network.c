#include "runtime/env_network.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 1024, EVENTS = 64 };

/* ---- addresses ---- */

static int resolve(const char *host, int port, struct addrinfo **list) {
  char service[16];
  struct addrinfo hints = {
      .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
  snprintf(service, sizeof service, "%d", port);
  int status = getaddrinfo(host, service, &hints, list);
  if (status == 0)
    return 0;
  return status == EAI_SYSTEM ? -errno : status == EAI_MEMORY ? -ENOMEM : -DTR_NO_SUCH_HOST;
}

static int open_socket(const struct addrinfo *address) {
  int on = 1;
  int made = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0)
    return -errno;
  /* Small messages must not wait for more to come. */
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

static int fail(int handle) {
  int error = errno;
  close(handle);
  return -error;
}

/* ---- sockets ---- */

int dtr_socket_listen(void *context, const char *host, int port) {
  (void)context;
  struct addrinfo *list;
  int on = 1, result = resolve(host, port, &list);
  if (result < 0)
    return result;
  int made = open_socket(list);
  if (made >= 0) {
    /* The port of a run that has just ended may be taken again at once. */
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(made, list->ai_addr, list->ai_addrlen) < 0 || listen(made, BACKLOG) < 0)
      made = fail(made);
  }
  freeaddrinfo(list);
  return made;
}

static int port_of(const struct sockaddr_storage *address) {
  if (address->ss_family == AF_INET6)
    return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
  return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

int dtr_socket_adopt(void *context, int listener) {
  (void)context;
  int flags = fcntl(listener, F_GETFL);
  if (flags < 0 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) < 0 ||
      fcntl(listener, F_SETFD, FD_CLOEXEC) < 0)
    return -errno;
  return 0;
}

int dtr_socket_port(void *context, int listener) {
  (void)context;
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  if (getsockname(listener, (struct sockaddr *)&address, &length) < 0)
    return -errno;
  return port_of(&address);
}

int dtr_socket_accept(void *context, int listener, char *from, size_t size) {
  (void)context;
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  char host[64] = "?";
  int on = 1;
  int made = accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (made < 0)
    return -errno;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  getnameinfo((struct sockaddr *)&address, length, host, sizeof host, NULL, 0, NI_NUMERICHOST);
  snprintf(from, size, "%s:%d", host, port_of(&address));
  return made;
}

/* The interface that owns the address, and no other. */
static int come_from(int made, const char *host, int family) {
  struct addrinfo *list, *at;
  int result = resolve(host, 0, &list);
  if (result < 0)
    return result;
  for (at = list; at && at->ai_family != family; at = at->ai_next)
    ;
#ifdef IP_BIND_ADDRESS_NO_PORT
  int on = 1;
  if (family == AF_INET)
    setsockopt(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
#endif
  if (at && bind(made, at->ai_addr, at->ai_addrlen) < 0)
    result = -errno;
  freeaddrinfo(list);
  return result;
}

int dtr_socket_connect(void *context, const char *host, int port, const char *from) {
  (void)context;
  struct addrinfo *list;
  int result = resolve(host, port, &list);
  if (result < 0)
    return result;
  int made = open_socket(list);
  if (made >= 0 && from && (result = come_from(made, from, list->ai_family)) < 0) {
    close(made);
    made = result;
  }
  if (made >= 0 && connect(made, list->ai_addr, list->ai_addrlen) < 0 && errno != EINPROGRESS)
    made = fail(made);
  freeaddrinfo(list);
  return made;
}

int dtr_socket_status(void *context, int socket) {
  (void)context;
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
    return -errno;
  return -error;
}

int64_t dtr_socket_read(void *context, int socket, void *bytes, size_t size) {
  (void)context;
  ssize_t count;
  do
    count = recv(socket, bytes, size, 0);
  while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}

int64_t dtr_socket_write(void *context, int socket, const struct iovec *parts, int count) {
  (void)context;
  struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
  ssize_t written;
  do
    written = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (written < 0 && errno == EINTR);
  return written < 0 ? -errno : written;
}

/* ---- events ---- */

int dtr_poll_new(void *context) {
  (void)context;
  int made = epoll_create1(EPOLL_CLOEXEC);
  return made < 0 ? -errno : made;
}

int dtr_poll_set(void *context, int poll, int handle, unsigned events, uint64_t tag) {
  (void)context;
  struct epoll_event event = {.data.u64 = tag};
  event.events = (events & DTR_POLL_READ ? EPOLLIN | EPOLLRDHUP : 0u) |
                 (events & DTR_POLL_WRITE ? EPOLLOUT : 0u);
  if (events == 0)
    return epoll_ctl(poll, EPOLL_CTL_DEL, handle, &event) < 0 ? -errno : 0;
  if (epoll_ctl(poll, EPOLL_CTL_MOD, handle, &event) == 0)
    return 0;
  if (errno != ENOENT)
    return -errno;
  return epoll_ctl(poll, EPOLL_CTL_ADD, handle, &event) < 0 ? -errno : 0;
}

static int milliseconds_until(int64_t deadline) {
  struct timespec time;
  if (deadline == INT64_MAX)
    return -1;
  clock_gettime(CLOCK_MONOTONIC, &time);
  int64_t left = deadline - ((int64_t)time.tv_sec * 1000000000 + time.tv_nsec);
  if (left <= 0)
    return 0;
  left = (left + 999999) / 1000000;
  return left > 3600000 ? 3600000 : (int)left;
}

int dtr_poll_wait(void *context, int poll, int64_t deadline, struct dtr_poll_event *events,
                  int count) {
  (void)context;
  struct epoll_event ready[EVENTS];
  int found =
      epoll_wait(poll, ready, count < EVENTS ? count : EVENTS, milliseconds_until(deadline));
  if (found < 0)
    return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < found; i++) {
    events[i].tag = ready[i].data.u64;
    events[i].events = (ready[i].events & ~(uint32_t)EPOLLOUT ? DTR_POLL_READ : 0u) |
                       (ready[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP) ? DTR_POLL_WRITE : 0u);
  }
  return found;
}

int dtr_alarm_new(void *context) {
  (void)context;
  int made = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return made < 0 ? -errno : made;
}

void dtr_alarm_ring(void *context, int alarm) {
  (void)context;
  uint64_t one = 1;
  if (write(alarm, &one, sizeof one) < 0)
    return; /* full: it rings already */
}

void dtr_alarm_clear(void *context, int alarm) {
  (void)context;
  uint64_t count;
  if (read(alarm, &count, sizeof count) < 0)
    return; /* it was not ringing */
}

void dtr_random(void *context, void *bytes, size_t size) {
  (void)context;
  randombytes_buf(bytes, size);
}
