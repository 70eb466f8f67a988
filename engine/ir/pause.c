#include "ir/pause.h"

static bool commits(const mr_instr *in)
{
	return in->op == MR_OP_U || (in->flags & MR_INSTR_UPDATE && (in->op == MR_OP_B || in->op == MR_OP_W));
}

/* Whether @worker's prologue makes version @version of stage @s at or before place @at. */
static bool made(const mr_plan *plan, uint16_t worker, uint16_t s, uint32_t at, int64_t version)
{
	const mr_list *l = mr_plan_list(plan, worker, MR_PROLOGUE);

	for (uint32_t i = at + 1; i-- > 0;) /* from behind: stages of one worker are seldom far apart */
		if (l->at[i].stage == s && commits(&l->at[i]) && l->at[i].target == version)
			return true;
	return false;
}

uint32_t mr_pauses_of(const mr_plan *plan, uint16_t worker, uint32_t *at, uint32_t room)
{
	const mr_list *l = mr_plan_list(plan, worker, MR_PROLOGUE);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		bool all = commits(&l->at[i]) && l->at[i].target == (int64_t)n + 1;

		for (uint32_t s = 0; all && s < plan->n_stages; s++)
			if (mr_plan_worker(plan, 0, (uint16_t)s) == worker)
				all = made(plan, worker, (uint16_t)s, i, (int64_t)n + 1);
		while (all && plan->contract.steal && i + 1 < l->n && l->at[i + 1].op == MR_OP_W)
			i++; /* of the same iteration, of other workers: a W of the next one has an F before it */
		if (all && n < room)
			at[n] = i + 1;
		n += all;
	}
	return n;
}
