#!/usr/bin/env bash
# Three hosts (network namespaces on one bridge), a task each: the bits of one process; and again
# with the cable of a worker cut in mid-run until its silence is named.
set -euo pipefail
. "${DTG_SOURCE_DIR:?the source tree}/tests/e2e/common.sh"
net=dtg$$
if ! ip netns add "$net-0" 2>/dev/null; then
  echo "skipped: needs root and network namespaces (iproute2)"
  exit 0
fi
clean() {
  local i
  for i in 0 1 2; do
    ip netns pids "$net-$i" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns del "$net-$i" 2>/dev/null || true
  done
  ip link del "$net" 2>/dev/null || true
  rm -rf "$scratch"
}
trap clean EXIT

tasks=(ps/0 worker/0 worker/1)
ip link add "$net" type bridge
ip link set "$net" up
for i in 0 1 2; do
  [ "$i" -eq 0 ] || ip netns add "$net-$i"
  ip link add "v$$-$i" type veth peer name eth0 netns "$net-$i"
  ip link set "v$$-$i" master "$net" up
  ip -n "$net-$i" addr add "10.77.0.$((i + 1))/24" dev eth0
  ip -n "$net-$i" link set eth0 up
  ip -n "$net-$i" link set lo up
done
cat >hosts.cfg <<'END'
jobs: {
  ps: { tasks = [ "10.77.0.1:2222" ]; };
  worker: { tasks = [ "10.77.0.2:2222", "10.77.0.3:2222" ]; };
};
END
head -c 32 /dev/urandom >secret
chmod 600 secret
{ grep -v '^strategy ' "$models/mlp.dtg"
  echo 'strategy it { replicate between_graph over worker  params on ps  update sync }'; } >mlp.dtg
"$dtgc" -q mlp.dtg --cluster hosts.cfg -o out
steps=2000
out/mlp --local --quiet --threads 1 --steps "$steps" --save one.safetensors >one.out

start() {
  local i
  rm -f many.*
  pids=()
  for i in 0 1 2; do
    timeout 100 ip netns exec "$net-$i" out/mlp --task "${tasks[i]}" --cluster hosts.cfg --threads 1 \
      --secret-file secret --quiet --steps "$steps" --save many.safetensors --log many.jsonl \
      >"many.$i.out" 2>"many.$i.err" &
    pids+=($!)
  done
}

finish() {
  local i
  for i in 0 1 2; do
    wait "${pids[i]}" || fail "$1: ${tasks[i]}: exit status $?: $(cat "many.$i.err")"
  done
  same one.safetensors many.safetensors
  same one.out many.1.out
  printf 'same: %s\n' "$1"
}

start
finish "three hosts"

start
until [ -f many.jsonl ] && [ "$(wc -l <many.jsonl)" -ge 5 ]; do :; done
ip link set "v$$-2" down
until grep -q "worker/1 is silent for 2 s" many.1.err; do
  kill -0 "${pids[1]}" || fail "the chief has ended: $(cat many.1.err)"
done
ip link set "v$$-2" up
finish "three hosts, and a cable cut until it is noticed"
grep -q "worker/1 is heard again" many.1.err || fail "not heard again: $(cat many.1.err)"
