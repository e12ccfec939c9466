/* Making the row `tcp`, its connections, and what other threads say to its ends. */
#include "runtime/net/net_parts.h"

#include "runtime/memory.h"
#include "runtime/net/row.h"

#include <stdlib.h>
#include <string.h>

enum { ALARM_TAG = 0 };

bool dtr_net_is_local(const struct dtr_net *net, uint32_t edge) {
  const struct dtr_net_options *options = &net->options;
  return options->tasks[options->edges[edge].from] == options->tasks[options->edges[edge].to];
}

bool dtr_net_is_joined(const struct dtr_net *net, uint32_t a, uint32_t b) {
  for (uint32_t e = 0; e < net->options.edge_count; e++) {
    const struct dtr_edge *edge = &net->options.edges[e];
    if ((edge->from == a && edge->to == b) || (edge->from == b && edge->to == a))
      return true;
  }
  return false;
}

/* ---- making ---- */

static struct dtr_link *find_link(struct dtr_net_end *end, uint32_t other) {
  for (uint32_t i = 0; i < end->link_count; i++)
    if (end->links[i].other == other)
      return &end->links[i];
  return NULL;
}

/* What of the edge is at this end: 1 it sends, 2 it receives, 0 nothing that a connection carries.
 */
static int role(const struct dtr_net_end *end, uint32_t edge) {
  const struct dtr_edge *it = &end->net->options.edges[edge];
  if (dtr_net_is_local(end->net, edge))
    return 0;
  return it->from == end->number ? 1 : it->to == end->number ? 2 : 0;
}

static bool allocate(struct dtr_net_end *end) {
  const struct dtr_net_options *options = &end->net->options;
  for (uint32_t e = 0; e < options->edge_count; e++) {
    end->out_count += role(end, e) == 1;
    end->in_count += role(end, e) == 2;
  }
  end->outs = calloc((size_t)end->out_count + 1, sizeof *end->outs);
  end->ins = calloc((size_t)end->in_count + 1, sizeof *end->ins);
  end->links = calloc((size_t)options->ends + 1, sizeof *end->links);
  end->mail = calloc((size_t)options->ends + 1, sizeof *end->mail);
  end->mail_lost = calloc((size_t)options->ends + 1, sizeof *end->mail_lost);
  return end->outs && end->ins && end->links && end->mail && end->mail_lost;
}

static struct dtr_link *link_with(struct dtr_net_end *end, uint32_t other) {
  struct dtr_link *link = find_link(end, other);
  if (link)
    return link;
  end->mail[end->link_count] = -1;
  link = &end->links[end->link_count++];
  *link = (struct dtr_link){.end = end->number,
                            .other = other,
                            .task = end->net->options.tasks[other],
                            .socket = -1,
                            .writing = DTR_NET_NONE};
  return link;
}

static bool add_edges(struct dtr_net_end *end) {
  const struct dtr_net_options *options = &end->net->options;
  uint32_t outs = 0, ins = 0;
  for (uint32_t e = 0; e < options->edge_count; e++) {
    const struct dtr_edge *edge = &options->edges[e];
    int is = role(end, e);
    if (is == 0)
      continue;
    struct dtr_link *link = link_with(end, is == 1 ? edge->to : edge->from);
    link->queue_room++;
    end->net->slot[e] = is == 1 ? outs : ins;
    if (is == 1) {
      end->outs[outs++] = (struct dtr_out){.edge = e, .link = (uint32_t)(link - end->links)};
      continue;
    }
    struct dtr_in *in = &end->ins[ins++];
    *in = (struct dtr_in){.edge = e, .link = (uint32_t)(link - end->links)};
    in->buffer = dtr_memory_new(edge->bytes + 1);
    if (!in->buffer)
      return false;
  }
  return true;
}

static bool make_links(struct dtr_net_end *end) {
  for (uint32_t i = 0; i < end->link_count; i++) {
    struct dtr_link *link = &end->links[i];
    link->queue = calloc((size_t)link->queue_room + 1, sizeof *link->queue);
    link->input = malloc(DTR_NET_INPUT);
    link->spill = malloc(DTR_NET_CHUNK);
    if (!link->queue || !link->input || !link->spill)
      return false;
  }
  return true;
}

static bool make_end(struct dtr_net *net, uint32_t number, struct dtr_error *error) {
  struct dtr_net_end *end = &net->ends[number];
  const struct dtr_env *env = net->options.env;
  if (!allocate(end) || !add_edges(end) || !make_links(end))
    return dtr_error_memory(error, net->options.edge_count, "the connections");
  end->loop = dtr_loop_endpoint(net->loop, number);
  end->poll = env->poll_new(env->context);
  end->alarm = end->poll < 0 ? end->poll : env->alarm_new(env->context);
  int result = end->alarm < 0
                   ? end->alarm
                   : env->poll_set(env->context, end->poll, end->alarm, DTR_POLL_READ, ALARM_TAG);
  return result >= 0 ||
         dtr_error_system(error, DTR_STATUS_IO, result, "connections cannot be watched");
}

bool dtr_net_new(const struct dtr_net_options *options, struct dtr_net **net,
                 struct dtr_error *error) {
  struct dtr_net *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the connections");
  made->options = *options;
  made->tasks = calloc((size_t)options->ends + 1, sizeof *made->tasks);
  made->ends = calloc((size_t)options->ends + 1, sizeof *made->ends);
  made->slot = calloc((size_t)options->edge_count + 1, sizeof *made->slot);
  if (!made->ends || !made->slot || !made->tasks) {
    made->options.ends = 0;
    dtr_net_free(made);
    return dtr_error_memory(error, options->edge_count, "the connections");
  }
  memcpy(made->tasks, options->tasks, options->ends * sizeof *made->tasks);
  made->options.tasks = made->tasks;
  for (uint32_t i = 0; i < options->ends; i++) {
    struct dtr_net_end *end = &made->ends[i];
    *end = (struct dtr_net_end){.net = made, .number = i, .poll = -1, .alarm = -1};
    end->is_here = options->tasks[i] == options->task;
    pthread_mutex_init(&end->lock, NULL);
  }
  bool good = dtr_loop_new(options->ends, options->edges, options->edge_count, &made->loop, error);
  for (uint32_t i = 0; good && i < options->ends; i++)
    good = !made->ends[i].is_here || make_end(made, i, error);
  if (!good) {
    dtr_net_free(made);
    return false;
  }
  *net = made;
  return true;
}

static void close_handle(const struct dtr_net *net, int handle) {
  if (handle >= 0)
    net->options.env->file_close(net->options.env->context, handle);
}

static void free_end(struct dtr_net_end *end) {
  for (uint32_t i = 0; end->links && i < end->link_count; i++) {
    close_handle(end->net, end->links[i].socket);
    if (end->mail)
      close_handle(end->net, end->mail[i]);
    free(end->links[i].queue);
    free(end->links[i].input);
    free(end->links[i].spill);
  }
  for (uint32_t i = 0; end->ins && i < end->in_count; i++)
    dtr_memory_free(end->ins[i].buffer);
  close_handle(end->net, end->alarm);
  close_handle(end->net, end->poll);
  pthread_mutex_destroy(&end->lock);
  free(end->links);
  free(end->outs);
  free(end->ins);
  free(end->mail);
  free(end->mail_lost);
}

void dtr_net_free(struct dtr_net *net) {
  if (!net)
    return;
  for (uint32_t i = 0; net->ends && i < net->options.ends; i++)
    free_end(&net->ends[i]);
  dtr_loop_free(net->loop);
  free(net->ends);
  free(net->slot);
  free(net->tasks);
  free(net);
}

struct dtr_endpoint dtr_net_endpoint(struct dtr_net *net, uint32_t end) {
  return (struct dtr_endpoint){dtr_net_row(), &net->ends[end]};
}

int64_t dtr_net_violations(const struct dtr_net *net) {
  return atomic_load_explicit(&net->violations, memory_order_relaxed);
}

/* ---- connections come and go ---- */

void dtr_link_clear(struct dtr_net_end *end, struct dtr_link *link) {
  uint32_t index = (uint32_t)(link - end->links);
  link->header_left = link->body_left = 0;
  link->writing = DTR_NET_NONE;
  link->wants_write = link->in_chunk = link->is_parked = false;
  link->input_first = link->input_count = 0;
  link->events = 0;
  for (uint32_t i = 0; i < end->in_count; i++) {
    if (end->ins[i].link == index && end->ins[i].state == DTR_IN_ARRIVING)
      end->ins[i].state = DTR_IN_FREE;
  }
}

static void drop_queue(struct dtr_net_end *end, struct dtr_link *link) {
  uint32_t index = (uint32_t)(link - end->links);
  link->queue_count = 0;
  for (uint32_t i = 0; i < end->out_count; i++)
    if (end->outs[i].link == index)
      end->outs[i].state = DTR_OUT_FREE;
  for (uint32_t i = 0; i < end->in_count; i++)
    if (end->ins[i].link == index)
      end->ins[i].is_release_due = false;
}

void dtr_link_close(struct dtr_net_end *end, struct dtr_link *link, const char *why) {
  const struct dtr_net_options *options = &end->net->options;
  if (link->socket >= 0) {
    options->env->poll_set(options->env->context, end->poll, link->socket, 0, 0);
    close_handle(end->net, link->socket);
  }
  link->socket = -1;
  link->state = DTR_LINK_LOST;
  dtr_link_clear(end, link);
  drop_queue(end, link);
  if (why && options->broken)
    options->broken(options->context, link->task, why);
}

static void open_link(struct dtr_net_end *end, struct dtr_link *link, int socket) {
  if (link->socket >= 0)
    dtr_link_close(end, link, NULL);
  dtr_link_clear(end, link);
  link->socket = socket;
  link->state = DTR_LINK_UP;
  dtr_link_write(end, link);
}

/* ---- what other threads say ---- */

static void ring(struct dtr_net_end *end) {
  const struct dtr_env *env = end->net->options.env;
  env->alarm_ring(env->context, end->alarm);
}

void dtr_net_connect(struct dtr_net *net, uint32_t number, uint32_t other, int socket) {
  struct dtr_net_end *end = &net->ends[number];
  struct dtr_link *link = find_link(end, other);
  pthread_mutex_lock(&end->lock);
  int *mail = link ? &end->mail[link - end->links] : NULL;
  close_handle(net, mail ? *mail : socket);
  if (mail) {
    *mail = socket;
    atomic_store_explicit(&end->has_mail, true, memory_order_release);
  }
  pthread_mutex_unlock(&end->lock);
  ring(end);
}

void dtr_net_lose(struct dtr_net *net, uint32_t task) {
  for (uint32_t e = 0; e < net->options.ends; e++) {
    struct dtr_net_end *end = &net->ends[e];
    if (!end->is_here)
      continue;
    pthread_mutex_lock(&end->lock);
    for (uint32_t i = 0; i < end->link_count; i++) {
      if (end->links[i].task != task)
        continue;
      close_handle(net, end->mail[i]);
      end->mail[i] = -1;
      end->mail_lost[i] = true;
      atomic_store_explicit(&end->has_mail, true, memory_order_release);
    }
    pthread_mutex_unlock(&end->lock);
    ring(end);
  }
}

void dtr_net_take_mail(struct dtr_net_end *end) {
  if (!atomic_load_explicit(&end->has_mail, memory_order_acquire))
    return;
  for (uint32_t i = 0; i < end->link_count; i++) {
    pthread_mutex_lock(&end->lock);
    int socket = end->mail[i];
    bool is_lost = end->mail_lost[i];
    end->mail[i] = -1;
    end->mail_lost[i] = false;
    if (i == 0)
      atomic_store_explicit(&end->has_mail, false, memory_order_release);
    pthread_mutex_unlock(&end->lock);
    if (is_lost)
      dtr_link_close(end, &end->links[i], NULL);
    if (socket >= 0)
      open_link(end, &end->links[i], socket);
  }
}

void dtr_net_wake(struct dtr_net *net, uint32_t end) {
  ring(&net->ends[end]);
}

void dtr_net_abandon(struct dtr_net *net) {
  atomic_store_explicit(&net->is_abandoned, true, memory_order_release);
  for (uint32_t e = 0; e < net->options.ends; e++)
    if (net->ends[e].is_here)
      ring(&net->ends[e]);
}
