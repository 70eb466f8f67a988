"""A vision transformer: a class token and patches of an image, of which only the token is classified."""
import torch
from torch import nn

from .text import sdpa
from .training import Linear, Training, adamw


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.in_proj, self.out_proj = Linear(width, 3 * width), Linear(width, width)
        self.fc, self.proj = Linear(width, 4 * width), Linear(4 * width, width)

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.in_proj(x).split(c, 2))
        return self.out_proj(sdpa(q, k, v, causal=False).transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.proj(nn.functional.gelu(self.fc(self.ln_2(x))))


class Vit(nn.Module):
    def __init__(self, layers, width, heads, patch, side, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.ln, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, classes)

    def begin(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        return torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions

    def forward(self, images, targets):
        x = self.blocks(self.begin(images))
        return nn.functional.cross_entropy(self.head(self.ln(x[:, 0])), targets)

    def compiled(self):
        """The block, which all its layers share."""
        block = torch.compile(Block.forward, dynamic=False)

        def loss(images, targets):
            x = self.begin(images)
            for b in self.blocks:
                x = block(b, x)
            return nn.functional.cross_entropy(self.head(self.ln(x[:, 0])), targets)

        return loss


def vit(layers, width, heads, patch, side, classes, batch):
    model = Vit(layers, width, heads, patch, side, classes).to(memory_format=torch.channels_last)
    x = torch.randn(batch, 3, side, side).to(memory_format=torch.channels_last)
    rows = batch * ((side // patch) ** 2 + 1)
    return Training(model, adamw(model), x, torch.randint(classes, (batch,)), rows=rows, compiled=model.compiled)


CASES = {
    "vit384-b16": lambda: vit(6, 384, 6, 4, 32, 10, 16),
}
