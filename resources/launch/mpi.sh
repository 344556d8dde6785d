#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Trains an experiment by Open MPI's mpirun, which only starts the ranks; they talk by Gloo.
#
#   ./mpi.sh 4 experiment.json                            four ranks here
#   HOSTS=node1:2,node2:2 ./mpi.sh 4 experiment.json      two on each of two hosts, which ssh reaches without a password
#
# Start it on the first host of HOSTS: rank 0 runs there, and reads the experiment and writes the record.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: [HOSTS=host:ranks,...] $0 RANKS EXPERIMENT [options of skippipe run]" >&2; exit 2; }
ranks="$1"
shift

# Where `skippipe` is: the same path on every host.
skippipe="${SKIPPIPE:-skippipe}"
# --bind-to none: a rank uses several cores. --oversubscribe: more ranks than cores are allowed.
options=(--bind-to none --oversubscribe -n "$ranks")
# MASTER_ADDR: where rank 0 is, by a name that every host knows; the port follows from the job's number.
[ -z "${HOSTS:-}" ] || options+=(--host "$HOSTS" -x "MASTER_ADDR=${FIRST_HOST:-${HOSTS%%[:,]*}}")
# The interface that leads to the other hosts, where ranks do not find each other by themselves ("eth1", "ib0").
[ -z "${INTERFACE:-}" ] || options+=(-x "GLOO_SOCKET_IFNAME=$INTERFACE")
# What ranks share lies behind this secret; mpirun hands it on.
export SKIPPIPE_TOKEN="${SKIPPIPE_TOKEN:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}"
options+=(-x SKIPPIPE_TOKEN)
# mpirun refuses root unless told otherwise: containers often have no other user.
[ "$(id -u)" != 0 ] || options+=(--allow-run-as-root)

exec mpirun "${options[@]}" "$skippipe" run "$@"
