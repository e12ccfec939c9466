#include "compiler/prove/unfold.h"

#include <stdlib.h>

uint32_t dtg_unfold_subtrees(int64_t low, int64_t high, int64_t begin, int64_t end,
                             uint32_t *seen) {
  if (high <= begin || end <= low)
    return 0;
  if (begin <= low && high <= end) {
    for (int64_t shard = low; shard < high; shard++)
      seen[shard]++;
    return 1;
  }
  int64_t half = 1;
  while (2 * half < high - low)
    half *= 2;
  return dtg_unfold_subtrees(low, low + half, begin, end, seen) +
         dtg_unfold_subtrees(low + half, high, begin, end, seen);
}

// ---- parties ----

static bool place_replicas(struct dtg_unfolded *u) {
  const struct dtg_replication *r = u->proof->r;
  uint32_t devices = dtg_cluster_device_count(r->cluster);
  uint32_t *times = DTG_NEW_ARRAY(&u->proof->scratch, uint32_t, u->replicas);
  bool *used = DTG_NEW_ARRAY(&u->proof->scratch, bool, devices);
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *f = &r->families.data[i];
    for (uint32_t a = 0; a < f->devices.outer; a++)
      for (uint32_t b = 0; b < f->devices.inner; b++) {
        uint32_t replica = f->first + a * f->devices.inner + b;
        uint32_t device =
            f->devices.base + a * f->devices.outer_stride + b * f->devices.inner_stride;
        if (replica >= u->replicas || times[replica]++)
          return dtg_proof_fail(u->proof, "replicas: replica %u is missing or there twice",
                                replica);
        if (device >= devices || used[device])
          return dtg_proof_fail(u->proof,
                                "replicas: two replicas are on one device, or one on none");
        used[device] = true;
        u->device[u->clients + replica] = device;
        u->task[u->clients + replica] = dtg_device_task(r->cluster, device);
      }
  }
  for (uint32_t i = 0; i < u->replicas; i++)
    if (times[i] != 1)
      return dtg_proof_fail(u->proof, "replicas: replica %u is missing or there twice", i);
  return true;
}

static bool place_clients(struct dtg_unfolded *u) {
  const struct dtg_replication *r = u->proof->r;
  uint32_t *times = DTG_NEW_ARRAY(&u->proof->scratch, uint32_t, u->replicas);
  uint32_t *named = DTG_NEW_ARRAY(&u->proof->scratch, uint32_t, u->clients);
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *f = &r->client_families.data[i];
    for (uint32_t k = 0; k < f->count; k++) {
      uint32_t client = f->first + k;
      if (client >= u->clients || named[client]++)
        return dtg_proof_fail(u->proof, "replicas: client %u is missing or there twice", client);
      u->device[client] = DTG_NO_DEVICE;
      u->task[client] = f->task + k * f->task_stride;
      for (uint32_t n = 0; n < f->replicas_each; n++) {
        uint32_t replica = f->first_replica + k * f->replicas_each + n;
        if (replica >= u->replicas || times[replica]++)
          return dtg_proof_fail(u->proof, "replicas: replica %u has two clients or does not exist",
                                replica);
        u->client[replica] = client;
      }
    }
  }
  for (uint32_t i = 0; i < u->clients; i++)
    if (!named[i])
      return dtg_proof_fail(u->proof, "replicas: client %u is missing", i);
  for (uint32_t i = 0; i < u->replicas; i++)
    if (!times[i])
      return dtg_proof_fail(u->proof, "replicas: replica %u has no client", i);
  return true;
}

static bool deal_shards(struct dtg_unfolded *u) {
  const struct dtg_replication *r = u->proof->r;
  uint32_t *seen = DTG_NEW_ARRAY(&u->proof->scratch, uint32_t, r->shards);
  if (r->shards != r->model->train.shards || r->shards % u->replicas != 0)
    return dtg_proof_fail(u->proof, "replicas: %u replicas cannot have %lld shards in equal blocks",
                          u->replicas, (long long)r->shards);
  int64_t each = r->shards / u->replicas;
  for (uint32_t i = 0; i < u->replicas; i++)
    u->sums[i] = dtg_unfold_subtrees(0, r->shards, i * each, (i + 1) * each, seen);
  for (int64_t shard = 0; shard < r->shards; shard++)
    if (seen[shard] != 1)
      return dtg_proof_fail(u->proof, "replicas: shard %lld is computed %u times", (long long)shard,
                            seen[shard]);
  return true;
}

// The table of partial sums counts what the trees gave.
static bool check_classes(struct dtg_unfolded *u) {
  const struct dtg_partial_sums *sums = &u->proof->r->partial_sums;
  uint32_t all = 0;
  for (size_t i = 0; i < sums->classes.len; i++) {
    uint32_t replicas = 0;
    for (uint32_t r = 0; r < u->replicas; r++)
      replicas += u->sums[r] == sums->classes.data[i].sums;
    all += replicas;
    if (replicas != sums->classes.data[i].replicas)
      return dtg_proof_fail(u->proof, "updates: %u replicas with %u partial sums are counted as %u",
                            replicas, sums->classes.data[i].sums, sums->classes.data[i].replicas);
  }
  return all == u->replicas ||
         dtg_proof_fail(u->proof, "updates: the partial sums of %u replicas are counted", all);
}

bool dtg_unfold_parties(struct dtg_unfolded *u) {
  const struct dtg_replication *r = u->proof->r;
  struct dtg_arena *scratch = &u->proof->scratch;
  u->clients = r->clients;
  u->replicas = r->replicas;
  u->owners = (uint32_t)r->owners.len;
  u->parties = u->clients + u->replicas + u->owners;
  u->arbiter = r->relaxed && u->owners > 0 ? u->parties++ : DTG_NO_NODE;
  if (u->replicas == 0)
    return dtg_proof_fail(u->proof, "replicas: there is none");
  u->device = DTG_NEW_ARRAY(scratch, uint32_t, u->parties);
  u->task = DTG_NEW_ARRAY(scratch, uint32_t, u->parties);
  u->client = DTG_NEW_ARRAY(scratch, uint32_t, u->replicas);
  u->sums = DTG_NEW_ARRAY(scratch, uint32_t, u->replicas);
  for (uint32_t o = 0; o < u->owners; o++) {
    uint32_t party = u->clients + u->replicas + o;
    u->device[party] = r->owners.data[o];
    u->task[party] = dtg_device_task(r->cluster, r->owners.data[o]);
  }
  if (u->arbiter != DTG_NO_NODE) {
    u->device[u->arbiter] = u->device[u->clients + u->replicas];
    u->task[u->arbiter] = u->task[u->clients + u->replicas];
  }
  return place_replicas(u) && place_clients(u) && deal_shards(u) && check_classes(u);
}

// ---- messages ----

static int order(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int compare_messages(const void *left, const void *right) {
  const struct dtg_message *a = left, *b = right;
  int way = order(a->kind, b->kind);
  if (!way)
    way = order(a->moment, b->moment);
  if (!way)
    way = order(a->phase, b->phase);
  if (!way)
    way = order(a->from, b->from);
  if (!way)
    way = order(a->to, b->to);
  return way;
}

static const char *message_text(struct dtg_unfolded *u, const struct dtg_message *m) {
  return dtg_arena_printf(&u->proof->scratch, "%s from party %u to party %u",
                          dtg_transfer_name(m->kind), m->from, m->to);
}

// First party and number of the role; false if the ends reach beyond it.
static bool role_range(const struct dtg_unfolded *u, const struct dtg_ends *ends, uint32_t *first) {
  const uint32_t counts[] = {u->replicas, u->clients, u->owners, u->arbiter != DTG_NO_NODE};
  const uint32_t firsts[] = {u->clients, 0, u->clients + u->replicas, u->arbiter};
  if (ends->role > DTG_ROLE_ARBITER)
    return false;
  uint32_t count = counts[ends->role];
  *first = firsts[ends->role];
  *first += ends->first;
  return ends->count > 0 && (uint64_t)ends->first + ends->count <= count;
}

static bool is_member(const struct dtg_unfolded *u, const struct dtg_ends *ends, uint32_t number) {
  return ends->role != DTG_ROLE_REPLICA || ends->sums == 0 || u->sums[number] == ends->sums;
}

struct message_list {
  DTG_VEC(struct dtg_message) rows;
};

static bool expand_row(struct dtg_unfolded *u, const struct dtg_transfer *t,
                       struct message_list *out) {
  uint32_t from, to;
  uint64_t count = 0;
  if (t->kind >= DTG_TRANSFER_KINDS || t->moment >= DTG_MOMENTS || t->bytes < 0 ||
      !role_range(u, &t->from, &from) || !role_range(u, &t->to, &to))
    return dtg_proof_fail(u->proof, "transfers: a row has an end that is not there");
  for (uint32_t i = 0; i < t->from.count; i++)
    for (uint32_t k = 0; k < t->to.count; k++) {
      uint32_t a = from + i, b = to + k;
      bool shared = u->device[a] != DTG_NO_DEVICE && u->device[a] == u->device[b];
      if (a == b || shared || !is_member(u, &t->from, t->from.first + i) ||
          !is_member(u, &t->to, t->to.first + k))
        continue;
      struct dtg_message m = {t->kind, t->moment, t->phase, t->next_phase, a,
                              b,       t->before, t->after, t->bytes,      t->at_most};
      dtg_vec_push(&u->proof->scratch, &out->rows, m);
      count++;
    }
  if (count == t->messages)
    return true;
  return dtg_proof_fail(u->proof, "transfers: a row counts %llu messages where there are %llu",
                        (unsigned long long)t->messages, (unsigned long long)count);
}

static bool expand_rows(struct dtg_unfolded *u, const struct dtg_transfer *rows, size_t count,
                        const char *verb, struct message_list *out) {
  for (size_t i = 0; i < count; i++)
    if (!expand_row(u, &rows[i], out))
      return false;
  if (out->rows.len == 0)
    return true;
  qsort(out->rows.data, out->rows.len, sizeof *out->rows.data, compare_messages);
  for (size_t i = 1; i < out->rows.len; i++)
    if (compare_messages(&out->rows.data[i - 1], &out->rows.data[i]) == 0)
      return dtg_proof_fail(u->proof, "transfers: %s is %s twice",
                            message_text(u, &out->rows.data[i]), verb);
  return true;
}

static bool match(struct dtg_unfolded *u, const struct message_list *sends,
                  const struct message_list *receives) {
  size_t s = 0, r = 0;
  while (s < sends->rows.len || r < receives->rows.len) {
    int way = s == sends->rows.len ? 1
              : r == receives->rows.len
                  ? -1
                  : compare_messages(&sends->rows.data[s], &receives->rows.data[r]);
    if (way != 0)
      return dtg_proof_fail(
          u->proof, "transfers: %s is %s",
          message_text(u, way < 0 ? &sends->rows.data[s] : &receives->rows.data[r]),
          way < 0 ? "sent and never received" : "waited for and never sent");
    const struct dtg_message *a = &sends->rows.data[s++], *b = &receives->rows.data[r++];
    if (a->bytes != b->bytes)
      return dtg_proof_fail(u->proof,
                            "transfers: %s is sent with %lld bytes and received with %lld",
                            message_text(u, a), (long long)a->bytes, (long long)b->bytes);
    if (a->at_most != b->at_most)
      return dtg_proof_fail(u->proof,
                            "transfers: %s has a size at one end and a bound at the other",
                            message_text(u, a));
    if (a->before != b->before || a->after != b->after || a->next_phase != b->next_phase)
      return dtg_proof_fail(u->proof, "transfers: %s joins other events for its ends",
                            message_text(u, a));
  }
  return true;
}

bool dtg_unfold_messages(struct dtg_unfolded *u) {
  struct message_list sends = {0}, receives = {0};
  const struct dtg_partition *p = u->proof->p;
  if (!expand_rows(u, p->sends.data, p->sends.len, "sent", &sends) ||
      !expand_rows(u, p->receives.data, p->receives.len, "received", &receives) ||
      !match(u, &sends, &receives))
    return false;
  u->messages = sends.rows.data;
  u->count = sends.rows.len;
  return true;
}

const struct dtg_message *dtg_unfold_find(const struct dtg_unfolded *u, enum dtg_transfer_kind kind,
                                          uint32_t phase, uint32_t from, uint32_t to) {
  struct dtg_message key = {.kind = kind, .phase = phase, .from = from, .to = to};
  if (u->count == 0)
    return NULL;
  return bsearch(&key, u->messages, u->count, sizeof key, compare_messages);
}

const struct dtg_message *dtg_unfold_find_at(const struct dtg_unfolded *u,
                                             enum dtg_transfer_kind kind, enum dtg_moment moment,
                                             uint32_t from, uint32_t to) {
  struct dtg_message key = {.kind = kind, .moment = moment, .from = from, .to = to};
  if (u->count == 0)
    return NULL;
  return bsearch(&key, u->messages, u->count, sizeof key, compare_messages);
}

size_t dtg_unfold_count(const struct dtg_unfolded *u, enum dtg_transfer_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < u->count; i++)
    count += u->messages[i].kind == kind;
  return count;
}

bool dtg_prove_unfolded(const struct dtg_partition *partition, const struct dtg_plan *plan,
                        struct dtg_strbuf *why) {
  struct dtg_proof proof = {.p = partition, .r = partition->replication, .plan = plan, .why = why};
  struct dtg_unfolded u = {.proof = &proof};
  bool good = dtg_unfold_parties(&u) && dtg_unfold_messages(&u) && dtg_unfold_waits(&u) &&
              dtg_unfold_control(&u) && dtg_unfold_updates(&u) && (!plan || dtg_unfold_memory(&u));
  dtg_arena_free(&proof.scratch);
  return good;
}
