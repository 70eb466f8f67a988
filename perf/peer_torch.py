"""The cases of perf/steps/cases.c in PyTorch, as a yardstick that takes turns with ours: python3 peer_torch.py CASE
[THREADS]

Tuned as PyTorch's CPU users would: one GEMM thread pool (run it with OpenBLAS's OpenMP build or MKL), a malloc that
keeps its memory (perf/steps/peer.c sets MALLOC_MMAP_THRESHOLD_ and friends), fused optimizers where the version has
them, eager.

Says "ready PyTorch VERSION" when the model is built. Then, for each line "go N" on standard input, runs N steps and
answers "ms X", the time of one; ends with its input. By hand: echo go 20 | python3 perf/peer_torch.py mlp1024-b32
"""
import sys
import time

import torch
from torch import nn

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
}


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act = nn.GELU(approximate="tanh")
        self.register_buffer("mask", torch.full((context, context), float("-inf")).triu(1))

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.c_attn(x).split(c, 2))
        if hasattr(nn.functional, "scaled_dot_product_attention"):
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = torch.softmax(torch.baddbmm(
                self.mask, q.reshape(-1, t, c // self.heads), k.reshape(-1, t, c // self.heads).transpose(1, 2),
                alpha=(c // self.heads) ** -0.5), -1) @ v.reshape(-1, t, c // self.heads)
            y = y.view(b, self.heads, t, -1)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.proj(self.act(self.fc(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, context, vocab, tied):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads, context) for _ in range(layers)])
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
        nn.init.normal_(self.wte.weight, std=0.02)
        if tied:
            self.head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        return self.head(self.ln_f(self.blocks(x))).flatten(0, 1)


def fused(optimizer, model, **options):
    try:
        return optimizer(model.parameters(), fused=True, **options)
    except (TypeError, RuntimeError):  # older than 2.4
        return optimizer(model.parameters(), **options)


def build(kind, shape, batch):
    if kind == "gpt":
        _, _, _, context, vocab, _ = shape
        model = Gpt(*shape)
        x, y = (torch.randint(vocab, (batch, context)) for _ in range(2))
        return model, x, y.flatten(), fused(torch.optim.AdamW, model, lr=1e-4)
    parts = []
    for i, (a, b) in enumerate(zip(shape, shape[1:])):
        parts += [nn.Linear(a, b)] + ([nn.ReLU()] if i + 2 < len(shape) else [])
    model = nn.Sequential(*parts)
    return (model, torch.randn(batch, shape[0]), torch.randint(shape[-1], (batch,)),
            fused(torch.optim.SGD, model, lr=1e-4, momentum=0.9))


def main():
    name = sys.argv[1]
    kind, shape, batch = CASES[name]
    torch.manual_seed(1)
    torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
    torch.set_flush_denormal(True)
    model, x, y, optimizer = build(kind, shape, batch)
    print(f"ready PyTorch {torch.__version__.split('+')[0]}", flush=True)
    while line := sys.stdin.readline():
        steps = int(line.split()[1])
        for i in range(1 + steps):  # the first finds caches that others used meanwhile
            if i == 1:
                begin = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        print(f"ms {(time.perf_counter() - begin) * 1000 / steps:.6f}", flush=True)


main()
