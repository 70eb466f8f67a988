"""Multilayer perceptrons."""
import torch
from torch import nn

from .training import Linear, Training, momentum


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        parts = []
        for i, (a, b) in enumerate(zip(shape, shape[1:])):
            parts += [Linear(a, b)] + ([nn.ReLU()] if i + 2 < len(shape) else [])
        self.layers = nn.Sequential(*parts)

    def forward(self, x, targets):
        return nn.functional.cross_entropy(self.layers(x), targets)


def mlp(shape, batch):
    model = Mlp(shape)
    return Training(model, momentum(model), torch.randn(batch, shape[0]), torch.randint(shape[-1], (batch,)),
                    rows=batch)


CASES = {
    "tiny": lambda: mlp([8] + [16] * 4 + [10], 8),
    "mlp1024-b32": lambda: mlp([784] + [1024] * 6 + [10], 32),
    "mlp1024-b128": lambda: mlp([784] + [1024] * 6 + [10], 128),
    "mlp128-b8": lambda: mlp([128] + [128] * 16 + [10], 8),
    "mlp128-b16": lambda: mlp([128] + [128] * 16 + [10], 16),
    "mlp128-b32": lambda: mlp([128] + [128] * 16 + [10], 32),
    "mlp256-b16": lambda: mlp([256] + [256] * 16 + [10], 16),
}
