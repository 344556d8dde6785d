# SPDX-License-Identifier: GPL-3.0-or-later
"""Training in float64, written from docs/semantics.md alone: prints losses, gradient norms and validation losses.

training.py EXPERIMENT PLAN      data are UTF-8 texts, a token a byte; microbatches without split backwards
"""
import ctypes
import json
import math
import os
import struct
import sys

MASK = (1 << 64) - 1
xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


class Rng:
    """xoshiro256**, its words by SplitMix64."""

    def __init__(self, seed, stream=None):
        if stream is not None:
            seed ^= 0x9E3779B97F4A7C15 * (stream + 1) & MASK
        self.state = []
        for _ in range(4):
            seed = z = (seed + 0x9E3779B97F4A7C15) & MASK
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
            z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
            self.state.append(z ^ z >> 31)

    def next(self):
        def rotated(x, k):
            return (x << k | x >> 64 - k) & MASK

        s = self.state
        result = rotated(s[1] * 5 & MASK, 7) * 9 & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)
        return result

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53


class Data:
    """Heading Data: windows, the held-out share, the order, the mixture."""

    def __init__(self, experiment, folder):
        spec, pipeline = experiment["data"], experiment["pipeline"]
        self.sequence, self.spec = experiment["model"]["sequence"], spec
        self.microbatches = pipeline["microbatches"]
        self.sizes = pipeline.get("microbatch_sizes") or [pipeline.get("microbatch_samples", 8)]
        self.seed = Rng(experiment.get("seed", 1), 0x64617461).next()
        files = spec.get("files") or [{"path": spec["path"]}]
        self.weights = [file.get("weight", 1) for file in files]
        self.texts, self.training, self.held_out = [], [], []
        for file in files:
            with open(os.path.join(folder, file["path"]), "rb") as text:
                self.add(list(text.read()))

    def add(self, tokens):
        sides, limit = ([], []), int(self.spec.get("validation_fraction", 0.05) * 2.0**64)
        for first in range(0, (len(tokens) - 1) // self.sequence * self.sequence, self.sequence):
            window = tokens[first : first + self.sequence + 1]
            packed = struct.pack(f"<{len(window)}i", *window)
            sides[xxhash.XXH3_64bits(packed, len(packed)) < limit].append(first)
        self.texts.append(tokens)
        self.training.append(sides[0])
        self.held_out.append(sides[1])

    def window(self, source, first):
        return self.texts[source][first : first + self.sequence + 1]

    def samples(self, microbatch):
        return self.sizes[microbatch % len(self.sizes)]

    def before(self, microbatch):
        return sum(self.samples(m) for m in range(microbatch))

    def batch(self, iteration, microbatch):
        first = iteration * self.before(self.microbatches) + self.before(microbatch)
        return [self.sample(first + j) for j in range(self.samples(microbatch))]

    def sample(self, number):
        source, given = self.mixture(number)
        count = len(self.training[source])
        key = Rng(Rng(self.seed, source).next(), given // count).next()
        return self.window(source, self.training[source][permuted(given % count, count, key)])

    def mixture(self, k):
        for source in range(len(self.weights) - 1):
            share = self.weights[source] / sum(self.weights[source:])
            taken, then = (math.floor(x * share + 0.5) for x in (k, k + 1))
            if then > taken:
                return source, taken
            k -= taken
        return len(self.weights) - 1, k

    def validation(self):
        wanted, total = self.spec.get("validation_samples", 32), 0
        total = sum(w for w, held in zip(self.weights, self.held_out) if held)
        windows, passed, before = [], 0, 0
        for source, held in enumerate(self.held_out):
            if not held:
                continue
            passed += self.weights[source]
            until = int(passed / total * wanted + 0.5)
            take, before = min(len(held), until - before), until
            for i in range(take):
                windows.append(self.window(source, held[0 if take == 1 else i * (len(held) - 1) // (take - 1)]))
        return windows


def permuted(x, n, seed):
    half = 1
    while 1 << 2 * half < n:
        half += 1
    rng, mask = Rng(seed), (1 << half) - 1
    keys = [rng.next() for _ in range(6)]
    while True:
        left, right = x >> half, x & mask
        for key in keys:
            left, right = right, left ^ mixed(right ^ key) & mask
        x = left << half | right
        if x < n:
            return x


def mixed(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


# Matrices are lists of rows.


def transposed(a):
    return [list(column) for column in zip(*a)]


def product(a, b):
    columns = transposed(b)
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def total(a, b):
    return [[x + y for x, y in zip(p, q)] for p, q in zip(a, b)]


def add_to(sums, a):
    for row, more in zip(sums, a):
        for j, value in enumerate(more):
            row[j] += value


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def norm(x, weight):
    scales = [1 / math.sqrt(sum(v * v for v in row) / len(row) + 1e-5) for row in x]
    return [[v * s * w for v, w in zip(row, weight[0])] for row, s in zip(x, scales)], scales


def norm_backward(dy, x, weight, scales, weight_gradient):
    out = []
    for row, s, d in zip(x, scales, dy):
        add_to(weight_gradient, [[g * v * s for g, v in zip(d, row)]])
        d = [g * w for g, w in zip(d, weight[0])]
        inner = sum(g * v for g, v in zip(d, row)) * s**3 / len(row)
        out.append([g * s - v * inner for g, v in zip(d, row)])
    return out


class Stage:
    """Heading Model: starting weights, and a block forth and back."""

    def __init__(self, model, stage, blocks, seed):
        self.model, self.blocks, self.steps = model, blocks, 0
        self.sequence, self.width, self.heads = model["sequence"], model["width"], model["heads"]
        self.kv_heads = model.get("kv_heads", 0) or self.heads
        self.head = self.width // self.heads
        width, vocabulary = self.width, model.get("vocabulary", 256)
        self.hidden = model.get("ffn_width", 0) or -(-(-(-8 * width // 3)) // 8) * 8
        residual = 0.02 / math.sqrt(2 * model["blocks"])
        shapes = [("embedding", vocabulary, width, 0.02), ("head", width, vocabulary, 0.02)] if stage == 0 else []
        for k in range(blocks):
            shapes.append((f"{k}.qkv", width, width + 2 * self.kv_heads * self.head, 0.02))
            shapes.append((f"{k}.attention_out", width, width, residual))
            shapes.append((f"{k}.gate_up", width, 2 * self.hidden, 0.02))
            shapes.append((f"{k}.down", self.hidden, width, residual))
        stage_seed = Rng(Rng(seed, 0x77656967).next(), stage).next()
        self.weights = {}
        for i, (name, rows, columns, deviation) in enumerate(shapes):
            values = normal(rows * columns, deviation, Rng(stage_seed, i))
            self.weights[name] = [values[r * columns : (r + 1) * columns] for r in range(rows)]
        for k in range(blocks):
            self.weights[f"{k}.attention_norm"] = [[1.0] * width]
            self.weights[f"{k}.ffn_norm"] = [[1.0] * width]
        if stage == 0:
            self.weights["final_norm"] = [[1.0] * width]
        self.m, self.v = self.zeros(), self.zeros()
        self.begin()

    def zeros(self):
        return {name: [[0.0] * len(row) for row in matrix] for name, matrix in self.weights.items()}

    def begin(self):
        self.gradient, self.tokens = self.zeros(), 0

    def rotate(self, x, first, heads, direction):
        for position, row in enumerate(x):
            for head in range(heads):
                for pair in range(self.head // 2):
                    base = self.model.get("rotary_base", 10000)
                    angle = direction * (position % self.sequence) * base ** (-2 * pair / self.head)
                    a = first + head * self.head + 2 * pair
                    row[a : a + 2] = (
                        row[a] * math.cos(angle) - row[a + 1] * math.sin(angle),
                        row[a] * math.sin(angle) + row[a + 1] * math.cos(angle),
                    )

    def columns(self, head):
        """First columns of a head's queries, keys and values."""
        shared = head // (self.heads // self.kv_heads) * self.head
        return head * self.head, self.width + shared, self.width + self.kv_heads * self.head + shared

    def rows_and_heads(self, n):
        """Each query with the positions that it sees."""
        for row in range(n):
            for head in range(self.heads):
                yield row, head, range(row // self.sequence * self.sequence, row + 1)

    def forward(self, k, x):
        w, size = (lambda name: self.weights[f"{k}.{name}"]), self.head
        normed, scales = norm(x, w("attention_norm"))
        qkv = product(normed, w("qkv"))
        self.rotate(qkv, 0, self.heads, 1)
        self.rotate(qkv, self.width, self.kv_heads, 1)
        attended, shares = [[0.0] * self.width for _ in x], {}
        for row, head, seen in self.rows_and_heads(len(x)):
            q, key, value = self.columns(head)
            scores = [sum(qkv[row][q + c] * qkv[j][key + c] for c in range(size)) / math.sqrt(size) for j in seen]
            scores = [math.exp(score - max(scores)) for score in scores]
            shares[row, head] = p = [score / sum(scores) for score in scores]
            for c in range(size):
                attended[row][q + c] = sum(share * qkv[j][value + c] for share, j in zip(p, seen))
        middle = total(x, product(attended, w("attention_out")))
        ffn_normed, ffn_scales = norm(middle, w("ffn_norm"))
        gate_up = product(ffn_normed, w("gate_up"))
        hidden = [[r[j] * sigmoid(r[j]) * r[self.hidden + j] for j in range(self.hidden)] for r in gate_up]
        kept = x, normed, scales, qkv, shares, attended, middle, ffn_normed, ffn_scales, gate_up, hidden
        return total(middle, product(hidden, w("down"))), kept

    def backward(self, k, kept, dy):
        x, normed, scales, qkv, shares, attended, middle, ffn_normed, ffn_scales, gate_up, hidden = kept
        w, g = (lambda name: self.weights[f"{k}.{name}"]), (lambda name: self.gradient[f"{k}.{name}"])
        add_to(g("down"), product(transposed(hidden), dy))
        slopes = []
        for r, d in zip(gate_up, product(dy, transposed(w("down")))):
            gate, up = r[: self.hidden], r[self.hidden :]
            s = [sigmoid(a) for a in gate]
            slopes.append([d[j] * up[j] * s[j] * (1 + gate[j] * (1 - s[j])) for j in range(self.hidden)])
            slopes[-1] += [d[j] * gate[j] * s[j] for j in range(self.hidden)]
        add_to(g("gate_up"), product(transposed(ffn_normed), slopes))
        back = product(slopes, transposed(w("gate_up")))
        dmiddle = total(dy, norm_backward(back, middle, w("ffn_norm"), ffn_scales, g("ffn_norm")))
        add_to(g("attention_out"), product(transposed(attended), dmiddle))
        dqkv = self.attention_backward(qkv, shares, product(dmiddle, transposed(w("attention_out"))))
        add_to(g("qkv"), product(transposed(normed), dqkv))
        back = product(dqkv, transposed(w("qkv")))
        return total(dmiddle, norm_backward(back, x, w("attention_norm"), scales, g("attention_norm")))

    def attention_backward(self, qkv, shares, dattended):
        dqkv, size = [[0.0] * len(row) for row in qkv], self.head
        for row, head, seen in self.rows_and_heads(len(qkv)):
            q, key, value = self.columns(head)
            d, p = dattended[row][q : q + size], shares[row, head]
            dp = [sum(d[c] * qkv[j][value + c] for c in range(size)) for j in seen]
            mean = sum(a * b for a, b in zip(dp, p))
            for share, slope, j in zip(p, dp, seen):
                slope = share * (slope - mean) / math.sqrt(size)
                for c in range(size):
                    dqkv[j][value + c] += share * d[c]
                    dqkv[row][q + c] += slope * qkv[j][key + c]
                    dqkv[j][key + c] += slope * qkv[row][q + c]
        self.rotate(dqkv, 0, self.heads, -1)
        self.rotate(dqkv, self.width, self.kv_heads, -1)
        return dqkv

    def loss(self, x, targets):
        """Summed, with the gradient of x; the head's gradients are added up."""
        normed, scales = norm(x, self.weights["final_norm"])
        loss, slopes = 0, []
        for row, target in zip(product(normed, self.weights["head"]), targets):
            most = max(row)
            terms = [math.exp(v - most) for v in row]
            loss += math.log(sum(terms)) + most - row[target]
            slopes.append([term / sum(terms) for term in terms])
            slopes[-1][target] -= 1
        add_to(self.gradient["head"], product(transposed(normed), slopes))
        back = product(slopes, transposed(self.weights["head"]))
        return loss, norm_backward(back, x, self.weights["final_norm"], scales, self.gradient["final_norm"])

    def step(self, training, iteration, factor):
        rate = training.get("learning_rate", 1e-3)
        warmup = training.get("warmup_iterations", 0)
        if iteration < warmup:
            rate *= (iteration + 1) / warmup
        beta1, beta2 = training.get("beta1", 0.9), training.get("beta2", 0.95)
        self.steps += 1
        for name, matrix in self.weights.items():
            keep = 1 - rate * (training.get("weight_decay", 0.1) if len(matrix) > 1 else 0)
            for row, slopes, m, v in zip(matrix, self.gradient[name], self.m[name], self.v[name]):
                for j, slope in enumerate(slopes):
                    slope *= factor
                    m[j] = beta1 * m[j] + (1 - beta1) * slope
                    v[j] = beta2 * v[j] + (1 - beta2) * slope * slope
                    root = math.sqrt(v[j] / (1 - beta2**self.steps)) + training.get("epsilon", 1e-8)
                    row[j] = row[j] * keep - rate / (1 - beta1**self.steps) * m[j] / root


def normal(count, deviation, rng):
    values = []
    while len(values) < count:
        radius = deviation * math.sqrt(-2 * math.log(1 - rng.uniform()))
        angle = 2 * math.pi * rng.uniform()
        values += [struct.unpack("f", struct.pack("f", radius * part(angle)))[0] for part in (math.cos, math.sin)]
    return values[:count]


class Wire:
    """Heading Wire."""

    def __init__(self, kind):
        self.kind, self.residuals = kind, {}

    def send(self, message, key):
        """`key`: microbatch, sender, receiver, direction."""
        if self.kind == "fp32" or key[1] == key[2]:
            return message
        if self.kind == "bf16":
            return [[self.rounded(value) for value in row] for row in message]
        residuals = self.residuals.setdefault(key, [[0.0] * len(row) for row in message])
        return [self.int8(row, residual) for row, residual in zip(message, residuals)]

    @staticmethod
    def rounded(value):
        bits = struct.unpack("I", struct.pack("f", value))[0]
        return struct.unpack("f", struct.pack("I", bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000))[0]

    @staticmethod
    def int8(row, residual):
        values = [value + left for value, left in zip(row, residual)]
        scale = max(abs(value) for value in values) / 127
        arrived = [scale * max(-127, min(127, round(value / scale))) if scale > 0 else 0.0 for value in values]
        residual[:] = [value - whole for value, whole in zip(values, arrived)]
        return arrived


class Training:
    """Heading Training."""

    def __init__(self, experiment, plan, folder):
        self.plan, self.rules = plan, experiment.get("training", {})
        self.data, self.wire = Data(experiment, folder), Wire(experiment.get("costs", {}).get("wire", "fp32"))
        seed = experiment.get("seed", 1)
        self.stages = [Stage(experiment["model"], s, blocks, seed) for s, blocks in enumerate(plan["blocks"])]
        self.stage_of = {node: stage for nodes, stage in zip(plan["stages"], self.stages) for node in nodes}

    def embedded(self, windows):
        tokens = [token for window in windows for token in window[:-1]]
        targets = [token for window in windows for token in window[1:]]
        return tokens, targets, [self.stages[0].weights["embedding"][token][:] for token in tokens]

    def microbatch(self, iteration, number, path):
        tokens, targets, x = self.embedded(self.data.batch(iteration, number))
        kept, sender = [], path[0]
        for node in path:
            stage = self.stage_of[node]
            x, sender = self.wire.send(x, (number, sender, node, "forward")), node
            kept.append([])
            stage.tokens += len(tokens)
            for k in range(stage.blocks):
                x, of_block = stage.forward(k, x)
                kept[-1].append(of_block)
        loss, dx = self.stages[0].loss(self.wire.send(x, (number, sender, path[0], "forward")), targets)
        sender = path[0]
        for node, of_node in zip(reversed(path), reversed(kept)):
            stage = self.stage_of[node]
            dx, sender = self.wire.send(dx, (number, sender, node, "backward")), node
            for k in reversed(range(stage.blocks)):
                dx = stage.backward(k, of_node[k], dx)
        for token, slope in zip(tokens, dx):
            add_to([self.stages[0].gradient["embedding"][token]], [slope])
        return loss, len(tokens)

    def iterate(self, iteration):
        for stage in self.stages:
            stage.begin()
        results = [self.microbatch(iteration, path["microbatch"], path["nodes"]) for path in self.plan["paths"]]
        squares = [
            sum((v / stage.tokens) ** 2 for matrix in stage.gradient.values() for row in matrix for v in row)
            if stage.tokens
            else 0
            for stage in self.stages
        ]
        norm_of_all = math.sqrt(sum(squares))
        for stage, square in zip(self.stages, squares):
            size = {"global": norm_of_all, "per-stage": math.sqrt(square), "none": 0}[self.rules.get("clip", "global")]
            factor = min(1, self.rules.get("clip_norm", 1.0) / size) if size > 0 else 1
            if stage.tokens:
                stage.step(self.rules, iteration, factor / stage.tokens)
        return sum(loss for loss, _ in results) / sum(tokens for _, tokens in results), norm_of_all

    def validate(self):
        windows = self.data.validation()
        _, targets, x = self.embedded(windows)
        for stage in self.stages:
            for k in range(stage.blocks):
                x, _ = stage.forward(k, x)
        return self.stages[0].loss(x, targets)[0] / len(targets)


def main():
    experiment, plan = (json.load(open(name)) for name in sys.argv[1:3])
    training = Training(experiment, plan, os.path.dirname(os.path.abspath(sys.argv[1])))
    found = {"validation_loss": [training.validate()], "loss": [], "gradient_norm": []}
    for iteration in range(experiment["training"]["iterations"]):
        loss, size = training.iterate(iteration)
        found["loss"].append(loss)
        found["gradient_norm"].append(size)
    found["validation_loss"].append(training.validate())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
