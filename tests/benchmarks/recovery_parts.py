#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the others take to go on after a rank is killed, in parts.

  tests/benchmarks/recovery_parts.py BIN [--ranks 20] [--kills 10] [--seed 1] [--compute torch|cost]

Trains the quick start on so many ranks, one node each where there are 20, on this machine. Again and again a rank other
than 0 is killed by SIGKILL at a random instant; it is started again and back before the next one is. Prints of each
kill, and as median and range, the parts that the run tells, what passes from the signal until operations run again, and
until the interrupted iteration is over.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import tempfile
import threading
import time

PARTS = ["detection_s", "quiet_s", "meeting_s", "planning_s", "connecting_s"]


class Run:
    """Its lines of JSON, each with the time at which it came."""

    def __init__(self, binary, document, folder):
        file = folder / "run.json"
        file.write_text(json.dumps(document))
        self.process = subprocess.Popen([binary, "run", file, "--db", folder / "record.sqlite", "--json"],
                                        stdout=subprocess.PIPE, text=True)
        self.lines, self.changed = [], threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append((time.monotonic(), json.loads(line)))
                self.changed.notify_all()

    def wait_for(self, wanted, since, limit_s=300):
        """The first line from the `since`-th on that is wanted: its time, itself, and where the next ones begin."""
        until = time.monotonic() + limit_s
        with self.changed:
            at = since
            while True:
                for k in range(at, len(self.lines)):
                    if wanted(self.lines[k][1]):
                        return *self.lines[k], k + 1
                at = len(self.lines)
                if not self.changed.wait(max(0, until - time.monotonic())):
                    raise SystemExit(f"nothing came for {limit_s} s; the last lines: {self.lines[-3:]}")

    def worker(self, rank):
        """Its process."""
        for name in os.listdir("/proc"):
            try:
                if not name.isdigit() or pathlib.Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[1] != str(
                        self.process.pid):
                    continue
                if f"RANK={rank}".encode() in pathlib.Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    return int(name)
            except OSError:
                pass  # it has just ended
        raise SystemExit(f"rank {rank} has no process")


def one_kill(run, rank, rng, since):
    is_iteration = lambda line: "iteration_seconds" in line
    _, line, since = run.wait_for(is_iteration, since)
    time.sleep(rng.uniform(0, line["iteration_seconds"]))
    killed_s = time.monotonic()
    os.kill(run.worker(rank), signal.SIGKILL)
    told_s, told, since = run.wait_for(lambda one: rank in one.get("lost_ranks", []), since)
    over_s, _, since = run.wait_for(is_iteration, since)
    _, back, since = run.wait_for(lambda one: rank in one.get("joined_ranks", []), since)
    _, _, since = run.wait_for(is_iteration, since)
    parts = {part: told[part] for part in PARTS} | {"fetching_s, once it is back": back["fetching_s"]}
    return parts | {"until operations run": told_s - killed_s, "until the iteration is over": over_s - killed_s}, since


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--ranks", type=int, default=20)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compute", default="torch")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    document = json.loads((root / "resources/experiments/quick-start.json").read_text())
    document["training"] |= {"iterations": 100000, "checkpoint_every": 0, "validate_every": 0}
    document["pipeline"]["plan_steps"] = 2000
    document["execution"] = {"clock": "wall", "transport": "gloo", "compute": options.compute, "ranks": options.ranks,
                             "threads": 1}
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        run, all_parts, since = Run(options.binary, document, pathlib.Path(name)), [], 0
        try:
            for kill in range(options.kills):
                rank = rng.randrange(1, options.ranks)
                parts, since = one_kill(run, rank, rng, since)
                all_parts.append(parts)
                print(f"kill {kill + 1} (rank {rank}): " + ", ".join(f"{k} {v:.3f}" for k, v in parts.items()), flush=True)
        finally:
            run.process.send_signal(signal.SIGTERM)
            run.process.wait(60)
    for part in all_parts[0]:
        values = [parts[part] for parts in all_parts]
        print(f"{part}: median {statistics.median(values):.3f} s, {min(values):.3f} to {max(values):.3f}")


main()
