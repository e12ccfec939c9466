// (a) one by one: who must be started, fed and asked, who begins, evaluates and is saved.
#include "compiler/prove/unfold.h"

#include "compiler/ir/update_split.h"

struct expected {
  struct dtg_unfolded *u;
  size_t count;
  bool good;
};

static void expect(struct expected *e, enum dtg_transfer_kind kind, enum dtg_moment moment,
                   uint32_t from, uint32_t to, int64_t bytes) {
  if (!e->good)
    return;
  const struct dtg_message *m = dtg_unfold_find_at(e->u, kind, moment, from, to);
  e->count++;
  e->good = m && m->bytes == bytes && m->at_most == (moment == DTG_MOMENT_EVALUATION && bytes > 0);
  if (!e->good)
    dtg_proof_fail(e->u->proof,
                   "control: %s from party %u to party %u is missing or not of %lld bytes",
                   dtg_transfer_name(kind), from, to, (long long)bytes);
}

static void expect_replica(struct expected *e, uint32_t replica) {
  const struct dtg_unfolded *u = e->u;
  const struct dtg_replication *r = u->proof->r;
  int64_t scalars = dtg_proof_scalar_bytes(u->proof);
  int64_t rows = dtg_proof_row_bytes(u->proof) * (r->model->train.batch / u->replicas);
  uint32_t party = u->clients + replica, client = u->client[replica];
  bool evaluates = dtg_evaluates_together(r);
  if (u->task[party] != u->task[client]) {
    expect(e, DTG_TRANSFER_START, DTG_MOMENT_STEP, client, party, 0);
    expect(e, DTG_TRANSFER_FEED, DTG_MOMENT_STEP, client, party, rows);
    expect(e, DTG_TRANSFER_FETCH, DTG_MOMENT_STEP, party, client, scalars * u->sums[replica]);
    if (evaluates) {
      expect(e, DTG_TRANSFER_START, DTG_MOMENT_EVALUATION, client, party, 0);
      expect(e, DTG_TRANSFER_FEED, DTG_MOMENT_EVALUATION, client, party, rows);
    }
  }
  if (evaluates && u->task[party] != u->task[0])
    expect(e, DTG_TRANSFER_CHUNK, DTG_MOMENT_EVALUATION, party, 0,
           scalars * (r->shards / u->replicas));
}

static void expect_clients(struct expected *e) {
  const struct dtg_unfolded *u = e->u;
  for (uint32_t c = 1; c < u->clients; c++) {
    int64_t sums = 0;
    for (uint32_t i = 0; i < u->replicas; i++)
      sums += u->client[i] == c ? u->sums[i] : 0;
    expect(e, DTG_TRANSFER_REPORT, DTG_MOMENT_STEP, c, 0, dtg_proof_scalar_bytes(u->proof) * sums);
    expect(e, DTG_TRANSFER_BEGIN, DTG_MOMENT_BEGIN, 0, c, 0);
  }
  for (uint32_t c = 0; c < u->clients && dtg_arbiter_grants(u->proof->r); c++) {
    if (u->task[c] == u->task[u->arbiter])
      continue;
    expect(e, DTG_TRANSFER_ASK, DTG_MOMENT_STEP, c, u->arbiter, 0);
    expect(e, DTG_TRANSFER_GRANT, DTG_MOMENT_STEP, u->arbiter, c, 0);
  }
}

// Elements of a variable's slices on a device.
static int64_t elements_on(const struct dtg_replication *r, uint32_t variable, uint32_t device) {
  int64_t elements = 0;
  for (size_t i = 0; i < r->slices.len; i++)
    if (r->slices.data[i].variable == variable && r->slices.data[i].owner == device)
      elements += r->slices.data[i].elements;
  return elements;
}

static int64_t bytes_held(const struct dtg_unfolded *u, uint32_t device) {
  const struct dtg_module *module = u->proof->r->module;
  int64_t bytes = 0;
  for (uint32_t v = 0; v < module->variables.len; v++) {
    const struct dtg_variable *variable = &module->variables.data[v];
    uint32_t of = variable->kind == DTG_VARIABLE_SLOT ? variable->param : v;
    bytes += elements_on(u->proof->r, of, device) * (int64_t)dtg_dtype_size(variable->type.dtype);
  }
  return bytes;
}

static void expect_owners(struct expected *e) {
  struct dtg_unfolded *u = e->u;
  const struct dtg_module *module = u->proof->r->module;
  bool exchanges =
      module->update && dtg_update_split_new(&u->proof->scratch, module,
                                             dtg_groups_new(&u->proof->scratch, module->update))
                                ->exchanges.len > 0;
  for (uint32_t o = 0; o < u->owners; o++) {
    uint32_t party = u->clients + u->replicas + o;
    if (u->task[party] != u->task[0]) {
      int64_t bytes = bytes_held(u, u->device[party]);
      expect(e, DTG_TRANSFER_COMMAND, DTG_MOMENT_BEGIN, 0, party, 0);
      expect(e, DTG_TRANSFER_SCATTER, DTG_MOMENT_BEGIN, 0, party, bytes);
      expect(e, DTG_TRANSFER_COMMAND, DTG_MOMENT_CHECKPOINT, 0, party, 0);
      expect(e, DTG_TRANSFER_GATHER, DTG_MOMENT_CHECKPOINT, party, 0, bytes);
    }
    if (o > 0 && dtg_arbiter_decides(u->proof->r, exchanges)) {
      expect(e, DTG_TRANSFER_STAGED, DTG_MOMENT_STEP, party, u->arbiter, 0);
      expect(e, DTG_TRANSFER_DECIDE, DTG_MOMENT_STEP, u->arbiter, party, 0);
    }
  }
}

bool dtg_unfold_control(struct dtg_unfolded *u) {
  const struct dtg_replication *r = u->proof->r;
  struct expected e = {.u = u, .good = true};
  if (r->single || !r->module->train)
    return true;
  for (uint32_t i = 0; i < u->replicas; i++)
    expect_replica(&e, i);
  expect_clients(&e);
  expect_owners(&e);
  if (!e.good)
    return false;
  e.count += dtg_unfold_count(u, DTG_TRANSFER_PUSH) + dtg_unfold_count(u, DTG_TRANSFER_NORM) +
             dtg_unfold_count(u, DTG_TRANSFER_PUBLISH);
  return e.count == u->count ||
         dtg_proof_fail(u->proof, "control: there are messages that nobody asked for");
}
