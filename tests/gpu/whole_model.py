#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model whole, in PyTorch alone: what the stages on one GPU are held against. The same layers, sizes, microbatches and
optimizer as tests/gpu/training.h: fp32 master weights, matrix products and attention in bf16 (autocast), fused AdamW.

  whole_model.py 124M|1.5B [--compile|--compile-blocks]    one line: seconds an iteration
"""
import sys
import time

import torch
import torch.nn.functional as F

SIZES = {"124M": dict(width=768, blocks=12, heads=12, samples=8), "1.5B": dict(width=1600, blocks=48, heads=25, samples=4)}
SEQUENCE, VOCABULARY, MICROBATCHES = 1024, 32000, 8


def rms_norm(x, weight):
    x = x.float()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight


class Block(torch.nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.attention_norm = torch.nn.Parameter(torch.ones(width))
        self.ffn_norm = torch.nn.Parameter(torch.ones(width))
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.attention_out = torch.nn.Linear(width, width, bias=False)
        self.gate_up = torch.nn.Linear(width, 2 * hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x, cosine, sine):
        samples, sequence, width = x.shape
        qkv = self.qkv(rms_norm(x, self.attention_norm)).view(samples, sequence, 3, self.heads, -1)
        query, key, value = qkv.unbind(2)

        def turned(t):
            a, b = t[..., 0::2], t[..., 1::2]
            return torch.stack((a * cosine - b * sine, a * sine + b * cosine), -1).flatten(-2).to(t.dtype).transpose(1, 2)

        mixed = F.scaled_dot_product_attention(turned(query), turned(key), value.transpose(1, 2), is_causal=True)
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(x.shape))
        gate, up = self.gate_up(rms_norm(x, self.ffn_norm)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Model(torch.nn.Module):
    def __init__(self, width, blocks, heads):
        super().__init__()
        hidden = (8 * width // 3 + 7) // 8 * 8
        self.embedding = torch.nn.Embedding(VOCABULARY, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, hidden) for _ in range(blocks))
        self.final_norm = torch.nn.Parameter(torch.ones(width))
        self.head = torch.nn.Linear(width, VOCABULARY, bias=False)
        half = width // heads // 2
        angles = torch.outer(torch.arange(SEQUENCE), 10000 ** (-torch.arange(half) / half))
        self.register_buffer("cosine", angles.cos()[:, None, :])
        self.register_buffer("sine", angles.sin()[:, None, :])

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine)
        logits = self.head(rms_norm(x, self.final_norm))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1), reduction="sum")


def main():
    size = dict(SIZES[sys.argv[1]])
    samples = size.pop("samples")
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.device("cuda"):
        model = Model(**size)
        tokens = torch.randint(256, (MICROBATCHES, samples, SEQUENCE + 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    run = torch.compile(model) if "--compile" in sys.argv else model
    if "--compile-blocks" in sys.argv:  # each alike: compiled once
        for block in model.blocks:
            block.compile()

    def iteration():
        optimizer.zero_grad()
        total = 0
        for some in tokens:
            with torch.autocast("cuda", torch.bfloat16):
                loss = run(some[:, :-1], some[:, 1:])
            loss.backward()
            total += loss.detach()
        for parameter in model.parameters():
            parameter.grad /= tokens[:, :, 1:].numel()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return total.item()

    for _ in range(3):
        iteration()
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        iteration()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{sys.argv[1]} {sys.argv[2][2:] if len(sys.argv) > 2 else 'eager'}: {parameters / 1e6:.1f} M parameters, "
          f"{sorted(times)[2]:.4f} s an iteration of {MICROBATCHES} x {samples} x {SEQUENCE} tokens, "
          f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB", flush=True)


main()
