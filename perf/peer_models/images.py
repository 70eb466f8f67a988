"""Convolutional networks, in PyTorch's layout of channels last."""
import torch
from torch import nn

from .training import Training, momentum


class Classifier(nn.Module):
    def __init__(self, *parts):
        super().__init__()
        self.layers = nn.Sequential(*parts)

    def forward(self, x, targets):
        return nn.functional.cross_entropy(self.layers(x), targets)


def vgg16(classes):
    """For images of 32 x 32, with two hidden layers of 512."""
    parts, last = [], 3
    for c in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        parts += [nn.Conv2d(last, c, 3, padding=1), nn.ReLU(inplace=True)] if c else [nn.MaxPool2d(2)]
        last = c or last
    for _ in range(2):
        parts += [nn.Linear(512, 512), nn.ReLU(inplace=True), nn.Dropout()]
    return Classifier(*parts[:-6], nn.Flatten(), *parts[-6:], nn.Linear(512, classes))


class Block(nn.Module):
    """Of a residual network."""

    def __init__(self, inputs, planes, stride, bottleneck):
        super().__init__()
        out = planes * (4 if bottleneck else 1)
        first = [nn.Conv2d(inputs, planes, 1, bias=False), nn.BatchNorm2d(planes), nn.ReLU(inplace=True),
                 nn.Conv2d(planes, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes), nn.ReLU(inplace=True),
                 nn.Conv2d(planes, out, 1, bias=False), nn.BatchNorm2d(out)]
        other = [nn.Conv2d(inputs, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes), nn.ReLU(inplace=True),
                 nn.Conv2d(planes, planes, 3, 1, 1, bias=False), nn.BatchNorm2d(planes)]
        self.branch = nn.Sequential(*(first if bottleneck else other))
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != out:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return nn.functional.relu(self.branch(x) + self.shortcut(x), inplace=True)


def resnet(bottleneck, blocks, small, classes):
    """`small`: the form for images of 32 x 32."""
    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False) if small else nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64), nn.ReLU(inplace=True)] + ([] if small else [nn.MaxPool2d(3, 2, 1)])
    last, body = 64, []
    for g, n in enumerate(blocks):
        for i in range(n):
            body.append(Block(last, 64 << g, 2 if g and not i else 1, bottleneck))
            last = (64 << g) * (4 if bottleneck else 1)
    return Classifier(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes))


def images(model, side, classes, batch):
    model = model.to(memory_format=torch.channels_last).train()
    x = torch.randn(batch, 3, side, side).to(memory_format=torch.channels_last)
    return Training(model, momentum(model), x, torch.randint(classes, (batch,)))


CASES = {
    "vgg16-b32": lambda: images(vgg16(10), 32, 10, 32),
    "resnet18-b32": lambda: images(resnet(False, [2, 2, 2, 2], True, 10), 32, 10, 32),
    "resnet50-b8": lambda: images(resnet(True, [3, 4, 6, 3], False, 1000), 224, 1000, 8),
}
