#!/usr/bin/env python3
"""Record three windows of PyTorch's LSTM and GRU in f64, whose state is carried from window to window and detached.

Run once, from this folder, and commit what it writes:

    python3 -m venv DIR && DIR/bin/pip install torch==2.15.0
    DIR/bin/python record_carried.py         write carried.json

Matrices are written as the C program stores them, [in, gates], which is PyTorch's transposed. Gradients of the parameters
are those of each window by itself.
"""
import json
import os
import random

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
WINDOWS, SAMPLES, ROWS, INPUT, WIDTH = 3, 3, 5, 4, 6
PARAMS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

torch.set_num_threads(1)


def normal(rng, shape):
    n = 1
    for d in shape:
        n *= d
    return torch.tensor([rng.gauss(0, 0.7) for _ in range(n)], dtype=torch.float64).reshape(shape)


def flat(t):
    return t.detach().contiguous().reshape(-1).tolist()


def as_stored(name, t):
    return flat(t.t() if name.startswith("weight") else t)


def record(rng, cls):
    layer = cls(INPUT, WIDTH, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(normal(rng, p.shape))
    out = {name: as_stored(name, getattr(layer, name + "_l0")) for name in PARAMS}
    out["windows"] = []
    state = None
    for _ in range(WINDOWS):
        layer.zero_grad()
        x = normal(rng, (SAMPLES, ROWS, INPUT)).requires_grad_()
        dy = normal(rng, (SAMPLES, ROWS, WIDTH))
        y, state = layer(x, state)
        (y * dy).sum().backward()
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        one = {"x": flat(x), "dy": flat(dy), "y": flat(y), "dx": flat(x.grad)}
        for name in PARAMS:
            one["d" + name] = as_stored(name, getattr(layer, name + "_l0").grad)
        one["h"] = flat(state[0] if isinstance(state, tuple) else state)
        if isinstance(state, tuple):
            one["c"] = flat(state[1])
        out["windows"].append(one)
    return out


def main():
    rng = random.Random(20261123)
    out = {"note": "state carried over three windows in f64: record_carried.py", "torch": torch.__version__}
    for name, cls in (("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU)):
        out[name] = record(rng, cls)
    with open(os.path.join(HERE, "carried.json"), "w", encoding="ascii") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
