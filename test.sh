#!/usr/bin/env bash
# Installs what is missing, builds everything with warnings as errors, runs all tests.
#
#   ./test.sh                 the lot
#   ./test.sh --no-install    without looking for packages
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

install=yes
for argument in "$@"; do
  case "$argument" in
    --no-install) install=no ;;
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "test.sh: unknown option $argument (--no-install, --help)" >&2; exit 2 ;;
  esac
done

[ "$install" = no ] || scripts/install_dependencies.sh
cmake --preset ci
cmake --build --preset ci --parallel "$(scripts/jobs.sh)"
ctest --preset ci --parallel "$(nproc)" --no-tests=error
