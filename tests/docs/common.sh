# Sourced by the checks of the documentation. Fences of a page:
#   ```dtg         a file that dtgc check accepts without a word
#   ```dtg part    a part of a file: it parses
#   ```dtg fails   a file that dtgc check refuses with the message of the fence ```text behind it
#   ```console     commands after "$ ", each followed by what it prints
root=${DTG_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
dtgc=${DTGC:-$root/build/bin/dtgc}
[ -x "$dtgc" ] || {
  printf '%s is missing: build it, or set DTGC\n' "$dtgc" >&2
  exit 1
}
dtgc=$(realpath "$dtgc")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fault() {
  printf '%s\n' "$*"
  failures=$((failures + 1))
}

# fences PAGE FOLDER: each fence as the file FOLDER/LINE.KIND, LINE being where it begins, in five
# digits, and KIND its info string with "-" for blanks. Prints the names in order.
fences() {
  awk -v folder="$2" '
    !open && /^```/ {
      kind = substr($0, 4)
      gsub(/ /, "-", kind)
      name = sprintf("%05d.%s", NR, kind == "" ? "none" : kind)
      file = folder "/" name
      printf "" >file
      print name
      open = 1
      next
    }
    open && /^```$/ { close(file); open = 0; next }
    open { print >file }
    END { if (open) exit 1 }' "$1"
}
