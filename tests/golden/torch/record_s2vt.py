#!/usr/bin/env python3
"""Record the loss and gradients of a small S2VT (two LSTM layers over frames and then words) in f64.

Run once, from this folder, and commit what it writes:

    python3 -m venv DIR && DIR/bin/pip install torch==2.15.0
    DIR/bin/python record_s2vt.py            write s2vt.json
    DIR/bin/python record_s2vt.py --float    the largest distance of the loss and gradients in f32

An input is the bits of the frames' f32 numbers, as signed integers, and then the words one place later than in the
target, both padded with 0. Each two captions that follow each other have five words, so that the mean over the words of
two is as good as the mean over all. Matrices of LSTM layers are written [in, gates], those of linear layers as PyTorch's.
"""
import json
import os
import random
import struct
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMES, FEATURES, PROJECTION, EMBED, WIDTH, VOCAB, ROWS = 4, 3, 5, 2, 4, 9, 5
LENGTHS = (1, 4, 2, 3, 4, 1)

torch.set_num_threads(1)


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bits(x):
    return struct.unpack("<i", struct.pack("<f", x))[0]


def flat(t):
    return t.detach().contiguous().reshape(-1).tolist()


def record(dtype):
    rng = random.Random(20261122)
    modules = {
        "projection": torch.nn.Linear(FEATURES, PROJECTION),
        "lstm1": torch.nn.LSTM(PROJECTION, WIDTH, batch_first=True),
        "embedding": torch.nn.Embedding(VOCAB, EMBED),
        "lstm2": torch.nn.LSTM(WIDTH + EMBED, WIDTH, batch_first=True),
        "output": torch.nn.Linear(WIDTH, VOCAB),
    }
    params = {}
    for name, module in modules.items():
        module.to(dtype)
        for part, p in module.named_parameters():
            with torch.no_grad():
                p.copy_(torch.tensor([rng.gauss(0, 0.5) for _ in range(p.numel())], dtype=dtype).reshape(p.shape))
            params[f"{name}.{part.removesuffix('_l0')}"] = (p, name.startswith("lstm") and part.startswith("weight"))
    frames = [[f32(rng.gauss(0, 1)) for _ in range(FRAMES * FEATURES)] for _ in LENGTHS]
    captions = [[rng.randint(4, VOCAB - 1) for _ in range(n)] for n in LENGTHS]
    begun = [([2] + c + [0] * ROWS)[:ROWS] for c in captions]
    target = torch.tensor([(c + [3] + [0] * ROWS)[:ROWS] for c in captions])

    n = len(LENGTHS)
    x = modules["projection"](torch.tensor(frames, dtype=dtype).reshape(n, FRAMES, FEATURES))
    x = modules["lstm1"](torch.cat((x, torch.zeros(n, ROWS, PROJECTION, dtype=dtype)), 1))[0]
    words = modules["embedding"](torch.tensor(begun))
    words = torch.cat((torch.zeros(n, FRAMES, EMBED, dtype=dtype), words), 1)
    y = modules["output"](modules["lstm2"](torch.cat((x, words), 2))[0][:, FRAMES:])
    loss = torch.nn.functional.cross_entropy(y.reshape(-1, VOCAB), target.reshape(-1), ignore_index=0)
    loss.backward()
    return {
        "note": "a small S2VT in f64: record_s2vt.py", "torch": torch.__version__,
        "config": {"frames": FRAMES, "features": FEATURES, "projection": PROJECTION, "embed": EMBED, "width": WIDTH,
                   "vocab": VOCAB, "rows": ROWS},
        "inputs": [[bits(v) for v in f] + b for f, b in zip(frames, begun)], "targets": target.tolist(),
        "loss": loss.item(),
        "params": {k: flat(p.t() if turn else p) for k, (p, turn) in params.items()},
        "shapes": {k: list(p.t().shape if turn else p.shape) for k, (p, turn) in params.items()},
        "grads": {k: flat(p.grad.t() if turn else p.grad) for k, (p, turn) in params.items()},
    }


def main():
    out = record(torch.float64)
    if sys.argv[1:] == ["--float"]:
        one = record(torch.float32)
        far = [abs(a - b) / (1 + abs(b)) for k in out["grads"] for a, b in zip(one["grads"][k], out["grads"][k])]
        print(f"loss {abs(one['loss'] - out['loss']):.2g}, gradients {max(far):.2g}")
        return
    with open(os.path.join(HERE, "s2vt.json"), "w", encoding="ascii") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
