# Sourced by the end-to-end tests. They work in a scratch folder of their own.
dtgc=${DTGC:?the compiler under test}
source=${DTG_SOURCE_DIR:?the source tree}
models=$source/tests/e2e/models
scratch=$(mktemp -d)
trap 'chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# same FILE FILE...: all have the same bytes.
same() {
  local first=$1 other
  shift
  for other; do
    cmp "$first" "$other" || fail "$first and $other differ"
  done
}

digest() { sha256sum "$1" | cut -d ' ' -f 1; }
