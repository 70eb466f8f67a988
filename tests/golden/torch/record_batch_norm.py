#!/usr/bin/env python3
"""Record what PyTorch's batch normalisation gives in f64, with and without ReLU behind it.

Run once, from this folder, and commit what it writes:

    python3 -m venv DIR && DIR/bin/pip install torch==2.15.0
    DIR/bin/python record_batch_norm.py            write batch_norm.json

Images of 2 x 3 points with 5 channels, three micro-batches of two images, channels last in the file. y, dx, dw and db
are those of the first micro-batch with the gradient dy; running_mean and running_var what the three leave behind, one
after the other; eval_y what evaluation makes of the first one then.
"""
import json
import os
import random

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
N, H, W, C, MICROS = 2, 2, 3, 5, 3


def normal(rng, shape, std=1.0, mean=0.0):
    count = 1
    for n in shape:
        count *= n
    return torch.tensor([rng.gauss(mean, std) for _ in range(count)], dtype=torch.float64).reshape(shape)


def flat(t):
    return t.detach().reshape(-1).tolist()


def record(seed, relu, eps, momentum):
    rng = random.Random(seed)
    micros = [normal(rng, (N, H, W, C), 1 + m, 0.5 * m) for m in range(MICROS)]
    norm = torch.nn.BatchNorm2d(C, eps=eps, momentum=momentum).double()
    weight, bias, dy = normal(rng, (C,), 0.5, 1), normal(rng, (C,), 0.5), normal(rng, (N, H, W, C))
    with torch.no_grad():
        norm.weight.copy_(weight)
        norm.bias.copy_(bias)

    def forward(x):
        y = norm(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return torch.relu(y) if relu else y

    x = micros[0].clone().requires_grad_()
    y = forward(x)
    (y * dy).sum().backward()
    for other in micros[1:]:
        forward(other)
    norm.eval()
    return {"eps": eps, "momentum": momentum, "seed": seed, "shape": [N, H, W, C], "x": flat(micros[0]),
            "micros": [flat(m) for m in micros], "w": flat(weight), "b": flat(bias), "dy": flat(dy), "y": flat(y),
            "dx": flat(x.grad), "dw": flat(norm.weight.grad), "db": flat(norm.bias.grad),
            "running_mean": flat(norm.running_mean), "running_var": flat(norm.running_var),
            "eval_y": flat(forward(micros[0]))}


def main():
    torch.set_num_threads(1)
    out = {"torch": torch.__version__.split("+")[0], "batch_norm": record(20311, False, 1e-5, 0.1),
           "batch_norm_relu": record(20312, True, 1e-3, 0.3)}
    with open(os.path.join(HERE, "batch_norm.json"), "w") as f:
        json.dump(out, f)
        f.write("\n")


main()
