#!/usr/bin/env python3
"""Record PyTorch f64 numbers for the models of images.

Run once, from this folder, and commit what it writes:

    pip install torch numpy                  (written by torch 2.15, CPU)
    python3 record_images.py                 write images.json
    python3 record_images.py --float         how far the same runs in f32 end from the file

Weights and inputs are formulas of their names (README.md, "Images"), so the file holds results alone. PyTorch is a
yardstick here and nothing else; the tests read the JSON file only.
"""
import json
import math
import os
import sys

import numpy
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 1
PICKED = 24  # numbers of each tensor, at even distances
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


# ---- numbers from names ---------------------------------------------------------------------------------------------

MASK = (1 << 64) - 1


def fnv1a(text):
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & MASK
    return h


def mix(z):
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def numbers(name, n):
    """n multiples of 2^-23 in [-1, 1)."""
    golden = 0x9E3779B97F4A7C15
    with numpy.errstate(over="ignore"):
        key = mix(numpy.array([(fnv1a(name) ^ SEED) + golden & MASK], dtype=numpy.uint64))[0]
        z = mix(key + numpy.arange(1, n + 1, dtype=numpy.uint64) * numpy.uint64(golden))
    return ((z >> numpy.uint64(40)).astype(numpy.float64) - 2.0 ** 23) / 2.0 ** 23


def weights(name, shape):
    u = numbers(name, math.prod(shape))
    if len(shape) > 1:
        fan_in = math.prod(shape[1:])
        u = u * 2.0 ** math.floor(math.log2(math.sqrt(6 / fan_in)))
    elif name.endswith("weight"):  # of a norm
        u = 1 + numpy.floor(u * 2.0 ** 20) / 2.0 ** 22
    else:
        u = u / 8
    return torch.tensor(u).reshape(shape)


# ---- networks -------------------------------------------------------------------------------------------------------

def lenet5():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
                         nn.Linear(84, 10))


def lenet_caffe():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def vgg_features():
    layers, last = [], 3
    for c in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        layers += [nn.Conv2d(last, c, 3, padding=1), nn.ReLU()] if c else [nn.MaxPool2d(2)]
        last = c or last
    return nn.Sequential(*layers)


def vgg16_cifar():
    return nn.Sequential(vgg_features(), nn.Flatten(), nn.Linear(512, 10))


def vgg16_deep():
    return nn.Sequential(vgg_features(), nn.Flatten(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 10))


def vgg16_bn():
    layers = []
    for part in vgg_features():
        layers.append(part)
        if isinstance(part, nn.Conv2d):
            layers.append(nn.BatchNorm2d(part.out_channels))
    return nn.Sequential(nn.Sequential(*layers), nn.Flatten(), nn.Linear(512, 10))


def vgg16_pooled():
    return nn.Sequential(vgg_features(), nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(25088, 32), nn.ReLU(),
                         nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


def alexnet_of(first, second, pool, inputs, hidden):
    def max_pool():
        return nn.MaxPool2d(pool, 2)

    features = nn.Sequential(first, nn.ReLU(), max_pool(), second, nn.ReLU(), max_pool(),
                             nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1),
                             nn.ReLU(), nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), max_pool())
    classifier = nn.Sequential(nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Identity(),
                               nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 10))
    net = nn.Sequential()
    net.add_module("features", features)
    net.add_module("classifier", classifier)
    return net


def alexnet_cifar():
    return alexnet_of(nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 192, 3, padding=1), 2, 4096, 1024)


def alexnet_imagenet():
    return alexnet_of(nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.Conv2d(64, 192, 5, padding=2), 3, 9216, 4096)


def alexnet_paper():
    net = alexnet_imagenet()
    net.features = nn.Sequential(
        nn.Conv2d(3, 96, 11, stride=4), nn.ReLU(), nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2),
        nn.MaxPool2d(3, 2), nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(),
        nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2), nn.MaxPool2d(3, 2), nn.Conv2d(256, 384, 3, padding=1),
        nn.ReLU(), nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2))
    return net


class Block(nn.Module):
    """Of a residual network, with torchvision's names."""

    def __init__(self, inputs, planes, stride, bottleneck):
        super().__init__()
        out = planes * (4 if bottleneck else 1)
        self.bottleneck = bottleneck
        self.conv1 = nn.Conv2d(inputs, planes, 1 if bottleneck else 3, 1 if bottleneck else stride,
                               0 if bottleneck else 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride if bottleneck else 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        if bottleneck:
            self.conv3 = nn.Conv2d(planes, out, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(out)
        if stride != 1 or inputs != out:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        else:
            self.downsample = nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        if self.bottleneck:
            y = self.bn3(self.conv3(torch.relu(y)))
        return torch.relu(y + self.downsample(x))


def resnet(bottleneck, blocks, width, small):
    net = nn.Sequential()
    net.add_module("conv1", nn.Conv2d(3, width, 3 if small else 7, 1 if small else 2, 1 if small else 3, bias=False))
    net.add_module("bn1", nn.BatchNorm2d(width))
    net.add_module("relu", nn.ReLU())
    if not small:
        net.add_module("maxpool", nn.MaxPool2d(3, 2, 1))
    inputs = width
    for g, n in enumerate(blocks):
        group = []
        for i in range(n):
            group.append(Block(inputs, width << g, 2 if g and not i else 1, bottleneck))
            inputs = (width << g) * (4 if bottleneck else 1)
        net.add_module(f"layer{g + 1}", nn.Sequential(*group))
    net.add_module("avgpool", nn.AdaptiveAvgPool2d(1))
    net.add_module("flatten", nn.Flatten())
    net.add_module("fc", nn.Linear(inputs, 10))
    return net


class Unit(nn.Module):
    """Of Inception: a convolution with batch normalisation and ReLU."""

    def __init__(self, inputs, out, kernel, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, out, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(out, eps=0.001)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class Mixed(nn.Module):
    """A block of Inception: branches are lists of (name, channels, kernel, stride, padding), where a list of such in
    place of the last one is several side by side; the pool is "max", or the channels behind an average."""

    def __init__(self, inputs, branches, pool):
        super().__init__()
        self.branches, self.pool, self.out = [], pool, 0
        for branch in branches:
            last, names = inputs, []
            for part in branch:
                side = part if isinstance(part, list) else [part]
                for name, out, kernel, stride, padding in side:
                    self.add_module(name, Unit(last, out, kernel, stride, padding))
                names.append([s[0] for s in side])
                last = side[0][1]
            self.out += last * len(names[-1])
            self.branches.append(names)
        if pool != "max":
            self.branch_pool = Unit(inputs, pool, 1)
        self.out += inputs if pool == "max" else pool

    def forward(self, x):
        found = []
        for names in self.branches:
            y = x
            for side in names[:-1]:
                y = getattr(self, side[0])(y)
            found += [getattr(self, name)(y) for name in names[-1]]
        if self.pool == "max":
            found.append(nn.functional.max_pool2d(x, 3, 2))
        else:
            found.append(self.branch_pool(nn.functional.avg_pool2d(x, 3, 1, 1)))
        return torch.cat(found, 1)


def inception(width):
    """Inception-v3 without the auxiliary head, with torchvision's names; channels times width."""
    def c(n):
        return max(1, math.floor(n * width + 0.5))

    def k(name, out, kernel=1, stride=1, padding=0):
        return (name, c(out), kernel, stride, padding)

    def a(inputs, pool):
        return Mixed(inputs, [[k("branch1x1", 64)], [k("branch5x5_1", 48), k("branch5x5_2", 64, 5, 1, 2)],
                              [k("branch3x3dbl_1", 64), k("branch3x3dbl_2", 96, 3, 1, 1),
                               k("branch3x3dbl_3", 96, 3, 1, 1)]], c(pool))

    def b(inputs):
        return Mixed(inputs, [[k("branch3x3", 384, 3, 2)], [k("branch3x3dbl_1", 64), k("branch3x3dbl_2", 96, 3, 1, 1),
                                                            k("branch3x3dbl_3", 96, 3, 2)]], "max")

    def seven(inputs, n):
        row, col = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
        return Mixed(inputs, [[k("branch1x1", 192)],
                              [k("branch7x7_1", n), k("branch7x7_2", n, *row), k("branch7x7_3", 192, *col)],
                              [k("branch7x7dbl_1", n), k("branch7x7dbl_2", n, *col), k("branch7x7dbl_3", n, *row),
                               k("branch7x7dbl_4", n, *col), k("branch7x7dbl_5", 192, *row)]], c(192))

    def d(inputs):
        return Mixed(inputs, [[k("branch3x3_1", 192), k("branch3x3_2", 320, 3, 2)],
                              [k("branch7x7x3_1", 192), k("branch7x7x3_2", 192, (1, 7), 1, (0, 3)),
                               k("branch7x7x3_3", 192, (7, 1), 1, (3, 0)), k("branch7x7x3_4", 192, 3, 2)]], "max")

    def e(inputs):
        def both(name):
            return [k(name + "a", 384, (1, 3), 1, (0, 1)), k(name + "b", 384, (3, 1), 1, (1, 0))]

        return Mixed(inputs, [[k("branch1x1", 320)], [k("branch3x3_1", 384), both("branch3x3_2")],
                              [k("branch3x3dbl_1", 448), k("branch3x3dbl_2", 384, 3, 1, 1), both("branch3x3dbl_3")]],
                     c(192))

    net = nn.Sequential()
    net.add_module("Conv2d_1a_3x3", Unit(3, c(32), 3, 2))
    net.add_module("Conv2d_2a_3x3", Unit(c(32), c(32), 3))
    net.add_module("Conv2d_2b_3x3", Unit(c(32), c(64), 3, 1, 1))
    net.add_module("maxpool1", nn.MaxPool2d(3, 2))
    net.add_module("Conv2d_3b_1x1", Unit(c(64), c(80), 1))
    net.add_module("Conv2d_4a_3x3", Unit(c(80), c(192), 3))
    net.add_module("maxpool2", nn.MaxPool2d(3, 2))
    last = c(192)
    for name, make in (("5b", lambda n: a(n, 32)), ("5c", lambda n: a(n, 64)), ("5d", lambda n: a(n, 64)), ("6a", b),
                       ("6b", lambda n: seven(n, 128)), ("6c", lambda n: seven(n, 160)),
                       ("6d", lambda n: seven(n, 160)), ("6e", lambda n: seven(n, 192)), ("7a", d), ("7b", e),
                       ("7c", e)):
        net.add_module("Mixed_" + name, make(last))
        last = net[-1].out
    net.add_module("avgpool", nn.AdaptiveAvgPool2d(1))
    net.add_module("flatten", nn.Flatten())
    net.add_module("fc", nn.Linear(last, 10))
    return net


# name: network, model and options here, input, and our layers in the order of PyTorch's parameters; None: the same names
VGG = [f"features.{i}" for i in (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)]
PAPER = [f"features.{i}" for i in (0, 4, 8, 10, 12)] + [f"classifier.{i}" for i in (1, 4, 6)]
ALEX = [f"features.{i}" for i in (0, 3, 6, 8, 10)] + [f"classifier.{i}" for i in (1, 4, 6)]
NETWORKS = {
    "lenet5": (lenet5, "lenet", {"form": "lenet5"}, (4, 1, 28, 28), ["conv1", "conv2", "fc1", "fc2", "fc3"]),
    "lenet_caffe": (lenet_caffe, "lenet", {"form": "caffe"}, (4, 1, 28, 28), ["conv1", "conv2", "fc1", "fc2"]),
    "vgg16_cifar": (vgg16_cifar, "vgg16", {"form": "cifar"}, (4, 3, 32, 32), VGG + ["classifier.0"]),
    "vgg16_deep": (vgg16_deep, "vgg16", {"form": "cifar_deep", "dropout": "0"}, (2, 3, 32, 32),
                   VGG + ["classifier.0", "classifier.3", "classifier.6"]),
    "alexnet_cifar": (alexnet_cifar, "alexnet", {"form": "cifar", "dropout": "0"}, (3, 3, 32, 32), ALEX),
    "alexnet_imagenet": (alexnet_imagenet, "alexnet", {"form": "imagenet", "dropout": "0"}, (2, 3, 224, 224), ALEX),
    "alexnet_paper": (alexnet_paper, "alexnet", {"form": "paper", "dropout": "0"}, (1, 3, 227, 227), PAPER),
    "resnet18_small": (lambda: resnet(False, [2, 1, 1], 6, True), "resnet18",
                       {"form": "cifar", "width": "6", "blocks": "[2, 1, 1]"}, (3, 3, 12, 10), None),
    "resnet50_small": (lambda: resnet(True, [1, 2], 4, False), "resnet50",
                       {"form": "imagenet", "width": "4", "blocks": "[1, 2]"}, (3, 3, 32, 32), None),
    "inception_small": (lambda: inception(1 / 16), "inception_v3", {"dropout": "0", "width": "0.0625"}, (4, 3, 79, 91),
                        None),
    "vgg16_bn": (vgg16_bn, "vgg16", {"form": "cifar", "batch_norm": "true"}, (8, 3, 32, 32),
                 [f"features.{3 * i + j + p}" for i, p in enumerate((0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4))
                  for j in range(2)] + ["classifier.0"]),
    "vgg16_torchvision": (vgg16_pooled, "vgg16", {"form": "torchvision", "hidden": "32", "dropout": "0"},
                          (2, 3, 32, 64), VGG + ["classifier.0", "classifier.3", "classifier.6"]),
    "resnet18": (lambda: resnet(False, [2, 2, 2, 2], 64, True), "resnet18", {"form": "cifar"}, (8, 3, 32, 32), None),
}


def run(name, dtype):
    make, _, _, shape, _ = NETWORKS[name]
    net = make().to(dtype)
    for key, p in net.named_parameters():
        p.data = weights(key, tuple(p.shape)).to(dtype)
    x = torch.tensor(numbers("input", math.prod(shape))).reshape(shape).to(dtype)
    target = torch.tensor([(7 * i + 3) % 10 for i in range(shape[0])])
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, target)
    loss.backward()
    return net, logits, loss


def summary(t):
    t = t.detach().reshape(-1).to(torch.float64)
    n, picked = t.numel(), min(PICKED, t.numel())
    return {"sum": float(t.sum()), "squares": float((t * t).sum()), "most": float(t.abs().max()),
            "picked": [float(t[i * (n - 1) // max(picked - 1, 1)]) for i in range(picked)]}


def record(name):
    _, model, options, shape, ours = NETWORKS[name]
    net, logits, loss = run(name, torch.float64)
    params = []
    for i, (key, p) in enumerate(net.named_parameters()):
        params.append({"name": f"{ours[i // 2]}.{'bias' if i % 2 else 'weight'}" if ours else key, "torch": key,
                       "shape": list(p.shape), "gradient": summary(p.grad)})
    return {"model": model, "options": options, "input": list(shape), "loss": loss.item(),
            "logits": logits.detach().reshape(-1).tolist(),
            "gradient_norm": math.sqrt(sum(float((p.grad ** 2).sum()) for p in net.parameters())), "params": params}


def distances(name):
    a, logits, _ = run(name, torch.float32)
    b, want, _ = run(name, torch.float64)
    most = max(float(p.grad.abs().max()) for p in b.parameters())
    worst = max(float((p.grad.double() - q.grad).abs().max()) / max(float(q.grad.abs().max()), 1e-3 * most)
                for p, q in zip(a.parameters(), b.parameters()))
    print(name, "gradients", worst, "logits", float((logits.double() - want).abs().max()) / float(want.abs().max()))


if "--float" in sys.argv:
    for network in NETWORKS:
        distances(network)
else:
    with open(os.path.join(HERE, "images.json"), "w") as out:
        json.dump({"torch": torch.__version__, "seed": SEED, "networks": {n: record(n) for n in NETWORKS}}, out,
                  indent=1)
        out.write("\n")
