#!/usr/bin/env python3
"""Record the gradients that PyTorch's autocast gives in bf16 for the models of gpt.json and mlp.json.

Run once, from this folder, and commit what it writes:

    python3 -m venv DIR && DIR/bin/pip install torch==2.15.0
    DIR/bin/python record_bf16.py            write bf16.json

Parameters, inputs and targets are read from those files and are f32 here; the forward pass runs under
torch.autocast("cpu", torch.bfloat16), which rounds operands and results of products to bf16 and keeps norms, the
residual stream and the loss in f32. `error` says how far each gradient is from the recorded f64 one, as the norm of the
difference over the norm.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
import record
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def tensors(model):
    return {n: torch.tensor(v, dtype=torch.float32).reshape(model["shapes"][n]) for n, v in model["params"].items()}


def gradients(model, loss_of):
    p = record.leaves(tensors(model))
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(p)
    loss.backward()
    grads = {n: t.grad for n, t in p.items()}
    error = {}
    for name, got in grads.items():
        want = torch.tensor(model["grads"][name], dtype=torch.float64)
        error[name] = ((got.reshape(-1).double() - want).norm() / want.norm()).item()
    return {"loss": loss.item(), "error": error, "grads": record.flats(grads)}


def read(name):
    with open(os.path.join(HERE, name), encoding="ascii") as f:
        return json.load(f)


def mlp_loss(model):
    x = torch.tensor(model["inputs"], dtype=torch.float32)
    if model["config"]["loss"] == "mse":
        y = torch.tensor(model["targets"], dtype=torch.float32)
        return lambda p: (record.mlp_output(p, x, "gelu_tanh").float() - y).square().sum(dim=1).mean() / 2
    y = torch.tensor(model["targets"])
    return lambda p: record.F.cross_entropy(record.mlp_output(p, x, "relu").float(), y)


def main():
    gpt, mlp = read("gpt.json"), read("mlp.json")
    loss, _ = record.gpt_losses(gpt["inputs"], gpt["targets"])
    out = {"note": "gradients by torch.autocast in bf16 of the models in gpt.json and mlp.json: record_bf16.py",
           "torch": torch.__version__, "gpt": gradients(gpt, loss), "mlp": gradients(mlp, mlp_loss(mlp)),
           "mse": gradients(mlp["mse"], mlp_loss(mlp["mse"]))}
    with open(os.path.join(HERE, "bf16.json"), "w", encoding="ascii") as f:
        f.write(record.text(out) + "\n")
    for name in ("gpt", "mlp", "mse"):
        print(name, out[name]["loss"], max(out[name]["error"].items(), key=lambda e: e[1]))


main()
