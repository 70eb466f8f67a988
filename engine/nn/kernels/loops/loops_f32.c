/* The portable loops in single precision. */
#define TABLE mr_loops_f32
#define REAL float
#define STORED float
#define GRADIENT float
#include "nn/kernels/loops/loops.inc"
