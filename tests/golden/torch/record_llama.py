#!/usr/bin/env python3
"""Record loss and gradients of Hugging Face's LlamaForCausalLM in f64 for models/llama.c.

    pip install torch transformers           (torch 2.15.0, transformers 5.23.0, CPU)
    python record_llama.py                   write llama.json
    python record_llama.py --float           how far the unchanged model in f32 ends from it

transformers computes its norms and the rotary angles in f32 whatever the model's type is: for f64 both are replaced
here by the same formulas in f64. --float runs the model as it is. Values are drawn by Python's generator.
"""
import json
import math
import os
import random
import sys

import torch
import transformers
from transformers.models.llama import modeling_llama

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = {"vocab": 11, "width": 16, "heads": 4, "kv_heads": 2, "hidden": 24, "block": 6, "batch": 3,
          "eps": 1e-5, "theta": 100.0}
SEED = 20260


def layers_of(tied):
    return 1 if tied else 2


def model_of(tied):
    c = CONFIG
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=c["vocab"], hidden_size=c["width"], intermediate_size=c["hidden"], num_hidden_layers=layers_of(tied),
        num_attention_heads=c["heads"], num_key_value_heads=c["kv_heads"], max_position_embeddings=c["block"],
        rms_norm_eps=c["eps"], rope_parameters={"rope_type": "default", "rope_theta": c["theta"]},
        tie_word_embeddings=tied, attn_implementation="sdpa", use_cache=False))


def norm_f64(self, x):
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def rotary_f64(self, x, position_ids):
    d = CONFIG["width"] // CONFIG["heads"]
    inverse = CONFIG["theta"] ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = position_ids[:, :, None].to(torch.float64) * inverse
    angle = torch.cat((angle, angle), dim=-1)
    return angle.cos(), angle.sin()


def params_of(model, rng):
    """Every parameter non-trivial, so that a forgotten gain cannot hide."""
    params = {}
    for name, p in model.named_parameters():
        std, mean = (0.3, 1.0) if p.dim() == 1 else (0.5 if "embed" in name else p.shape[1] ** -0.5, 0.0)
        params[name] = torch.tensor([rng.gauss(mean, std) for _ in range(p.numel())],
                                    dtype=torch.float64).reshape(p.shape)
    return params


def run(model, params, tokens, targets, dtype):
    model = model.to(dtype)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(params[name])
    logits = model(tokens).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, CONFIG["vocab"]), targets.reshape(-1))
    loss.backward()
    return loss.item(), {name: p.grad.detach().reshape(-1).tolist() for name, p in model.named_parameters()}


def record(tied, dtype=torch.float64):
    rng = random.Random(SEED + tied)
    model = model_of(tied)
    params = params_of(model, rng)
    shape = (CONFIG["batch"], CONFIG["block"])
    tokens, targets = ([[rng.randrange(CONFIG["vocab"]) for _ in range(shape[1])] for _ in range(shape[0])]
                       for _ in range(2))
    loss, grads = run(model, params, torch.tensor(tokens), torch.tensor(targets), dtype)
    return {"config": CONFIG | {"layers": layers_of(tied), "tied": tied}, "inputs": tokens, "targets": targets,
            "shapes": {n: list(p.shape) for n, p in params.items()},
            "params": {n: p.reshape(-1).tolist() for n, p in params.items()}, "loss": loss, "grads": grads}


def main():
    path = os.path.join(HERE, "llama.json")
    if "--float" in sys.argv:
        recorded, most = json.load(open(path)), 0
        for part in ("own", "tied"):
            got = record(part == "tied", torch.float32)
            for name, want in recorded[part]["grads"].items():
                most = max([most] + [abs(a - b) / (1 + abs(b)) for a, b in zip(got["grads"][name], want)])
            most = max(most, abs(got["loss"] / recorded[part]["loss"] - 1))
        print(f"f32 as it is ends within {most:.2g}")
        return
    modeling_llama.LlamaRMSNorm.forward = norm_f64
    modeling_llama.LlamaRotaryEmbedding.forward = rotary_f64
    out = {"torch": torch.__version__, "transformers": transformers.__version__, "seed": SEED,
           "own": record(False), "tied": record(True)}
    with open(path, "w") as f:
        json.dump(out, f, separators=(",", ":"))
        f.write("\n")


main()
