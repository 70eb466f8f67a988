#include "weights/stored_states.h"

static bool scaled(const mr_stage_weights *b)
{
	return b->optim.form && b->optim.form->scaled;
}

static const mr_param *param_at(const mr_stage_weights *b, uint32_t p)
{
	return &mr_stage_graph(b->stage)->params[p];
}

size_t mr_states_each(const mr_stage_weights *b)
{
	return mr_dtype_bytes(mr_optim_state_type(&b->optim, &b->k->types));
}

/* Bytes of the numbers of a state, behind which its scales lie. */
static size_t number_bytes(const mr_stage_weights *b)
{
	size_t n = mr_stage_size(b->stage)->state_bytes / mr_dtype_bytes(b->k->types.state);

	return b->optim.form ? mr_align_up(n * mr_states_each(b), MR_CACHE_LINE) : mr_stage_size(b->stage)->state_bytes;
}

int64_t mr_states_blocks(const mr_stage_weights *b, uint32_t p, int64_t n)
{
	return mr_state_blocks(n, mr_param_lazy_cols(param_at(b, p)));
}

/* Scales of the stage's parameters before @p. */
static int64_t blocks_before(const mr_stage_weights *b, uint32_t p)
{
	uint32_t first, end;
	int64_t n = 0;

	mr_stage_params(b->stage, &first, &end);
	for (; first < p; first++)
		if (mr_stage_steps(b->stage, first))
			n += mr_states_blocks(b, first, param_at(b, first)->n);
	return n;
}

size_t mr_states_bytes(const mr_stage_weights *b)
{
	uint32_t first, end;

	if (!mr_stage_size(b->stage)->state_bytes) /* frozen */
		return 0;
	mr_stage_params(b->stage, &first, &end);
	return number_bytes(b) + (scaled(b) ? (size_t)blocks_before(b, end) * sizeof(float) : 0);
}

size_t mr_states_room(const mr_stage_weights *b, uint8_t shard)
{
	return b->optim.form && mr_states_bytes(b) ? mr_stored_room(b->shard[shard].block, &b->k->types) : 0;
}

void *mr_states_at(const mr_stage_weights *b, uint32_t i, uint32_t p, int64_t first)
{
	size_t place = mr_stage_state_at(b->stage, p) / mr_dtype_bytes(b->k->types.state) + (size_t)first;

	return b->state[i] + place * mr_states_each(b);
}

float *mr_states_scale(const mr_stage_weights *b, uint32_t i, uint32_t p, int64_t *n)
{
	*n = mr_states_blocks(b, p, param_at(b, p)->n);
	return scaled(b) ? (float *)(void *)(b->state[i] + number_bytes(b)) + blocks_before(b, p) : NULL;
}

mr_stored mr_states_stored(const mr_stage_weights *b, uint8_t shard, uint32_t p, int64_t first)
{
	mr_stored out = {
		.form = b->optim.form,
		.cols = mr_param_lazy_cols(param_at(b, p)),
		.room_n = b->shard[shard].block,
		.room = b->shard[shard].state_room,
	};
	int64_t n;

	for (uint32_t i = 0; scaled(b) && i < b->optim.ops->n_states; i++)
		out.scale[i] = mr_states_scale(b, i, p, &n) + mr_states_blocks(b, p, first);
	return out;
}

int64_t mr_states_whole_blocks(const mr_stage_weights *b, uint32_t p, int64_t n)
{
	int64_t whole = (n + MR_STATE_BLOCK - 1) / MR_STATE_BLOCK * MR_STATE_BLOCK, all = param_at(b, p)->n;

	if (!scaled(b))
		return n;
	return whole < all ? whole : all;
}
