/*
 * Squeezing. Blocks six slots apart leave holes at the front, where no backward has begun, and at the back, where no
 * forward is left. The slots of the board are visited in order, and each step moves to the earliest free slot that its
 * dependencies allow and at which its worker never holds more than the most that any worker held before. The middle,
 * from worker 0's first I of leg 0 to its last F, is periodic and stays as it is. First the weight gradients are steps
 * like the others, put into the first free slots after their I, and all steps are moved; then the weight gradients are
 * taken out again and the back is squeezed once more, where each free slot counts as a weight gradient if one is due.
 * Last they are put into the remaining free slots.
 */
#include "schedules/common/v_squeeze.h"

#include <stdlib.h>
#include <string.h>

/* What a worker holds behind a slot. */
typedef struct load {
	uint32_t held; /* chunks, each from F to W */
	uint32_t owed; /* weight gradients due; counted only where they are not on the board */
} load;

typedef struct squeeze {
	mr_board *b;
	bool with_w;
	uint32_t limit; /* most that a worker held before */
	load *after;    /* [D][n_slots] */
	uint8_t *other; /* [D][n_slots] the board as it was, or as it will be */
	uint32_t *done; /* [D][MR_VEE_N] steps gone through; both W as MR_VEE_W0 */
	uint32_t *last; /* [D] slot of the last W, or of the last step */
} squeeze;

static bool is_w(uint8_t step)
{
	return step == MR_VEE_W0 || step == MR_VEE_W1;
}

static bool is_i(uint8_t step)
{
	return step == MR_VEE_I0 || step == MR_VEE_I1;
}

/* Each W into the first free slot after its I; where both legs have one due, that of leg 1. */
static void put_w(mr_board *b)
{
	for (uint16_t w = 0; w < b->n_workers; w++) {
		uint8_t *row = mr_board_row(b, w);
		uint32_t owed[2] = {0};

		for (uint32_t slot = 0; slot < b->n_slots; slot++) {
			if (is_i(row[slot])) {
				owed[row[slot] == MR_VEE_I1]++;
			} else if (row[slot] == MR_BOARD_FREE && (owed[0] || owed[1])) {
				row[slot] = owed[1] ? MR_VEE_W1 : MR_VEE_W0;
				owed[owed[1] > 0]--;
			}
		}
	}
}

static void take_w(mr_board *b)
{
	for (size_t k = 0; k < (size_t)b->n_workers * b->n_slots; k++)
		if (is_w(b->at[k]))
			b->at[k] = MR_BOARD_FREE;
}

static load next_load(const squeeze *q, load l, uint8_t step)
{
	if (step == MR_VEE_F0 || step == MR_VEE_F1) {
		l.held++;
	} else if (is_w(step)) {
		l.held--;
	} else if (is_i(step)) {
		l.owed += !q->with_w;
	} else if (l.owed) {
		l.owed--;
		l.held--;
	}
	return l;
}

static load *load_of(const squeeze *q, uint16_t w)
{
	return &q->after[(size_t)w * q->b->n_slots];
}

static void weigh(squeeze *q)
{
	q->limit = 0;
	for (uint16_t w = 0; w < q->b->n_workers; w++) {
		load l = {0};

		for (uint32_t slot = 0; slot < q->b->n_slots; slot++) {
			l = next_load(q, l, mr_board_row(q->b, w)[slot]);
			load_of(q, w)[slot] = l;
			q->limit = l.held > q->limit ? l.held : q->limit;
		}
	}
}

/* Move a step of @w to the free slot @to before it, if the worker then never holds more than the limit. */
static bool try_move(squeeze *q, uint16_t w, uint32_t from, uint32_t to)
{
	uint8_t *row = mr_board_row(q->b, w);
	load *after = load_of(q, w), l = to ? after[to - 1] : (load){0};
	uint32_t slot, end;

	row[to] = row[from];
	row[from] = MR_BOARD_FREE;
	for (end = to; end < q->b->n_slots; end++) {
		l = next_load(q, l, row[end]);
		if (l.held > q->limit) {
			row[from] = row[to];
			row[to] = MR_BOARD_FREE;
			return false;
		}
		if (end >= from && l.held == after[end].held && l.owed == after[end].owed)
			break;
	}
	l = to ? after[to - 1] : (load){0};
	for (slot = to; slot < q->b->n_slots && slot <= end; slot++) {
		l = next_load(q, l, row[slot]);
		after[slot] = l;
	}
	return true;
}

/* The first slot for the W of @w that stands in @slot: behind the W before it, and behind as many I as W up to it. */
static uint32_t earliest_w(const squeeze *q, uint16_t w, uint32_t slot)
{
	const uint32_t *done = &q->done[(size_t)w * MR_VEE_N];
	uint32_t ahead = done[MR_VEE_I0] + done[MR_VEE_I1] - done[MR_VEE_W0];
	uint32_t i = slot;

	while (ahead)
		ahead -= is_i(mr_board_row(q->b, w)[--i]);
	return (done[MR_VEE_W0] && q->last[w] > i ? q->last[w] : i) + 1;
}

/* Move the step in @slot of @w, which is its @micro-th, to the front as far as it goes. */
static void pull(squeeze *q, uint16_t w, uint32_t slot, uint32_t micro)
{
	uint8_t *row = mr_board_row(q->b, w), step = row[slot];
	uint32_t to = is_w(step) ? earliest_w(q, w, slot) : mr_board_earliest(q->b, w, step, micro);

	while (to < slot && (row[to] != MR_BOARD_FREE || !try_move(q, w, slot, to)))
		to++;
	if (is_w(step))
		q->last[w] = to;
	else
		mr_board_when(q->b, w, step)[micro] = to;
}

static void squeeze_board(squeeze *q, bool with_w)
{
	mr_board *b = q->b;
	enum { FRONT, MIDDLE, BACK } part = FRONT;

	q->with_w = with_w;
	weigh(q);
	memcpy(q->other, b->at, (size_t)b->n_workers * b->n_slots);
	memset(q->done, 0, (size_t)b->n_workers * MR_VEE_N * sizeof(*q->done));
	for (uint32_t slot = 0; slot < b->n_slots; slot++)
		for (uint16_t w = 0; w < b->n_workers; w++) {
			uint8_t step = q->other[(size_t)w * b->n_slots + slot];
			uint32_t *done = &q->done[(size_t)w * MR_VEE_N + (is_w(step) ? MR_VEE_W0 : step)];

			if (step == MR_BOARD_FREE)
				continue;
			if (part == FRONT && step == MR_VEE_I0 && w == 0)
				part = MIDDLE;
			if (part == BACK || (part == FRONT && with_w))
				pull(q, w, slot, *done);
			else if (is_w(step))
				q->last[w] = slot;
			if (part == MIDDLE && step == MR_VEE_F0 && *done == b->n_micro - 1)
				part = BACK;
			++*done;
		}
}

/* Move every step to the earliest slot that the order of its row and its dependencies allow. */
static void settle(squeeze *q)
{
	mr_board *b = q->b;
	uint8_t *settled = q->other;

	memset(settled, MR_BOARD_FREE, (size_t)b->n_workers * b->n_slots);
	memset(q->done, 0, (size_t)b->n_workers * MR_VEE_N * sizeof(*q->done));
	memset(q->last, 0, b->n_workers * sizeof(*q->last)); /* here: the first free slot */
	for (uint32_t slot = 0; slot < b->n_slots; slot++)
		for (uint16_t w = 0; w < b->n_workers; w++) {
			uint8_t step = mr_board_row(b, w)[slot];
			uint32_t to = q->last[w];

			if (step == MR_BOARD_FREE)
				continue;
			if (!is_w(step)) {
				uint32_t micro = q->done[(size_t)w * MR_VEE_N + step]++;
				uint32_t earliest = mr_board_earliest(b, w, step, micro);

				to = earliest > to ? earliest : to;
				mr_board_when(b, w, step)[micro] = to;
			}
			settled[(size_t)w * b->n_slots + to] = step;
			q->last[w] = to + 1;
		}
	q->other = b->at;
	b->at = settled;
}

static mr_status build(mr_board *b)
{
	size_t n = (size_t)b->n_workers * b->n_slots;
	squeeze q = {
		.b = b,
		.after = malloc(n * sizeof(*q.after)),
		.other = malloc(n),
		.done = malloc((size_t)b->n_workers * MR_VEE_N * sizeof(*q.done)),
		.last = malloc(b->n_workers * sizeof(*q.last)),
	};
	mr_status st = MR_OK;

	if (q.after && q.other && q.done && q.last) {
		put_w(b);
		squeeze_board(&q, true);
		settle(&q);
		take_w(b);
		squeeze_board(&q, false);
		put_w(b);
		settle(&q);
		take_w(b);
		put_w(b);
	} else {
		st = mr_fail(MR_ERESOURCE, "no memory to squeeze %u slots on %u workers", b->n_slots, b->n_workers);
	}
	free(q.after);
	free(q.other);
	free(q.done);
	free(q.last);
	return st;
}

mr_status mr_v_squeeze(const mr_sched_args *args, const char *name, mr_board_start *start, mr_plan **out)
{
	mr_board board = {0};
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_vee_create(args, name, 3, &plan));
	st = mr_board_create(plan, start, 1, &board);
	if (st == MR_OK)
		st = build(&board);
	if (st == MR_OK)
		st = mr_board_emit(&board, plan, false);
	mr_board_fini(&board);
	return mr_sched_finish_steal(args, plan, st, out);
}
