#include "run/eval_plan.h"

#include <stdio.h>

#include "ir/check.h"

static mr_status fill(const mr_plan *train, mr_plan *p)
{
	snprintf(p->system, sizeof(p->system), "evaluation");
	p->n_micro = 1;
	p->contract = (mr_contract){
		.coverage = MR_COVER_FORWARD,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_LATEST,
		.need = 1,
	};
	p->storage = MR_MODULO;
	for (uint16_t s = 0; s < p->n_stages; s++) {
		uint16_t w = mr_plan_worker(train, 0, s);
		mr_instr f = {.op = MR_OP_F, .span = 1, .stage = s};

		p->worker_of[s] = w;
		p->n_slots[s] = 1;
		p->n_fwd[s] = s ? 2 : 0;
		p->n_versions[s] = 1;
		MR_TRY(mr_plan_append(p, w, MR_BODY, f));
	}
	p->lowered = true;
	MR_TRY(mr_plan_check(p));
	p->contract.tied = train->contract.tied; /* the last stage then reads the first one's published version */
	return MR_OK;
}

mr_status mr_eval_plan_create(const mr_plan *train, mr_plan **out)
{
	mr_plan *p;
	mr_status st;

	MR_TRY(mr_plan_create(train->n_stages, train->n_workers, 1, &p));
	st = fill(train, p);
	if (st != MR_OK) {
		mr_plan_destroy(p);
		return mr_fail_in(st, "evaluation plan");
	}
	*out = p;
	return MR_OK;
}
