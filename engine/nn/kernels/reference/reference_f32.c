/* The reference kernels in single precision. */
#define REAL float
#define FN(name) name##f
#define LOOPS mr_loops_f32
#define TABLE mr_kernels_reference_f32
#define DTYPE MR_F32
#include "nn/kernels/reference/reference.inc"
