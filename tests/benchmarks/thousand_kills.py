#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A thousand kills a day of network time: no gradient unaccounted for, the loss as if nothing had happened.

  tests/benchmarks/thousand_kills.py BIN [--iterations 1250] [--policy replay] [--rate 62] [--back 400] [--seed 1]
      [--planning 5]

Trains the quick start's network, twenty nodes 200 times as slow, with a tiny model: once undisturbed and once while one
or another node crashes --rate times an hour of network time and is back --back seconds later. Prints one JSON line:
kills, hours, gradients (of one microbatch and stage) that count, that were reported lost, and that should be; the mean
training loss of the last 50 iterations and the last validation loss over those of the undisturbed run. Ends with 1
where gradients are missing. With --planning 0 paths are repaired but never planned anew: then each microbatch visits
the stages that it would have undisturbed, and losses are to be equal.
"""
import argparse
import copy
import json
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile

SLOWER = 200


def document_of(options):
    root = pathlib.Path(__file__).resolve().parents[2]
    document = json.loads((root / "resources/experiments/quick-start.json").read_text())
    for node in document["topology"]["nodes"]:
        node["seconds_per_sample_per_block"] *= SLOWER
    document["model"] |= {"width": 32, "heads": 2, "sequence": 32}
    document["pipeline"] |= {"microbatch_samples": 1, "plan_steps": 2000}
    document["training"] |= {"iterations": options.iterations, "checkpoint_every": 0, "validate_every": 0}
    document["seed"] = options.seed
    document["recovery"] = {"policy": options.policy, "heartbeat_s": 1, "deadline_s": 4, "planning_s": options.planning}
    return document


def train(binary, document, folder, name):
    """Its lines of JSON, and the network time that it took."""
    file, database = folder / f"{name}.json", folder / f"{name}.sqlite"
    file.write_text(json.dumps(document))
    done = subprocess.run([binary, "run", file, "--db", database, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-500:]}\n{done.stderr}")
    with sqlite3.connect(database) as record:
        (network_s,) = record.execute("SELECT max(network_s) FROM metrics").fetchone()
    return [json.loads(line) for line in done.stdout.splitlines()], network_s


def account(lines, tokens_a_gradient):
    kills = again = counted = lost = lost_here = 0
    for line in lines:
        if "lost_nodes" in line:
            kills += len(line["lost_nodes"])
            again += line["redone_forwards"] + line["redone_backwards"]
            lost_here = 0 if line["begun_again"] else lost_here + line["lost_gradients"]
        elif "stage_tokens" in line:
            counted += sum(line["stage_tokens"]) // tokens_a_gradient
            lost, lost_here = lost + lost_here, 0
    return kills, again, counted, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path, help="the program skippipe")
    parser.add_argument("--iterations", type=int, default=1250)
    parser.add_argument("--policy", default="replay")
    parser.add_argument("--rate", type=float, default=62, help="kills an hour of network time")
    parser.add_argument("--back", type=float, default=400, help="seconds of network time until a node is back")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planning", type=float, default=5, help="seconds until a plan made anew is in force; 0: none")
    options = parser.parse_args()
    calm = document_of(options)
    killed = copy.deepcopy(calm)
    killed["failures"] = [
        {"kind": "crash", "target": "any", "rate_per_hour": options.rate, "rejoin_after_s": options.back}]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        undisturbed, calm_s = train(options.binary, calm, folder, "calm")
        disturbed, network_s = train(options.binary, killed, folder, "killed")
    tokens = calm["pipeline"]["microbatch_samples"] * calm["model"]["sequence"]
    _, _, wanted, _ = account(undisturbed, tokens)
    kills, again, counted, lost = account(disturbed, tokens)
    last = lambda lines: [line["validation_loss"] for line in lines if "validation_loss" in line][-1]
    mean = lambda lines: statistics.mean([line["loss"] for line in lines if "stage_tokens" in line][-50:])
    print(json.dumps({
        "policy": options.policy, "iterations": options.iterations, "kills": kills, "hours": round(network_s / 3600, 2),
        "undisturbed_hours": round(calm_s / 3600, 2), "kills_a_day": round(kills * 86400 / network_s),
        "operations_again": again, "gradients": wanted, "counted": counted, "reported_lost": lost,
        "unaccounted": wanted - counted - lost,
        "training_loss": mean(disturbed), "training_loss_ratio": round(mean(disturbed) / mean(undisturbed), 6),
        "validation_loss": last(disturbed), "validation_loss_ratio": round(last(disturbed) / last(undisturbed), 6)}))
    raise SystemExit(0 if counted + lost == wanted else 1)


main()
