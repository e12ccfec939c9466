#!/usr/bin/env bash
# Shows with a made-up compiler that the runners pass what is right and fail what is wrong.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
status=0
export DTG_SOURCE_DIR=$tree DTGC=$tree/dtgc DTG_BINARY_DIR=$tree/build
unset UPDATE

# This compiler prints its arguments and the file, and fails if the file says so.
cat >"$DTGC" <<'FAKE'
#!/usr/bin/env bash
for file; do :; done
printf 'arguments: %s\n' "$*"
cat "$file" 2>/dev/null || true
code=$(sed -n 's/^exit //p' "$file" 2>/dev/null | head -n 1)
if [ -n "$code" ]; then
  printf '%s: error of %s in %s, size %s, %s\n' "$file" "$code" "$PWD" "$(wc -c <"$file")" \
    "${COLOUR:-plain}" >&2
fi
exit "${code:-0}"
FAKE
chmod +x "$DTGC"

put() {
  mkdir -p "$tree/tests/$(dirname "$1")"
  printf '%b' "$2" >"$tree/tests/$1"
}

# expect RUNNER FOLDER STATUS TEXT: the runner's exit status, and a text that it prints.
expect() {
  local out code=0
  out=$("$here/$1.sh" "$2" 2>&1) || code=$?
  [ $code -eq "$3" ] && grep -qF -- "$4" <<<"$out" && return 0
  printf '%s %s: expected exit %d and "%s", got exit %d and:\n%s\n' "$1" "$2" "$3" "$4" $code "$out"
  status=1
}

expect golden none 1 'is missing'
put golden/graph/readme.txt ''
expect golden graph 1 'no cases in'
put golden/graph/a.dtg 'model\n'
expect golden graph 1 'a.golden is missing'
UPDATE=1 expect golden graph 0 'updated tests/golden/graph/a.golden'
expect golden graph 0 'graph: 1 cases, 0 failed'
put golden/graph/b.dtg '# flags: -O0 -D n=1\nmodel\n'
put golden/graph/b.golden 'arguments: --emit=graph -O0 -D n=1 b.dtg\n# flags: -O0 -D n=1\nmodel\n'
expect golden graph 0 'graph: 2 cases, 0 failed'
put golden/graph/c.dtgir '; flags: --from=opt\n%%0\n'
put golden/graph/c.golden 'arguments: --emit=graph --from=opt c.dtgir\n; flags: --from=opt\n%%0\n'
expect golden graph 0 'graph: 3 cases, 0 failed'
put golden/graph/a.golden 'another\n'
expect golden graph 1 '-another'
put golden/graph/a.dtg 'exit 1\n'
expect golden graph 1 'exit status 1'
rm "$tree/tests/golden/graph/a.dtg"
expect golden graph 1 'a.golden: no case has this name'

put diag/sema/readme.txt ''
expect diag sema 1 'no cases in'
put diag/sema/a.dtg 'exit 1\n'
put diag/sema/a.expected 'a.dtg: error of 1 in <case>, size 7, plain\n'
expect diag sema 0 'sema: 1 cases, 0 failed'
put diag/sema/a.expected 'other\n'
expect diag sema 1 '-other'
UPDATE=1 expect diag sema 0 'updated'
expect diag sema 0 'sema: 1 cases, 0 failed'
put diag/sema/b.dtg 'fine\n'
expect diag sema 1 'b: exit status 0; such a case must fail'
put diag/sema/b.dtg 'exit 70\n'
expect diag sema 1 'b: exit status 70'
put diag/sema/b.dtg 'exit 2\n'
put diag/sema/b.expected 'b.dtg: error of 2 in <case>, size 7, plain\n'
expect diag sema 1 '+# exit 2'
put diag/sema/b.expected '# exit 2\nb.dtg: error of 2 in <case>, size 7, plain\n'
expect diag sema 0 'sema: 2 cases, 0 failed'
put diag/sema/c.case '# large\nrepeat big 1000 ab\ntext x exit 1\nappend x big\nenv COLOUR=red\nargs check * x\n'
put diag/sema/c.expected 'x: error of 1 in <case>, size 2007, red\n'
expect diag sema 0 'sema: 3 cases, 0 failed'
put diag/sema/d.case 'hex d.dtg 6578697420310a00ff\nprepare check a.txt\n'
put diag/sema/d.expected 'd.dtg: error of 1 in <case>, size 9, plain\n'
expect diag sema 0 'sema: 4 cases, 0 failed'
put diag/sema/d.case 'directory f\ncopy a.dtg f/g\nmode f/g 400\ntruncate f/g 6\nargs f/g\n'
put diag/sema/d.expected 'f/g: error of 1 in <case>, size 6, plain\n'
expect diag sema 0 'sema: 4 cases, 0 failed'
put diag/sema/d.case 'explode\n'
expect diag sema 1 'd.case: unknown word "explode"'
put diag/sema/d.case 'prepare check a.dtg\n'
expect diag sema 1 'sema: 4 cases, 1 failed'
exit $status
