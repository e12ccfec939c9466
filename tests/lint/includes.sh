#!/usr/bin/env bash
# usage: includes.sh ROOT
# Checks that the includes between folders form this graph:
#   base <- ir <- ops <- stages (each sees the earlier ones) <- report, launch, run <- pipeline and main, which
#   also see the interface headers of runtime/include/
#   grammar -> base; the first stages read grammar's tree
#   codegen -> base, ir and the one header runtime/include/dtr_abi.h, which the op table's kernels
#   name fault codes of
#   runtime -> itself
set -euo pipefail
root=${1:?usage: includes.sh ROOT}
. "$(dirname "${BASH_SOURCE[0]}")/files.sh"

lint_files "$root" | LC_ALL=C awk -v root="$root" '
  function normal(path,    part, count, i, out, kept) {
    count = split(path, part, "/")
    kept = 0
    for (i = 1; i <= count; i++) {
      if (part[i] == "." || part[i] == "")
        continue
      if (part[i] == ".." && kept > 0)
        kept--
      else
        out[++kept] = part[i]
    }
    path = ""
    for (i = 1; i <= kept; i++)
      path = path (i > 1 ? "/" : "") out[i]
    return path
  }
  function folder(path) {
    sub(/\/?[^\/]*$/, "", path)
    return path
  }
  function area(path,    part) {
    split(path, part, "/")
    if (part[1] != "compiler")
      return part[1]
    return path ~ /^compiler\/[^\/]*$/ ? "top" : part[2]
  }
  # The file that an #include means: beside the file, at the root, or in the runtime interface.
  function resolve(file, name,    path) {
    path = normal(folder(file) "/" name)
    if (path in known)
      return path
    if (normal(name) in known)
      return normal(name)
    path = "runtime/include/" name
    return path in known ? path : ""
  }
  function allowed(file, target,    from, to) {
    from = area(file)
    to = area(target)
    if (from == to)
      return 1
    if (from == "top")
      return to != "tests" && (to != "runtime" || target ~ /^runtime\/include\//)
    if ((from == "codegen" || from == "ops") && target == "runtime/include/dtr_abi.h")
      return 1
    if (from == "codegen")
      return to == "base" || to == "ir"
    if (to == "grammar" && rank[from] < rank["cluster"])
      return 0
    if (from in rank && to in rank)
      return rank[to] < rank[from]
    return 0
  }
  function check(file,    line, name, target, number) {
    number = 0
    while ((getline line < (root "/" file)) > 0) {
      number++
      if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
        continue
      quoted = line ~ /include[ \t]*"/
      name = line
      sub(/^[^"<]*["<]/, "", name)
      sub(/[">].*$/, "", name)
      target = resolve(file, name)
      if (target == "") {
        # flex and bison write headers into the build folder.
        if (quoted && name !~ /\.(tab|lex|yy)\.h$/) {
          printf "%s:%d: no such file in the project: \"%s\"\n", file, number, name
          bad++
        }
      } else if (!allowed(file, target)) {
        printf "%s:%d: %s must not include %s (%s)\n", file, number, area(file), area(target), target
        bad++
      }
    }
    close(root "/" file)
  }
  BEGIN {
    # A folder sees those of lower rank, but only stages see grammar.
    split("base=0 grammar=1 ir=1 ops=2 cluster=3 sema=4 build=5 grad=6 opt=7 replicate=8 place=9 " \
          "partition=10 schedule=11 prove=12 report=13 launch=14 run=14 tools=14", pairs, " ")
    for (i in pairs) {
      split(pairs[i], pair, "=")
      rank[pair[1]] = pair[2] + 0
    }
  }
  { known[$0] = 1; order[++count] = $0 }
  END {
    for (i = 1; i <= count; i++)
      if (order[i] ~ /^(compiler|grammar|codegen|runtime)\/.*\.(c|h|l|y)$/) {
        checked++
        check(order[i])
      }
    if (bad) {
      printf "includes: %d wrong includes\n", bad
      exit 1
    }
    if (!checked) {
      print "includes: no source files found"
      exit 1
    }
  }'
