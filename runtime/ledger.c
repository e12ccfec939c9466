#include "runtime/ledger.h"

#include "runtime/memory.h"

void dtr_ledger_clear(struct dtr_ledger *ledger) {
  for (int c = 0; c < DTR_LEDGER_CLASSES; c++)
    atomic_store(&ledger->now[c], 0);
  atomic_store(&ledger->all, 0);
  atomic_store(&ledger->high, 0);
}

void dtr_ledger_add(struct dtr_ledger *ledger, enum dtr_ledger_class class, int64_t bytes) {
  if (!ledger)
    return;
  int64_t rounded = bytes < 0 ? -dtr_memory_round(-bytes) : dtr_memory_round(bytes);
  atomic_fetch_add(&ledger->now[class], rounded);
  int64_t all = atomic_fetch_add(&ledger->all, rounded) + rounded;
  int64_t high = atomic_load(&ledger->high);
  while (all > high && !atomic_compare_exchange_weak(&ledger->high, &high, all))
    ;
}

void *dtr_ledger_new(struct dtr_ledger *ledger, enum dtr_ledger_class class, int64_t bytes) {
  void *memory = dtr_memory_new(bytes);
  if (memory)
    dtr_ledger_add(ledger, class, bytes);
  return memory;
}

void dtr_ledger_write(struct dtr_ledger *ledger, struct dtr_json *json, const char *device) {
  static const char *const names[DTR_LEDGER_CLASSES] = {
      "variables", "arenas", "tree", "inputs", "messages", "evaluation", "pushed", "update"};
  dtr_json_raw(json, "{\"device\": ");
  dtr_json_string(json, device);
  for (int c = 0; c < DTR_LEDGER_CLASSES; c++) {
    dtr_json_raw(json, ", \"");
    dtr_json_raw(json, names[c]);
    dtr_json_raw(json, "\": ");
    dtr_json_integer(json, atomic_load(&ledger->now[c]));
  }
  dtr_json_raw(json, ", \"high\": ");
  dtr_json_integer(json, atomic_load(&ledger->high));
  dtr_json_raw(json, "}");
}
