#!/usr/bin/env bash
# Prints how many files to compile at once: one for each CPU, and 1.5 GB of memory for each.
set -euo pipefail
cpus=$(nproc)
by_memory=$(awk '/^MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
jobs=$((by_memory < cpus ? by_memory : cpus))
echo $((jobs > 0 ? jobs : 1))
