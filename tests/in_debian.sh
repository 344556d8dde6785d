#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds and tests the last commit inside a bare Debian made for it, as a user who may use sudo and with nothing else installed:
#   sudo tests/in_debian.sh bookworm|trixie [FOLDER]
# By hand, not part of ./studio test: it downloads about 600 MB and takes half an hour on two cores. Needs root and debootstrap.
# FOLDER (kept, 5 GB; default /var/tmp/skippipe-RELEASE) is used again by the next call, with what was built in it.
set -euo pipefail
release="${1:?bookworm (Debian 12) or trixie (Debian 13)}"
folder="${2:-/var/tmp/skippipe-$release}"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
mirror="${DEBIAN_MIRROR:-http://deb.debian.org/debian}"

if [ ! -e "$folder/etc/debian_version" ]; then
  debootstrap --variant=minbase --include=sudo "$release" "$folder" "$mirror"
fi
if ! grep -q '^tester:' "$folder/etc/passwd"; then
  chroot "$folder" useradd --create-home --shell /bin/bash tester
  echo 'tester ALL=(ALL) NOPASSWD: ALL' >"$folder/etc/sudoers.d/tester"
fi
# Only what changed is written or removed, so that a second call builds little.
fresh="$(mktemp -d)"
trap 'rm -rf "$fresh"' EXIT
git -C "$root" archive HEAD | tar -x -C "$fresh"
mkdir -p "$folder/home/tester/skippipe-studio"
(cd "$fresh" && find . -type f) | while read -r file; do
  target="$folder/home/tester/skippipe-studio/$file"
  cmp -s "$fresh/$file" "$target" || { mkdir -p "$(dirname "$target")"; cp -p "$fresh/$file" "$target"; }
done
(cd "$folder/home/tester/skippipe-studio" && find . -type f -not -path './build*') | while read -r file; do
  [ -e "$fresh/$file" ] || rm "$folder/home/tester/skippipe-studio/$file"
done
cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
# As Debian's installer does: a host knows itself by name.
printf '127.0.0.1\tlocalhost\n127.0.1.1\t%s\n::1\tlocalhost ip6-localhost ip6-loopback\n' "$(uname -n)" >"$folder/etc/hosts"
# Its own process and mount namespace: whatever a test leaves behind ends with it, and is no mount of this machine's.
# pivot_root, for chroot forbids what is inside a user namespace of its own (tests/app/test_hosts.cpp).
inside='
  set -e
  mount --bind "$0" "$0"; cd "$0"
  mount -t proc proc proc; mount -t sysfs -o ro sysfs sys; mount -t tmpfs tmpfs tmp; mount -t tmpfs tmpfs run; mkdir -p dev/shm; mount -t tmpfs tmpfs dev/shm
  for device in null zero full random urandom tty; do [ -e "dev/$device" ] || touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
  chown -R 1000:1000 home/tester/skippipe-studio
  ip link set lo up 2>/dev/null || true
  pivot_root . .; umount -l .; cd /
  su - tester -c "cd skippipe-studio && ./studio ${1@Q}" || exit  # no exec: the first process of a namespace sees its orphans off'
started=$SECONDS
unshare --mount --pid --fork --kill-child bash -c "$inside" "$folder" "${STUDIO_VERB:-test}"
echo "Debian $(cat "$folder/etc/debian_version"): ./studio ${STUDIO_VERB:-test} passed after $((SECONDS - started)) s"
