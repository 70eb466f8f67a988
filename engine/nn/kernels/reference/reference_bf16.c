/* The reference kernels in bf16: the kernels in single precision, whose results are rounded to bf16 when they are
 * stored. */
#define BASE mr_kernels_reference_f32
#define BACKEND "reference"
#define REFUSAL NULL
#define TABLE mr_kernels_reference_bf16
#define PURE_TABLE mr_kernels_reference_bf16_pure
#define GELU_AUX "argument of GELU"
#define SAVES_PROBABILITIES true
#include "nn/kernels/bf16.inc"
