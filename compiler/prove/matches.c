// (a) Every send has one receive of the same size.
#include "compiler/prove/internal.h"

#include <stdlib.h>

static int order(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int compare_ends(const struct dtg_ends *a, const struct dtg_ends *b) {
  int way = order(a->role, b->role);
  if (!way)
    way = order(a->first, b->first);
  if (!way)
    way = order(a->count, b->count);
  if (!way)
    way = order(a->sums, b->sums);
  return way;
}

// By what names a row: kind, moment, phases, events, ends.
static int compare_rows(const void *left, const void *right) {
  const struct dtg_transfer *a = *(const struct dtg_transfer *const *)left;
  const struct dtg_transfer *b = *(const struct dtg_transfer *const *)right;
  int way = order(a->kind, b->kind);
  if (!way)
    way = order(a->moment, b->moment);
  if (!way)
    way = order(a->phase, b->phase);
  if (!way)
    way = order(a->next_phase, b->next_phase);
  if (!way)
    way = order(a->before, b->before);
  if (!way)
    way = order(a->after, b->after);
  if (!way)
    way = compare_ends(&a->from, &b->from);
  if (!way)
    way = compare_ends(&a->to, &b->to);
  return way;
}

static bool check_ends(struct dtg_proof *proof, const struct dtg_transfer *t,
                       const struct dtg_ends *ends) {
  if (ends->role > DTG_ROLE_ARBITER)
    return dtg_proof_fail(proof, "transfers: an end has no role");
  uint32_t all = dtg_proof_role_count(proof, ends->role);
  if (ends->count > 0 && ends->first < all && ends->count <= all - ends->first)
    return true;
  return dtg_proof_fail(proof, "transfers: %s has an end that is not there",
                        dtg_proof_transfer_text(proof, t));
}

static bool check_row(struct dtg_proof *proof, const struct dtg_transfer *t) {
  if (t->kind >= DTG_TRANSFER_KINDS || t->moment >= DTG_MOMENTS || t->before >= DTG_EVENT_COUNT ||
      t->after >= DTG_EVENT_COUNT)
    return dtg_proof_fail(proof, "transfers: a row has no kind or no event");
  if (!check_ends(proof, t, &t->from) || !check_ends(proof, t, &t->to))
    return false;
  if (t->bytes < 0)
    return dtg_proof_fail(proof, "transfers: %s has a negative size",
                          dtg_proof_transfer_text(proof, t));
  uint64_t pairs = dtg_proof_pairs(proof, &t->from, &t->to);
  if (t->messages == pairs && pairs > 0)
    return true;
  return dtg_proof_fail(proof, "transfers: %s counts %llu messages where there are %llu",
                        dtg_proof_transfer_text(proof, t), (unsigned long long)t->messages,
                        (unsigned long long)pairs);
}

struct rows {
  const struct dtg_transfer **data;
  size_t count;
};

static bool sort_rows(struct dtg_proof *proof, const struct dtg_transfer *data, size_t count,
                      const char *verb, struct rows *out) {
  *out = (struct rows){DTG_NEW_ARRAY(&proof->scratch, const struct dtg_transfer *, count), count};
  for (size_t i = 0; i < count; i++) {
    if (!check_row(proof, &data[i]))
      return false;
    out->data[i] = &data[i];
  }
  qsort(out->data, count, sizeof *out->data, compare_rows);
  for (size_t i = 1; i < count; i++)
    if (compare_rows(&out->data[i - 1], &out->data[i]) == 0)
      return dtg_proof_fail(proof, "transfers: %s is %s twice",
                            dtg_proof_transfer_text(proof, out->data[i]), verb);
  return true;
}

static bool pair_rows(struct dtg_proof *proof, const struct rows *sends,
                      const struct rows *receives) {
  size_t s = 0, r = 0;
  while (s < sends->count || r < receives->count) {
    int way = s == sends->count      ? 1
              : r == receives->count ? -1
                                     : compare_rows(&sends->data[s], &receives->data[r]);
    if (way < 0)
      return dtg_proof_fail(proof, "transfers: %s is sent and never received",
                            dtg_proof_transfer_text(proof, sends->data[s]));
    if (way > 0)
      return dtg_proof_fail(proof, "transfers: %s is waited for and never sent",
                            dtg_proof_transfer_text(proof, receives->data[r]));
    if (sends->data[s]->bytes != receives->data[r]->bytes)
      return dtg_proof_fail(proof, "transfers: %s is sent with %lld bytes and received with %lld",
                            dtg_proof_transfer_text(proof, sends->data[s]),
                            (long long)sends->data[s]->bytes, (long long)receives->data[r]->bytes);
    if (sends->data[s]->at_most != receives->data[r]->at_most)
      return dtg_proof_fail(proof, "transfers: %s has a size at one end and a bound at the other",
                            dtg_proof_transfer_text(proof, sends->data[s]));
    s++;
    r++;
  }
  return true;
}

static bool overlap(const struct dtg_ends *a, const struct dtg_ends *b) {
  return a->role == b->role && a->first < b->first + b->count && b->first < a->first + a->count &&
         (a->sums == 0 || b->sums == 0 || a->sums == b->sums);
}

// The end that tells the rows of a kind apart: what is sent to each, or by each.
static const struct dtg_ends *narrow(const struct dtg_transfer *t) {
  static const bool by_receiver[DTG_TRANSFER_KINDS] = {
      [DTG_TRANSFER_START] = true,   [DTG_TRANSFER_FEED] = true,  [DTG_TRANSFER_PUSH] = true,
      [DTG_TRANSFER_GRANT] = true,   [DTG_TRANSFER_BEGIN] = true, [DTG_TRANSFER_COMMAND] = true,
      [DTG_TRANSFER_SCATTER] = true, [DTG_TRANSFER_DECIDE] = true};
  return by_receiver[t->kind] ? &t->to : &t->from;
}

static int compare_narrow(const void *left, const void *right) {
  const struct dtg_transfer *a = *(const struct dtg_transfer *const *)left;
  const struct dtg_transfer *b = *(const struct dtg_transfer *const *)right;
  int way = order(a->kind, b->kind);
  if (!way)
    way = order(a->moment, b->moment);
  if (!way)
    way = order(a->phase, b->phase);
  if (!way)
    way = order(narrow(a)->first, narrow(b)->first);
  return way ? way : compare_rows(left, right);
}

// No message belongs to two rows. Sorted by the narrow end, few rows are compared.
static bool check_disjoint(struct dtg_proof *proof, const struct rows *rows) {
  qsort(rows->data, rows->count, sizeof *rows->data, compare_narrow);
  for (size_t i = 0; i < rows->count; i++) {
    const struct dtg_transfer *a = rows->data[i];
    for (size_t k = i + 1; k < rows->count; k++) {
      const struct dtg_transfer *b = rows->data[k];
      if (a->kind != b->kind || a->moment != b->moment || a->phase != b->phase ||
          narrow(b)->first >= narrow(a)->first + narrow(a)->count)
        break;
      if (overlap(&a->from, &b->from) && overlap(&a->to, &b->to))
        return dtg_proof_fail(proof, "transfers: %s is sent twice, also as %s",
                              dtg_proof_transfer_text(proof, a), dtg_proof_transfer_text(proof, b));
    }
  }
  return true;
}

bool dtg_prove_matches(struct dtg_proof *proof) {
  struct rows sends, receives;
  return sort_rows(proof, proof->p->sends.data, proof->p->sends.len, "sent", &sends) &&
         sort_rows(proof, proof->p->receives.data, proof->p->receives.len, "received", &receives) &&
         pair_rows(proof, &sends, &receives) && check_disjoint(proof, &sends);
}
