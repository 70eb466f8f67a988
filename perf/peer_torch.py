"""The cases of perf/steps/cases.c in PyTorch, as a yardstick that takes turns with ours: python3 peer_torch.py
[THREADS]

Tuned as PyTorch's CPU users would: one GEMM thread pool (run it with OpenBLAS's OpenMP build or MKL), a malloc that
keeps its memory (perf/steps/peer.c sets MALLOC_MMAP_THRESHOLD_ and friends), fused optimizers where the version has
them, images with channels last. Each precision runs in the fastest of its settings (perf/peer_models/training.py),
each of which is tried before.

f32 and bf16 train the same weights: they are there once. The dialogue is that of peer_serve.py. By hand:
printf 'case mlp1024-b32 f32\\nchoose\\ngo 20 f32\\n' | python3 perf/peer_torch.py
"""
import importlib
import sys

import torch

sys.dont_write_bytecode = True
import peer_serve
from peer_models import cases


def settings_of(case, precisions):
    torch.manual_seed(1)
    torch.set_num_threads(peer_serve.threads())
    torch.set_flush_denormal(True)
    training = cases()[case]()
    return {p: training.settings(p) for p in precisions}


def main():
    peer_serve.keep_answers()
    try:
        importlib.import_module("torch._inductor.compile_fx")  # once for all cases
    except ImportError:  # older than 2.0
        pass
    peer_serve.serve(f"PyTorch {torch.__version__.split('+')[0]}", settings_of)


main()
