#include "schedules/common/rpd_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define BLOCK 256u    /* steps drawn at once where some are left out */
#define HOPELESS 128u /* fewer than one step in this many is left */

void mr_rpd_stream_fini(mr_rpd_stream *s)
{
	mr_aged_destroy(s->record);
	free(s->drawn);
	*s = (mr_rpd_stream){0};
}

/* Step @i of @from, which is the run's step @k, becomes step @to of @a. */
static void copy_step(const mr_aged *from, uint32_t i, mr_aged *a, uint32_t to)
{
	a->stage[to] = from->stage[i];
	a->batch[to] = from->batch[i];
	memcpy(a->delay + (size_t)to * a->n_stages, from->delay + (size_t)i * a->n_stages,
	       a->n_stages * sizeof(*a->delay));
}

/* Where the search for step @first may begin: *@kept steps are left of the first *@drawn. */
static void find_start(const mr_rpd_stream *s, uint64_t first, uint64_t *kept, uint64_t *drawn)
{
	uint64_t at;

	*kept = *drawn = 0;
	if (!s->n_drawn || first < s->first)
		return;
	at = first - s->first < s->n_drawn ? first - s->first : s->n_drawn - 1u;
	*kept = s->first + at;
	*drawn = s->drawn[at];
}

/* Take the remaining steps of the block that begins with @drawn, whose first step would be the run's *@kept-th. */
static mr_status sieve(const mr_rpd_stream *s, uint64_t drawn, uint64_t first, mr_aged *out, uint64_t *place,
		       uint64_t *kept)
{
	mr_rpd_params p = s->p;
	mr_aged *block;

	p.first = drawn;
	p.n_steps = p.n_all && p.n_all - drawn < BLOCK ? (uint32_t)(p.n_all - drawn) : BLOCK;
	MR_TRY(mr_rpd_draw(&p, &block));
	for (uint32_t i = 0; i < block->n_steps && *kept < first + out->n_steps; i++) {
		if (mr_aged_oldest(block, i, *kept) >= s->limit)
			continue;
		if (*kept >= first) {
			copy_step(block, i, out, (uint32_t)(*kept - first));
			place[*kept - first] = drawn + i;
		}
		++*kept;
	}
	mr_aged_destroy(block);
	return MR_OK;
}

static mr_status left_over(mr_rpd_stream *s, uint64_t first, mr_aged *out)
{
	uint64_t kept, drawn, end = first + out->n_steps, *place = malloc(out->n_steps * sizeof(*place));
	mr_status st = place ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u steps", out->n_steps);

	find_start(s, first, &kept, &drawn);
	for (; st == MR_OK && kept < end; drawn += BLOCK) {
		if (drawn / HOPELESS > end || (s->p.n_all && drawn >= s->p.n_all))
			st = mr_fail(MR_ECONFIG,
				     "ringmaster: of %llu steps drawn only %llu read nothing of %u steps ago or more: "
				     "take a larger one, or a smaller delta",
				     (unsigned long long)drawn, (unsigned long long)kept, s->limit);
		else
			st = sieve(s, drawn, first, out, place, &kept);
	}
	if (st != MR_OK) {
		free(place);
		return st;
	}
	free(s->drawn);
	s->drawn = place;
	s->first = first;
	s->n_drawn = out->n_steps;
	return MR_OK;
}

mr_status mr_rpd_stream_part(mr_rpd_stream *s, uint64_t first, uint32_t n, mr_aged **out)
{
	mr_status st = MR_OK;

	if (!s->record && !s->limit) {
		s->p.first = first;
		s->p.n_steps = n;
		return mr_rpd_draw(&s->p, out);
	}
	MR_TRY(mr_aged_create(s->p.n_stages, n, out));
	for (uint32_t i = 0; s->record && i < n; i++)
		copy_step(s->record, (uint32_t)(first + i), *out, i);
	if (!s->record)
		st = left_over(s, first, *out);
	if (st == MR_OK)
		return mr_aged_index(*out);
	mr_aged_destroy(*out);
	*out = NULL;
	return st;
}

uint32_t mr_rpd_stream_oldest(const mr_rpd_stream *s)
{
	uint32_t most = s->p.delta;

	if (s->record) {
		most = 0;
		for (uint32_t k = 0; k < s->record->n_steps; k++)
			most = mr_aged_oldest(s->record, k, k) > most ? mr_aged_oldest(s->record, k, k) : most;
		return most;
	}
	if (s->p.delays == MR_RPD_DELAY_ZERO)
		most = 0;
	if (s->p.delays == MR_RPD_DELAY_EXACT)
		most = mr_unit_delay_startup(s->p.n_stages);
	return s->limit && s->limit - 1 < most ? s->limit - 1 : most;
}

uint64_t mr_rpd_stream_hash(const mr_rpd_stream *s)
{
	const mr_rpd_params *p = &s->p;
	const mr_aged *r = s->record;
	uint64_t said[] = {p->n_stages, p->n_batches, p->stage, p->batch, p->delays,
			   p->delta,    p->seed,      s->limit, p->n_all};
	uint64_t h;

	if (!r)
		return mr_hash64(0, said, sizeof(said));
	h = mr_hash64(r->n_stages, r->stage, r->n_steps * sizeof(*r->stage));
	h = mr_hash64(h, r->batch, r->n_steps * sizeof(*r->batch));
	return mr_hash64(h, r->delay, (size_t)r->n_steps * r->n_stages * sizeof(*r->delay));
}
