"""Translation by LSTM layers as in GNMT v2: the first layer of the encoder reads both ways, the decoder attends."""
import torch
from torch import nn

from .training import Linear, Training, adamw

PAD, BEGIN, END, FIRST = 0, 2, 3, 4
DROPOUT, SMOOTHING = 0.2, 0.1


def recurrent(inputs, width):
    return nn.LSTM(inputs, width, batch_first=True)


class Gnmt(nn.Module):
    def __init__(self, layers, width, vocab):
        super().__init__()
        self.source, self.target = nn.Embedding(vocab, width), nn.Embedding(vocab, width)
        self.forwards, self.backwards = recurrent(width, width), recurrent(width, width)
        self.encoder = nn.ModuleList([recurrent(width if i else 2 * width, width) for i in range(layers - 1)])
        self.queries = recurrent(width, width)
        self.decoder = nn.ModuleList([recurrent(2 * width, width) for _ in range(layers - 1)])
        self.linear_q, self.linear_k = (Linear(width, width, bias=False) for _ in range(2))
        self.vector, self.bias = nn.Parameter(torch.empty(width)), nn.Parameter(torch.zeros(width))
        self.scale = nn.Parameter(torch.full((1,), width**-0.5))
        self.head = Linear(width, vocab)
        for weight in (self.source.weight, self.target.weight, self.vector):
            nn.init.uniform_(weight, -0.1, 0.1)

    def encode(self, tokens, turned):
        """`turned`: where each row goes to if a sentence is read from its last token, [batch, rows, 1]."""
        x = self.source(tokens)
        turned = turned.expand_as(x)
        back = self.backwards(x.gather(1, turned))[0].gather(1, turned)
        x = torch.cat((self.forwards(x)[0], back), -1)
        for i, rnn in enumerate(self.encoder):
            y = rnn(nn.functional.dropout(x, DROPOUT))[0]
            x = x + y if i else y
        return x

    def attend(self, q, encoded, padding):
        both = self.linear_q(q).unsqueeze(2) + self.linear_k(encoded).unsqueeze(1) + self.bias
        scores = torch.tanh(both) @ (self.vector * (self.scale / self.vector.norm()))
        return torch.softmax(scores.masked_fill(padding, float("-inf")), -1) @ encoded

    def decode(self, q, context):
        x = q
        for i, rnn in enumerate(self.decoder):
            y = rnn(torch.cat((nn.functional.dropout(x, DROPOUT), context), -1))[0]
            x = x + y if i else y
        return x

    def tail(self, x, targets):
        total = nn.functional.cross_entropy(self.head(x).flatten(0, 1), targets, ignore_index=PAD, reduction="sum",
                                            label_smoothing=SMOOTHING)
        return total / x.shape[0]

    def by(self, attend, tail):
        def loss(tokens, turned, padding, begun, targets):
            encoded = self.encode(tokens, turned)
            q = self.queries(self.target(begun))[0]
            return tail(self.decode(q, attend(q, encoded, padding)), targets)

        return loss

    def forward(self, *inputs):
        return self.by(self.attend, self.tail)(*inputs)

    def compiled(self):
        """All but the LSTM layers, which torch.compile leaves as they are, and what lies between two of them."""
        return self.by(torch.compile(self.attend, dynamic=False), torch.compile(self.tail, dynamic=False))


def sentences(vocab, shortest, longest, batch):
    """Random sources, and the same backwards as targets, in one row more than the longest."""
    lengths = torch.randint(shortest, longest + 1, (batch, 1))
    row = torch.arange(longest + 1)
    words = torch.randint(FIRST, vocab, (batch, longest + 1))
    source = torch.where(row < lengths, words, torch.where(row == lengths, END, PAD))
    turned = torch.where(row <= lengths, lengths - row, row)
    last_first = words.gather(1, torch.where(row < lengths, lengths - 1 - row, row))
    targets = torch.where(row < lengths, last_first, torch.where(row == lengths, END, PAD))
    begun = torch.where(row <= lengths, targets.roll(1, 1), PAD)
    begun[:, 0] = BEGIN
    return source, turned.unsqueeze(2), (source == PAD).unsqueeze(1), begun, targets.flatten()


def gnmt(layers, width, vocab, shortest, longest, batch):
    model = Gnmt(layers, width, vocab)
    inputs = sentences(vocab, shortest, longest, batch)
    return Training(model, adamw(model), *inputs, rows=batch * (longest + 1), compiled=model.compiled)


CASES = {
    "gnmt512-b32": lambda: gnmt(4, 512, 4000, 20, 28, 32),
}
