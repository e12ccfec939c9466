#!/usr/bin/env bash
# usage: functions.sh REFERENCE.md
# Every function that a model can call has a row in the tables of the reference and is used in an
# example there, and the tables name nothing else. Ops that no model can call are listed in the
# section about them.
set -euo pipefail
page=$(realpath "${1:?usage: functions.sh REFERENCE.md}")
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$scratch"
ops=$root/compiler/ops/ops.def builtins=$root/compiler/sema/builtins.def
prelude=$root/stdlib-models/std/prelude.dtg
hidden='input|param|state|slot|grad_in|scalar|const|and|or|not|scan|scan_result|scan_carry|scan_slice|scan_value|scan_index'

sed -nE 's/^DTG_OP\((\w+)\)$/\1/p' "$ops" | sort -u >all_ops
[ "$(wc -l <all_ops)" -eq "$(grep -c '^DTG_OP(' "$ops")" ] || fault "ops.def: unreadable rows"
{
  grep -vxE "$hidden" all_ops
  sed -nE 's/^DTG_FUNCTION\((\w+)\)$/\1/p' "$builtins"
  sed -nE 's/^fn (\w+)\(.*/\1/p' "$prelude"
} | sort -u >callable
[ "$(wc -l <callable)" -gt 80 ] || fault "only $(wc -l <callable) functions were found"

# Rows that begin with a call, | `name(...)` |, from the section about functions on.
sed -n '/^## Functions/,$p' "$page" | sed -nE 's/^\| `(\w+)\(.*/\1/p' | sort >rows
[ -z "$(uniq -d rows)" ] || fault "documented twice: $(uniq -d rows | paste -sd ' ')"

# Sources and steps of data sets.
{
  sed -n '/^static const struct source_row {*/,/^};/p' "$root/compiler/sema/sources.c" |
    sed -nE 's/^    \{"(\w+)",.*/\1/p'
  printf '%s\n' window shuffle take skip table
} | sort >data
[ "$(wc -l <data)" -ge 17 ] || fault "sources.c: only $(wc -l <data) sources and steps were found"
sort -u callable data >known
missing=$(comm -23 known rows | paste -sd ' ')
[ -z "$missing" ] || fault "not documented: $missing"
stale=$(comm -13 known rows | paste -sd ' ')
[ -z "$stale" ] || fault "documented, but there is no such function: $stale"

# Initialisers: | `~ name(...)` |
sed -nE 's/^\| `~ (\w+)\(.*/\1/p' "$page" | sort >rows
sed -n '/initializers\[\] = {/,/};/p' "$root/compiler/sema/names.c" |
  grep -oE '"[a-z_]+"' | tr -d '"' | sort >initialisers
[ "$(wc -l <initialisers)" -ge 10 ] || fault "names.c: the initialisers were not found"
diff -u --label names.c --label "${page##*/}" initialisers rows || fault "other initialisers"

mkdir fences
fences "$page" fences >/dev/null
cat fences/*.dtg >examples
while IFS= read -r name; do
  grep -qE "(^|[^A-Za-z0-9_.])$name\b" examples || fault "$name: in no complete example"
done < <(sort -u known initialisers)

# The functions of the prelude have the parameters that the tables show.
sed -nE 's/^fn (\w+\(.*\)) ?(=|\{).*/\1/p' "$prelude" >signatures
[ "$(wc -l <signatures)" -eq "$(grep -c '^fn ' "$prelude")" ] || fault "prelude.dtg: unreadable fn"
while IFS= read -r signature; do
  grep -qF "| \`$signature\` |" "$page" || fault "the tables have no row for $signature"
done <signatures

# What no model can call.
for name in ${hidden//|/ }; do
  grep -qx "$name" all_ops || fault "$name is no op any more: correct this script"
  grep -qE "^\| \`$name\` \|" "$page" || fault "the op $name is not documented"
done
# `dtgc --list-ops=md` has every op, in the order of the table, and says of gradients what the rows
# say here.
"$dtgc" --list-ops=md >listed
sed -nE 's/^DTG_OP\((\w+)\)$/\1/p' "$ops" >in_order
sed -nE 's/^\| `(\w+)` \| .*/\1/p' listed | diff -u --label ops.def --label --list-ops in_order - ||
  fault "--list-ops=md lists other ops"
while IFS='|' read -r _ name _ _ _ gradient _; do
  name=$(tr -d ' `' <<<"$name") gradient=$(tr -d ' ' <<<"$gradient")
  row=$(grep -E "^\| \`$name\(" "$page" || true)
  shown=$(sed -nE 's/.*\| ([^|]*) \|$/\1/p' <<<"$row")
  case $shown in 0 | - | '') ;; *) shown=yes ;; esac
  [ -z "$row" ] || [ "$shown" = "$gradient" ] ||
    fault "$name: --list-ops=md says \"$gradient\" of its gradient, the page says: $row"
done < <(grep -E '^\| `' listed)
printf '%d functions, %d faults\n' "$(sort -u known initialisers | wc -l)" $failures
[ $failures -eq 0 ]
