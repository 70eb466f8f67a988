"""Recompute the recorded files with numpy alone, in the conventions that they state.

Written apart from record.py and from PyTorch: if README.md's conventions did not suffice, or the recording did
something else, a loss here would differ. Gradients are held against finite differences at a few coordinates of every
tensor, the optimizers against their formulas: one step of every run from the recorded gradients, and all steps of the
MLP's runs with a backward pass written out by hand. Run by `record.py` and `record.py --check`.
"""
import json
import os

import numpy as np

EXACT = 1e-12       # relative, the same sums in another order
DIFFERENCE = 2e-9   # relative, of a five-point difference: h^4 f(5)/30 and about 3e-16 f/h, with room
STEP = 1e-5
PICKS = 3


class Failed(Exception):
    pass


def close(what, got, want, tolerance=EXACT):
    got, want = np.asarray(got, float), np.asarray(want, float)
    if got.shape != want.shape:
        raise Failed(f"{what}: shape {got.shape}, recorded {want.shape}")
    worst = float(np.max(np.abs(got - want) / (1.0 + np.abs(want)), initial=0.0))
    if not worst <= tolerance:
        raise Failed(f"{what}: off by {worst:.3e}, tolerance {tolerance:.0e}")


def tensors(table, shapes):
    return {n: np.array(v).reshape(shapes[n]) for n, v in table.items()}


# ---- forward --------------------------------------------------------------------------------------------------------

def gelu_tanh(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x ** 3)))


ACTIVATION = {"none": lambda x: x, "relu": lambda x: np.maximum(x, 0.0), "gelu_tanh": gelu_tanh}


def layer_norm(x, w, b, eps):
    mean = x.mean(axis=1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * w + b


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(qkv, batch, T, n_head):
    """Loops on purpose: head h of q is columns h*d .. h*d+d, of k the same after C, of v after 2C."""
    C = qkv.shape[1] // 3
    d = C // n_head
    y = np.zeros((batch * T, C))
    for b in range(batch):
        for h in range(n_head):
            rows, cols = slice(b * T, b * T + T), np.arange(h * d, h * d + d)
            q, k, v = qkv[rows][:, cols], qkv[rows][:, C + cols], qkv[rows][:, 2 * C + cols]
            for t in range(T):
                y[b * T + t, cols] = softmax(k[:t + 1] @ q[t] / np.sqrt(d)) @ v[:t + 1]
    return y


def cross_entropy(logits, targets):
    x = logits - logits.max(axis=1, keepdims=True)
    return np.log(np.exp(x).sum(axis=1)) - x[np.arange(len(targets)), targets]


def gpt_losses(r, p):
    c = r["config"]
    tokens = np.array(r["inputs"])
    B, T = tokens.shape
    x = (p["wte.weight"][tokens] + p["wpe.weight"][:T]).reshape(B * T, -1)

    def norm(x, n):
        return layer_norm(x, p[n + ".weight"], p[n + ".bias"], c["ln_eps"])

    def linear(x, n):
        return x @ p[n + ".weight"] + p[n + ".bias"]

    for i in range(c["n_layer"]):
        n = f"h.{i}."
        a = attention(linear(norm(x, n + "ln_1"), n + "attn.c_attn"), B, T, c["n_head"])
        x = x + linear(a, n + "attn.c_proj")
        x = x + linear(gelu_tanh(linear(norm(x, n + "ln_2"), n + "mlp.c_fc")), n + "mlp.c_proj")
    head = p["wte.weight"].T if c["tied"] else p["lm_head.weight"]
    return cross_entropy(norm(x, "ln_f") @ head, np.array(r["targets"]).reshape(-1)).reshape(B, T)


def mlp_losses(r, p):
    x, n = np.array(r["inputs"]), len(p) // 2
    for i in range(n):
        x = x @ p[f"fc.{i}.weight"] + p[f"fc.{i}.bias"]
        if i < n - 1:
            x = ACTIVATION[r["config"]["hidden"]](x)
    if r["config"]["loss"] == "mse":
        return ((x - np.array(r["targets"])) ** 2).sum(axis=1) / 2
    return cross_entropy(x, r["targets"])


# ---- gradients and optimizers ---------------------------------------------------------------------------------------

def check_differences(what, f, p, grads, every=False):
    """f(p) is a number; nudges every coordinate, or PICKS of each tensor with the largest gradient among them."""
    rng = np.random.RandomState(1)
    count = 0
    for name, g in grads.items():
        g = g.reshape(-1)
        some = {int(np.argmax(np.abs(g))), *rng.randint(0, g.size, PICKS - 1).tolist()}
        for i in range(g.size) if every else some:
            def at(h):
                q = dict(p)
                q[name] = p[name].copy()
                q[name].reshape(-1)[i] += h
                return f(q)

            slope = (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)
            close(f"{what} d{name}[{i}]", slope, g[i], DIFFERENCE)
            count += 1
    return count


def optimizer_step(run, t, w, g, state):
    """Step t = 1, 2, ... of one tensor; decay on matrices alone, and before the step."""
    lr = run["lr"][t - 1] if isinstance(run["lr"], list) else run["lr"]
    if w.ndim == 2:
        w = w * (1.0 - lr * run["weight_decay"])
    if run["kind"] == "sgd":
        buf = state["buf"] = run["momentum"] * state.get("buf", 0.0) + g
        return w - lr * (g + run["momentum"] * buf if run["nesterov"] else buf)
    b1, b2 = run["beta1"], run["beta2"]
    m = state["m"] = b1 * state.get("m", 0.0) + (1.0 - b1) * g
    v = state["v"] = b2 * state.get("v", 0.0) + (1.0 - b2) * g * g
    return w - lr * (m / (1.0 - b1 ** t)) / (np.sqrt(v / (1.0 - b2 ** t)) + run["eps"])


def mlp_gradients(r, p):
    """Backward of the ReLU + cross-entropy MLP, written out."""
    acts, n = [np.array(r["inputs"])], len(p) // 2
    for i in range(n):
        y = acts[-1] @ p[f"fc.{i}.weight"] + p[f"fc.{i}.bias"]
        acts.append(np.maximum(y, 0.0) if i < n - 1 else y)
    d = softmax(acts[-1])
    d[np.arange(len(d)), r["targets"]] -= 1.0
    d /= len(d)
    grads = {}
    for i in reversed(range(n)):
        grads[f"fc.{i}.weight"], grads[f"fc.{i}.bias"] = acts[i].T @ d, d.sum(axis=0)
        d = (d @ p[f"fc.{i}.weight"].T) * (acts[i] > 0.0)
    return grads


def check_model(what, r, losses_of):
    p, grads = tensors(r["params"], r["shapes"]), tensors(r["grads"], r["shapes"])
    losses = losses_of(r, p)
    close(what + " losses", losses, r["losses"])
    close(what + " loss", losses.mean(), r["loss"])
    count = check_differences(what, lambda q: losses_of(r, q).mean(), p, grads)
    check_runs(what, r, r["runs"], losses_of, p, grads)
    return count


def check_runs(what, model, runs, losses_of, p, grads):
    for name, run in runs.items():
        after = {k: tensors(run[f"params_{k}"], model["shapes"]) for k in (1, 5)}
        for k, q in ((0, p), (1, after[1]), (5, after[5])):
            close(f"{what} {name} loss after {k}", losses_of(model, q).mean(), run["loss"][k])
        for n, w in p.items():
            close(f"{what} {name} step 1 {n}", optimizer_step(run, 1, w, grads[n], {}), after[1][n])


def check_mlp_steps(r):
    for name, run in r["runs"].items():
        p, state = tensors(r["params"], r["shapes"]), {n: {} for n in r["params"]}
        for t in range(1, 6):
            close(f"mlp {name} loss {t}", mlp_losses(r, p).mean(), run["loss"][t - 1])
            g = mlp_gradients(r, p)
            if t == 1:
                for n in g:
                    close(f"mlp d{n}", g[n].reshape(-1), r["grads"][n])
            p = {n: optimizer_step(run, t, p[n], g[n], state[n]) for n in p}
        for n in p:
            close(f"mlp {name} step 5 {n}", p[n].reshape(-1), run["params_5"][n], 1e-11)


# ---- files ----------------------------------------------------------------------------------------------------------

def layer_forward(name, c, p):
    if name.startswith("linear_"):
        return ACTIVATION[c["hidden"]](p["x"] @ p["w"] + p["b"])
    if name == "layer_norm":
        return layer_norm(p["x"], p["w"], p["b"], c["ln_eps"])
    if name.startswith("attention"):
        return attention(p["x"], c["batch"], c["T"], c["n_head"])
    tokens = np.array(c["tokens"])
    return (p["wte"][tokens] + p["wpe"][:tokens.shape[1]]).reshape(tokens.size, -1)


def check_layers(layers):
    count = 0
    for name, c in layers.items():
        if not isinstance(c, dict):
            continue
        if "dy" in c:
            inputs = [n for n in c["shapes"] if n != "y"]
            p = {n: np.array(c[n]).reshape(c["shapes"][n]) for n in inputs}
            dy = np.array(c["dy"])
            close(name + " y", layer_forward(name, c, p).reshape(-1), c["y"])
            f = lambda q: float((layer_forward(name, c, q).reshape(-1) * dy).sum())
        else:
            inputs = ["x"]
            p = {"x": np.array(c["x"]).reshape(c["shapes"]["x"])}
            if name == "mse":
                losses = lambda q: ((q["x"] - np.array(c["targets"]).reshape(q["x"].shape)) ** 2).sum(axis=1) / 2
            else:
                losses = lambda q: cross_entropy(q["x"], c["targets"])
            close(name + " losses", losses(p), c["losses"])
            close(name + " loss", losses(p).mean(), c["loss"])
            f = lambda q: losses(q).mean()
        count += check_differences(name, f, p, {n: np.array(c["d" + n]) for n in inputs}, True)
    return count


def check_clip(r, gpt):
    for n, s in r["sumsq"].items():
        close("clip sumsq " + n, sum(x * x for x in gpt["grads"][n]), s)
    for case in r["cases"].values():
        close("clip norm", np.sqrt(sum(r["sumsq"].values())), case["norm"])
        close("clip coefficient", min(1.0, case["max_norm"] / (case["norm"] + 1e-6)), case["coefficient"])
        for n, g in case.get("grads", {}).items():
            close("clip " + n, np.array(gpt["grads"][n]) * case["coefficient"], g)
    clipped = tensors(r["cases"]["clipped"]["grads"], gpt["shapes"])
    check_runs("clip", gpt, r["runs"], gpt_losses, tensors(gpt["params"], gpt["shapes"]), clipped)


def check_all(folder):
    files = {}
    for name in ("gpt", "gpt_tied", "mlp", "layers", "clip"):
        with open(os.path.join(folder, name + ".json"), encoding="ascii") as f:
            files[name] = json.load(f)
    try:
        count = 0
        for name in ("gpt", "gpt_tied"):
            count += check_model(name, files[name], gpt_losses)
        tied = files["gpt_tied"]
        close("gpt_tied uses", np.array(tied["grads_wte"]["embedding"]) + np.array(tied["grads_wte"]["head"]),
              tied["grads"]["wte.weight"])
        count += check_model("mlp", files["mlp"], mlp_losses) + check_model("mlp mse", files["mlp"]["mse"], mlp_losses)
        check_mlp_steps(files["mlp"])
        count += check_layers(files["layers"])
        check_clip(files["clip"], files["gpt"])
    except Failed as e:
        print("FAILED", e)
        return 1
    print(f"ok: losses, optimizer steps and {count} finite differences agree")
    return 0
