# Sourced by the tests of bad input.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export HOME=$scratch/home
unset XDG_DATA_HOME XDG_DATA_DIRS DTG_DATA_PATH

# build NAME...: out/NAME of the model bad_models/NAME.dtg.
build() {
  local name
  for name; do
    cp "$source/tests/e2e/bad_models/$name.dtg" .
    "$dtgc" "$name.dtg" -o out >/dev/null
  done
}

# What a program said, without the scratch folder, ids, checksums, and lines of the library.
plain() {
  sed -E "s|$scratch|SCRATCH|g; s/(its id|program's) is [0-9a-f]{12}/\1 is ID/g
          s/wrong checksum(.*): [0-9a-f]{16}, written as [0-9a-f]{16}/wrong checksum\1: SUM, written as SUM/
          s/(layers|losses)\.dtg:[0-9]+:[0-9]+/\1.dtg:LINE/g" "$@"
}

# says COMMAND...: it succeeds and writes exactly the standard input to its standard error.
# refused STATUS COMMAND...: the same, but it ends with STATUS.
refused() {
  local status=$1 got=0
  shift
  "$@" >stdout 2>stderr || got=$?
  plain stderr >said
  diff -u --label expected --label "what '$*' says" - said || fail "another message"
  [ "$got" -eq "$status" ] || fail "'$*' ends with $got, not with $status"
}
says() { refused 0 "$@"; }

# without_rights COMMAND...: root may write and read everything; so run without that right.
without_rights() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --bounding-set=-dac_override,-dac_read_search "$@"
  else
    "$@"
  fi
}
