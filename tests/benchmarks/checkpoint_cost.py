#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What checkpoints cost a training that goes on beside them.

  tests/benchmarks/checkpoint_cost.py BIN [--pairs 6] [--iterations 20] [--every 10]

Trains the quick start (checkpoints of 15 MB) with a checkpoint every so many iterations and with none, in turn, the
first of each pair by turns too. Both write the record. Prints, of each pair, processor time and clock of the training
with over those without, then medians, and what the median is for one checkpoint every 50 iterations: a checkpoint costs
what it costs, so the excess goes down with their number. The last iteration writes one whatever `--every` says; it is
counted.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time


def cost(binary, document, folder):
    """Processor seconds of all processes, and seconds by the clock, from start to end."""
    file = folder / "run.json"
    file.write_text(json.dumps(document))
    before, begun_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([binary, "run", file, "--db", folder / "record.sqlite", "--json"], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-500:]}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begun_s


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--every", type=int, default=10)
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    without = json.loads((root / "resources/experiments/quick-start.json").read_text())
    without["training"] |= {"iterations": options.iterations, "checkpoint_every": 0}
    without["pipeline"]["plan_steps"] = 2000  # both plan alike, and soon
    with_them = without | {"training": without["training"] | {"checkpoint_every": options.every}}
    written = -(-options.iterations // options.every)
    ratios = {"processor time": [], "clock": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cost(options.binary, without, folder)  # reads programs and data
        for pair in range(options.pairs):
            order = [without, with_them] if pair % 2 == 0 else [with_them, without]
            took = [cost(options.binary, document, folder) for document in order]
            if pair % 2:
                took.reverse()
            for k, kind in enumerate(ratios):
                ratios[kind].append(took[1][k] / took[0][k])
            print(f"pair {pair + 1}: " + ", ".join(f"{kind} {of[-1]:.4f} of {took[0][k]:.2f} s"
                                                    for k, (kind, of) in enumerate(ratios.items())), flush=True)
    share = options.iterations / (50 * written)
    for kind, of in ratios.items():
        median = statistics.median(of)
        print(f"{kind}: median {median:.4f}, {min(of):.4f} to {max(of):.4f}, with {written} checkpoints in "
              f"{options.iterations} iterations; one every 50: {1 + (median - 1) * share:.4f}")


main()
