#include "ir/pause.h"

static bool commits(const mr_instr *in)
{
	return in->op == MR_OP_U || (in->flags & MR_INSTR_UPDATE && (in->op == MR_OP_B || in->op == MR_OP_W));
}

/* Commits of version @version in the first @n instructions. */
static uint32_t count(const mr_list *l, uint32_t n, int64_t version)
{
	uint32_t made = 0;

	for (uint32_t i = 0; i < n; i++)
		made += commits(&l->at[i]) && l->at[i].target == version;
	return made;
}

uint32_t mr_pauses_of(const mr_plan *plan, uint16_t worker, uint32_t *at, uint32_t room)
{
	const mr_list *l = mr_plan_list(plan, worker, MR_PROLOGUE);
	uint32_t n = 0, stages = 0, made = 0; /* made: stages that have version n + 1 */
	bool ahead = false; /* a stage has made a later version. No plan that can pause does that; counting again then
	                       costs time and is right */

	for (uint32_t s = 0; s < plan->n_stages; s++)
		stages += mr_plan_worker(plan, 0, (uint16_t)s) == worker;
	for (uint32_t i = 0; i < l->n; i++) {
		bool here = commits(&l->at[i]) && l->at[i].target == (int64_t)n + 1;

		ahead |= commits(&l->at[i]) && l->at[i].target > (int64_t)n + 1;
		made += here;
		if (!here || made < stages)
			continue;
		while (plan->contract.steal && i + 1 < l->n && l->at[i + 1].op == MR_OP_W)
			i++; /* a W of this iteration, stolen from another worker: in the next one a W follows an F */
		if (n < room)
			at[n] = i + 1;
		n++;
		made = ahead ? count(l, i + 1, (int64_t)n + 1) : 0;
	}
	return n;
}
