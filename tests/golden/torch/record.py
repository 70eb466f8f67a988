#!/usr/bin/env python3
"""Record PyTorch f64 numbers for the layers, models and optimizers of the C program.

Run once, from this folder, and commit what it writes:

    apt-get install python3-torch python3-numpy     (Debian 12: torch 1.13.0a0, numpy 1.24.2, CPU)
    /usr/bin/python3 record.py               write gpt.json gpt_tied.json mlp.json layers.json clip.json, then check
    /usr/bin/python3 record.py --check       no torch: recompute the files from their own conventions (check.py)
    /usr/bin/python3 record.py --float       how far the same runs in f32 end from the files

One thread, values drawn by Python's generator: a second run on the same machine writes the same bytes.
PyTorch is a yardstick here and nothing else; the tests read the JSON files only. The schema is in README.md.
"""
import copy
import json
import math
import os
import random
import sys

sys.dont_write_bytecode = True
import check

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 5
LN_EPS = 1e-5
ADAM = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
GPT = {"vocab": 11, "n_embd": 8, "n_head": 2, "n_layer": 2, "block": 6, "batch": 3, "ln_eps": LN_EPS}
GPT_SEED = 20251
MLP_SEED = 20293  # no hidden unit dead over the whole batch
LAYER_SEED = 20253

if "--check" not in sys.argv:
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


# ---- values ---------------------------------------------------------------------------------------------------------

def normal(rng, shape, std=1.0, mean=0.0):
    return torch.tensor([rng.gauss(mean, std) for _ in range(math.prod(shape))], dtype=torch.float64).reshape(shape)


def flat(t):
    return t.detach().reshape(-1).tolist()


def flats(tensors):
    return {name: flat(t) for name, t in tensors.items()}


def gpt_params(rng, tied):
    """Every parameter non-trivial, so that a swapped bias or a forgotten LayerNorm weight cannot hide."""
    C, V, T = GPT["n_embd"], GPT["vocab"], GPT["block"]
    p = {"wte.weight": normal(rng, (V, C), 0.5), "wpe.weight": normal(rng, (T, C), 0.3)}

    def norm(name):
        p[name + ".weight"] = normal(rng, (C,), 0.3, 1.0)
        p[name + ".bias"] = normal(rng, (C,), 0.2)

    def linear(name, n_in, n_out):
        p[name + ".weight"] = normal(rng, (n_in, n_out), n_in ** -0.5)
        p[name + ".bias"] = normal(rng, (n_out,), 0.2)

    for i in range(GPT["n_layer"]):
        norm(f"h.{i}.ln_1")
        linear(f"h.{i}.attn.c_attn", C, 3 * C)
        linear(f"h.{i}.attn.c_proj", C, C)
        norm(f"h.{i}.ln_2")
        linear(f"h.{i}.mlp.c_fc", C, 4 * C)
        linear(f"h.{i}.mlp.c_proj", 4 * C, C)
    norm("ln_f")
    if not tied:
        p["lm_head.weight"] = normal(rng, (C, V), C ** -0.5)
    return p


def mlp_params(rng, sizes):
    p = {}
    for i, (n_in, n_out) in enumerate(zip(sizes, sizes[1:])):
        p[f"fc.{i}.weight"] = normal(rng, (n_in, n_out), n_in ** -0.5)
        p[f"fc.{i}.bias"] = normal(rng, (n_out,), 0.2)
    return p


# ---- models ---------------------------------------------------------------------------------------------------------

def attention(qkv, B, T, n_head):
    """qkv [B*T, 3C] -> [B*T, C]; heads are contiguous ranges of C within q, k and v."""
    C = qkv.shape[1] // 3
    q, k, v = (t.reshape(B, T, n_head, C // n_head).transpose(1, 2) for t in qkv.split(C, dim=1))
    score = q @ k.transpose(2, 3) / math.sqrt(C // n_head)
    score = score.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -math.inf)
    return (F.softmax(score, dim=3) @ v).transpose(1, 2).reshape(B * T, C)


def gpt_logits(p, tokens, head=None):
    """head: [C, V]; None takes lm_head.weight, or wte.weight transposed where there is none."""
    B, T = tokens.shape
    C = GPT["n_embd"]

    def norm(x, name):
        return F.layer_norm(x, (C,), p[name + ".weight"], p[name + ".bias"], LN_EPS)

    def linear(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    x = (F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][:T]).reshape(B * T, C)
    for i in range(GPT["n_layer"]):
        h = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn")
        x = x + linear(attention(h, B, T, GPT["n_head"]), f"h.{i}.attn.c_proj")
        h = F.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + linear(h, f"h.{i}.mlp.c_proj")
    if head is None:
        head = p["lm_head.weight"] if "lm_head.weight" in p else p["wte.weight"].t()
    return norm(x, "ln_f") @ head


def mlp_output(p, x, hidden):
    n = len(p) // 2
    for i in range(n):
        x = x @ p[f"fc.{i}.weight"] + p[f"fc.{i}.bias"]
        if i < n - 1:
            x = F.relu(x) if hidden == "relu" else F.gelu(x, approximate="tanh")
    return x


# ---- training -------------------------------------------------------------------------------------------------------

def leaves(params, dtype=None):
    return {n: t.detach().clone().to(dtype or t.dtype).requires_grad_() for n, t in params.items()}


def decays(p):
    return [t for t in p.values() if t.dim() == 2], [t for t in p.values() if t.dim() != 2]


def optimizer(run, p):
    if run["kind"] in ("adam", "adamw"):
        matrices, rest = decays(p)
        groups = [{"params": matrices, "weight_decay": run["weight_decay"]}, {"params": rest, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=0.0, betas=(run["beta1"], run["beta2"]), eps=run["eps"])
    return torch.optim.SGD(list(p.values()), lr=1.0, momentum=run["momentum"], nesterov=run["nesterov"])


def train(params, loss_of, run, dtype=None):
    """STEPS steps on one batch. Decay of SGD is by hand: w *= 1 - lr * decay before the step, matrices only."""
    p = leaves(params, dtype)
    opt = optimizer(run, p)
    out = dict(run, loss=[])
    for step in range(STEPS + 1):
        loss = loss_of(p)
        out["loss"].append(loss.item())
        if step == STEPS:
            return out
        opt.zero_grad()
        loss.backward()
        if "max_norm" in run:
            norm = torch.nn.utils.clip_grad_norm_(list(p.values()), run["max_norm"])
            out.setdefault("norm", []).append(norm.item())
        lr = run["lr"][step] if isinstance(run["lr"], list) else run["lr"]
        for group in opt.param_groups:
            group["lr"] = lr
        if run["kind"] == "sgd":
            with torch.no_grad():
                for t in decays(p)[0]:
                    t.mul_(1.0 - lr * run["weight_decay"])
        opt.step()
        if step + 1 in (1, STEPS):
            out[f"params_{step + 1}"] = flats(p)


def gradients(params, loss_of):
    p = leaves(params)
    loss_of(p).backward()
    return {n: t.grad for n, t in p.items()}


def sgd(lr, momentum=0.0, nesterov=False, weight_decay=0.0):
    return {"kind": "sgd", "lr": lr, "momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}


def adam(kind, lr, weight_decay):
    return dict({"kind": kind, "lr": lr, "weight_decay": weight_decay}, **ADAM)


def model_record(params, loss_of, part_losses, runs, dtype):
    """part_losses(p): the loss terms whose mean is the loss, in the shape of the targets."""
    loss = loss_of(leaves(params))
    return {
        "shapes": {n: list(t.shape) for n, t in params.items()},
        "params": flats(params),
        "loss": loss.item(),
        "losses": part_losses(leaves(params)).detach().tolist(),
        "grads": flats(gradients(params, loss_of)),
        "runs": {name: train(params, loss_of, run, dtype) for name, run in runs.items()},
    }


# ---- the files ------------------------------------------------------------------------------------------------------

def gpt_batch(rng):
    """Token 7 never occurs and 3 only as a target: rows of wte without gradient from the embedding."""
    tokens = [[rng.choice([0, 1, 2, 4, 5, 6, 8, 9, 10]) for _ in range(GPT["block"])] for _ in range(GPT["batch"])]
    last = [rng.choice([0, 1, 2, 3]) for _ in tokens]
    targets = [row[1:] + [t] for row, t in zip(tokens, last)]
    targets[0][2] = 3
    return tokens, targets


def gpt_losses(tokens, targets):
    x, y = torch.tensor(tokens), torch.tensor(targets)

    def parts(p):
        return F.cross_entropy(gpt_logits(p, x), y.reshape(-1), reduction="none").reshape(y.shape)

    def loss(p):
        return F.cross_entropy(gpt_logits(p, x), y.reshape(-1))

    return loss, parts


def gpt_record(tied, dtype=None):
    rng = random.Random(GPT_SEED)
    tokens, targets = gpt_batch(rng)
    params = gpt_params(rng, tied)
    loss, parts = gpt_losses(tokens, targets)
    note = "GPT-2 shape, f64; all matrices row-major [in, out] (y = x w + b), embeddings [rows, C]. "
    if tied:
        note += "The head is wte transposed, logits = x wte^T; its gradient is the sum of both uses, which grads_wte "
        note += "holds apart ([V, C] each)."
    else:
        note += "lm_head.weight is [C, V] like every other matrix here, not [V, C] as torch.nn.Linear would store it."
    note += " The key biases (c_attn.bias C..2C) have gradient zero up to rounding, which Adam blows up: see README.md."
    out = {"note": note, "torch": torch.__version__, "config": dict(GPT, tied=tied, hidden="gelu_tanh"),
           "inputs": tokens, "targets": targets}
    out.update(model_record(params, loss, parts, {"adamw": adam("adamw", 0.01, 0.1)}, dtype))
    if tied:
        p = leaves(params)
        head = p["wte.weight"].detach().clone().requires_grad_()
        y = torch.tensor(targets).reshape(-1)
        F.cross_entropy(gpt_logits(p, torch.tensor(tokens), head.t()), y).backward()
        out["grads_wte"] = {"embedding": flat(p["wte.weight"].grad), "head": flat(head.grad)}
    return out


def mlp_record(dtype=None):
    rng = random.Random(MLP_SEED)
    sizes, n = [7, 9, 8, 5], 6
    x = normal(rng, (n, sizes[0]))
    y = torch.tensor([rng.randrange(sizes[-1]) for _ in range(n)])
    params = mlp_params(rng, sizes)

    def parts(p):
        return F.cross_entropy(mlp_output(p, x.to(p["fc.0.bias"].dtype), "relu"), y, reduction="none")

    runs = {
        "adamw": adam("adamw", 0.01, 0.1),
        "adam": adam("adam", 0.01, 0.0),
        "sgd": sgd(0.05),
        "sgd_decay": sgd(0.05, weight_decay=0.01),
        "momentum": sgd(0.05, 0.9),
        "nesterov": sgd(0.05, 0.9, True),
    }
    out = {"note": "f64; matrices row-major [in, out]; activation after every layer but the last. mse: GELU tanh and "
                   "loss = sum (a - y)^2 / (2 batch), losses = each sample's half square sum.",
           "torch": torch.__version__,
           "config": {"sizes": sizes, "hidden": "relu", "loss": "cross_entropy", "batch": n},
           "inputs": x.tolist(), "targets": y.tolist()}
    out.update(model_record(params, lambda p: parts(p).mean(), parts, runs, dtype))

    sizes = [7, 9, 5]
    mx, my = normal(rng, (n, sizes[0])), normal(rng, (n, sizes[-1]))
    params = mlp_params(rng, sizes)

    def halves(p):
        t = p["fc.0.bias"].dtype
        return (mlp_output(p, mx.to(t), "gelu_tanh") - my.to(t)).square().sum(dim=1) / 2

    out["mse"] = {"config": {"sizes": sizes, "hidden": "gelu_tanh", "loss": "mse", "batch": n},
                  "inputs": mx.tolist(), "targets": my.tolist()}
    out["mse"].update(model_record(params, lambda p: halves(p).mean(), halves, {"sgd": sgd(0.05)}, dtype))
    return out


def layer_case(inputs, ints, forward, rng, config):
    """inputs: tensors by name, all differentiated; dy is random, gradients are of sum(dy * y)."""
    p = leaves(inputs)
    y = forward(p)
    case = dict(config, shapes={n: list(t.shape) for n, t in inputs.items()})
    case["shapes"]["y"] = list(y.shape)
    case.update(ints)
    case.update(flats(inputs))
    case["y"] = flat(y)
    dy = normal(rng, tuple(y.shape))
    (y * dy).sum().backward()
    case["dy"] = flat(dy)
    case.update({"d" + n: flat(t.grad) for n, t in p.items()})
    return case


def layers_record():
    rng = random.Random(LAYER_SEED)
    out = {"note": "f64, row-major; y = forward(inputs), and dx, dw, ... are the gradients of sum(dy * y).",
           "torch": torch.__version__}
    act = {"none": lambda y: y, "relu": F.relu, "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}
    for name, f in act.items():
        inputs = {"x": normal(rng, (5, 4), 1.5), "w": normal(rng, (4, 3)), "b": normal(rng, (3,))}
        out["linear_" + name] = layer_case(inputs, {}, lambda p: f(p["x"] @ p["w"] + p["b"]), rng, {"hidden": name})
    inputs = {"x": normal(rng, (4, 7), 2.0, 0.5), "w": normal(rng, (7,), 0.5, 1.0), "b": normal(rng, (7,))}
    inputs["x"][3] *= 1e-3  # variance near ln_eps, so that a wrong epsilon shows
    out["layer_norm"] = layer_case(inputs, {}, lambda p: F.layer_norm(p["x"], (7,), p["w"], p["b"], LN_EPS), rng,
                                   {"ln_eps": LN_EPS})
    shapes = {"attention": (2, 5, 2, 6), "attention_1_head": (1, 4, 1, 3), "attention_1_token": (3, 1, 2, 4)}
    for name, (B, T, heads, C) in shapes.items():
        out[name] = layer_case({"x": normal(rng, (B * T, 3 * C))}, {}, lambda p: attention(p["x"], B, T, heads), rng,
                               {"batch": B, "T": T, "n_head": heads})
    tokens = [[3, 0, 3, 5], [1, 3, 0, 5]]
    inputs = {"wte": normal(rng, (6, 5)), "wpe": normal(rng, (7, 5))}

    def embed(p):
        return (F.embedding(torch.tensor(tokens), p["wte"]) + p["wpe"][:4]).reshape(8, 5)

    out["embedding"] = layer_case(inputs, {"tokens": tokens}, embed, rng, {})

    x = (normal(rng, (6, 5), 2.0) * 64).round() / 64  # exact in f32 too, also after what follows
    x[2] += 800.0  # beyond exp() in f64: the row maximum must be subtracted
    x[3] *= 16.0
    x[4] -= 800.0
    y = [rng.randrange(5) for _ in range(6)]
    p = leaves({"x": x})
    parts = F.cross_entropy(p["x"], torch.tensor(y), reduction="none")
    parts.mean().backward()
    out["softmax_cross_entropy"] = {"shapes": {"x": [6, 5]}, "targets": y, "x": flat(x), "losses": flat(parts),
                                    "loss": parts.mean().item(), "dx": flat(p["x"].grad)}
    x, t = normal(rng, (4, 3)), normal(rng, (4, 3))
    p = leaves({"x": x})
    parts = (p["x"] - t).square().sum(dim=1) / 2
    parts.mean().backward()
    out["mse"] = {"shapes": {"x": [4, 3], "targets": [4, 3]}, "targets": flat(t), "x": flat(x), "losses": flat(parts),
                  "loss": parts.mean().item(), "dx": flat(p["x"].grad)}
    return out


def clip_record(dtype=None):
    rng = random.Random(GPT_SEED)
    tokens, targets = gpt_batch(rng)
    params = gpt_params(rng, False)
    loss, _ = gpt_losses(tokens, targets)
    grads = gradients(params, loss)
    cases = {}
    for name, max_norm in (("clipped", 0.5), ("untouched", 100.0)):
        p = leaves(params)
        for n, t in p.items():
            t.grad = copy.deepcopy(grads[n])
        norm = torch.nn.utils.clip_grad_norm_(list(p.values()), max_norm).item()
        case = {"max_norm": max_norm, "norm": norm, "coefficient": min(1.0, max_norm / (norm + 1e-6))}
        if case["coefficient"] < 1.0:
            case["grads"] = {n: flat(t.grad) for n, t in p.items()}
        cases[name] = case
    run = dict(adam("adamw", [0.002, 0.006, 0.01, 0.007, 0.004], 0.1), max_norm=0.5)
    note = ("of: the file with model, batch and unclipped gradients. sumsq: each tensor's sum of squares, norm = the root "
            "of their sum. Gradients are multiplied by the coefficient min(1, max_norm / (norm + 1e-6)). The run clips "
            "before every step and has a learning rate for each.")
    return {"note": note, "torch": torch.__version__, "of": "gpt.json",
            "sumsq": {n: t.square().sum().item() for n, t in grads.items()}, "cases": cases,
            "runs": {"adamw_clipped": train(params, loss, run, dtype)}}


# ---- output ---------------------------------------------------------------------------------------------------------

def text(value):
    """Objects that hold arrays of floats or objects: one member a line. Else compact. Floats: all the digits of f64."""
    def long(v):
        return isinstance(v, dict) or isinstance(v, list) and not all(isinstance(i, int) for i in v)

    if not isinstance(value, dict) or not any(long(v) for v in value.values()):
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    inner = ",\n".join(f"{json.dumps(k)}:{text(v)}" for k, v in value.items())
    return "{\n" + inner + "\n}"


def records(dtype=None):
    return {"gpt": gpt_record(False, dtype), "gpt_tied": gpt_record(True, dtype), "mlp": mlp_record(dtype),
            "layers": layers_record(), "clip": clip_record(dtype)}


def distance(wide, narrow):
    """Largest |difference| over 1 + |value| of two parameter tables, without the key biases (see README.md)."""
    worst = (0.0, "")
    for name, values in wide.items():
        C = len(values) // 3
        for i, (a, b) in enumerate(zip(values, narrow[name])):
            if not (name.endswith("c_attn.bias") and C <= i < 2 * C):
                worst = max(worst, (abs(a - b) / (1.0 + abs(a)), f"{name}[{i}]"))
    return worst


def print_float():
    wide, narrow = records(), records(torch.float32)
    for file, record in wide.items():
        for run, r in record.get("runs", {}).items():
            n = narrow[file]["runs"][run]
            loss = max(abs(a - b) / abs(a) for a, b in zip(r["loss"], n["loss"]))
            key = [abs(r["params_5"][k][i] - n["params_5"][k][i]) for k in r["params_5"] if k.endswith("c_attn.bias")
                   for i in range(8, 16)]
            print(f"{file} {run}: loss {loss:.1e}, params_5 {distance(r['params_5'], n['params_5'])}, "
                  f"key biases {max(key, default=0.0):.1e}")


def main():
    if "--float" in sys.argv:
        print_float()
        return 0
    if "--check" not in sys.argv:
        for name, record in records().items():
            with open(os.path.join(HERE, name + ".json"), "w", encoding="ascii") as f:
                f.write(text(record) + "\n")
    return check.check_all(HERE)


if __name__ == "__main__":
    sys.exit(main())
