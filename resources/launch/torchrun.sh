#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Trains an experiment on several hosts by torchrun. Call it on every host, with the same arguments but the host's number:
#
#   FIRST_HOST=node1 HOSTS=2 HOST_NUMBER=0 RANKS_PER_HOST=2 ./torchrun.sh experiment.json     (on node1)
#   FIRST_HOST=node1 HOSTS=2 HOST_NUMBER=1 RANKS_PER_HOST=2 ./torchrun.sh experiment.json     (on the other)
#
# What ranks share lies behind a secret: export the same SKIPPIPE_TOKEN (openssl rand -hex 16) on every host first.
#
# Without torchrun (Debian's does not start) the same by hand, one process a rank:
#   RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=node1 MASTER_PORT=29400 skippipe run experiment.json
# and with RANK=1 on the other host.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: FIRST_HOST=... HOSTS=... HOST_NUMBER=... [RANKS_PER_HOST=1] $0 EXPERIMENT [options of skippipe run]" >&2; exit 2; }

# Where `skippipe` is: the same path on every host.
skippipe="${SKIPPIPE:-skippipe}"
# The interface that leads to the other hosts, where ranks do not find each other by themselves ("eth1", "ib0").
[ -z "${INTERFACE:-}" ] || export GLOO_SOCKET_IFNAME="$INTERFACE"

# --no-python: torchrun starts any program. --max-restarts=0: a lost rank ends the run, and its record says which and why.
exec torchrun --no-python --max-restarts=0 \
  --nnodes="${HOSTS:-1}" --node-rank="${HOST_NUMBER:-0}" --nproc-per-node="${RANKS_PER_HOST:-1}" \
  --master-addr="${FIRST_HOST:-127.0.0.1}" --master-port="${PORT:-29400}" \
  "$skippipe" run "$@"
