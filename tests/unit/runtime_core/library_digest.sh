#!/usr/bin/env bash
# usage: library_digest.sh TEST_LIBRARY ARCH
# The bytes of every library call are the same however many threads OpenMP is told to use.
set -euo pipefail
first=$(OMP_NUM_THREADS=1 "$1" "$2" --digest)
[[ $first =~ ^[0-9a-f]{16}$ ]] || { echo "no digest: $first"; exit 1; }
for threads in 2 3 8; do
  other=$(OMP_NUM_THREADS=$threads OMP_DYNAMIC=false "$1" "$2" --digest)
  [ "$other" = "$first" ] || { echo "OMP_NUM_THREADS=$threads: $other, 1: $first"; exit 1; }
done
echo "$2: $first"
