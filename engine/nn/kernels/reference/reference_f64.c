/* The reference kernels in double precision: what golden runs and tests measure the others against. */
#define REAL double
#define FN(name) name
#define LOOPS mr_loops_f64
#define TABLE mr_kernels_reference_f64
#define DTYPE MR_F64
#include "nn/kernels/reference/reference.inc"
