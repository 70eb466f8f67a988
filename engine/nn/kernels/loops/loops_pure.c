/* The portable loops on activations, weights and gradients in bf16. */
#define TABLE mr_loops_bf16_pure
#define REAL float
#define STORED uint16_t
#define GRADIENT uint16_t
#include "nn/kernels/loops/loops.inc"
