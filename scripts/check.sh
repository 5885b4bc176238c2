#!/usr/bin/env bash
# Everything that a change must pass before it lands:
#
#   format    clang-format finds nothing to change
#   tests     ./test.sh: build with warnings as errors, all tests, the installed package
#   asan      the tests again under the address and undefined behaviour sanitizers
#
#   scripts/check.sh            all of it
#   scripts/check.sh format     one part
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

check_format() {
  if ! command -v clang-format >/dev/null; then
    echo "check: no clang-format here (package clang-format), format not checked"
    return
  fi
  git ls-files -z -- '*.h' '*.cpp' '*.cu' | xargs -0 clang-format --dry-run --Werror
  echo "check: format is fine"
}

check_tests() { ./test.sh; }

check_asan() {
  cmake --preset asan -DTROUPE_APPS=OFF
  cmake --build --preset asan --parallel "$(scripts/jobs.sh)"
  ctest --preset asan --parallel "$(nproc)" --label-exclude install --no-tests=error
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(format tests asan)
for part in "${parts[@]}"; do
  case "$part" in
    format | tests | asan) "check_$part" ;;
    *) echo "check.sh: unknown part $part (format, tests, asan)" >&2; exit 2 ;;
  esac
done
