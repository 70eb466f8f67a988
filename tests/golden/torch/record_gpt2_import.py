#!/usr/bin/env python3
"""Records gpt2_import.safetensors and the loss in gpt2_import.json: a small random GPT-2 as Hugging Face saves it, and
what it makes of a made-up text.

    pip install torch transformers           (torch 2.15.0, transformers 5.23.0, CPU)
    python3 record_gpt2_import.py

The file has the names of GPT2LMHeadModel.save_pretrained ("transformer.h.0.attn.c_attn.weight"), no head (it is tied),
and one mask under its former name ("transformer.h.0.attn.bias"), as published files of GPT-2 have it. Token i of the
text is (7 i^2 + 3 i) mod 61; the loss is the mean over the first 20 windows of 16 tokens, each predicting the next
token, in f64.
"""
import json
import os

import torch
import transformers
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB, POSITIONS, WIDTH, LAYERS, HEADS, CONTEXT, WINDOWS = 61, 24, 12, 2, 2, 16, 20


def main():
    torch.manual_seed(11)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=POSITIONS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
    with torch.no_grad():
        for p in model.parameters():  # larger than usual, biases too, so that every tensor shows in the loss
            p.add_(0.15 * torch.randn_like(p))
    model.eval()
    tensors = {k: v.clone().contiguous() for k, v in model.state_dict().items() if k != "lm_head.weight"}
    tensors["transformer.h.0.attn.bias"] = torch.tril(torch.ones(POSITIONS, POSITIONS)).view(1, 1, POSITIONS, POSITIONS)
    save_file(tensors, os.path.join(HERE, "gpt2_import.safetensors"), metadata={"format": "pt"})
    token = torch.tensor([(7 * i * i + 3 * i) % VOCAB for i in range(CONTEXT * WINDOWS + 1)])
    x, y = token[:-1].view(WINDOWS, CONTEXT), token[1:].view(WINDOWS, CONTEXT)
    with torch.no_grad():
        logits = model.double()(x).logits
    loss = torch.nn.functional.cross_entropy(logits.view(-1, VOCAB), y.reshape(-1)).item()
    with open(os.path.join(HERE, "gpt2_import.json"), "w") as f:
        json.dump({"torch": torch.__version__, "transformers": transformers.__version__, "vocab": VOCAB,
                   "positions": POSITIONS, "width": WIDTH, "layers": LAYERS, "heads": HEADS, "context": CONTEXT,
                   "windows": WINDOWS, "loss": loss}, f)
        f.write("\n")


main()
