"""The cases of perf/steps/cases.c in PyTorch, as a yardstick that takes turns with ours: python3 peer_torch.py CASE
[THREADS [PRECISIONS]]

Tuned as PyTorch's CPU users would: one GEMM thread pool (run it with OpenBLAS's OpenMP build or MKL), a malloc that
keeps its memory (perf/steps/peer.c sets MALLOC_MMAP_THRESHOLD_ and friends), fused optimizers where the version has
them, images with channels last. Each precision runs in the fastest of its settings (perf/peer_models/training.py),
each of which is tried before.

PRECISIONS is f32, bf16 or f32,bf16. Both train the same weights: they are there once. The dialogue is that of
peer_serve.py. By hand:
echo go 20 f32 | python3 perf/peer_torch.py mlp1024-b32
"""
import sys

import torch

sys.dont_write_bytecode = True
import peer_serve
from peer_models import cases


def main():
    name, threads, precisions = peer_serve.arguments()
    peer_serve.keep_answers()
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    training = cases()[name]()
    peer_serve.serve(f"PyTorch {torch.__version__.split('+')[0]}", {p: training.settings(p) for p in precisions})


main()
