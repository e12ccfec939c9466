/* Loops (compiler/ir/loop.h): their types follow from the body, so the rows infer none. */
#include "compiler/ops/support.h"

static void no_cost(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                    double *bytes) {
  (void)node;
  (void)inputs;
  *flops = *bytes = 0;
}

const struct dtg_op_def dtg_row_scan = {
    .name = "scan",
    .doc = "Runs its body `count` times; what it gives is read by `scan_result`.",
    .class = DTG_CLASS_SCAN,
    .max_inputs = UINT32_MAX,
    .attributes = "carries:int count:int recompute:bool=false reverse:bool=false slices:int",
    .shard = "",
    .cost = no_cost,
};

const struct dtg_op_def dtg_row_scan_result = {
    .name = "scan_result",
    .doc = "A result of a scan: the last value of a carry, or the stacked values of a root.",
    .class = DTG_CLASS_SCAN,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "index:int",
    .shard = "",
    .cost = no_cost,
};

#define LEAF(name_, attributes_, doc_)                                  \
  const struct dtg_op_def dtg_row_##name_ = {.name = #name_,            \
                                             .doc = doc_,               \
                                             .class = DTG_CLASS_LEAF,   \
                                             .attributes = attributes_, \
                                             .shard = "",               \
                                             .cost = no_cost}

LEAF(scan_carry, "index:int", "In the body of a scan: a value that the iteration before made.");
LEAF(scan_slice, "index:int", "In the body of a scan: the iteration's entry along axis 0.");
LEAF(scan_value, "index:int", "In the body of a scan: a value from around it.");
LEAF(scan_index, "", "In the body of a scan: the number of the iteration, i64[].");
