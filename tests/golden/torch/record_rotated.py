#!/usr/bin/env python3
"""Steps of SOAP and of basis-rotated Adam, Q of QR and eigenvalues, all in f64:

    record_rotated.py soap.py > rotated.json

soap.py is that of github.com/nikhilvyas/SOAP, commit a1e5535, run as it is but that its casts to f32 are casts to f64.
Basis-rotated Adam (arXiv 2602.03515) is below, in numpy, by its equations. A run's gradients are number i of step t
sin(12.9898 (i + 1) + 78.233 t) (1 + i mod 3), its first weights cos(i + 1). Of a SOAP run `left` and `right` are the
bases behind the first step, which has no unique ones for the longer side of a matrix that is rotated on both.
"""
import importlib.util
import json
import sys

import numpy as np
import torch

LR = 0.02


def gradient(t, shape):
    i = np.arange(int(np.prod(shape)))
    return (np.sin(12.9898 * (i + 1) + 78.233 * t) * (1 + i % 3)).reshape(shape)


def first_weights(shape):
    return np.cos(np.arange(int(np.prod(shape))) + 1.0).reshape(shape)


def flat(x):
    return [float(v) for v in np.asarray(x).ravel()]


def soap(module, shape, steps, **options):
    p = torch.nn.Parameter(torch.tensor(first_weights(shape)))
    optimizer = module.SOAP([p], lr=LR, **options)
    out = {"shape": list(shape), "steps": steps, "options": options, "weights": []}
    for t in range(1, steps + 1):
        p.grad = torch.tensor(gradient(t, shape))
        optimizer.step()
        out["weights"].append(flat(p.detach().numpy()))
        if t == 1 and len(shape) == 2:
            for side, q in zip(("left", "right"), optimizer.state[p]["Q"]):
                out[side] = flat(q.numpy()) if len(q) else []
    return out


def rotated_adam(shape, steps, frequency, b1=0.9, b2=0.95, eps=1e-6, decay=0.1, source="gradients", sides="both",
                 correct_bias=True, interval=None):
    rows, cols = shape
    w, m, v = first_weights(shape), np.zeros(shape), np.zeros(shape)
    left, right, u, vt = np.zeros((rows, rows)), np.zeros((cols, cols)), np.eye(rows), np.eye(cols)
    on_left, on_right = sides == "both" or rows <= cols, sides == "both" or cols < rows
    out = {"shape": list(shape), "steps": steps, "weights": [],
           "options": {"frequency": frequency, "beta1": b1, "beta2": b2, "eps": eps, "weight_decay": decay,
                       "source": source, "sides": sides, "correct_bias": correct_bias}}
    if interval:
        out["options"]["interval"] = interval
    for t in range(1, steps + 1):
        g = gradient(t, shape)
        m = b1 * m + (1 - b1) * g
        left = b2 * left + (1 - b2) * g @ g.T
        right = b2 * right + (1 - b2) * g.T @ g
        if t // (interval or frequency) > (t - 1) // (interval or frequency):
            if on_left:
                u = np.linalg.qr((left if source == "gradients" else m @ m.T) @ u)[0]
            if on_right:
                vt = np.linalg.qr((right if source == "gradients" else m.T @ m) @ vt)[0]
        v = b2 * v + (1 - b2) * (u.T @ g @ vt) ** 2
        c1, c2 = (1 - b1 ** t, 1 - b2 ** t) if correct_bias else (1, 1)
        w = w * (1 - LR * decay) - LR * u @ (u.T @ m @ vt / c1 / np.sqrt(v / c2 + eps)) @ vt.T
        out["weights"].append(flat(w))
    return out


def factorizations(n):
    a = np.sin(np.arange(n * n) * 1.7 + 0.3).reshape(n, n) + np.eye(n)
    s = a + a.T
    return {"n": n, "q": flat(np.linalg.qr(a)[0]), "values": flat(np.linalg.eigvalsh(s)[::-1])}


def main():
    torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("soap", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    json.dump({
        "lr": LR,
        "soap": {
            "square": soap(module, (5, 5), 9, precondition_frequency=2),
            "left alone": soap(module, (4, 7), 8, precondition_frequency=3, max_precond_dim=5),
            "right alone": soap(module, (7, 4), 8, precondition_frequency=1, max_precond_dim=5, weight_decay=0.3),
            "both": soap(module, (4, 6), 8, precondition_frequency=2, betas=(0.9, 0.99), shampoo_beta=0.8, eps=1e-4),
            "vector": soap(module, (6,), 5),
        },
        "rotated_adam": {
            "both": rotated_adam((4, 6), 9, 3),
            "published": rotated_adam((6, 4), 9, 4, correct_bias=False, decay=0.0),
            "smaller": rotated_adam((6, 3), 7, 2, sides="smaller"),
            "of momentum": rotated_adam((5, 5), 7, 2, source="momentum"),
            "of momentum, smaller": rotated_adam((3, 6), 7, 1, source="momentum", sides="smaller"),
            "between steps": rotated_adam((5, 4), 9, 2, interval=2.5),
        },
        "factorizations": [factorizations(1), factorizations(2), factorizations(37)],
    }, sys.stdout)
    print()


main()
