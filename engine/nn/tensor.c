#include "nn/tensor.h"

#include <assert.h>

const char *mr_dtype_name(mr_dtype t)
{
	static const char *const names[] = {
#define MR_DTYPE(id, name, stored, wide, widen, round) name,
#include "nn/types.def"
	};

	return names[t];
}

const char *mr_types_name(const mr_types *t)
{
	return mr_types_pure(t) ? "bf16_pure" : mr_dtype_name(t->weights);
}

mr_shape mr_shape_of(uint32_t n_dims, const int64_t *dim, bool tokens)
{
	mr_shape s = {.rows = 1, .cols = dim[n_dims - 1], .tokens = tokens, .n_dims = (uint8_t)n_dims};

	assert(n_dims >= 1 && n_dims <= MR_MAX_DIMS);
	for (uint32_t i = 0; i < n_dims; i++)
		s.dim[i] = dim[i];
	for (uint32_t i = 0; i + 1 < n_dims; i++)
		s.rows *= dim[i];
	return s;
}

uint32_t mr_shape_dims(mr_shape s)
{
	return s.n_dims ? s.n_dims : 2;
}

int64_t mr_shape_dim(mr_shape s, uint32_t i)
{
	assert(i < mr_shape_dims(s));
	return s.n_dims ? s.dim[i] : i == 0 ? s.rows : s.cols;
}

mr_shape mr_shape_with_cols(mr_shape s, int64_t cols)
{
	s.cols = cols;
	if (s.n_dims)
		s.dim[s.n_dims - 1] = cols;
	return s;
}

bool mr_shape_same(mr_shape a, mr_shape b)
{
	if (a.tokens != b.tokens || mr_shape_dims(a) != mr_shape_dims(b))
		return false;
	for (uint32_t i = 0; i < mr_shape_dims(a); i++)
		if (mr_shape_dim(a, i) != mr_shape_dim(b, i))
			return false;
	return true;
}
