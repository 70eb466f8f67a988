"""What the models share: a training with its settings, and linear layers whose weights are packed for oneDNN.

The settings of a precision are functions that make a step, by name; each is tried before, and the fastest is timed:

    eager     as it comes
    compiled  torch.compile with inductor
    packed    bf16 alone: weights of linear layers in oneDNN's own layout, made anew after every optimizer step, forward
              and for the gradient of the input
    masters   bf16 alone: a copy of the model in bf16, without autocast; the optimizer steps f32 masters of its weights,
              which are rounded into it after every step
"""
import copy
import inspect

import torch
from torch import nn


class Packed:
    """A weight in oneDNN's layout, for one direction and number of rows."""

    def __init__(self, rows):
        self.rows, self.of = rows, None

    def get(self, weight):
        if self.of is None:
            self.of = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), self.rows)
        return self.of


class PackedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, packs):
        rows = x.reshape(-1, x.shape[-1]).bfloat16()
        narrow = weight.detach().bfloat16()
        ctx.save_for_backward(rows, narrow)
        ctx.packs, ctx.shape, ctx.of_bias = packs, x.shape, bias is not None
        y = torch.ops.mkldnn._linear_pointwise(rows, packs[0].get(narrow), None if bias is None else bias.bfloat16(),
                                               "none", [], "")
        return y.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx, dy):
        rows, narrow = ctx.saved_tensors
        dy = dy.reshape(-1, dy.shape[-1]).bfloat16()
        dx = None
        if ctx.needs_input_grad[0]:
            dx = torch.ops.mkldnn._linear_pointwise(dy, ctx.packs[1].get(narrow.t()), None, "none", [], "")
            dx = dx.view(ctx.shape)
        return dx, (dy.t() @ rows).float(), dy.sum(0).float() if ctx.of_bias else None, None


class Linear(nn.Linear):
    packs = None  # two Packed: what the product goes by then

    def forward(self, x):
        if self.packs:
            return PackedProduct.apply(x, self.weight, self.bias, self.packs)
        return super().forward(x)


def fused(optimizer, model, **options):
    try:
        return optimizer(model.parameters(), fused=True, **options)
    except (TypeError, RuntimeError):  # older than 2.4
        return optimizer(model.parameters(), **options)


def adamw(model):
    return fused(torch.optim.AdamW, model, lr=1e-4)


def momentum(model):
    return fused(torch.optim.SGD, model, lr=1e-4, momentum=0.9)


class Training:
    """A model, which gives the loss of its inputs, with its optimizer and the inputs of one batch. `rows`: of the
    products of its packed linear layers. `compiled`: the model's loss by torch.compile; None: the whole model.
    `compiles_f32`: the setting is tried in f32, too."""

    def __init__(self, model, optimizer, *inputs, rows=None, compiled=None, compiles_f32=True):
        self.model, self.optimizer, self.inputs, self.rows = model, optimizer, inputs, rows
        self.compiled = compiled or (lambda: torch.compile(model, dynamic=False))
        self.compiles_f32 = compiles_f32
        self.linear = [m for m in model.modules() if isinstance(m, Linear)]

    def stepper(self, loss, autocast, packed=False):
        def step():
            for m in self.linear:
                m.packs = (Packed(self.rows), Packed(self.rows)) if packed else None
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                value = loss(*self.inputs)
            value.backward()
            self.optimizer.step()
        return step

    def with_masters(self):
        for m in self.linear:
            m.packs = None  # cannot be copied
        model = copy.deepcopy(self.model).to(torch.bfloat16)
        inputs = [x.bfloat16() if x.is_floating_point() else x for x in self.inputs]
        narrow = [p for p in model.parameters() if p.requires_grad]
        masters = [p.detach().float() for p in narrow]
        kind = type(self.optimizer)
        known = inspect.signature(kind).parameters
        optimizer = kind(masters, **{k: v for k, v in self.optimizer.defaults.items() if k in known})

        def step():
            for p in narrow:
                p.grad = None
            model(*inputs).backward()
            for master, p in zip(masters, narrow):
                master.grad = p.grad.float()
            optimizer.step()
            with torch.no_grad():
                torch._foreach_copy_(narrow, masters)
        return step

    def settings(self, precision):
        narrow = precision != "f32"
        found = {"eager": lambda: self.stepper(self.model, narrow)}
        if narrow or self.compiles_f32:
            found["compiled"] = lambda: self.stepper(self.compiled(), narrow)
        if narrow and self.linear and self.rows:
            found["packed"] = lambda: self.stepper(self.model, True, packed=True)
        if narrow:
            found["masters"] = self.with_masters
        return found
