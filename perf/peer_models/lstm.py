"""Language models of LSTM layers, with a head tied to the embedding."""
import torch
from torch import nn

from .training import Training, adamw


class LanguageModel(nn.Module):
    def __init__(self, layers, width, vocab):
        super().__init__()
        self.encoder, self.rnns = nn.Embedding(vocab, width), nn.LSTM(width, width, layers, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, tokens, targets):
        x = self.rnns(self.encoder(tokens))[0]
        logits = nn.functional.linear(x, self.encoder.weight, self.bias)
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets)


def lstm(layers, width, context, vocab, batch):
    model = LanguageModel(layers, width, vocab)
    tokens, targets = (torch.randint(vocab, (batch, context)) for _ in range(2))
    return Training(model, adamw(model), tokens, targets.flatten(), compiles_f32=False)


CASES = {
    "lstm512-b16": lambda: lstm(3, 512, 64, 512, 16),
}
