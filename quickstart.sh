#!/usr/bin/env bash
# From a fresh Debian 12 machine to a trained network: installs what is missing,
# builds the troupe command, trains a convolutional network on Fashion-MNIST.
# Options are handed on to the training: ./quickstart.sh --replicas 2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step() { printf '\n== %s\n' "$1"; }

step "Installing what is missing"
scripts/install_dependencies.sh

step "Building the troupe command (a few minutes the first time)"
cmake --preset release --log-level=WARNING
cmake --build --preset release --parallel "$(scripts/jobs.sh)" --target troupe

command=(build/release/apps/troupe train fashion-mnist "$@")
step "Training: ${command[*]}"
exec "${command[@]}"
