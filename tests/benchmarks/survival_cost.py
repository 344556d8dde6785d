#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs that nodes may be lost while none is: attempts, inputs that are kept. (Copies are hashed either way: see
`bench_training hashes`.)

  tests/benchmarks/survival_cost.py BIN [--pairs 10] [--iterations 10] [--model llama-15m]

Trains the quick start, or a bundled model in its place, with a crash in an iteration that never comes, and without any
failure, in turn, the first of each pair by turns too. Prints, of each pair, the processor time with over that without,
and their median.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile


def processor_s(binary, document, folder):
    file = folder / "run.json"
    file.write_text(json.dumps(document))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([binary, "run", file, "--db", folder / "record.sqlite", "--json"], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-500:]}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--model", help="a name in resources/models")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    calm = json.loads((root / "resources/experiments/quick-start.json").read_text())
    if options.model:
        known = json.loads((root / f"resources/models/{options.model}.json").read_text())["model"]
        calm["model"] = known
        calm["pipeline"] |= {"microbatch_samples": 1}  # the less work there is in one, the more its keeping weighs
    calm["training"] |= {"iterations": options.iterations, "checkpoint_every": 0}
    calm["pipeline"]["plan_steps"] = 2000  # both plan alike, and soon
    ready = calm | {"failures": [{"kind": "crash", "target": "n5", "at_iteration": 100000}]}
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        processor_s(options.binary, calm, folder)  # reads programs and data
        for pair in range(options.pairs):
            order = [calm, ready] if pair % 2 == 0 else [ready, calm]
            took = [processor_s(options.binary, document, folder) for document in order]
            ratio = took[1] / took[0] if pair % 2 == 0 else took[0] / took[1]
            ratios.append(ratio)
            print(f"pair {pair + 1}: {ratio:.4f} of {min(took):.2f} s", flush=True)
    print(f"median {statistics.median(ratios):.4f}, {min(ratios):.4f} to {max(ratios):.4f}")


main()
