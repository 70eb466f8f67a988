/*
 * 1f1b_v.c - 1F1B on a V of stages: two thirds of its memory, and a shorter bubble (3 workers, 5 micro-batches, b = 2
 * f; small letters: the second stage).
 *
 *   w0 F0F1F2F3F4f0b0--f1b1--f2b2--........f3B0--b3--f4B1--b4--B2--....B3--....B4--
 *   w1 ..F0F1F2f0F3f1..b0--f2b1--..F4B0--f3b2--B1--f4b3--..B2--b4--B3--....B4--....
 *   w2 ....F0f0F1f1F2f2....b0--B0--F3f3b1--B1--F4f4b2--B2--b3--B3--b4--B4--........
 *
 * Problem: 1f1b keeps D micro-batches on its first worker and one on its last. Idea: on a V (see vee.h) each worker's
 * early stage, whose activations live long, is paired with a late one, whose activations live shortly. Place the passes
 * of one micro-batch in slots, with a wait only where they would collide with those of another, repeat that every six
 * slots, and move all passes to the front as long as no worker ever holds more than the most that a worker holds in the
 * middle. Backwards are not split.
 *
 * Memory: floor(2 D / 3) + 1 micro-batches of a worker's share on the first and last worker from T = 2 D - 1 on. Time:
 * at f = i = w, T >= 2 D - 1, makespan and period have a bubble of 2.5 (D - 1) f where D leaves 1 when divided by 3,
 * and of (2.5 D - 3.5) f where it leaves 2 (D >= 5), found on the plans up to D = 18; 1f1b: 3 (D - 1) f. Gradients of
 * a stage are summed in the order 0..T-1.
 *
 * Source: Qi et al., Pipeline Parallelism with Controllable Memory, 2024 (1F1B-V); the order is that of its published
 * scheduler.
 * NOTE 1: as there, a backward moves to the front by at least two slots or not at all.
 */
#include <stdlib.h>

#include "schedules/common/board.h"

#define ROOM 7 /* empty slots in front, as in the published scheduler: a backward is not moved by a single slot */

/* Forwards one slot after the other; then backwards of two slots, with three slots left to others after each third. */
static uint32_t start(uint32_t n_workers, uint32_t worker, mr_vee_step pass)
{
	uint32_t d = n_workers, up = d - 1 - worker;
	uint32_t k = pass == MR_VEE_I1 ? worker : d + up; /* backwards before this one */

	if (pass == MR_VEE_F0)
		return ROOM + worker;
	if (pass == MR_VEE_F1)
		return ROOM + d + up;
	return ROOM + 2 * d + (d % 3 ? 0 : 3) + 2 * k + 3 * (((3 - (d + 2) % 3) % 3 + k) / 3);
}

/* How many chunks the worker holds behind each slot; returns the most. */
static uint32_t weigh(const mr_board *b, uint16_t worker, uint32_t *held)
{
	uint32_t now = 0, most = 0;

	for (uint32_t slot = 0; slot < b->n_slots; slot++) {
		uint8_t step = mr_board_row(b, worker)[slot];

		now += step == MR_VEE_F0 || step == MR_VEE_F1;
		now -= step == MR_VEE_W0 || step == MR_VEE_W1;
		most = now > most ? now : most;
		held[slot] = now;
	}
	return most;
}

/* The slot to which the forward in @slot can go, @earliest or later, while the worker holds at most @limit. */
static uint32_t place_f(const uint8_t *row, const uint32_t *held, uint32_t limit, uint32_t earliest, uint32_t slot)
{
	uint32_t to = slot;

	while (to > earliest && held[to - 1] < limit)
		to--;
	while (to < slot && row[to] != MR_BOARD_FREE)
		to++;
	return to;
}

static uint32_t place_b(const uint8_t *row, uint32_t earliest, uint32_t slot)
{
	uint32_t to = earliest;

	while (to < slot && (row[to] != MR_BOARD_FREE || row[to + 1] != MR_BOARD_FREE))
		to++;
	return to;
}

/* Pull the forward or backward in @slot to the front. */
static void pull(const mr_board *b, uint16_t worker, uint32_t slot, uint32_t micro, uint32_t limit, uint32_t *held)
{
	uint8_t *row = mr_board_row(b, worker), step = row[slot];
	uint32_t earliest = mr_board_earliest(b, worker, step, micro);

	if (step == MR_VEE_F0 || step == MR_VEE_F1) {
		uint32_t to = place_f(row, held, limit, earliest, slot);

		row[slot] = MR_BOARD_FREE;
		row[to] = step;
		mr_board_when(b, worker, step)[micro] = to;
		for (uint32_t k = to; k < slot; k++)
			held[k]++;
	} else {
		uint32_t to = place_b(row, earliest, slot);
		uint8_t second = row[slot + 1];

		row[slot] = row[slot + 1] = MR_BOARD_FREE;
		row[to] = step;
		row[to + 1] = second;
		mr_board_when(b, worker, step)[micro] = to;
		for (uint32_t k = to + 1; k < slot + 1; k++)
			held[k]--;
	}
}

static mr_status squeeze(mr_board *b)
{
	uint32_t *held = malloc((size_t)b->n_workers * b->n_slots * sizeof(*held));
	uint32_t *done = calloc((size_t)b->n_workers * MR_BOARD_PASSES, sizeof(*done));
	uint32_t limit = 0;
	mr_status st = held && done ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to squeeze %u slots", b->n_slots);

	for (uint16_t w = 0; st == MR_OK && w < b->n_workers; w++) {
		uint32_t most = weigh(b, w, held + (size_t)w * b->n_slots);

		limit = most > limit ? most : limit;
	}
	for (uint32_t slot = 0; st == MR_OK && slot < b->n_slots; slot++)
		for (uint16_t w = 0; w < b->n_workers; w++) {
			uint8_t step = mr_board_row(b, w)[slot];

			if (step < MR_BOARD_PASSES)
				pull(b, w, slot, done[(size_t)w * MR_BOARD_PASSES + step]++, limit,
				     held + (size_t)w * b->n_slots);
		}
	free(held);
	free(done);
	return st;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_board board = {0};
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_vee_create(args, "1f1b_v", 2, &plan));
	st = mr_board_create(plan, start, 2, &board);
	if (st == MR_OK)
		st = squeeze(&board);
	if (st == MR_OK)
		st = mr_board_emit(&board, plan, true);
	mr_board_fini(&board);
	return mr_sched_finish(plan, st, out);
}

/* The times are exact for equal costs and enough micro-batches to fill the pipeline; the memory for any costs. */
static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers;

	if (args->n_micro < 2 * d - 1)
		return;
	out->peak_first = 2 * d / 3 + 1;
	out->peak_last = 2 * d / 3 + 1;
	if (f != i || i != w || d % 3 == 0 || d == 2)
		return;
	out->bubble_time = d % 3 == 1 ? 2.5 * (d - 1) * f : (2.5 * d - 3.5) * f;
	out->bubble_period = out->bubble_time;
}

const mr_sched_ops mr_sched_1f1b_v = {
	.name = "1f1b_v",
	.summary = "1F1B on a V of two stages a worker: two thirds of its memory, evenly spread",
	.source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024, section 3 (1F1B-V)",
	.chunks = 2,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
