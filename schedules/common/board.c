#include "schedules/common/board.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS (1u << 27) /* over all workers; like the limits on instructions, against mistyped numbers */

static void lay(mr_board *b, mr_board_start *start)
{
	for (uint16_t w = 0; w < b->n_workers; w++)
		for (mr_vee_step p = 0; p < MR_BOARD_PASSES; p++)
			for (uint32_t m = 0; m < b->n_micro; m++) {
				uint32_t slot = start(b->n_workers, w, p) + MR_BOARD_BLOCK * m;

				mr_board_row(b, w)[slot] = (uint8_t)p;
				if (b->back == 2 && p >= MR_VEE_I1)
					mr_board_row(b, w)[slot + 1] = p == MR_VEE_I1 ? MR_VEE_W1 : MR_VEE_W0;
				mr_board_when(b, w, p)[m] = slot;
			}
}

mr_status mr_board_create(const mr_plan *plan, mr_board_start *start, uint32_t back, mr_board *out)
{
	mr_board b = {.n_workers = plan->n_workers, .n_micro = plan->n_micro, .back = back};
	uint32_t last = 0;
	uint64_t n_slots;

	for (uint32_t w = 0; w < b.n_workers; w++)
		for (mr_vee_step p = 0; p < MR_BOARD_PASSES; p++)
			if (start(b.n_workers, w, p) > last)
				last = start(b.n_workers, w, p);
	n_slots = last + (MR_BOARD_BLOCK + 2ull) * b.n_micro + 2; /* two weight gradients a micro-batch may come last */
	if (n_slots * b.n_workers > MAX_SLOTS)
		return mr_fail(MR_ECONFIG,
			       "%u micro-batches on %u workers are more than this order can be made for (%u slots)",
			       b.n_micro, b.n_workers, MAX_SLOTS);
	b.n_slots = (uint32_t)n_slots;
	b.at = malloc((size_t)b.n_workers * b.n_slots);
	b.when = malloc((size_t)b.n_workers * MR_BOARD_PASSES * b.n_micro * sizeof(*b.when));
	*out = b;
	if (!b.at || !b.when) {
		mr_board_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for a board of %u slots on %u workers", b.n_slots, b.n_workers);
	}
	memset(b.at, MR_BOARD_FREE, (size_t)b.n_workers * b.n_slots);
	lay(&b, start);
	return MR_OK;
}

void mr_board_fini(mr_board *b)
{
	free(b->at);
	free(b->when);
	*b = (mr_board){0};
}

/* The later of @slot and the first slot after @pass of @micro on @worker. */
static uint32_t behind(const mr_board *b, uint16_t worker, mr_vee_step pass, uint32_t micro, uint32_t slot)
{
	uint32_t end = mr_board_when(b, worker, pass)[micro] + (pass >= MR_VEE_I1 ? b->back : 1);

	return end > slot ? end : slot;
}

uint32_t mr_board_earliest(const mr_board *b, uint16_t worker, mr_vee_step pass, uint32_t micro)
{
	bool down = pass == MR_VEE_F0 || pass == MR_VEE_I1;
	uint32_t slot = 0;

	if (down ? worker > 0 : worker + 1 < b->n_workers)
		slot = behind(b, (uint16_t)(down ? worker - 1 : worker + 1), pass, micro, slot);
	if (pass != MR_VEE_F0)
		slot = behind(b, worker, (mr_vee_step)(pass - 1), micro, slot);
	if (micro)
		slot = behind(b, worker, pass, micro - 1, slot);
	return slot;
}

mr_status mr_board_emit(const mr_board *b, mr_plan *plan, bool fused)
{
	uint8_t *steps = malloc(b->n_slots);
	mr_status st = steps ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u slots", b->n_slots);

	for (uint16_t w = 0; st == MR_OK && w < b->n_workers; w++) {
		size_t n = 0;

		for (uint32_t slot = 0; slot < b->n_slots; slot++)
			if (mr_board_row(b, w)[slot] != MR_BOARD_FREE)
				steps[n++] = mr_board_row(b, w)[slot];
		st = mr_vee_emit_steps(plan, w, steps, n, fused);
	}
	free(steps);
	return st;
}
