"""The cases of perf/steps/cases.c in PyTorch, as a yardstick that takes turns with ours: python3 peer_torch.py CASE
[THREADS [PRECISIONS]]

Tuned as PyTorch's CPU users would: one GEMM thread pool (run it with OpenBLAS's OpenMP build or MKL), a malloc that
keeps its memory (perf/steps/peer.c sets MALLOC_MMAP_THRESHOLD_ and friends), fused optimizers where the version has
them. f32 is eager. bf16 is autocast (weights and optimizer state in f32) in the fastest of these settings, each of
which is tried before:

    eager     as it comes
    compiled  torch.compile with inductor; of a GPT the block, which all its layers share, and the head with the loss
    packed    weights of linear layers in oneDNN's own layout, made anew after every optimizer step, forward and for
              the gradient of the input

PRECISIONS is f32, bf16 or f32,bf16. Both train the same weights: they are there once.

Says "trying PRECISION NAME" before each first step, "setting bf16 NAME: what each took", and "ready PyTorch VERSION"
when all is built. Then, for each line "go N PRECISION [WARM]" on standard input, runs WARM steps (1) and then N, and
answers "ms X", the time of one of the N; ends with its input. By hand:
echo go 20 f32 | python3 perf/peer_torch.py mlp1024-b32
"""
import ctypes
import gc
import os
import signal
import sys
import time

import torch
from torch import nn

TRY_S = 0.5  # a setting is tried for that long, or one step
COMPILE_S = 120  # at most

CASES = {  # kind, shape, batch
    "tiny": ("mlp", [8] + [16] * 4 + [10], 8),
    "mlp1024-b32": ("mlp", [784] + [1024] * 6 + [10], 32),
    "mlp1024-b128": ("mlp", [784] + [1024] * 6 + [10], 128),
    "mlp128-b8": ("mlp", [128] + [128] * 16 + [10], 8),
    "mlp128-b16": ("mlp", [128] + [128] * 16 + [10], 16),
    "mlp128-b32": ("mlp", [128] + [128] * 16 + [10], 32),
    "mlp256-b16": ("mlp", [256] + [256] * 16 + [10], 16),
    # layers, width, heads, context, vocabulary, tied head
    "gpt128-b16": ("gpt", (4, 128, 4, 128, 96, False), 16),
    "gpt256-b8": ("gpt", (4, 256, 4, 128, 512, False), 8),
    "gpt2-124m": ("gpt", (12, 768, 12, 64, 50257, True), 4),
    "gpt2-untied": ("gpt", (12, 768, 12, 64, 50257, False), 4),
    "gpt2-4x256": ("gpt", (12, 768, 12, 256, 50257, True), 4),
    "gpt2-16x256": ("gpt", (12, 768, 12, 256, 50257, True), 16),
    # heads, width of one, positions
    "attention-2048": ("attention", (12, 64, 2048), 1),
}


def sdpa(q, k, v):
    if hasattr(nn.functional, "scaled_dot_product_attention"):
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    t = q.shape[-2]  # older than 2.0
    mask = torch.full((t, t), float("-inf"), dtype=q.dtype).triu(1)
    return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + mask, -1) @ v


class Packed:
    """A weight in oneDNN's layout, for one direction and number of rows."""

    def __init__(self, rows):
        self.rows, self.of = rows, None

    def get(self, weight):
        if self.of is None:
            self.of = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), self.rows)
        return self.of


class PackedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, packs):
        rows = x.reshape(-1, x.shape[-1]).bfloat16()
        narrow = weight.detach().bfloat16()
        ctx.save_for_backward(rows, narrow)
        ctx.packs, ctx.shape, ctx.of_bias = packs, x.shape, bias is not None
        y = torch.ops.mkldnn._linear_pointwise(rows, packs[0].get(narrow), None if bias is None else bias.bfloat16(),
                                               "none", [], "")
        return y.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx, dy):
        rows, narrow = ctx.saved_tensors
        dy = dy.reshape(-1, dy.shape[-1]).bfloat16()
        dx = None
        if ctx.needs_input_grad[0]:
            dx = torch.ops.mkldnn._linear_pointwise(dy, ctx.packs[1].get(narrow.t()), None, "none", [], "")
            dx = dx.view(ctx.shape)
        return dx, (dy.t() @ rows).float(), dy.sum(0).float() if ctx.of_bias else None, None


class Linear(nn.Linear):
    packs = None  # two Packed: what the product goes by then

    def forward(self, x):
        if self.packs:
            return PackedProduct.apply(x, self.weight, self.bias, self.packs)
        return super().forward(x)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = Linear(width, 3 * width), Linear(width, width)
        self.fc, self.proj = Linear(width, 4 * width), Linear(4 * width, width)
        self.act = nn.GELU(approximate="tanh")

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.c_attn(x).split(c, 2))
        return self.c_proj(sdpa(q, k, v).transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.proj(self.act(self.fc(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, context, vocab, tied):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.ln_f, self.head = nn.LayerNorm(width), Linear(width, vocab, bias=False)
        nn.init.normal_(self.wte.weight, std=0.02)
        if tied:
            self.head.weight = self.wte.weight

    def tail(self, x, targets):
        return nn.functional.cross_entropy(self.head(self.ln_f(x)).flatten(0, 1), targets)

    def forward(self, tokens, targets):
        return self.tail(self.blocks(self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]), targets)

    def compiled(self):
        block, tail = torch.compile(Block.forward, dynamic=False), torch.compile(self.tail, dynamic=False)

        def loss(tokens, targets):
            x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
            for b in self.blocks:
                x = block(b, x)
            return tail(x, targets)

        return loss


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        parts = []
        for i, (a, b) in enumerate(zip(shape, shape[1:])):
            parts += [Linear(a, b)] + ([nn.ReLU()] if i + 2 < len(shape) else [])
        self.layers = nn.Sequential(*parts)

    def forward(self, x, targets):
        return nn.functional.cross_entropy(self.layers(x), targets)

    def compiled(self):
        return torch.compile(self, dynamic=False)


def fused(optimizer, model, **options):
    try:
        return optimizer(model.parameters(), fused=True, **options)
    except (TypeError, RuntimeError):  # older than 2.4
        return optimizer(model.parameters(), **options)


class Training:
    """A model with its optimizer and one batch."""

    def __init__(self, kind, shape, batch):
        if kind == "gpt":
            _, _, _, context, vocab, _ = shape
            self.model = Gpt(*shape)
            self.x, y = (torch.randint(vocab, (batch, context)) for _ in range(2))
            self.y, self.rows = y.flatten(), batch * context
            self.optimizer = fused(torch.optim.AdamW, self.model, lr=1e-4)
        else:
            self.model = Mlp(shape)
            self.x, self.y, self.rows = torch.randn(batch, shape[0]), torch.randint(shape[-1], (batch,)), batch
            self.optimizer = fused(torch.optim.SGD, self.model, lr=1e-4, momentum=0.9)
        self.linear = [m for m in self.model.modules() if isinstance(m, Linear)]

    def stepper(self, loss, autocast, packed=False):
        def step():
            for m in self.linear:
                m.packs = (Packed(self.rows), Packed(self.rows)) if packed else None
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                value = loss(self.x, self.y)
            value.backward()
            self.optimizer.step()
        return step

    def settings(self, precision):
        if precision == "f32":
            return {"eager": lambda: self.stepper(self.model, False)}
        return {
            "eager": lambda: self.stepper(self.model, True),
            "compiled": lambda: self.stepper(self.model.compiled(), True),
            "packed": lambda: self.stepper(self.model, True, packed=True),
        }


class Attention:
    """Queries, keys and values side by side, as a model's projection leaves them."""

    def __init__(self, shape, batch):
        self.heads, self.dim, self.t = shape
        self.qkv = torch.randn(batch, self.t, 3 * self.heads * self.dim)
        self.dy = torch.randn(batch, self.t, self.heads * self.dim)

    def stepper(self, attend, dtype):
        qkv, dy = self.qkv.to(dtype).requires_grad_(), self.dy.to(dtype)

        def step():
            qkv.grad = None
            attend(qkv).backward(dy)
        return step

    def forward(self, qkv):
        b, t, c = qkv.shape
        q, k, v = (x.view(b, t, self.heads, self.dim).transpose(1, 2) for x in qkv.split(c // 3, 2))
        return sdpa(q, k, v).transpose(1, 2).reshape(b, t, c // 3)

    def settings(self, precision):
        if precision == "f32":
            return {"eager": lambda: self.stepper(self.forward, torch.float32)}
        return {
            "eager": lambda: self.stepper(self.forward, torch.bfloat16),
            "compiled": lambda: self.stepper(torch.compile(self.forward, dynamic=False), torch.bfloat16),
        }


def too_long(_signal, _frame):
    raise TimeoutError(f"not ready after {COMPILE_S} s")


def first(step):
    """The step that compiles, packs and allocates."""
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(COMPILE_S)
    try:
        step()
    finally:
        signal.alarm(0)


def reason(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:80]}" if lines else type(error).__name__


def compare(steps):
    """Seconds of the fastest step of each, in turns."""
    took = dict.fromkeys(steps, float("inf"))
    begin = time.perf_counter()
    while time.perf_counter() - begin < TRY_S * len(steps):
        for name, step in steps.items():
            at = time.perf_counter()
            step()
            took[name] = min(took[name], time.perf_counter() - at)
    return took


def choose(training, precision):
    """The step of the fastest setting; says what each took."""
    steps, lacks = {}, {}
    for name, make in training.settings(precision).items():
        try:
            print(f"trying {precision} {name}", flush=True)
            step = make()
            first(step)
            steps[name] = step
        except Exception as error:  # whatever a version, a compiler or a CPU lacks
            lacks[name] = f"{name} cannot run here ({reason(error)})"
        gc.collect()
    if not steps:
        raise RuntimeError("; ".join(lacks.values()))
    if len(steps) + len(lacks) == 1:
        return next(iter(steps.values()))
    print(f"trying {precision} in turns", flush=True)
    took = compare(steps)
    best = min(took, key=took.get)
    told = [f"{name} {seconds * 1000:.3g} ms" for name, seconds in took.items()] + list(lacks.values())
    print(f"setting {precision} {best}: {'; '.join(told)}", flush=True)
    return steps[best]


def give_back():
    """What the settings that were not chosen have left behind, to the kernel: others need memory, too."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # not glibc
        pass


def main():
    name = sys.argv[1]
    precisions = sys.argv[3].split(",") if len(sys.argv) > 3 else ["f32"]
    kind, shape, batch = CASES[name]
    answers = os.fdopen(os.dup(1), "w")  # what a compiler prints is no answer
    os.dup2(2, 1)
    sys.stdout = answers
    torch.manual_seed(1)
    torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
    torch.set_flush_denormal(True)
    training = Attention(shape, batch) if kind == "attention" else Training(kind, shape, batch)
    steps = {p: choose(training, p) for p in precisions}
    give_back()
    for precision, step in steps.items():  # has its memory again before it is timed
        print(f"trying {precision} again", flush=True)
        step()
    print(f"ready PyTorch {torch.__version__.split('+')[0]}", flush=True)
    while line := sys.stdin.readline():
        _, count, precision, *warm = line.split()
        step, warm = steps[precision], int(warm[0]) if warm else 1
        for i in range(warm + int(count)):  # the first finds caches that others used meanwhile
            if i == warm:
                begin = time.perf_counter()
            step()
        print(f"ms {(time.perf_counter() - begin) * 1000 / int(count):.6f}", flush=True)


main()
