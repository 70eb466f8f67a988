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
