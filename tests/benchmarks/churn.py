#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Churn study: policies side by side while whole stages are lost, network time to a given loss.

  tests/benchmarks/churn.py BIN [--seeds 2] [--iterations 1000] [--target 800] [--keep DB]

Trains resources/experiments/churn.json for real: once undisturbed, then with each policy at each failure rate. The loss
to reach is the undisturbed run's validation loss after --target iterations. Baseline of the ratios: the undisturbed
run's network time to it, which nothing can undercut but by luck. Prints a table for docs/figures.md.
"""
import argparse
import copy
import json
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile

RATES = [5, 10, 16]  # per cent of the stages that may be lost, an hour of network time
POLICIES = {
    "back to the last checkpoint": {"policy": "restart", "rebuild": "checkpoint"},
    "wait, then rebuild from neighbours": {"policy": "replay", "rebuild": "neighbours"},
    "skip online, rebuild from checkpoint": {"policy": "reroute", "rebuild": "checkpoint"},
    "leave out what was lost, rebuild from neighbours": {"policy": "skip", "rebuild": "neighbours"},
    "drop microbatches, rebuild from neighbours": {"policy": "drop", "rebuild": "neighbours"},
    "skip online, rebuild from neighbours": {"policy": "reroute", "rebuild": "neighbours"},
}


def train(binary, document, folder, database):
    file = folder / "run.json"
    file.write_text(json.dumps(document))
    done = subprocess.run([binary, "run", file, "--db", database, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-500:]}\n{done.stderr}")
    with sqlite3.connect(database) as record:
        (run,) = record.execute("SELECT max(id) FROM runs").fetchone()
        curve = record.execute("SELECT iteration, network_s, value FROM metrics WHERE run = ? AND "
                               "name = 'validation_loss' ORDER BY network_s", (run,)).fetchall()
        total = {name: value for name, value in record.execute(
            "SELECT name, sum(value) FROM metrics WHERE run = ? AND name IN "
            "('nodes_lost', 'lost_iterations', 'lost_network_s') GROUP BY name", (run,))}
    return curve, total


def reached(curve, target):
    """Network time at which the loss first came down to the target, between two validations in proportion."""
    before = None
    for _, network_s, loss in curve:
        if loss <= target:
            if before is None or before[1] <= loss:
                return network_s
            share = (before[1] - target) / (before[1] - loss)
            return before[0] + share * (network_s - before[0])
        before = (network_s, loss)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path, help="the program skippipe")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--target", type=int, default=800)
    parser.add_argument("--all-reduce", choices=("charged", "planned"), default="charged",
                        help="the figures in docs/figures.md were measured with the charged ring")
    parser.add_argument("--keep", type=pathlib.Path, help="record to keep the runs in")
    parser.add_argument("--policies", nargs="*", choices=list(POLICIES), default=list(POLICIES))
    parser.add_argument("--rates", nargs="*", type=int, choices=RATES, default=RATES)
    options = parser.parse_args()
    base = json.loads((pathlib.Path(__file__).parents[2] / "resources/experiments/churn.json").read_text())
    base["training"]["iterations"] = options.iterations
    base["costs"]["all_reduce"] = options.all_reduce
    losable = base["pipeline"]["stages"] - 1  # stage 0 has the embedding
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        database = options.keep or folder / "churn.sqlite"
        calm = {}  # by seed: the loss to reach, and when the undisturbed run does
        for seed in range(1, options.seeds + 1):
            document = copy.deepcopy(base)
            document.update(failures=[], name="Churn: undisturbed", seed=seed)
            curve, _ = train(options.binary, document, folder, database)
            target = next(loss for iteration, _, loss in curve if iteration == options.target)
            calm[seed] = target, reached(curve, target)
            print(f"undisturbed, seed {seed}: loss {target:.4f} after {calm[seed][1] / 3600:.2f} h", flush=True)
        print("| policy | " + " | ".join(f"{rate} %/h" for rate in options.rates) + " |")
        for name, recovery in POLICIES.items():
            if name not in options.policies:
                continue
            cells = []
            for rate in options.rates:
                times, lost, again = [], [], []
                for seed in range(1, options.seeds + 1):
                    document = copy.deepcopy(base)
                    document["name"] = f"Churn: {name}, {rate} %/h"
                    document["recovery"].update(recovery)
                    document["failures"][0]["rate_per_hour"] = losable * rate / 100
                    document["seed"] = seed
                    curve, total = train(options.binary, document, folder, database)
                    times.append(reached(curve, calm[seed][0]))
                    lost.append(total.get("nodes_lost", 0))
                    again.append(total.get("lost_iterations", 0))
                if None in times:
                    cells.append("not reached")
                else:
                    ratio = statistics.mean(time / calm[seed + 1][1] for seed, time in enumerate(times))
                    cells.append(f"{statistics.mean(times) / 3600:.2f} h ({ratio:.3f} x)")
                cells[-1] += f", {statistics.mean(lost):.0f} nodes lost, {statistics.mean(again):.0f} iterations again"
                print(f"  {name}, {rate} %/h: {cells[-1]}", flush=True)
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
