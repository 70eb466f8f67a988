#include "ir/fetches.h"

#include <stdlib.h>

/* The last run in a room. */
typedef struct room {
	uint32_t run; /* MR_NO_RUN: none */
	uint16_t stage;
} room;

static bool reads(const mr_instr *in, uint8_t pipe)
{
	return in->pipe == pipe &&
	       (in->op == MR_OP_F || in->op == MR_OP_B || in->op == MR_OP_I || in->op == MR_OP_R);
}

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Run @run of @stage begins. */
static void begin(mr_fetches *out, room *rooms, uint32_t n_rooms, uint32_t run, uint16_t stage)
{
	room *r = &rooms[stage % n_rooms];
	uint32_t free = r->run == MR_NO_RUN ? 0 : r->run + 1, ahead = n_rooms - 1;

	if (r->run == MR_NO_RUN || r->stage != stage)
		out->fetch[out->n++] = (mr_fetch){stage, later(free, run > ahead ? run - ahead : 0)};
	r->stage = stage;
}

/* Fetches are found in the order of the runs that read; of those for which there is room at once that order stays. */
static void sort(mr_fetches *f)
{
	for (uint32_t i = 1; i < f->n; i++) {
		mr_fetch x = f->fetch[i];
		uint32_t at = i;

		for (; at > 0 && f->fetch[at - 1].at > x.at; at--)
			f->fetch[at] = f->fetch[at - 1];
		f->fetch[at] = x;
	}
}

mr_status mr_fetches_of(const mr_list *l, uint8_t pipe, uint32_t n_rooms, mr_fetches *out)
{
	room *rooms = calloc(n_rooms, sizeof(*rooms));
	uint16_t stage = 0;

	*out = (mr_fetches){.fetch = calloc(l->n + 1, sizeof(*out->fetch)),
			    .run_of = calloc(l->n + 1, sizeof(*out->run_of))};
	if (!rooms || !out->fetch || !out->run_of) {
		free(rooms);
		mr_fetches_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for the fetches of %u instructions", l->n);
	}
	for (uint32_t i = 0; i < n_rooms; i++)
		rooms[i].run = MR_NO_RUN;
	for (uint32_t i = 0; i < l->n; i++) {
		const mr_instr *in = &l->at[i];

		out->run_of[i] = MR_NO_RUN;
		if (!reads(in, pipe))
			continue;
		if (!out->n_runs || in->stage != stage)
			begin(out, rooms, n_rooms, out->n_runs++, in->stage);
		stage = in->stage;
		out->run_of[i] = out->n_runs - 1;
		rooms[stage % n_rooms].run = out->n_runs - 1;
	}
	free(rooms);
	sort(out);
	return MR_OK;
}

uint32_t mr_fetches_of_stage(const mr_fetches *f, uint16_t stage)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		n += f->fetch[i].stage == stage;
	return n;
}

void mr_fetches_fini(mr_fetches *f)
{
	free(f->fetch);
	free(f->run_of);
	*f = (mr_fetches){0};
}
