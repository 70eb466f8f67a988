/* The portable loops on activations and weights in bf16. */
#define TABLE mr_loops_bf16
#define REAL float
#define STORED uint16_t
#define GRADIENT float
#include "nn/kernels/loops/loops.inc"
