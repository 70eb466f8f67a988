#include "ir/fifo.h"

/* The next instruction of @stage in @pipe from *@at on that sends a message over the boundary or receives one; NULL:
 * there is none. */
static const mr_instr *next_of(const mr_list *l, uint32_t *at, uint8_t pipe, uint16_t stage, bool forward)
{
	while (*at < l->n) {
		const mr_instr *in = &l->at[(*at)++];
		bool passes = forward ? in->op == MR_OP_F : in->op == MR_OP_B || in->op == MR_OP_I;

		if (passes && in->stage == stage && in->pipe == pipe)
			return in;
	}
	return NULL;
}

static bool is_fifo_in(const mr_plan *plan, mr_section section, uint8_t pipe, uint16_t maker, uint16_t user,
		       bool forward)
{
	const mr_list *from = mr_plan_list(plan, mr_plan_worker(plan, pipe, maker), section);
	const mr_list *to = mr_plan_list(plan, mr_plan_worker(plan, pipe, user), section);
	const mr_instr *sent, *taken;
	uint32_t i = 0, k = 0;

	do {
		sent = next_of(from, &i, pipe, maker, forward);
		taken = next_of(to, &k, pipe, user, forward);
		if (!sent != !taken || (sent && sent->micro != taken->micro))
			return false;
	} while (sent);
	return true;
}

bool mr_boundary_is_fifo(const mr_plan *plan, uint8_t pipe, uint16_t stage, bool forward)
{
	uint16_t before = (uint16_t)(stage - 1), maker = forward ? before : stage, user = forward ? stage : before;

	if (plan->storage == MR_MODULO)
		return true;
	for (int s = 0; s < MR_N_SECTIONS; s++)
		if (!is_fifo_in(plan, (mr_section)s, pipe, maker, user, forward))
			return false;
	return true;
}
