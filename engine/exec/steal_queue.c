#include "exec/steal_queue.h"

#include <stdlib.h>

#include "ir/op.h"

mr_status mr_steal_queue_create(const mr_plan *p, uint16_t worker, uint64_t record_micro, mr_steal_queue *t)
{
	const mr_list *l = mr_plan_list(p, worker, MR_BODY);
	uint64_t all = 0;

	for (uint16_t i = 0; i < p->n_workers; i++)
		all += mr_steal_count(p, i);
	t->any = calloc(mr_steal_count(p, worker) + 1u, sizeof(*t->any));
	t->room = record_micro / p->n_micro * all;
	t->log = record_micro ? calloc(t->room + 1, sizeof(*t->log)) : NULL;
	if (!t->any || (record_micro && !t->log))
		return mr_fail(MR_ERESOURCE, "no memory for what worker %u gives and takes", worker);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].flags & MR_INSTR_ANY)
			t->any[t->n_any++] = i;
		else if (mr_op_is_compute(l->at[i].op))
			t->from = i + 1;
	return MR_OK;
}

void mr_steal_queue_fini(mr_steal_queue *t)
{
	free(t->any);
	free(t->log);
	t->any = NULL;
	t->log = NULL;
}

void mr_steal_queue_reset(mr_steal_queue *t)
{
	atomic_store_explicit(&t->taken, 0, memory_order_relaxed);
	t->n_log = t->n_stolen = 0;
}

mr_status mr_steal_queue_open_sum(mr_stage_weights *b, uint32_t need)
{
	b->turn = aligned_alloc(_Alignof(mr_event), need * sizeof(*b->turn));
	b->n_turns = mr_stage_replicas(b->stage) ? mr_stage_replicas(b->stage) : 1;
	return b->turn ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the turns of %u micro-batches", need);
}

void mr_steal_queue_close_sum(mr_stage_weights *b)
{
	free(b->turn);
	b->turn = NULL;
}

void mr_steal_queue_reset_sum(mr_stage_weights *b, uint32_t need, mr_parker *const *parkers, uint32_t n_workers)
{
	uint32_t v = (uint32_t)b->latest;

	mr_event_init(&b->opened, v, parkers, need ? n_workers : 0);
	for (uint32_t i = 0; i < need; i++)
		mr_event_init(&b->turn[i], v * b->n_turns, parkers, n_workers);
	b->n_grads = 0;
}
