"""Llama: RMS norms, rotary positions of half-split pairs, gated units, grouped heads."""
import torch
from torch import nn

from .training import Linear, Training, adamw


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return nn.functional.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, width // heads
        self.ln_1, self.ln_2 = Norm(width), Norm(width)
        self.q, self.o = (Linear(width, width, bias=False) for _ in range(2))
        self.k, self.v = (Linear(width, kv_heads * self.dim, bias=False) for _ in range(2))
        self.gate, self.up = (Linear(width, hidden, bias=False) for _ in range(2))
        self.down = Linear(hidden, width, bias=False)

    def attend(self, x, cos, sin):
        b, t, c = x.shape
        q = rotate(self.q(x).view(b, t, self.heads, self.dim).transpose(1, 2), cos, sin)
        k = rotate(self.k(x).view(b, t, self.kv_heads, self.dim).transpose(1, 2), cos, sin)
        v = self.v(x).view(b, t, self.kv_heads, self.dim).transpose(1, 2)
        same = self.heads == self.kv_heads
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=not same)
        return self.o(y.transpose(1, 2).reshape(b, t, c))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.ln_1(x), cos, sin)
        y = self.ln_2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, kv_heads, hidden, context, vocab, tied):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList([Block(width, heads, kv_heads, hidden) for _ in range(layers)])
        self.norm, self.head = Norm(width), Linear(width, vocab, bias=False)
        nn.init.normal_(self.embed.weight, std=0.02)
        if tied:
            self.head.weight = self.embed.weight
        dim = width // heads
        angles = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(0, dim, 2) / dim)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def tail(self, x, targets):
        return nn.functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for b in self.blocks:
            x = b(x, self.cos, self.sin)
        return self.tail(x, targets)

    def compiled(self):
        """The block, which all its layers share, and the head with the loss."""
        block, tail = torch.compile(Block.forward, dynamic=False), torch.compile(self.tail, dynamic=False)

        def loss(tokens, targets):
            x = self.embed(tokens)
            for b in self.blocks:
                x = block(b, x, self.cos, self.sin)
            return tail(x, targets)

        return loss


def llama(layers, width, heads, kv_heads, hidden, context, vocab, tied, batch):
    model = Llama(layers, width, heads, kv_heads, hidden, context, vocab, tied)
    tokens, targets = (torch.randint(vocab, (batch, context)) for _ in range(2))
    return Training(model, adamw(model), tokens, targets.flatten(), rows=batch * context, compiled=model.compiled)


CASES = {
    "llama256-b8": lambda: llama(4, 256, 8, 4, 688, 128, 512, False, 8),
    "llama768-b4": lambda: llama(12, 768, 12, 4, 2048, 64, 50257, True, 4),
}
