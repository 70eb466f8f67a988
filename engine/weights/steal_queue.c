#include "weights/steal_queue.h"

#include "base/zeroed.h"
#include "ir/op.h"

mr_status mr_steal_queue_create(const mr_plan *p, uint16_t worker, uint64_t record_micro, mr_steal_queue **out)
{
	const mr_list *l = mr_plan_list(p, worker, MR_BODY);
	mr_steal_queue *q = mr_zeroed(sizeof(*q));
	uint64_t all = 0;

	for (uint16_t i = 0; i < p->n_workers; i++)
		all += mr_steal_count(p, i);
	if (q) {
		q->any = calloc(mr_steal_count(p, worker) + 1u, sizeof(*q->any));
		q->room = record_micro / p->n_micro * all;
		q->log = record_micro ? calloc(q->room + 1, sizeof(*q->log)) : NULL;
	}
	if (!q || !q->any || (record_micro && !q->log)) {
		mr_steal_queue_destroy(q);
		return mr_fail(MR_ERESOURCE, "no memory for the W that worker %u shares", worker);
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].flags & MR_INSTR_ANY)
			q->any[q->n_any++] = i;
		else if (mr_op_is_compute(l->at[i].op))
			q->from = i + 1;
	*out = q;
	return MR_OK;
}

void mr_steal_queue_destroy(mr_steal_queue *q)
{
	if (!q)
		return;
	free(q->any);
	free(q->log);
	free(q);
}

void mr_steal_queue_reset(mr_steal_queue *q)
{
	atomic_store_explicit(&q->taken, 0, memory_order_relaxed);
	q->n_log = q->n_stolen = 0;
}

void mr_steal_queue_note(mr_steal_queue *q, const mr_steal *s)
{
	if (!q->log)
		return;
	if (q->n_log < q->room)
		q->log[q->n_log] = *s;
	q->n_log++;
}

mr_status mr_steal_queue_open_sum(mr_stage_weights *b, uint32_t need)
{
	uint32_t layers = mr_stage_weight_layers(b->stage);

	b->steal_sum = mr_zeroed(sizeof(*b->steal_sum) + need * sizeof(b->steal_sum->turn[0]));
	if (!b->steal_sum)
		return mr_fail(MR_ERESOURCE, "no memory for the order of %u micro-batches", need);
	b->steal_sum->need = need;
	b->steal_sum->n_layers = layers ? layers : 1;
	return MR_OK;
}

void mr_steal_queue_reset_sum(mr_stage_weights *b, mr_parker *const *parkers, uint32_t n_workers)
{
	mr_steal_sum *x = b->steal_sum;
	uint32_t v = (uint32_t)b->latest;

	mr_event_init(&x->opened, v, parkers, n_workers);
	for (uint32_t i = 0; i < x->need; i++)
		mr_event_init(&x->turn[i], v * x->n_layers, parkers, n_workers);
	x->n_grads = 0;
}
