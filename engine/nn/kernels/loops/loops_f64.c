/* The portable loops in double precision. */
#define TABLE mr_loops_f64
#define REAL double
#define STORED double
#define GRADIENT double
#include "nn/kernels/loops/loops.inc"
