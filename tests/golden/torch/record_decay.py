#!/usr/bin/env python3
"""Records decay.json and rates.json: steps with coupled weight decay, and learning rates, of torch.optim.

    pip install torch transformers           (torch 2.15.0, transformers 5.23.0, CPU)
    python3 record_decay.py

decay.json: eight weights in f64, for each of five steps a gradient, and the weights after each step. `runs` has the
optimizer of torch with its arguments; its weight_decay is added to the gradient ("coupled"). `clipped` scales each
gradient to a norm of at most 1.5 by torch.nn.utils.clip_grad_norm_ before the step.

rates.json: learning rates in f64 by PyTorch's schedulers (`rates` [i] is that of step i, from 0) and by those of
transformers, which are functions of the number of steps done (`rates` [i] at i + 1; 0 has no rate worth a step). The
warm-up of get_wsd_schedule begins at min_lr_ratio, ours at 0: the two are compared where that is 0, or without warm-up.
"""
import json
import os
import random
import warnings

import torch
import transformers
from transformers.optimization import get_inverse_sqrt_schedule, get_wsd_schedule

HERE = os.path.dirname(os.path.abspath(__file__))
N, STEPS = 8, 5
SGD, ADAM = torch.optim.SGD, torch.optim.Adam
RUNS = {
    "sgd": (SGD, {"lr": 0.05, "weight_decay": 0.3}),
    "momentum": (SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.3}),
    "nesterov": (SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.3}),
    "clipped": (SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.3}),
    "adam": (ADAM, {"lr": 0.02, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.3}),
    "nadam": (torch.optim.NAdam, {"lr": 0.02, "betas": (0.9, 0.99), "eps": 1e-8, "momentum_decay": 0.004,
                                  "weight_decay": 0.3}),
    "asgd": (torch.optim.ASGD, {"lr": 0.05, "lambd": 0.0, "t0": 1e9, "weight_decay": 0.3}),
}


def normal(rng, n):
    return [rng.gauss(0, 1) for _ in range(n)]


def steps_of(name, w, grads):
    kind, args = RUNS[name]
    p = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    opt = kind([p], **args)
    after = []
    for g in grads:
        p.grad = torch.tensor(g, dtype=torch.float64)
        if name == "clipped":
            torch.nn.utils.clip_grad_norm_([p], 1.5)
        opt.step()
        after.append(p.detach().tolist())
    return after


def rates(make, n, first=0):
    opt = SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
    scheduler = make(opt)
    out = []
    for _ in range(n + first):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        scheduler.step()
    return out[first:]


def main():
    warnings.simplefilter("ignore")
    rng = random.Random(26)
    w, grads = normal(rng, N), [normal(rng, N) for _ in range(STEPS)]
    runs = {name: dict(RUNS[name][1], after=steps_of(name, w, grads)) for name in RUNS}
    with open(os.path.join(HERE, "decay.json"), "w") as f:
        json.dump({"torch": torch.__version__, "w": w, "grads": grads, "runs": runs}, f)
        f.write("\n")
    s = torch.optim.lr_scheduler
    tables = {
        "multi_step": {"milestones": [4, 9], "gamma": 0.3, "rates": rates(
            lambda o: s.MultiStepLR(o, [4, 9], gamma=0.3), 12)},
        "step": {"step_every": 5, "gamma": 0.5, "rates": rates(lambda o: s.StepLR(o, 5, gamma=0.5), 17)},
        "one_cycle": {"total": 20, "start_ratio": 1 / 25, "min_ratio": 1 / 25e4, "rates": rates(
            lambda o: s.OneCycleLR(o, max_lr=0.4, total_steps=20, cycle_momentum=False), 20)},
        "one_cycle_short": {"total": 11, "warmup": 4, "start_ratio": 0.1, "min_ratio": 0.001, "rates": rates(
            lambda o: s.OneCycleLR(o, max_lr=0.4, total_steps=11, pct_start=4 / 11, div_factor=10,
                                   final_div_factor=100, cycle_momentum=False), 11)},
        "inverse_sqrt": {"warmup": 6, "rates": rates(
            lambda o: get_inverse_sqrt_schedule(o, num_warmup_steps=6), 30, 1)},
        "wsd_linear": {"total": 24, "cooldown": 8, "min_ratio": 0.1, "rates": rates(
            lambda o: get_wsd_schedule(o, num_warmup_steps=0, num_decay_steps=8, num_stable_steps=16,
                                       decay_type="linear", min_lr_ratio=0.1), 27, 1)},
        "wsd_cosine": {"total": 24, "cooldown": 8, "min_ratio": 0.1, "rates": rates(
            lambda o: get_wsd_schedule(o, num_warmup_steps=0, num_decay_steps=8, num_stable_steps=16,
                                       decay_type="cosine", min_lr_ratio=0.1), 27, 1)},
        "wsd_sqrt": {"total": 24, "warmup": 5, "cooldown": 8, "min_ratio": 0.0, "rates": rates(
            lambda o: get_wsd_schedule(o, num_warmup_steps=5, num_decay_steps=8, num_stable_steps=11,
                                       decay_type="1-sqrt", min_lr_ratio=0.0), 27, 1)},
    }
    with open(os.path.join(HERE, "rates.json"), "w") as f:
        json.dump({"torch": torch.__version__, "transformers": transformers.__version__, "lr": 0.4, "tables": tables}, f)
        f.write("\n")


main()
