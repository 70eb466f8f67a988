#include "weights/validation.h"

#include "base/zeroed.h"
#include "weights/stored_states.h"

mr_status mr_validation_create(const mr_plan *p, mr_validation **out)
{
	size_t cells = (size_t)p->n_stages * p->n_micro;
	mr_validation *v = malloc(sizeof(*v));
	uint32_t *place = calloc(cells + p->n_stages, sizeof(*place));

	if (!v || !place) {
		free(v);
		free(place);
		return mr_fail(MR_ERESOURCE, "no memory for the repetitions of %u stages", p->n_stages);
	}
	*v = (mr_validation){.n_micro = p->n_micro, .place = place, .n_early = place + cells};
	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, MR_BODY);

		for (uint32_t i = 0; i < l->n && l->at[i].op != MR_OP_V; i++)
			place[(size_t)l->at[i].stage * p->n_micro + l->at[i].micro] = ++v->n_early[l->at[i].stage];
	}
	*out = v;
	return MR_OK;
}

void mr_validation_destroy(mr_validation *v)
{
	if (v)
		free(v->place);
	free(v);
}

mr_status mr_validation_open(mr_stage_weights *b)
{
	b->validation = mr_zeroed(sizeof(*b->validation));
	b->whole_sums = b->one_copy = true;
	return b->validation ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to take steps back");
}

void mr_validation_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);

	(void)shard; /* there is one */
	if (z->rest_bytes)
		b->validation->backup_rest = mr_arena_take(a, z->rest_bytes, MR_CACHE_LINE);
	for (uint32_t i = 0; i < b->optim.ops->n_states; i++)
		b->validation->backup[i] = mr_arena_take(a, mr_states_bytes(b), MR_CACHE_LINE);
	if (mr_weights_factor_bytes(b))
		b->validation->backup_factors = mr_arena_take(a, mr_weights_factor_bytes(b), MR_CACHE_LINE);
}

void mr_validation_back_up(mr_stage_weights *b, bool restore)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);
	mr_stage_validation *v = b->validation;

	for (uint32_t i = 0; i < b->optim.ops->n_states; i++)
		memcpy(restore ? b->state[i] : v->backup[i], restore ? v->backup[i] : b->state[i],
		       mr_states_bytes(b));
	if (b->factors)
		memcpy(restore ? b->factors : v->backup_factors, restore ? v->backup_factors : b->factors,
		       mr_weights_factor_bytes(b));
	if (z->rest_bytes)
		memcpy(restore ? b->rest : v->backup_rest, restore ? v->backup_rest : b->rest, z->rest_bytes);
}

mr_status mr_validation_choose(mr_stage_weights *b, uint16_t stage, uint16_t worker, uint16_t before,
			       uint16_t n_workers, const mr_link_kind *const *kinds)
{
	return mr_counter_choose_edge(&b->validation->arrived, stage, worker, before, n_workers, kinds);
}

void mr_validation_close(mr_stage_weights *b)
{
	mr_counter_close(&b->validation->arrived);
}

void mr_validation_reset(mr_stage_weights *b, mr_parker *const *before, mr_parker *const *behind,
			 mr_parker *const *parkers)
{
	mr_stage_validation *v = b->validation;

	v->validated = v->settled = b->latest;
	v->n_taken_back = 0;
	mr_counter_reset(&v->arrived, 0, before, before != NULL, parkers);
	mr_event_init(&v->redone, 0, behind, behind != NULL);
}
