#!/usr/bin/env bash
# The same program under everything that starts processes: by name, by TF_CONFIG, by the script for
# Slurm, by mpirun and its app file. All give the bits of one process.
set -euo pipefail
. "${DTG_SOURCE_DIR:?the source tree}/tests/e2e/common.sh"
. "$source/tests/mp/tasks.sh"
tasks=(ps/0 worker/0 worker/1 worker/2)
flags=(--quiet --threads 1 --steps 9)
limit=60 # s: nothing here takes so long

write_cluster() {
  free_ports 4
  cat >cluster.cfg <<END
jobs: {
  ps: { tasks = [ "127.0.0.1:$base" ]; cpu = 1; };
  worker: { tasks = [ "127.0.0.1:$((base + 1))", "127.0.0.1:$((base + 2))",
                      "127.0.0.1:$((base + 3))" ]; cpu = 1; };
};
END
}

write_tf_config() { # TYPE INDEX
  printf '{"cluster": {"ps": ["127.0.0.1:%d"], "chief": ["127.0.0.1:%d"],' "$base" $((base + 1))
  printf ' "worker": ["127.0.0.1:%d", "127.0.0.1:%d"]},' $((base + 2)) $((base + 3))
  printf ' "task": {"type": "%s", "index": %d}}' "$1" "$2"
}

# Waits for all processes in `pids`, which must end well.
wait_for_all() {
  local pid
  for pid in "${pids[@]}"; do
    wait "$pid" || fail "$1: exit status $?: $(cat ./*.err)"
  done
}

checked() { # NAME
  same one.safetensors "$1.safetensors"
  printf 'same: %s\n' "$1"
}

by_name() {
  local task pids=()
  write_cluster
  for task in "${tasks[@]}"; do
    DTG_TASK=$task timeout $limit "$program" --cluster cluster.cfg "${flags[@]}" \
      --save by_name.safetensors >"${task/\//.}.out" 2>"${task/\//.}.err" &
    pids+=($!)
  done
  wait_for_all by_name
  checked by_name
}

by_flag() {
  local task pids=()
  write_cluster
  for task in "${tasks[@]}"; do
    timeout $limit "$program" --cluster cluster.cfg --task "$task" "${flags[@]}" \
      --save by_flag.safetensors >"${task/\//.}.out" 2>"${task/\//.}.err" &
    pids+=($!)
  done
  wait_for_all by_flag
  checked by_flag
}

by_tf_config() {
  local task pids=()
  free_ports 4
  for task in 'ps 0' 'chief 0' 'worker 0' 'worker 1'; do
    # shellcheck disable=SC2086
    TF_CONFIG=$(write_tf_config $task) timeout $limit "$program" "${flags[@]}" \
      --save by_tf_config.safetensors >"${task/ /.}.out" 2>"${task/ /.}.err" &
    pids+=($!)
  done
  wait_for_all by_tf_config
  checked by_tf_config
}

# srun as the batch script uses it: a command once per task, all on this machine.
write_srun() {
  mkdir -p bin
  cat >bin/srun <<'END'
#!/bin/bash
while [[ $1 == --* ]]; do shift; done
pids=()
for ((rank = 0; rank < SLURM_NTASKS; rank++)); do
  SLURM_PROCID=$rank "$@" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
exit $status
END
  printf '#!/bin/bash\necho 127.0.0.1\n' >bin/hostname
  chmod +x bin/srun bin/hostname
}

by_slurm() {
  write_srun
  free_ports 4
  "$dtgc" model.dtg --cluster ps=1,worker=3 -o out --emit=slurm >batch.sh
  PATH=$PWD/bin:$PATH SLURM_NTASKS=4 SLURM_JOB_ID=7 DTG_PORT=$base timeout $limit bash batch.sh \
    "${flags[@]}" --save by_slurm.safetensors >slurm.out 2>slurm.err ||
    fail "by_slurm: exit status $?: $(cat slurm.err)"
  checked by_slurm
}

mpirun_here() {
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout $limit mpirun --oversubscribe \
    "$@" >mpirun.out 2>mpirun.err || fail "mpirun: exit status $?: $(cat mpirun.err)"
}

by_mpirun() {
  write_cluster
  mpirun_here -n 4 "$program" --cluster cluster.cfg "${flags[@]}" --save by_mpirun.safetensors
  checked by_mpirun
  write_cluster
  "$dtgc" -q model.dtg --cluster cluster.cfg -o hosts
  "$dtgc" model.dtg --cluster cluster.cfg -o hosts --emit=hostfile |
    sed "/^-np/s|\$| ${flags[*]} --save by_app_file.safetensors|" >app
  mpirun_here --app app
  checked by_app_file
}

cp "$models/mlp.dtg" base.dtg
{
  grep -v '^strategy ' base.dtg | sed -E 's/(batch += )[0-9]+/\112/; s/(shards += )[0-9]+/\13/'
  echo 'strategy it { replicate between_graph over worker  params on ps  update sync }'
} >model.dtg
"$dtgc" -q model.dtg --cluster ps=1,worker=3 -o out
program=out/model
"$program" "${flags[@]}" --save one.safetensors >one.out
by_name
by_flag
by_tf_config
by_slurm
by_mpirun
