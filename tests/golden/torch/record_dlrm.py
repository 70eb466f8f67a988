#!/usr/bin/env python3
"""Record PyTorch f64 numbers for bags of embeddings, dot interaction, lazy optimizer steps and models/dlrm.c.

    pip install torch                        (torch 2.15.0, CPU)
    python record_dlrm.py                    write dlrm.json
    python record_dlrm.py --float            how far the same model in f32 ends from it

A token below 0 is left out of its bag, any other is a row modulo the table's rows. The interaction and the model follow
facebookresearch/dlrm. Values are drawn by Python's generator and rounded to 20 bits, which f32 holds.
"""
import json
import os
import random
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 20261
NUMBERS, WIDTH, ROWS, BOTTOM, TOP, BATCH = 3, 4, [7, 5, 3, 11, 2, 6, 4, 9], [6], [12, 9], 12
STEPS, LR = 5, 0.05
CATEGORIES = 16  # more than any table has rows


def draw(rng, *shape):
    n = 1
    for d in shape:
        n *= d
    return torch.tensor([round(rng.gauss(0, 1) * 2 ** 16) / 2 ** 16 for _ in range(n)],
                        dtype=torch.float64).reshape(shape)


def flat(t):
    return t.detach().reshape(-1).tolist()


def bag(mode):
    rng = random.Random(SEED + len(mode) + (mode == "mean"))
    rows, width, size, n = 6, 5, 4, 7
    tokens = [[rng.choice([-1, rng.randrange(3 * rows)]) for _ in range(size)] for _ in range(n)]
    tokens[2] = [-1] * size
    tokens[3] = [4, 4, -1, 10]  # one row, three times
    table = nn.EmbeddingBag(rows, width, mode=mode, dtype=torch.float64)
    w, dy = draw(rng, rows, width), draw(rng, n, width)
    with torch.no_grad():
        table.weight.copy_(w)
    kept = [[t % rows for t in b if t >= 0] for b in tokens]
    offsets = [sum(len(b) for b in kept[:i]) for i in range(n)]
    y = table(torch.tensor([t for b in kept for t in b]), torch.tensor(offsets))
    (y * dy).sum().backward()
    return {"rows": rows, "width": width, "tokens": [t for b in tokens for t in b], "w": flat(w), "y": flat(y),
            "dy": flat(dy), "dw": flat(table.weight.grad)}


def interact(vectors):
    """[n, k, width] to [n, width + k (k - 1) / 2], as facebookresearch/dlrm does it."""
    z = torch.bmm(vectors, vectors.transpose(1, 2))
    k = vectors.shape[1]
    li, lj = [i for i in range(k) for _ in range(i)], [j for i in range(k) for j in range(i)]
    return torch.cat([vectors[:, 0], z[:, li, lj]], dim=1)


def interaction():
    rng = random.Random(SEED)
    x = draw(rng, 3, 5, 7).requires_grad_()
    y = interact(x)
    dy = draw(rng, *y.shape)
    (y * dy).sum().backward()
    return {"x": flat(x), "y": flat(y), "dy": flat(dy), "dx": flat(x.grad)}


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.bot_l, self.top_l = self.perceptron(NUMBERS, BOTTOM + [WIDTH], True), None
        self.emb_l = nn.ModuleList([nn.EmbeddingBag(r, WIDTH, mode="sum", sparse=True) for r in ROWS])
        k = 1 + len(ROWS)
        self.top_l = self.perceptron(WIDTH + k * (k - 1) // 2, TOP + [1], False)

    @staticmethod
    def perceptron(width, widths, ends_in_relu):
        layers = []
        for i, w in enumerate(widths):
            layers.append(nn.Linear(width, w))
            if ends_in_relu or i + 1 < len(widths):
                layers.append(nn.ReLU())
            width = w
        return nn.Sequential(*layers)

    def forward(self, x, categories):
        starts = torch.arange(x.shape[0])
        v = [self.bot_l(x)] + [t(categories[:, i] % ROWS[i], starts) for i, t in enumerate(self.emb_l)]
        return self.top_l(interact(torch.stack(v, dim=1)))[:, 0]


def micro(rng):
    return (draw(rng, BATCH, NUMBERS), torch.tensor([[rng.randrange(CATEGORIES) for _ in ROWS] for _ in range(BATCH)]),
            torch.tensor([float(rng.randrange(2)) for _ in range(BATCH)], dtype=torch.float64))


def fresh(dtype):
    rng = random.Random(SEED + 7)
    m = Dlrm().to(dtype)
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(draw(rng, *p.shape) * 0.5)
            if n.startswith("top_l") and n.endswith("bias"):
                p.abs_().add_(0.5)  # so that no sample finds every ReLU dead: check_met
    return m, rng


def check_met(m):
    """SparseAdam steps a row that was met even if its gradient is 0, and millrace does not: here is no such row."""
    for t in m.emb_l:
        assert (t.weight.grad.coalesce().values() != 0).any(dim=1).all()


def loss_of(m, data, dtype):
    x, c, t = data
    out = m(x.to(dtype), c)
    return out, nn.functional.binary_cross_entropy(torch.sigmoid(out), t.to(dtype))


class LazyMomentum:
    """v = mu v + g, w -= lr v, of rows that have a gradient alone."""

    def __init__(self, params):
        self.params, self.v = list(params), {}

    def step(self):
        with torch.no_grad():
            for p in self.params:
                g = p.grad.to_dense()
                v = self.v.setdefault(p, torch.zeros_like(g))
                met = (g != 0).any(dim=1, keepdim=True) if p.grad.is_sparse else torch.ones_like(g, dtype=torch.bool)
                v.copy_(torch.where(met, 0.9 * v + g, v))
                p.copy_(torch.where(met, p - LR * v, p))


def optimizers_of(kind, m):
    tables = [p for n, p in m.named_parameters() if n.startswith("emb_l")]
    others = [p for n, p in m.named_parameters() if not n.startswith("emb_l")]
    if kind == "sgd":
        return [torch.optim.SGD(m.parameters(), lr=LR)]
    if kind == "momentum":
        return [LazyMomentum(m.parameters())]
    # SparseAdam adds eps in front of the bias correction, Adam behind it: a tiny one makes no difference.
    return [torch.optim.Adam(others, lr=LR, eps=1e-20), torch.optim.SparseAdam(tables, lr=LR, eps=1e-20)]


def train(kind):
    m, rng = fresh(torch.float64)
    data = [micro(rng) for _ in range(STEPS)]
    optimizers, losses = optimizers_of(kind, m), []
    for one in data:
        m.zero_grad()
        loss = loss_of(m, one, torch.float64)[1]
        loss.backward()
        check_met(m)
        losses.append(loss.item())
        for o in optimizers:
            o.step()
    return {"losses": losses, "params": {n: flat(p) for n, p in m.named_parameters()}}


def once(dtype):
    m, rng = fresh(dtype)
    out, loss = loss_of(m, micro(rng), dtype)
    loss.backward()
    return flat(out), loss.item(), {n: flat(p.grad.to_dense()) for n, p in m.named_parameters()}


def main():
    path = os.path.join(HERE, "dlrm.json")
    if "--float" in sys.argv:
        want, (out, loss, grads) = json.load(open(path))["model"], once(torch.float32)
        most = max(abs(a - b) / (1 + abs(b)) for a, b in zip(out, want["logits"]))
        for n, g in grads.items():
            most = max([most] + [abs(a - b) / (1 + abs(b)) for a, b in zip(g, want["grads"][n])])
        print(f"f32 ends within {max(most, abs(loss / want['loss'] - 1)):.2g}")
        return
    m, rng = fresh(torch.float64)
    data = [micro(rng) for _ in range(STEPS)]
    logits, loss, grads = once(torch.float64)
    out = {"torch": torch.__version__, "seed": SEED, "bag_sum": bag("sum"), "bag_mean": bag("mean"),
           "interaction": interaction(),
           "model": {"numbers": NUMBERS, "width": WIDTH, "rows": ROWS, "bottom": BOTTOM, "top": TOP, "batch": BATCH,
                     "lr": LR, "x": [flat(d[0]) for d in data], "categories": [flat(d[1]) for d in data],
                     "targets": [flat(d[2]) for d in data],
                     "shapes": {n: list(p.shape) for n, p in m.named_parameters()},
                     "params": {n: flat(p) for n, p in m.named_parameters()}, "logits": logits, "loss": loss,
                     "grads": grads, "runs": {k: train(k) for k in ("sgd", "momentum", "adam")}}}
    with open(path, "w") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
