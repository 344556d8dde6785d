# SPDX-License-Identifier: GPL-3.0-or-later
"""The timeline of a plan, written from docs/semantics.md alone: prints makespan and iteration time in seconds.

timeline.py EXPERIMENT PLAN
"""
import heapq
import json
import sys


class Problem:
    """The experiment's numbers: headings Counts, Operations and Lines."""

    def __init__(self, experiment, plan):
        topology, pipeline = experiment["topology"], experiment["pipeline"]
        self.costs, model = experiment.get("costs", {}), experiment["model"]
        self.nodes = {node["id"]: node for node in topology["nodes"]}
        self.stage_of = {node: s for s, nodes in enumerate(plan["stages"]) for node in nodes}
        self.blocks = plan["blocks"]
        self.samples = pipeline.get("microbatch_samples", 8)
        self.sizes = pipeline.get("microbatch_sizes")
        matrix = topology.get("hop_matrix_s")
        self.shared = self.costs.get("links", "shared") == "shared" and not matrix
        self.charged = self.costs.get("all_reduce", "charged") == "charged" and not matrix
        self.planned = self.costs.get("all_reduce") == "planned" and not matrix
        self.overhead_s = 0 if matrix else self.costs.get("overhead_s", 0)
        gradients = experiment.get("training", {}).get("gradient_wire", "fp32") if self.planned else "fp32"
        self.bytes_a_gradient = {"fp32": 4, "bf16": 2, "int8": 1 + 2 / 128}[gradients]
        self.backward_factor = self.costs.get("backward_factor", 1.5)
        if experiment.get("training", {}).get("recompute"):
            self.backward_factor += 1
        ignore = pipeline.get("constraints", {}).get("memory") == "ignore"
        most = pipeline.get("memory_microbatches", 3)
        self.memory = {n: 1 << 60 if ignore else node.get("memory_microbatches", most) for n, node in self.nodes.items()}
        tokens, width = self.samples * model.get("sequence", 128), model.get("width", 128)
        bytes_a_token = {"fp32": 4 * width, "bf16": 2 * width, "int8": width + 4}[self.costs.get("wire", "fp32")]
        self.forward_bytes = self.costs.get("forward_bytes", tokens * bytes_a_token)
        self.backward_bytes = self.costs.get("backward_bytes", self.forward_bytes)
        self.model = model
        self.hops = {}  # (from, to): latency, bandwidth, line
        unlimited = float("inf")
        self.up = {n: unlimited if matrix else node.get("up_bytes_per_s", unlimited) for n, node in self.nodes.items()}
        self.down = {n: unlimited if matrix else node.get("down_bytes_per_s", unlimited) for n, node in self.nodes.items()}
        self.matrix_hops(matrix) if matrix else self.link_hops(topology)

    def matrix_hops(self, matrix):
        for i, a in enumerate(self.nodes):
            for j, b in enumerate(self.nodes):
                if a != b:
                    self.hops[a, b] = matrix[i][j], float("inf"), (a, b)

    def link_hops(self, topology):
        regions = {}
        for node in topology["nodes"]:
            regions.setdefault(node.get("region"), []).append(node["id"])
        directed = []
        for link in topology.get("links", []):
            directed.append((link["from"], link["to"], link))
            if link.get("both_ways", True):
                directed.append((link["to"], link["from"], link))
        for source, target, link in directed:
            if source in self.nodes:
                self.hops[source, target] = self.values(link, 0, 1e9) + ((source, target),)
        for source, target, link in directed:
            if source not in self.nodes:
                line = None if source == target else ("region", source, target, id(link))
                self.join(regions.get(source, []), regions.get(target, []), self.values(link, 0, 1e9), line)
        switch = self.values(topology.get("within_region", {}), 0.001, 2147483648.0)
        for region in topology.get("regions", []):
            self.join(regions.get(region["id"], []), regions.get(region["id"], []), switch, None)

    def join(self, sources, targets, values, line):
        for a in sources:
            for b in targets:
                if a != b and (a, b) not in self.hops:
                    self.hops[a, b] = values + (line or (a, b),)

    @staticmethod
    def values(link, latency_s, bandwidth):
        return link.get("latency_s", latency_s), link.get("bandwidth_bytes_per_s", bandwidth)

    def size(self, microbatch):
        return self.sizes[microbatch % len(self.sizes)] / self.samples if self.sizes else 1

    def seconds(self, kind, microbatch, node):
        speed = self.nodes[node].get("seconds_per_sample_per_block", 0.055)
        forward = self.samples * self.blocks[self.stage_of[node]] * speed
        base = {
            "F": forward,
            "L": self.costs.get("loss_factor", 0.25) * forward,
            "B": self.backward_factor * forward,
            "I": self.backward_factor * forward / 2,
            "W": self.backward_factor * forward / 2,
        }[kind]
        return base * self.size(microbatch)

    def gradient_bytes(self, stage):
        if self.costs.get("gradient_bytes"):
            return self.costs["gradient_bytes"][stage]
        width, heads = self.model.get("width", 128), self.model.get("heads", 4)
        shared = width / heads * (self.model.get("kv_heads", 0) or heads)
        hidden = self.model.get("ffn_width", 0) or -(-(-(-8 * width // 3)) // 8) * 8
        block = 2 * width * width + 2 * width * shared + 3 * width * hidden + 2 * width
        besides = 2 * self.model.get("vocabulary", 256) * width + width if stage == 0 else 0
        return self.bytes_a_gradient * (self.blocks[stage] * block + besides)

    def all_reduce_s(self, stage, ring):
        if len(ring) < 2 or not self.charged:
            return 0
        share, slowest = self.gradient_bytes(stage) / len(ring), 0
        for a, b in zip(ring, ring[1:] + ring[:1]):
            latency_s, bandwidth, _ = self.hops[a, b]
            slowest = max(slowest, latency_s + self.overhead_s + share / min(self.up[a], bandwidth, self.down[b]))
        return 2 * (len(ring) - 1) * slowest


class Timeline:
    """One iteration: heading Who goes first."""

    def __init__(self, problem, plan):
        self.problem, self.plan, self.split = problem, plan, plan["split_backward"]
        self.paths = {path["microbatch"]: path["nodes"] for path in plan["paths"]}
        self.order = {node: list(items) for node, items in plan.get("order", {}).items()}
        self.ready = {node: [] for node in problem.nodes}
        self.busy, self.held, self.free = set(), dict.fromkeys(problem.nodes, 0), {}
        self.events, self.number, self.ran, self.makespan_s, self.stage_end = [], 0, 0, 0, {}
        self.left = dict.fromkeys(problem.nodes, 0)
        for path in self.paths.values():
            for node in path:
                self.left[node] += (3 if self.split else 2) + (node == path[0])
        self.reductions = Reductions(self) if problem.planned else None

    def take_number(self):
        self.number += 1
        return self.number - 1

    def run(self):
        for path in self.plan["paths"]:
            heapq.heappush(self.events, (0.0, self.take_number(), "arrive", path["nodes"][0], ("F", path["microbatch"])))
        if self.reductions:
            self.reductions.start()
        while self.events:
            now, number, event, node, operation = heapq.heappop(self.events)
            if event == "head":
                self.head(now, number, node, *operation)
                continue
            if event in ("part", "sum"):
                self.reductions.arrive(now, event, node, operation)
                continue
            if event == "arrive":
                self.ready[node].append((now, number, operation))
            else:
                self.finish(now, node, operation)
            self.dispatch(now, node)
        length = len(self.plan["paths"][0]["nodes"])
        if self.ran != len(self.paths) * (2 * length + 1 + (length if self.split else 0)):
            return None
        if self.reductions:
            return self.makespan_s, max(self.makespan_s, *self.reductions.stepped_s)
        end_s = self.makespan_s
        for stage, last_s in self.stage_end.items():
            reduced_s = last_s + self.problem.all_reduce_s(stage, self.plan["stages"][stage])
            end_s = max(end_s, reduced_s + self.problem.costs.get("step_seconds", 0))
        return self.makespan_s, end_s

    def following(self, kind, microbatch, node):
        path = self.paths[microbatch]
        hop, backward = path.index(node), "I" if self.split else "B"
        if kind == "F":
            return ("F", path[hop + 1]) if hop + 1 < len(path) else ("L", path[0])
        if kind == "L":
            return backward, path[-1]
        return (backward, path[hop - 1]) if kind in "BI" and hop > 0 else None

    def finish(self, now, node, operation):
        kind, microbatch = operation
        self.ran += 1
        self.makespan_s = self.stage_end[self.problem.stage_of[node]] = now
        self.busy.remove(node)
        if kind in "BW":
            self.held[node] -= 1
        following = self.following(kind, microbatch, node)
        if following and following[1] == node:
            self.ready[node].append((now, self.take_number(), (following[0], microbatch)))
        elif following:
            self.transfer(now, node, following[1], (following[0], microbatch))
        if kind == "I":
            self.ready[node].append((now, self.take_number(), ("W", microbatch)))
        self.left[node] -= 1
        if self.reductions and self.left[node] == 0:
            self.reductions.own_part(now, node)

    def transfer(self, now, source, target, operation):
        problem = self.problem
        message = problem.backward_bytes if operation[0] in "BI" else problem.forward_bytes
        self.carry(now, source, target, message, problem.size(operation[1]), "arrive", operation)

    def carry(self, now, source, target, message, size, event, what):
        """Hands over size times message bytes."""
        problem, number = self.problem, self.take_number()
        latency_s, bandwidth, line = problem.hops[source, target]
        on_way = lambda free: free + latency_s + problem.overhead_s
        if not problem.shared:
            rate = min(bandwidth, problem.up[source], problem.down[target])
            heapq.heappush(self.events, (on_way(now) + message / rate * size, number, event, target, what))
            return
        uplink = ("up", source), problem.up[source], (lambda begins: begins), on_way
        queues = [uplink] if problem.up[source] < float("inf") else []
        queues.append((("line", line), bandwidth, on_way, on_way))
        if problem.down[target] < float("inf"):
            queues.append((("down", target), problem.down[target], None, lambda free: free))
        self.head(now, number, target, queues, message, size, 0.0, event, what)

    def head(self, now, number, target, queues, message, size, arrival, event, what):
        """The head is at a queue: (name, bytes/s, when it comes to the next one, when what leaves it has arrived)."""
        (queue, rate, following, arrives), *rest = queues
        begins = max(now, self.free.get(queue, 0.0))
        self.free[queue] = begins + message / rate * size
        arrival = max(arrival, arrives(self.free[queue]))
        if rest:
            operation = rest, message, size, arrival, event, what
            heapq.heappush(self.events, (following(begins), number, "head", target, operation))
        else:
            heapq.heappush(self.events, (arrival, number, event, target, what))

    def dispatch(self, now, node):
        if node in self.busy:
            return
        room = self.held[node] < self.problem.memory[node]
        may = [item for item in self.ready[node] if item[2][0] != "F" or room]
        if self.order:
            following = self.order.get(node, [])[:1]
            may = [item for item in may if following == [f"{item[2][0]}{item[2][1]}"]]
        if not may:
            return
        own = lambda operation: operation[0] == "F" and self.paths[operation[1]][0] == node
        chosen = min(may, key=lambda item: (own(item[2]), item[0], item[1]))
        self.ready[node].remove(chosen)
        if self.order:
            self.order[node].pop(0)
        kind, microbatch = chosen[2]
        self.held[node] += kind == "F"
        self.busy.add(node)
        end = now + self.problem.seconds(kind, microbatch, node)
        heapq.heappush(self.events, (end, self.take_number(), "end", node, chosen[2]))


class Reductions:
    """Heading Reductions as transfers. A piece is named by its stage and its place in the plan."""

    def __init__(self, timeline):
        self.timeline, self.stages, self.problem = timeline, timeline.plan["stages"], timeline.problem
        given = timeline.plan.get("reductions") or [[] for _ in self.stages]
        self.pieces = [own or self.direct(nodes) for own, nodes in zip(given, self.stages)]
        self.parts, self.sums, self.stepped_s = {}, {}, []

    @staticmethod
    def direct(nodes):
        others = lambda root: {node: root for node in nodes if node != root}
        star = lambda root: {"share": 1 / len(nodes), "root": root, "up": others(root), "down": others(root)}
        return [star(root) for root in nodes] if len(nodes) > 1 else []

    def start(self):
        for nodes in self.stages:
            if any(self.timeline.left[node] for node in nodes):
                for node in nodes:
                    if self.timeline.left[node] == 0:
                        self.own_part(0.0, node)

    def after(self, nodes, node):
        place = nodes.index(node)
        return nodes[place + 1 :] + nodes[:place]

    def own_part(self, now, node):
        stage = self.problem.stage_of[node]
        nodes, pieces = self.stages[stage], self.pieces[stage]
        if not pieces:
            self.stepped_s.append(now + self.problem.costs.get("step_seconds", 0))
        for k in range(len(pieces)):
            piece = (nodes.index(node) + 1 + k) % len(pieces)
            if pieces[piece].get("form") == "exchange":
                for other in self.after(nodes, node):
                    self.send(now, node, other, "part", stage, piece)
            self.arrive(now, "part", node, (stage, piece, node))

    def send(self, now, source, target, event, stage, piece):
        message = self.pieces[stage][piece]["share"] * self.problem.gradient_bytes(stage)
        self.timeline.carry(now, source, target, message, 1, event, (stage, piece, source))

    def arrive(self, now, event, node, what):
        stage, number, source = what
        piece, nodes = self.pieces[stage][number], self.stages[stage]
        exchange = piece.get("form") == "exchange"
        if event == "part":
            parts = self.parts.setdefault((stage, number, node), set())
            parts.add(source)
            if parts != {node} | {other for other in nodes if exchange or piece["up"].get(other) == node}:
                return
            if not exchange and node != piece["root"]:
                return self.send(now, node, piece["up"][node], "part", stage, number)
        for other in [] if exchange else self.after(nodes, node):
            if piece["down"].get(other) == node:
                self.send(now, node, other, "sum", stage, number)
        self.sums[node] = self.sums.get(node, 0) + 1
        if self.sums[node] == len(self.pieces[stage]):
            self.stepped_s.append(now + self.problem.costs.get("step_seconds", 0))


def main():
    experiment, plan = (json.load(open(name)) for name in sys.argv[1:3])
    times = Timeline(Problem(experiment, plan), plan).run()
    print(json.dumps({"complete": times is not None, "makespan_s": times and times[0], "iteration_s": times and times[1]}))


if __name__ == "__main__":
    main()
