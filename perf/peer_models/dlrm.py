"""DLRM: clicks from numbers and categories, by tables with sparse gradients, products of pairs and two perceptrons."""
import torch
from torch import nn

from .training import Training, fused

LR = 1e-4


class Both:
    """An optimizer of what has dense gradients, fused, and one of the tables: fused ones take no sparse gradients."""

    def __init__(self, dense, tables):
        self.parts = [fused(torch.optim.SGD, dense, lr=LR), torch.optim.SGD(tables.parameters(), lr=LR)]

    def zero_grad(self, set_to_none):
        for part in self.parts:
            part.zero_grad(set_to_none=set_to_none)

    def step(self):
        for part in self.parts:
            part.step()


def perceptron(widths, ends_in_relu):
    parts = []
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        parts += [nn.Linear(a, b)] + ([nn.ReLU()] if ends_in_relu or i + 2 < len(widths) else [])
    return nn.Sequential(*parts)


class Dense(nn.Module):
    def __init__(self, numbers, tables, width, hidden):
        super().__init__()
        n = 1 + tables
        self.bottom = perceptron([numbers, *hidden, width], True)
        self.top = perceptron([width + n * (n - 1) // 2, *hidden, 1], False)
        pairs = torch.tril_indices(n, n, -1)
        self.register_buffer("pairs", pairs[0] * n + pairs[1])

    def forward(self, numbers, rows, clicks):
        x = self.bottom(numbers)
        v = torch.stack((x, *rows), 1)
        dots = torch.bmm(v, v.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        odds = self.top(torch.cat((x, dots.to(x.dtype)), 1)).squeeze(1)
        return nn.functional.binary_cross_entropy_with_logits(odds.float(), clicks)


class Dlrm(nn.Module):
    def __init__(self, numbers, tables, rows, width, hidden):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for _ in range(tables)])
        self.dense = Dense(numbers, tables, width, hidden)

    def by(self, dense):
        def loss(numbers, categories, starts, clicks):
            return dense(numbers, [t(c, starts) for t, c in zip(self.tables, categories)], clicks)

        return loss

    def forward(self, *inputs):
        return self.by(self.dense)(*inputs)

    def compiled(self):
        """All but the tables, whose sparse gradients torch.compile does not take."""
        return self.by(torch.compile(self.dense, dynamic=False))


def dlrm(numbers, tables, rows, width, hidden, batch):
    model = Dlrm(numbers, tables, rows, width, hidden)
    x = nn.functional.softplus(torch.randn(batch, numbers))
    categories = (torch.rand(tables, batch) ** 3 * rows).long()  # the first rows are met far more often
    clicks = torch.randint(2, (batch,)).float()
    return Training(model, Both(model.dense, model.tables), x, list(categories), torch.arange(batch), clicks)


CASES = {
    "dlrm-b128": lambda: dlrm(13, 8, 1000, 16, [64, 32], 128),
}
