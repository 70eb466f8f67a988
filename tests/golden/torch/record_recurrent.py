#!/usr/bin/env python3
"""Record what PyTorch's LSTM and GRU give in f64, forward and backward, with the gradients of both biases.

Run once, from this folder, and commit what it writes:

    python3 -m venv DIR && DIR/bin/pip install torch==2.15.0
    DIR/bin/python record_recurrent.py       write recurrent.json

Matrices are written as the C program stores them, [in, gates], which is PyTorch's transposed; the columns of the gates
are PyTorch's. `backwards` is the second direction of a bidirectional layer, alone.
"""
import json
import os
import random

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES, ROWS, INPUT, WIDTH = 3, 6, 5, 4
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


def record(rng, cls, backwards):
    layer = cls(INPUT, WIDTH, batch_first=True, bidirectional=True, dtype=torch.float64)
    suffix = "_l0_reverse" if backwards else "_l0"
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(normal(rng, p.shape))
    x = normal(rng, (SAMPLES, ROWS, INPUT)).requires_grad_()
    dy = normal(rng, (SAMPLES, ROWS, WIDTH))
    y = layer(x)[0][..., WIDTH:] if backwards else layer(x)[0][..., :WIDTH]
    (y * dy).sum().backward()
    out = {"x": flat(x), "dy": flat(dy), "y": flat(y), "dx": flat(x.grad)}
    for name in PARAMS:
        p = getattr(layer, name + suffix)
        out[name] = as_stored(name, p)
        out["d" + name] = as_stored(name, p.grad)
    return out


def main():
    rng = random.Random(20261122)
    out = {"note": "one layer of PyTorch's LSTM and GRU in f64: record_recurrent.py", "torch": torch.__version__}
    for name, cls in (("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU)):
        out[name] = record(rng, cls, False)
        out[name + "_backwards"] = record(rng, cls, True)
    with open(os.path.join(HERE, "recurrent.json"), "w", encoding="ascii") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
