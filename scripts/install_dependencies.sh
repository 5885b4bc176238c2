#!/usr/bin/env bash
# Installs the Debian packages of scripts/dependencies.txt that are not installed
# yet. Asks nothing. Needs root or sudo only when something is missing.
set -euo pipefail

list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/dependencies.txt"
mapfile -t packages < <(sed 's/#.*//' "$list" | awk 'NF { print $1 }')

fail() {
  echo "install_dependencies: $1" >&2
  echo "The packages that Troupe needs are listed in $list." >&2
  exit 1
}

command -v apt-get >/dev/null || fail "there is no apt-get: this script knows only Debian and its kin"

installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "${packages[@]}" \
  2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install_dependencies: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "${missing[*]} missing, and neither root nor sudo to install them"
  as_root=(sudo)
  # Without a terminal sudo must not ask for a password.
  [ -t 0 ] || as_root=(sudo -n)
fi

echo "install_dependencies: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
"${apt[@]}" update || fail "apt-get update failed"
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null ||
  fail "apt-get could not install ${missing[*]}"
echo "install_dependencies: done"
