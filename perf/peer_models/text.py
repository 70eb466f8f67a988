"""GPT-2, and attention alone."""
import torch
from torch import nn

from .training import Linear, Training, adamw


def sdpa(q, k, v, causal=True):
    if hasattr(nn.functional, "scaled_dot_product_attention"):
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores, t = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, q.shape[-2]  # older than 2.0
    if causal:
        scores = scores + torch.full((t, t), float("-inf"), dtype=q.dtype).triu(1)
    return torch.softmax(scores, -1) @ v


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
        """The block, which all its layers share, and the head with the loss."""
        block, tail = torch.compile(Block.forward, dynamic=False), torch.compile(self.tail, dynamic=False)

        def loss(tokens, targets):
            x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
            for b in self.blocks:
                x = block(b, x)
            return tail(x, targets)

        return loss


def gpt(layers, width, heads, context, vocab, tied, batch):
    model = Gpt(layers, width, heads, context, vocab, tied)
    tokens, targets = (torch.randint(vocab, (batch, context)) for _ in range(2))
    return Training(model, adamw(model), tokens, targets.flatten(), rows=batch * context, compiled=model.compiled)


class Attention:
    """Queries, keys and values side by side, as a model's projection leaves them."""

    def __init__(self, heads, dim, t):
        self.heads, self.dim, self.t = heads, dim, t
        self.qkv = torch.randn(1, self.t, 3 * self.heads * self.dim)
        self.dy = torch.randn(1, self.t, self.heads * self.dim)

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


CASES = {
    "gpt128-b16": lambda: gpt(4, 128, 4, 128, 96, False, 16),
    "gpt256-b8": lambda: gpt(4, 256, 4, 128, 512, False, 8),
    "gpt2-124m": lambda: gpt(12, 768, 12, 64, 50257, True, 4),
    "gpt2-untied": lambda: gpt(12, 768, 12, 64, 50257, False, 4),
    "gpt2-4x256": lambda: gpt(12, 768, 12, 256, 50257, True, 4),
    "gpt2-16x256": lambda: gpt(12, 768, 12, 256, 50257, True, 16),
    "attention-2048": lambda: Attention(12, 64, 2048),
}
