# Sourced by the checks: lint_files ROOT prints the project's own files, relative to ROOT, one a
# line. That is what git tracks; a tree without git (a tar file, a test's own) is taken whole.
lint_files() {
  if [ -e "$1/.git" ] && git -C "$1" ls-files 2>/dev/null | grep -q .; then
    (cd "$1" && git ls-files | while IFS= read -r file; do
      [ ! -f "$file" ] || printf '%s\n' "$file"
    done)
  else
    (cd "$1" && find . -type f -not -path './build/*' -not -path './.git/*' | sed 's|^\./||')
  fi | LC_ALL=C sort
}
