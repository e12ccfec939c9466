#!/usr/bin/env bash
# The questions that users asked of distributed training, each answered by a command, word for word,
# about the network that they asked of. UPDATE=1 rewrites the answers.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
answers=$source/tests/e2e/questions
cp "$source/stdlib-models/models/cifar10_cnn.dtg" "$answers/cluster.cfg" .
failures=0

# ask NAME STATUS COMMAND...: the whole answer, messages included, is that of the file NAME.txt.
ask() {
  local name=$1 wanted=$2 status=0
  shift 2
  "$dtgc" "$@" >answer 2>messages || status=$?
  # Where the library is installed is no part of an answer.
  cat answer messages | sed -E 's|[^ ]*/share/dtg/std/|std/|g' >seen
  [ "$status" = "$wanted" ] || fail "$name: exit status $status: $(cat seen)"
  if [ "${UPDATE:-0}" = 1 ]; then
    cp seen "$answers/$name.txt"
  elif ! diff -u "$answers/$name.txt" seen; then
    failures=$((failures + 1))
  fi
}
on=(--cluster cluster.cfg)

# How many graphs are there, and what do the styles cost?
ask compare 0 compare cifar10_cnn.dtg "${on[@]}"
# Why are they similar and not identical? Where are the other replicas in my graph?
ask client_in_graph 0 plan cifar10_cnn.dtg "${on[@]}" --strategy in_graph --client worker/0
ask client_between 0 plan cifar10_cnn.dtg "${on[@]}" --strategy between --client worker/1
ask client_ps 0 plan cifar10_cnn.dtg "${on[@]}" --strategy between --client ps/1
# Several machines with several devices each, and both kinds combined.
ask client_hybrid 0 plan cifar10_cnn.dtg "${on[@]}" --strategy hybrid --client worker/1
ask expand_worker 0 plan cifar10_cnn.dtg "${on[@]}" --strategy hybrid --expand worker/1
ask expand_ps 0 plan cifar10_cnn.dtg "${on[@]}" --strategy between --expand ps/1
ask expand_mirrored 0 plan cifar10_cnn.dtg "${on[@]}" --strategy mirrored --expand worker/0
# Who holds the parameters, and why?
ask why_parameter 0 why cifar10_cnn.dtg local3.w "${on[@]}" --strategy between
ask why_slot 0 why cifar10_cnn.dtg local3.w:v "${on[@]}" --strategy between
ask why_layer 0 why cifar10_cnn.dtg local4 "${on[@]}" --strategy between
ask why_device 0 why cifar10_cnn.dtg /job:ps/task:1/device:CPU:0 "${on[@]}" --strategy between
ask why_task 0 why cifar10_cnn.dtg worker/1 "${on[@]}" --strategy hybrid

# What is not there has a nearest name.
ask why_typo 1 why cifar10_cnn.dtg lokal3.w "${on[@]}" --strategy between
ask why_device_typo 1 why cifar10_cnn.dtg /job:worker/task:1/device:cpu:1 "${on[@]}" --strategy hybrid
ask client_typo 1 plan cifar10_cnn.dtg "${on[@]}" --strategy hybrid --client worker/2
# A cluster without parameter servers refuses some, and all are refused by one that fits none.
ask compare_no_ps 0 compare cifar10_cnn.dtg --cluster worker=3:cpu=2
sed -e '/^strategy single/d' -e '/^strategy towers/d' cifar10_cnn.dtg >pairs.dtg
ask compare_none 1 compare pairs.dtg --cluster worker=3

# What does not fit is named, with what lives at the peak.
sed '/^  worker:/s/cpu = 2;/cpu = 2; memory = "20MB";/' cluster.cfg >small.cfg
ask memory 1 plan cifar10_cnn.dtg --cluster small.cfg --strategy in_graph
sed '/^  ps:/s/cpu = 1;/cpu = 1; memory = "5MB";/' cluster.cfg >small.cfg
ask memory_ps 1 plan cifar10_cnn.dtg --cluster small.cfg --strategy in_graph

# Two plans.
"$dtgc" plan cifar10_cnn.dtg "${on[@]}" --strategy between --format=json >a.json 2>/dev/null
"$dtgc" plan cifar10_cnn.dtg "${on[@]}" --strategy between --format=json >same.json 2>/dev/null
sed 's/split >= 1MiB//' cifar10_cnn.dtg >whole.dtg
"$dtgc" plan whole.dtg "${on[@]}" --strategy between --format=json >b.json 2>/dev/null
ask diff_same 0 diff a.json same.json
# Identities and names of files aside, the difference is what the split does.
status=0
"$dtgc" diff a.json b.json >differences || status=$?
[ $status = 1 ] || fail "diff of two plans: exit status $status"
grep -q '^variables\[local3.w\].slices\[[0-9]*\]: only in A$' differences ||
  fail "the split is not among the differences: $(cat differences)"
"$dtgc" diff b.json a.json >back || true
grep -q '^variables\[local3.w\].slices\[[0-9]*\]: only in B$' back || fail "diff has no direction"
printf '{"schema": 1,\n' >broken.json
ask diff_broken 2 diff a.json broken.json
ask diff_one 2 diff a.json
ask why_nothing 2 why cifar10_cnn.dtg
ask form 2 plan cifar10_cnn.dtg --format=yaml
ask client_json 2 plan cifar10_cnn.dtg --client worker/0 --format=json

# The plan as a graph.
"$dtgc" plan cifar10_cnn.dtg "${on[@]}" --strategy between --format=dot >plan.dot 2>/dev/null
grep -q '^strict digraph plan {$' plan.dot || fail "no graph for Graphviz"
[ $failures = 0 ] || fail "$failures answers changed"
