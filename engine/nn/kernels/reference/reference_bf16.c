/* The reference kernels in bf16: those in single precision, with everything that is stored in bf16 rounded. */
#define BASE mr_kernels_reference_f32
#define BACKEND "reference"
#define TABLE mr_kernels_reference_bf16
#define PURE_TABLE mr_kernels_reference_bf16_pure
#define GELU_AUX "argument of GELU"
#define SAVES_PROBABILITIES true
#include "nn/kernels/bf16.inc"
