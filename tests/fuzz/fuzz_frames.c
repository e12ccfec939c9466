/* libFuzzer: what a data connection may bring. At worst it is closed. */
#include "runtime/net/net.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const struct dtr_edge edges[] = {{0, 1, 64, true}, {1, 0, 16, false}, {0, 1, 8, false}};
  static const uint32_t tasks[] = {0, 1};
  const struct dtr_net_options options = {
      .env = dtr_env_real(), .task = 1, .ends = 2, .tasks = tasks, .edges = edges, .edge_count = 3};
  struct dtr_net *net;
  struct dtr_error error;
  int sockets[2];
  dtr_error_clear(&error);
  if (size > 1 << 16 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0 ||
      !dtr_net_new(&options, &net, &error))
    return 0;
  struct dtr_endpoint end = dtr_net_endpoint(net, 1);
  dtr_net_connect(net, 1, 0, sockets[1]);
  if (write(sockets[0], bytes, size) == (ssize_t)size)
    for (int i = 0; i < 4; i++)
      dtr_transport_progress(&end, 0);
  close(sockets[0]);
  dtr_net_free(net);
  return 0;
}
