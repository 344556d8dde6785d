#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LLaMA of bench_training (by default 6 blocks, width 128, 4 heads, 128 tokens, batch 8, 12 microbatches an optimizer
step) trained eagerly with Debian's python3-torch, as one would write it. Prints tokens a second; where torch is missing,
says so and exits with 0."""
import argparse
import math
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"python3-torch is not installed ({error})")
    raise SystemExit(0)

DEFAULTS = {"blocks": 6, "width": 128, "heads": 4, "hidden": 344, "vocabulary": 256, "sequence": 128, "samples": 8,
            "microbatches": 12}
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--seconds", type=float, default=5)
for name, default in DEFAULTS.items():
    parser.add_argument("--" + name, type=int, default=default)
arguments = parser.parse_args()
BLOCKS, WIDTH, HEADS, HIDDEN, VOCABULARY, SEQUENCE, SAMPLES, MICROBATCHES = (
    getattr(arguments, name) for name in DEFAULTS)


class RMSNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


def rotate(x, turn):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = RMSNorm(), RMSNorm()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_up = torch.nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.down = torch.nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, turn, mask):
        q, k, v = self.qkv(self.attention_norm(x)).view(SAMPLES, SEQUENCE, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = rotate(q, turn) @ rotate(k, turn).transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + mask
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(SAMPLES, SEQUENCE, WIDTH))
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = RMSNorm()
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        half = WIDTH // HEADS // 2
        angles = torch.arange(SEQUENCE).unsqueeze(1) * 10000.0 ** (-torch.arange(half) / half)
        self.turn = torch.polar(torch.ones_like(angles), angles)
        self.mask = torch.full((SEQUENCE, SEQUENCE), float("-inf")).triu(1)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.turn, self.mask)
        return self.head(self.norm(x))


def main():
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    model = Llama()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)

    def step():
        optimizer.zero_grad()
        for _ in range(MICROBATCHES):
            tokens = torch.randint(0, VOCABULARY, (SAMPLES, SEQUENCE + 1))
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
            (loss / MICROBATCHES).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    step()
    # One thread by its processor time, which other programs on the machine disturb less.
    now = time.process_time if arguments.threads == 1 else time.perf_counter
    steps, start = 0, now()
    while now() - start < arguments.seconds:
        step()
        steps += 1
    rate = steps * MICROBATCHES * SAMPLES * SEQUENCE / (now() - start)
    print(f"{rate:.1f} tokens/s with torch {torch.__version__} and {torch.get_num_threads()} threads")


main()
