#!/usr/bin/env python3
"""Records the folders of tests/golden/torch/import: small random models as transformers saves them, and what they make
of a made-up text.

    pip install torch transformers           (torch 2.15.0, transformers 5.23.0, CPU)
    python3 record_import.py

qwen2      Qwen2ForCausalLM with a head of its own, biases of queries, keys and values, an epsilon and a base of the
           rotary positions of its own, in two shards of F32 with an index
qwen2_f16  the same kind of model in F16 and one file, its head tied
llama_bias LlamaForCausalLM with attention_bias, BF16
gpt2_own   GPT2LMHeadModel with a head of its own, F32: lm_head.weight is [vocabulary, width], here both 12, so that no
           shape says which way it lies

Token i of the text is (7 i^2 + 3 i) mod the vocabulary; the loss is the mean over the first 20 windows of 16 tokens,
each predicting the next token, in f64 by the numbers that were saved.
"""
import json
import os
import shutil

import torch
import transformers

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "import")
CONTEXT, WINDOWS = 16, 20
QWEN = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=64, rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 5000.0})


def wide_norms():
    """transformers computes RMS norms and rotary angles in f32 whatever the model; the loss here is in f64."""
    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))

    def angles(self, x, position_ids):
        dim = x.shape[-1] if not hasattr(self, "head_dim") else self.head_dim
        inv = 1.0 / self.theta ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        a = position_ids.double()[..., None] * inv
        a = torch.cat((a, a), dim=-1)
        return a.cos(), a.sin()

    for module in (transformers.models.qwen2.modeling_qwen2, transformers.models.llama.modeling_llama):
        for name in dir(module):
            if name.endswith("RMSNorm"):
                getattr(module, name).forward = forward
            if name.endswith("RotaryEmbedding"):
                getattr(module, name).forward = angles


def record(name, model, vocab, dtype, **save):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    with torch.no_grad():
        for p in model.parameters():  # larger than usual, biases too, so that every tensor shows in the loss
            p.add_(0.15 * torch.randn_like(p))
    model = model.to(dtype).eval()
    model.save_pretrained(folder, **save)
    for f in os.listdir(folder):
        if f == "generation_config.json":
            os.remove(os.path.join(folder, f))
    model = model.double()
    for m in model.modules():
        if type(m).__name__.endswith("RotaryEmbedding"):
            m.theta = model.config.rope_parameters["rope_theta"]
            m.head_dim = model.config.hidden_size // model.config.num_attention_heads
    token = torch.tensor([(7 * i * i + 3 * i) % vocab for i in range(CONTEXT * WINDOWS + 1)])
    x, y = token[:-1].view(WINDOWS, CONTEXT), token[1:].view(WINDOWS, CONTEXT)
    with torch.no_grad():
        logits = model(x).logits
    loss = torch.nn.functional.cross_entropy(logits.view(-1, vocab), y.reshape(-1)).item()
    with open(os.path.join(folder, "loss.json"), "w") as f:
        json.dump({"torch": torch.__version__, "transformers": transformers.__version__, "loss": loss}, f)
        f.write("\n")
    print(name, loss, sorted(os.listdir(folder)))


def main():
    torch.manual_seed(26)
    wide_norms()
    t = transformers
    record("qwen2", t.Qwen2ForCausalLM(t.Qwen2Config(vocab_size=61, tie_word_embeddings=False, **QWEN)), 61,
           torch.float32, max_shard_size="12KB")
    record("qwen2_f16", t.Qwen2ForCausalLM(t.Qwen2Config(vocab_size=61, tie_word_embeddings=True, **QWEN)), 61,
           torch.float16)
    record("llama_bias", t.LlamaForCausalLM(t.LlamaConfig(vocab_size=61, tie_word_embeddings=False, attention_bias=True,
                                                          **QWEN)), 61, torch.bfloat16)
    record("gpt2_own", t.GPT2LMHeadModel(t.GPT2Config(
        vocab_size=12, n_positions=24, n_embd=12, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        tie_word_embeddings=False)), 12, torch.float32)
    for folder, _, files in os.walk(HERE):
        for f in files:
            os.chmod(os.path.join(folder, f), 0o644)


main()
