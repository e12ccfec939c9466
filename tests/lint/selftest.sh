#!/usr/bin/env bash
# Shows that each check finds what it is there to find, on small trees made for the purpose.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
status=0

# put FILE TEXT: a file of the tree.
put() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '%b' "$2" >"$tree/$1"
}

fresh() {
  rm -rf "$tree"
  put compiler/base/arena.h '#ifndef A_H\n#define A_H\n#endif\n'
  put compiler/ir/graph.h '#ifndef G_H\n#define G_H\n#include "compiler/base/arena.h"\n#endif\n'
  put compiler/ops/ops.h '#ifndef O_H\n#define O_H\n#include "../ir/graph.h"\n#endif\n'
  put compiler/opt/opt.h '#ifndef P_H\n#define P_H\n#include "compiler/ops/ops.h"\n#endif\n'
  put runtime/include/dtr_abi.h '#ifndef R_H\n#define R_H\n#endif\n'
  put runtime/job.h '#ifndef J_H\n#define J_H\n#include "dtr_abi.h"\n#endif\n'
  put codegen/target.h '#ifndef T_H\n#define T_H\n#include "dtr_abi.h"\n#endif\n'
}

# expect CHECK pass | expect CHECK TEXT: the check fails and its output has TEXT.
expect() {
  local check=$1 want=$2 out code=0
  out=$("$here/$check.sh" "$tree" 2>&1) || code=$?
  if [ "$want" = pass ]; then
    [ $code -eq 0 ] && return 0
  else
    [ $code -eq 1 ] && grep -qF -- "$want" <<<"$out" && return 0
  fi
  printf '%s: expected %s, got exit %d and:\n%s\n' "$check" "$want" $code "$out"
  status=1
}

fresh
expect includes pass
expect headers pass
expect words pass

fresh
put compiler/base/vec.c '#include "compiler/ir/graph.h"\n'
expect includes 'compiler/base/vec.c:1: base must not include ir'
fresh
put compiler/opt/fold.c '\n#include "compiler/schedule/plan.h"\n'
put compiler/schedule/plan.h ''
expect includes 'compiler/opt/fold.c:2: opt must not include schedule'
fresh
put codegen/lower/lower.c '#include "../../compiler/ops/ops.h"\n'
expect includes 'codegen must not include ops'
fresh
put codegen/lower/lower.c '#include "runtime/job.h"\n'
expect includes 'codegen must not include runtime (runtime/job.h)'
fresh
put runtime/job.c '#include <compiler/base/arena.h>\n'
expect includes 'runtime must not include base'
fresh
put grammar/parse.c '#include "compiler/ir/graph.h"\n'
put grammar/ast.h ''
put compiler/ir/type.c '#include "grammar/ast.h"\n'
expect includes 'ir must not include grammar'
expect includes 'grammar must not include ir'
fresh
put compiler/main.c '#include "runtime/include/dtr_abi.h"\n#include "codegen/target.h"\n'
expect includes pass
put compiler/main.c '#include "runtime/job.h"\n'
expect includes 'top must not include runtime'
fresh
put compiler/main.c '#include "missing.h"\n'
expect includes 'no such file in the project: "missing.h"'

fresh
put compiler/ir/type.h '#ifndef G_H\n#define G_H\n#endif\n'
expect headers 'compiler/ir/type.h: the guard G_H is also that of compiler/ir/graph.h'
fresh
put compiler/ir/type.h 'struct dtg_type;\n'
expect headers 'compiler/ir/type.h: no include guard'
fresh
put compiler/ir/type.h '#ifndef Y_H\n#define Y_H\nextern uint8_t dtg_byte;\n#endif\n'
expect headers 'compiler/ir/type.h: does not compile alone'

fresh
put compiler/main.c "/* TO""DO: later */\n"
expect words 'compiler/main.c:1:'
fresh
put README.md "see /ro""ot/x\n"
expect words 'README.md:1:'

fresh
export DTGC=$tree/dtgc
put dtgc '#!/bin/sh\n! grep -n wrong "$2"\n'
chmod +x "$tree/dtgc"
put README.md '# x\n```dtg\nright\n```\nsee `compiler/base/`, `tests/NAME/`\n'
expect readme pass
put README.md '# x\n```dtg\nright\n```\n```dtg\nwrong\n```\n'
expect readme '1:wrong'
put README.md '# x\n```dtg\nright\n```\nsee `compiler/none.c`\n'
expect readme 'names compiler/none.c, which is not there'
put README.md 'wrong\n'
expect readme 'shows no model'

rm -rf "$tree"
mkdir "$tree"
expect includes 'no source files found'
expect headers 'no headers found'
exit $status
