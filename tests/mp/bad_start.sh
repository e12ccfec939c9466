#!/usr/bin/env bash
# Processes that cannot begin: each ends in time, with its words and its exit status.
set -euo pipefail
. "${DTG_SOURCE_DIR:?the source tree}/tests/e2e/common.sh"

{ grep -v '^strategy ' "$models/mlp.dtg"
  echo 'strategy it { replicate between_graph over worker  params on ps  update sync }'; } >mlp.dtg
"$dtgc" -q mlp.dtg --cluster ps=1,worker=1 -o out
program=out/mlp

# refused STATUS ARGUMENTS...: the exit status, and on standard input what it says.
refused() {
  local expected=$1 status=0
  shift
  timeout 60 "$program" "$@" >stdout 2>stderr || status=$?
  [ "$status" -eq "$expected" ] || fail "$*: exit status $status: $(cat stderr)"
  diff -u - stderr || fail "$*: other words"
}

cluster() {
  printf 'jobs: {\n  ps: { tasks = [ "%s" ]; };\n  worker: { tasks = [ "%s" ]; };\n};\n' "$1" "$2"
}

refused 2 --task worker/7 <<'END'
error: --task is `worker/7`, and the plan has 1 tasks of job `worker`
  hint: indices count from 0; build for a larger cluster to have more
END
refused 2 --task worker/0 <<'END'
error: --task says which task this is, and nothing where the others are
  hint: --cluster FILE names the file with the addresses; --local runs all tasks in one process
END
refused 2 --task worker/0 --cluster none.cfg <<'END'
error: --cluster none.cfg cannot be read: No such file or directory
  hint: --cluster names the file with the addresses of the tasks
END
printf 'jobs: {\n  ps = oops\n};\n' >broken.cfg
refused 2 --task worker/0 --cluster broken.cfg <<'END'
broken.cfg:2: error: not a cluster file: syntax error
  hint: its format is that of libconfig: names, `=` or `:`, values, `;`
END
cluster 127.0.0.1:1 192.0.2.1:2222 >far.cfg
refused 2 --task worker/0 --cluster far.cfg <<'END'
error: worker/0 cannot listen at 192.0.2.1:2222: the address is not this host's
  hint: start worker/0 on the host that has the address, or correct the cluster's addresses
END
cluster 127.0.0.1:1 no.such.host.invalid:2222 >unknown.cfg
refused 2 --task worker/0 --cluster unknown.cfg <<'END'
error: worker/0 cannot listen at no.such.host.invalid:2222: the host name does not resolve
  hint: an address is "HOST:PORT", with a host that this machine knows
END
refused 2 --task worker/0 --cluster far.cfg --deadline start=soon <<'END'
error: --deadline: "start=soon" is no class with a time
  hint: classes are start, step and shutdown, units ms, s, m and h: --deadline start=120s,step=60s,shutdown=30s
END
printf 'sixteen bytes or more' >secret
chmod 644 secret
cluster 127.0.0.1:1 127.0.0.1:2 >here.cfg
refused 2 --task worker/0 --cluster here.cfg --secret-file secret <<'END'
error: --secret-file secret can be read by others (mode 644)
  hint: chmod 600 secret, and make another secret if it was seen
END
printf short >secret
refused 2 --task worker/0 --cluster here.cfg --secret-file secret <<'END'
error: --secret-file secret is no file of 16 to 4096 bytes
  hint: make one: head -c 32 /dev/urandom > secret; chmod 600 secret
END

# A peer that never comes: named with its address and why.
mkdir open && cat >open/port.c <<'END'
#include <arpa/inet.h>
#include <stdio.h>
int main(void) {
  for (int i = 0; i < 2; i++) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(made, (struct sockaddr *)&at, size) || getsockname(made, (struct sockaddr *)&at, &size))
      return 1;
    printf("127.0.0.1:%d\n", ntohs(at.sin_port));
  }
  return 0;
}
END
cc -o open/port open/port.c
mapfile -t free < <(open/port)
cluster "${free[0]}" "${free[1]}" >alone.cfg
refused 3 --task worker/0 --cluster alone.cfg --deadline start=300ms <<END
error: 1 of the tasks that worker/0 waits for did not come within 0.3 s: ps/0 at ${free[0]} (Connection refused)
  hint: start every task of the plan; --deadline start=10m waits longer
END
