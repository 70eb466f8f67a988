#include "exec/features/race.h"

#include <stdlib.h>

mr_status mr_race_create(uint64_t record_micro, mr_race **out)
{
	mr_race *r = calloc(1, sizeof(*r));

	if (r && record_micro) {
		r->room = 2 * record_micro;
		r->log = calloc(r->room, sizeof(*r->log));
	}
	if (!r || (record_micro && !r->log)) {
		mr_race_destroy(r);
		return mr_fail(MR_ERESOURCE, "no memory to record the order of %llu micro-batches",
			       (unsigned long long)record_micro);
	}
	*out = r;
	return MR_OK;
}

void mr_race_destroy(mr_race *r)
{
	if (r)
		free(r->log);
	free(r);
}

void mr_race_reset(mr_race *r, uint64_t n)
{
	*r = (mr_race){.n_f = n, .n_b = n, .log = r->log, .room = r->room};
}

void mr_race_note(mr_race *r, uint32_t op, uint64_t read)
{
	if (r->n_log < r->room)
		r->log[r->n_log++] = (mr_race_rec){.op = op, .read = (uint32_t)read};
}
