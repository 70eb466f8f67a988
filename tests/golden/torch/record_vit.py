#!/usr/bin/env python3
"""Record loss and gradients of torchvision's VisionTransformer in f64 for models/vit.c.

    pip install torch torchvision            (torch 2.15.0, torchvision 0.29.2, CPU)
    python record_vit.py                     write vit.json
    python record_vit.py --float             how far the same run in f32 ends from it

Parameters are recorded by the names and in the layout of models/vit.c: patches are [row, column, channel] there, and
images [height, width, channel]. Values are drawn by Python's generator.
"""
import json
import os
import random
import sys

import torch
import torchvision

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = {"side": 8, "channels": 3, "patch": 4, "layers": 2, "heads": 2, "width": 8, "hidden": 12, "classes": 5,
          "batch": 3}
SEED = 20261


def name_of(torch_name):
    return {"class_token": "encoder.class_token"}.get(torch_name, torch_name.replace("in_proj_", "in_proj.")
                                                       .replace("encoder_layer_", ""))


def ours(name, t):
    """A tensor of torchvision's shape in our layout."""
    if name == "conv_proj.weight":
        return t.permute(0, 2, 3, 1).reshape(t.shape[0], -1)
    return t.reshape(t.shape[-2:] if name == "encoder.pos_embedding" else t.shape[-1:]) if t.dim() == 3 else t


def run(dtype):
    c = CONFIG
    rng = random.Random(SEED)
    model = torchvision.models.VisionTransformer(
        image_size=c["side"], patch_size=c["patch"], num_layers=c["layers"], num_heads=c["heads"],
        hidden_dim=c["width"], mlp_dim=c["hidden"], num_classes=c["classes"]).double()
    with torch.no_grad():
        for name, p in model.named_parameters():
            gain = "ln" in name and name.endswith("weight")
            std = p.shape[1:].numel() ** -0.5 if p.dim() in (2, 4) else 0.3
            p.copy_(torch.tensor([rng.gauss(float(gain), std) for _ in range(p.numel())],
                                 dtype=torch.float64).reshape(p.shape))
    params = {name_of(n): ours(n, p).detach() for n, p in model.named_parameters()}
    images = torch.tensor([rng.gauss(0, 1) for _ in range(c["batch"] * c["side"] ** 2 * c["channels"])],
                          dtype=torch.float64).reshape(c["batch"], c["side"], c["side"], c["channels"])
    targets = [[rng.randrange(c["classes"])] for _ in range(c["batch"])]
    model = model.to(dtype)
    logits = model(images.permute(0, 3, 1, 2).to(dtype))
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(targets).reshape(-1))
    loss.backward()
    grads = {name_of(n): ours(n, p.grad).reshape(-1).tolist() for n, p in model.named_parameters()}
    return {"torch": torch.__version__, "torchvision": torchvision.__version__, "seed": SEED, "config": c,
            "inputs": images.reshape(c["batch"], -1).tolist(), "targets": targets,
            "shapes": {n: list(p.shape) for n, p in params.items()},
            "params": {n: p.reshape(-1).tolist() for n, p in params.items()}, "loss": loss.item(), "grads": grads}


def main():
    path = os.path.join(HERE, "vit.json")
    if "--float" in sys.argv:
        want, got = json.load(open(path)), run(torch.float32)
        most = max(abs(a - b) / (1 + abs(b)) for n in want["grads"] for a, b in zip(got["grads"][n], want["grads"][n]))
        print(f"f32 ends within {max(most, abs(got['loss'] / want['loss'] - 1)):.2g}")
        return
    with open(path, "w") as f:
        json.dump(run(torch.float64), f, separators=(",", ":"))
        f.write("\n")


main()
