#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ranks take of memory, predicted against measured.

  tests/benchmarks/rank_memory.py BIN [--ranks 4]

Trains the quick start by the wall clock on so many ranks, with wider and wider models and larger microbatches. Measured
is the peak of every rank's own pages (RssAnon), summed over the ranks, less that of a tiny model, which is LibTorch and
what else a process has; predicted is what `run --json` says, less the same of the tiny model. Goal: within 10 %.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

SIZES = [(32, 1), (128, 4), (256, 4), (256, 8)]  # width, samples of a microbatch; the first is the tiny model


def own_bytes(process):
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)


def ranks_below(pid):
    """Its child processes that are workers."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == pid and (process / "comm").read_text().startswith("skippipe-worke"):
                found.append(process)
        except OSError:
            pass
    return found


def measure(binary, ranks, width, samples, folder):
    """Predicted and measured bytes."""
    root = pathlib.Path(__file__).resolve().parents[2]
    document = json.loads((root / "resources/experiments/quick-start.json").read_text())
    document["model"] |= {"width": width, "heads": max(2, width // 32)}
    document["pipeline"] |= {"microbatch_samples": samples, "plan_steps": 500}
    document["training"] |= {"iterations": 6, "checkpoint_every": 0}
    document["execution"] = {"clock": "wall", "transport": "gloo", "ranks": ranks, "shape_links": True}
    file, peaks = folder / "run.json", {}
    file.write_text(json.dumps(document))
    with subprocess.Popen([binary, "run", file, "--db", folder / "record.sqlite", "--json"], stdout=subprocess.PIPE,
                          text=True) as process:
        predicted = json.loads(process.stdout.readline())["memory_bytes"]
        while process.poll() is None:
            for rank in ranks_below(process.pid):
                peaks[rank] = max(peaks.get(rank, 0), own_bytes(rank))
            time.sleep(0.02)
        if process.returncode != 0:
            raise SystemExit(process.stdout.read())
    largest = sorted(peaks.values())[-ranks:]
    return predicted, sum(largest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path, help="the program skippipe")
    parser.add_argument("--ranks", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        tiny = None
        for width, samples in SIZES:
            predicted, measured = measure(options.binary, options.ranks, width, samples, pathlib.Path(temporary))
            if tiny is None:
                tiny = predicted, measured
                continue
            predicted, measured = predicted - tiny[0], measured - tiny[1]
            print(f"width {width}, {samples} samples: predicted {predicted / 1e6:.0f} MB, measured "
                  f"{measured / 1e6:.0f} MB ({100 * (measured / predicted - 1):+.1f} %)", flush=True)


if __name__ == "__main__":
    main()
