# shellcheck shell=bash disable=SC2013,SC2154
# Sourced by tests with processes, after e2e/common.sh: free ports, and tasks of a launcher.

# free_ports COUNT: so many neighbouring ports from `base` that nobody uses, below those that the
# system gives away by itself.
free_ports() {
  local port count=$1
  while true; do
    base=$((20000 + RANDOM % 10000))
    for ((port = base; port < base + count; port++)); do
      ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue 2
    done
    return 0
  done
}

# pid_of TASK: of the process that is the task, started by `launcher`; waits for it.
pid_of() {
  local child pid
  while kill -0 "$launcher" 2>/dev/null; do
    for child in $(cat "/proc/$launcher/task/$launcher/children" 2>/dev/null); do
      for pid in "$child" $(cat "/proc/$child/task/$child/children" 2>/dev/null); do
        if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "DTG_TASK=$1"; then
          printf '%s\n' "$pid"
          return 0
        fi
      done
    done
  done
  return 1
}

# await_step STEP: the chief has written so many lines to many.jsonl; or process `launcher` is gone.
await_step() {
  while kill -0 "$launcher" 2>/dev/null; do
    [ ! -f many.jsonl ] || [ "$(wc -l <many.jsonl)" -lt "$1" ] || return 0
  done
}

# await_words WORDS FILE PID: they stand in the file, or the process is gone.
await_words() {
  until grep -qF -- "$1" "$2" 2>/dev/null; do
    kill -0 "$3" 2>/dev/null || grep -qF -- "$1" "$2" 2>/dev/null || return 1
  done
}
