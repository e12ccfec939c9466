# Sourced by golden.sh and diag.sh.
root=${DTG_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
dtgc=${DTGC:-$root/build/bin/dtgc}
update=${UPDATE:-0}

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

[ -x "$dtgc" ] || die "$dtgc is missing: build it, or set DTGC"
dtgc=$(realpath "$dtgc")

# The cases run in a copy of their folder: what they write does not reach the source tree, and
# messages name files by relative paths.
enter_copy() {
  scratch=$(mktemp -d)
  trap 'chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
  cp -r "$1" "$scratch/cases"
  cd "$scratch/cases"
}

# The flags that a case asks for in its first line, "# flags: ..." (";" in a graph text).
first_line_flags() {
  sed -nE '1{s/^[#;] flags:[ \t]*(.*)$/\1/p;}' "$1"
}

# Where the tree lies is no part of a result.
neutral_paths() {
  sed -e "s|$scratch/cases|<case>|g" -e "s|${DTG_BINARY_DIR:-$root/build}|<build>|g" \
    -e "s|$root|<source>|g" "$1"
}

# compare CASE EXPECTED-FILE ACTUAL-FILE: shows the difference, or with UPDATE=1 takes it over.
compare() {
  if [ "$update" = 1 ]; then
    cmp -s "$2" "$3" 2>/dev/null || {
      cp "$3" "$2"
      printf 'updated %s\n' "${2#"$root"/}"
    }
    return 0
  fi
  if [ ! -f "$2" ]; then
    printf '%s: %s is missing (UPDATE=1 writes it)\n' "$1" "${2#"$root"/}"
    return 1
  fi
  diff -u --label "expected ${2#"$root"/}" --label "got from $1" "$2" "$3"
}
