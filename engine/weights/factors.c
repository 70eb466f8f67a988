#include "weights/factors.h"

#include "base/size.h"

/* The sides of the factors of parameter @p; those that it has not are 0. */
static void sides_of(const mr_stage *s, const mr_optim *o, uint32_t p, int64_t out[MR_OPTIM_FACTORS])
{
	mr_optim_matrix m = mr_graph_matrix(mr_stage_graph(s), p);
	bool has = m.rows && mr_stage_weight_at(s, p) != SIZE_MAX;

	for (uint32_t i = 0; i < MR_OPTIM_FACTORS; i++)
		out[i] = has && i < o->ops->n_factors ? o->ops->factor_side(o, &m, i) : 0;
}

static size_t bytes_of(int64_t side, mr_dtype t)
{
	return mr_align_up((size_t)(side * side) * mr_dtype_bytes(t), MR_CACHE_LINE);
}

/* Bytes of the parameters before @end. */
static size_t bytes_before(const mr_stage *s, const mr_optim *o, mr_dtype t, uint32_t end)
{
	int64_t side[MR_OPTIM_FACTORS];
	uint32_t first, last;
	size_t sum = 0;

	mr_stage_params(s, &first, &last);
	for (uint32_t p = first; o->ops->n_factors && p < end; p++) {
		sides_of(s, o, p, side);
		for (uint32_t i = 0; i < MR_OPTIM_FACTORS; i++)
			sum += bytes_of(side[i], t);
	}
	return sum;
}

size_t mr_factors_bytes_of(const mr_stage *s, const mr_optim *o, mr_dtype t, uint32_t p)
{
	return bytes_before(s, o, t, p + 1) - bytes_before(s, o, t, p);
}

size_t mr_factors_bytes(const mr_stage *s, const mr_optim *o, mr_dtype t)
{
	uint32_t first, end;

	mr_stage_params(s, &first, &end);
	return bytes_before(s, o, t, end);
}

void mr_factors_show(const mr_stage *s, const mr_optim *o, mr_dtype t, uint32_t p, uint8_t *block,
		     mr_factor out[MR_OPTIM_FACTORS])
{
	int64_t side[MR_OPTIM_FACTORS];

	sides_of(s, o, p, side);
	block += bytes_before(s, o, t, p);
	for (uint32_t i = 0; i < MR_OPTIM_FACTORS; i++) {
		out[i] = (mr_factor){.at = side[i] ? block : NULL, .side = side[i]};
		block += bytes_of(side[i], t);
	}
}
