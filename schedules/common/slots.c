#include "schedules/common/slots.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/grown.h"

typedef struct mr_slot_entry {
	uint64_t slot;
	uint32_t micro;
	uint16_t worker, stage;
	uint8_t op, pipe;
} mr_slot_entry;

void mr_slots_init(mr_slots *s, mr_plan *plan)
{
	*s = (mr_slots){.plan = plan};
}

void mr_slots_fini(mr_slots *s)
{
	free(s->at);
	s->at = NULL;
}

mr_status mr_slots_put(mr_slots *s, uint64_t slot, mr_op op, uint32_t micro, uint16_t stage, uint8_t pipe)
{
	mr_slot_entry *at = mr_grown(s->at, s->n, sizeof(*at));

	if (!at)
		return mr_fail(MR_ERESOURCE, "no memory to order %zu instructions", s->n + 1);
	s->at = at;
	s->at[s->n++] = (mr_slot_entry){slot, micro, mr_plan_worker(s->plan, pipe, stage), stage, (uint8_t)op, pipe};
	return MR_OK;
}

static int by_place(const void *a, const void *b)
{
	const mr_slot_entry *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->micro < y->micro ? -1 : x->micro > y->micro;
}

static bool clash(const mr_slot_entry *a, const mr_slot_entry *b)
{
	return a->worker == b->worker && a->slot == b->slot &&
	       (a->op != b->op || a->stage != b->stage || a->pipe != b->pipe || a->micro == b->micro);
}

mr_status mr_slots_emit(mr_slots *s)
{
	if (s->n)
		qsort(s->at, s->n, sizeof(*s->at), by_place);
	for (size_t i = 0; i < s->n; i++) {
		const mr_slot_entry *e = &s->at[i];

		if (i > 0 && clash(e - 1, e))
			return mr_fail(MR_EINVAL,
				       "worker %u, slot %" PRIu64 ": %s m%u s%u p%u stands where %s m%u s%u p%u is",
				       e->worker, e->slot, mr_op_name((mr_op)e->op), e->micro, e->stage, e->pipe,
				       mr_op_name((mr_op)e[-1].op), e[-1].micro, e[-1].stage, e[-1].pipe);
		MR_TRY(mr_sched_emit(s->plan, e->worker, MR_BODY, (mr_op)e->op, e->micro, e->stage, e->pipe));
	}
	return MR_OK;
}
