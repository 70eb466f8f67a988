#include "nn/tensor.h"

#include <assert.h>
#include <string.h>

static const struct {
	const char *name;
	mr_types types;
} precisions[MR_N_PRECISIONS] = {
#define MR_PRECISION(id, types, backends) {#id, types},
#include "nn/precisions.def"
};

const mr_types *mr_types_at(mr_precision p)
{
	return &precisions[p].types;
}

mr_precision mr_types_precision(const mr_types *t)
{
	mr_precision p = 0;

	while (p < MR_N_PRECISIONS && memcmp(&precisions[p].types, t, sizeof(*t)))
		p++;
	assert(p < MR_N_PRECISIONS);
	return p;
}

const char *mr_types_name(const mr_types *t)
{
	return precisions[mr_types_precision(t)].name;
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
