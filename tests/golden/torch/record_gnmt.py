#!/usr/bin/env python3
"""Record what PyTorch gives in f64 for attention between two sequences, a smoothed and masked loss, and a small GNMT v2.

Run once, from this folder, and commit what it writes:

    python3 -m venv DIR && DIR/bin/pip install torch==2.15.0
    DIR/bin/python record_gnmt.py            write gnmt.json
    DIR/bin/python record_gnmt.py --float    the largest distance of the model's loss and gradients in f32

The model is written out from the description of the published code with torch.nn.LSTM, whose first layer here is
bidirectional on packed sequences. Matrices of LSTM layers are written as the C program stores them, [in, gates], which is
PyTorch's transposed; those of linear layers are PyTorch's. An input is a source, then a target one place later, each
padded with 0.
"""
import json
import os
import random
import sys

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS, WIDTH, SOURCE, TARGET, ROWS, OUT_ROWS, BATCH, SMOOTHING = 3, 4, 9, 8, 6, 5, 6, 0.1

torch.set_num_threads(1)


def normal(rng, shape, std=0.7):
    n = 1
    for d in shape:
        n *= d
    return torch.tensor([rng.gauss(0, std) for _ in range(n)], dtype=torch.float64).reshape(shape)


def flat(t):
    return t.detach().contiguous().reshape(-1).tolist()


def attend(scores, values, tokens):
    scores = scores.masked_fill((tokens == 0).unsqueeze(1), float("-inf"))
    return torch.softmax(scores, -1) @ values


def additive(q, k, v, b, g):
    return torch.tanh(q.unsqueeze(2) + k.unsqueeze(1) + b) @ (g * v / v.norm())


def record_attention(rng):
    n, t, s, h, c = 2, 3, 5, 4, 6
    tokens = torch.tensor([[3, 1, 2, 0, 0], [1, 1, 4, 2, 5]])
    out = {}
    for name in ("additive", "dot"):
        x = {"queries": normal(rng, (n, t, h)), "keys": normal(rng, (n, s, h)), "values": normal(rng, (n, s, c))}
        p = {"linear_att": normal(rng, (h,)), "normalize_bias": normal(rng, (h,)), "normalize_scalar": normal(rng, (1,))}
        for one in list(x.values()) + list(p.values()):
            one.requires_grad_()
        if name == "additive":
            scores = additive(x["queries"], x["keys"], p["linear_att"], p["normalize_bias"], p["normalize_scalar"])
        else:
            p = {}
            scores = x["queries"] @ x["keys"].transpose(1, 2)
        y = attend(scores, x["values"], tokens)
        dy = normal(rng, y.shape)
        (y * dy).sum().backward()
        one = {"tokens": flat(tokens), "dy": flat(dy), "y": flat(y)}
        for key, value in list(x.items()) + list(p.items()):
            one[key] = flat(value)
            one["d" + key] = flat(value.grad)
        out[name] = one
    return out


def loss_of(logits, targets):
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=0,
                                             reduction="sum", label_smoothing=SMOOTHING) / targets.shape[0]


def record_loss(rng):
    x = normal(rng, (3, 4, 6), 2.0).requires_grad_()
    targets = torch.tensor([[3, 1, 5, 0], [2, 0, 0, 0], [4, 4, 1, 2]])
    mean = torch.nn.functional.cross_entropy(x.reshape(-1, 6), targets.reshape(-1), ignore_index=0)
    (dmean,) = torch.autograd.grad(mean, x)
    loss = loss_of(x, targets)
    loss.backward()
    return {"x": flat(x), "targets": flat(targets), "loss": loss.item(), "dx": flat(x.grad),
            "masked": {"x": flat(x), "targets": flat(targets), "loss": mean.item(), "dx": flat(dmean)}}


class Gnmt:
    """Modules by the names of models/gnmt.c."""

    def __init__(self, rng, dtype):
        h, f = WIDTH, {"dtype": dtype, "batch_first": True}
        self.first = torch.nn.LSTM(h, h, bidirectional=True, **f)
        self.rest = {"encoder.rnn_layers.1": torch.nn.LSTM(2 * h, h, **f)}
        for i in range(2, LAYERS):
            self.rest[f"encoder.rnn_layers.{i}"] = torch.nn.LSTM(h, h, **f)
        self.rest["decoder.att_rnn.rnn"] = torch.nn.LSTM(h, h, **f)
        for i in range(LAYERS - 1):
            self.rest[f"decoder.rnn_layers.{i}"] = torch.nn.LSTM(2 * h, h, **f)
        self.plain = {"encoder.embedder.weight": (SOURCE, h), "decoder.embedder.weight": (TARGET, h),
                      "decoder.att_rnn.attn.linear_k.weight": (h, h), "decoder.att_rnn.attn.linear_q.weight": (h, h),
                      "decoder.att_rnn.attn.linear_att": (h,), "decoder.att_rnn.attn.normalize_bias": (h,),
                      "decoder.att_rnn.attn.normalize_scalar": (1,),
                      "decoder.classifier.weight": (TARGET, h), "decoder.classifier.bias": (TARGET,)}
        self.plain = {k: torch.zeros(s, dtype=dtype, requires_grad=True) for k, s in self.plain.items()}
        with torch.no_grad():
            for _, p, _ in self.parameters():
                p.copy_(normal(rng, p.shape, 0.5))

    def parameters(self):
        for name, lstm, ends in [("encoder.rnn_layers.0", self.first, ("_l0",)),
                                 ("encoder.rnn_layers.0_reverse", self.first, ("_l0_reverse",))] + [
                                     (k, m, ("_l0",)) for k, m in self.rest.items()]:
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                yield f"{name}.{part}", getattr(lstm, part + ends[0]), part.startswith("weight")
        for name, p in self.plain.items():
            yield name, p, False

    def loss(self, source, begun, target):
        w = self.plain
        lengths = (source != 0).sum(1)
        x = pack_padded_sequence(w["encoder.embedder.weight"][source], lengths, batch_first=True, enforce_sorted=False)
        x, _ = pad_packed_sequence(self.first(x)[0], batch_first=True, total_length=source.shape[1])
        x = self.rest["encoder.rnn_layers.1"](x)[0]
        for i in range(2, LAYERS):
            x = self.rest[f"encoder.rnn_layers.{i}"](x)[0] + x
        q = self.rest["decoder.att_rnn.rnn"](w["decoder.embedder.weight"][begun])[0]
        at = "decoder.att_rnn.attn."
        scores = additive(q @ w[at + "linear_q.weight"].t(), x @ w[at + "linear_k.weight"].t(), w[at + "linear_att"],
                          w[at + "normalize_bias"], w[at + "normalize_scalar"])
        context = attend(scores, x, source)
        y = q
        for i in range(LAYERS - 1):
            out = self.rest[f"decoder.rnn_layers.{i}"](torch.cat((y, context), 2))[0]
            y = out + y if i else out
        return loss_of(y @ w["decoder.classifier.weight"].t() + w["decoder.classifier.bias"], target)


def sentences(rng, rows, vocab):
    out = []
    for _ in range(BATCH):
        n = rng.randint(1, rows - 1)
        out.append([rng.randint(4, vocab - 1) for _ in range(n)])
    return out


def padded(lists, rows):
    return torch.tensor([one + [0] * (rows - len(one)) for one in lists])


def record_model(seed, dtype):
    rng = random.Random(seed)
    source, target = sentences(rng, ROWS, SOURCE), sentences(rng, OUT_ROWS, TARGET)
    source[0] = [4] * (ROWS - 1)
    source = padded([s + [3] for s in source], ROWS)
    begun, target = padded([[2] + t for t in target], OUT_ROWS), padded([t + [3] for t in target], OUT_ROWS)
    model = Gnmt(rng, dtype)
    loss = model.loss(source, begun, target)
    loss.backward()
    params, grads, shapes = {}, {}, {}
    for name, p, turn in model.parameters():
        params[name] = flat(p.t() if turn else p)
        grads[name] = flat(p.grad.t() if turn else p.grad)
        shapes[name] = list(p.t().shape if turn else p.shape)
    config = {"layers": LAYERS, "width": WIDTH, "source": SOURCE, "target": TARGET, "rows": ROWS, "out_rows": OUT_ROWS}
    return {"config": config, "inputs": torch.cat((source, begun), 1).tolist(), "targets": target.tolist(),
            "loss": loss.item(), "params": params, "shapes": shapes, "grads": grads}


def main():
    rng = random.Random(20261122)
    out = {"note": "attention between two sequences and a small GNMT v2 in f64: record_gnmt.py",
           "torch": torch.__version__, "attention": record_attention(rng), "loss": record_loss(rng),
           "model": record_model(7, torch.float64)}
    if sys.argv[1:] == ["--float"]:
        one = record_model(7, torch.float32)
        far = [abs(one["loss"] - out["model"]["loss"])]
        for name, grad in one["grads"].items():
            far += [abs(a - b) / (1 + abs(b)) for a, b in zip(grad, out["model"]["grads"][name])]
        print(f"loss {far[0]:.2g}, gradients {max(far[1:]):.2g}")
        return
    with open(os.path.join(HERE, "gnmt.json"), "w", encoding="ascii") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
