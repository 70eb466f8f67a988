/* vec_gemm_all.h - the matrix products and their table; included once an instruction set, after its lanes. */
#include <string.h>

#include "nn/kernels/vec.h"

#include "nn/kernels/vec_math.h"
#include "nn/kernels/vec_step.h"

/* The rules by which steps go are listed by MR_STEP here. */
#define MR_OPTIM_LIST
#define MR_OPTIM(id)

#include "nn/kernels/vec_gemm_tile.h"

#include "nn/kernels/vec_gemm.h"

#include "nn/kernels/vec_gemm_wide.h"
#include "nn/kernels/vec_gemm_stepped.h"
#include "nn/kernels/vec_gemm_groups.h"
#include "nn/kernels/vec_gemm_panels.h"
#include "nn/kernels/vec_gemm_strips.h"
#include "nn/kernels/vec_gemm_tall.h"

const mr_vec_products PRODUCTS = {
	.order = {
		[MR_GEMM_PANELS] = {gemm_panels, panel_units, panel_floats, NULL},
		[MR_GEMM_GROUPS] = {gemm_groups, group_units, group_floats, group_sums},
		[MR_GEMM_STRIPS] = {gemm_strips, strip_units, strip_floats, NULL},
		[MR_GEMM_TALL] = {gemm_tall, tall_units, tall_floats, tall_sums},
	},
	.cols = NR,
};
