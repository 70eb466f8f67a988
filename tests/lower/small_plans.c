#include "small_plans.h"

#include <stdio.h>
#include <stdlib.h>

#include "golden_files.h"
#include "ir/plan_json.h"

/* These plans are the tests' own: failing to make one is a failure of the machine. */
static void must(mr_status st)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "small plan: %s\n", mr_error_text());
	abort();
}

static mr_plan *straight(uint16_t n_workers, uint32_t n_micro, uint32_t need, mr_flush flush)
{
	mr_plan *p;

	must(mr_plan_create(n_workers, n_workers, 1, &p));
	for (uint16_t s = 0; s < n_workers; s++)
		p->worker_of[s] = s;
	p->n_micro = n_micro;
	p->commits = n_micro / need;
	p->contract = (mr_contract){.need = need, .flush = flush, .same_version_b = true};
	return p;
}

static void emit(mr_plan *p, uint16_t w, mr_section section, mr_op op, uint32_t micro)
{
	must(mr_plan_append(p, w, section, (mr_instr){.op = (uint8_t)op, .span = 1, .stage = w, .micro = micro}));
}

mr_plan *small_gpipe(uint16_t n_workers, uint32_t n_micro, bool lifo)
{
	mr_plan *p = straight(n_workers, n_micro, n_micro, MR_FLUSH_BARRIER);

	p->contract.sum = lifo ? MR_SUM_DESCENDING : MR_SUM_ASCENDING;
	for (uint16_t w = 0; w < n_workers; w++) {
		for (uint32_t m = 0; m < n_micro; m++)
			emit(p, w, MR_BODY, MR_OP_F, m);
		for (uint32_t m = 0; m < n_micro; m++)
			emit(p, w, MR_BODY, MR_OP_B, lifo ? n_micro - 1 - m : m);
	}
	return p;
}

mr_plan *small_looped(uint16_t n_workers, uint16_t chunks, uint32_t n_micro)
{
	uint16_t n_stages = (uint16_t)(n_workers * chunks);
	mr_plan *p;

	must(mr_plan_create(n_stages, n_workers, 1, &p));
	p->n_micro = n_micro;
	p->commits = 1;
	p->contract = (mr_contract){.need = n_micro, .same_version_b = true};
	for (uint32_t k = 0; k < 2u * n_stages; k++) {
		uint16_t s = (uint16_t)(k < n_stages ? k : 2u * n_stages - 1 - k);

		p->worker_of[s] = (uint16_t)(s % n_workers);
		for (uint32_t m = 0; m < n_micro; m++)
			must(mr_plan_append(
				p, p->worker_of[s], MR_BODY,
				(mr_instr){.op = k < n_stages ? MR_OP_F : MR_OP_B, .span = 1, .stage = s, .micro = m}));
	}
	return p;
}

/* Run-ahead @ahead, then F and B in turn, then what is left. */
static void emit_1f1b(mr_plan *p, uint16_t w, mr_section section, uint32_t ahead, uint32_t n_micro)
{
	ahead = ahead < n_micro ? ahead : n_micro;
	for (uint32_t k = 0; k < n_micro + ahead; k++) {
		if (k < n_micro)
			emit(p, w, section, MR_OP_F, k);
		if (k >= ahead)
			emit(p, w, section, MR_OP_B, k - ahead);
	}
}

mr_plan *small_1f1b(uint16_t n_workers, uint32_t n_micro)
{
	mr_plan *p = straight(n_workers, n_micro, n_micro, MR_FLUSH_BARRIER);

	for (uint16_t w = 0; w < n_workers; w++)
		emit_1f1b(p, w, MR_BODY, n_workers - 1u - w, n_micro);
	return p;
}

mr_plan *small_split(uint16_t n_workers, uint32_t n_micro)
{
	mr_plan *p = straight(n_workers, n_micro, n_micro, MR_FLUSH_BARRIER);

	for (uint16_t w = 0; w < n_workers; w++) {
		uint32_t ahead = n_workers - 1u - w;

		for (uint32_t k = 0; k < n_micro + ahead + w; k++) {
			if (k < n_micro)
				emit(p, w, MR_BODY, MR_OP_F, k);
			if (k >= ahead && k - ahead < n_micro)
				emit(p, w, MR_BODY, MR_OP_I, k - ahead);
			if (k >= ahead + w && k - ahead - w < n_micro)
				emit(p, w, MR_BODY, MR_OP_W, k - ahead - w);
		}
	}
	return p;
}

mr_plan *small_pipedream(uint16_t n_workers, bool vertical_sync, bool drain)
{
	mr_plan *p = straight(n_workers, 1, 1, MR_FLUSH_NONE);

	p->contract.read_f = vertical_sync ? MR_READ_TAG : MR_READ_LATEST;
	p->contract.max_staleness = n_workers - 1u;
	for (uint16_t w = 0; w < n_workers; w++) {
		uint32_t ahead = n_workers - 1u - w;

		for (uint32_t m = 0; m < ahead; m++)
			emit(p, w, MR_PROLOGUE, MR_OP_F, m);
		emit(p, w, MR_BODY, MR_OP_F, ahead);
		emit(p, w, MR_BODY, MR_OP_B, 0);
		for (uint32_t m = 0; drain && m < n_workers - 1u; m++) {
			if (m + ahead < n_workers - 1u)
				emit(p, w, MR_EPILOGUE, MR_OP_F, m + ahead);
			emit(p, w, MR_EPILOGUE, MR_OP_B, m);
		}
	}
	return p;
}

mr_plan *small_pipedream_finite(uint16_t n_workers, uint32_t n_micro)
{
	mr_plan *p = straight(n_workers, n_micro, 1, MR_FLUSH_NONE);

	p->contract.read_f = MR_READ_LATEST;
	p->contract.max_staleness = n_workers - 1u;
	for (uint16_t w = 0; w < n_workers; w++)
		emit_1f1b(p, w, MR_PROLOGUE, n_workers - 1u - w, n_micro);
	return p;
}

mr_plan *small_accumulate(uint16_t n_workers, uint32_t need)
{
	mr_plan *p = straight(n_workers, need, need, MR_FLUSH_NONE);

	p->contract.read_f = MR_READ_LATEST;
	p->contract.same_version_b = false;
	p->contract.max_staleness = n_workers;
	for (uint16_t w = 0; w < n_workers; w++) {
		uint32_t ahead = n_workers - 1u - w;

		for (uint32_t m = 0; m < ahead; m++)
			emit(p, w, MR_PROLOGUE, MR_OP_F, m);
		for (uint32_t m = 0; m < need; m++) {
			emit(p, w, MR_BODY, MR_OP_F, m + ahead);
			emit(p, w, MR_BODY, MR_OP_B, m);
		}
	}
	return p;
}

mr_plan *small_delayed(uint16_t n_workers, uint32_t need, uint32_t delay, uint16_t delayed)
{
	mr_plan *p = small_accumulate(n_workers, need);

	p->contract.read_f = MR_READ_BATCH;
	p->contract.same_version_b = true;
	p->contract.max_staleness = p->contract.delay = delay;
	p->contract.delayed = delayed;
	return p;
}

mr_plan *small_irregular(uint16_t n_workers, uint32_t n_early, uint32_t extra)
{
	mr_plan *p = straight(n_workers, 1, 1, MR_FLUSH_NONE);

	p->contract.read_f = MR_READ_LATEST;
	p->contract.max_staleness = n_workers + extra;
	for (uint16_t w = 0; w < n_workers; w++) {
		uint32_t ahead = n_workers - 1u - w, more = w && ahead ? extra : 0, f = 0;

		/* The first @more turns of the body's kind have no forward, which has come already. */
		while (f < ahead + more)
			emit(p, w, MR_PROLOGUE, MR_OP_F, f++);
		for (uint32_t b = 0; b < n_early; b++) {
			if (b >= more)
				emit(p, w, MR_PROLOGUE, MR_OP_F, f++);
			emit(p, w, MR_PROLOGUE, MR_OP_B, b);
		}
		emit(p, w, MR_BODY, MR_OP_F, f);
		emit(p, w, MR_BODY, MR_OP_B, n_early);
	}
	return p;
}

mr_plan *small_forward(uint16_t n_workers, uint32_t n_micro)
{
	mr_plan *p = straight(n_workers, n_micro, n_micro, MR_FLUSH_NONE);

	p->commits = 0;
	p->contract.coverage = MR_COVER_FORWARD;
	for (uint16_t w = 0; w < n_workers; w++)
		for (uint32_t m = 0; m < n_micro; m++)
			emit(p, w, MR_BODY, MR_OP_F, m);
	return p;
}

mr_plan *small_recompute(uint16_t n_workers, uint32_t n_micro, uint32_t kept)
{
	mr_plan *p = straight(n_workers, n_micro, n_micro, MR_FLUSH_LOCAL);

	for (uint16_t w = 0; w < n_workers; w++) {
		for (uint32_t m = 0; m < n_micro; m++)
			emit(p, w, MR_BODY, MR_OP_F, m);
		for (uint32_t m = 0; m < n_micro; m++) {
			if (m != kept)
				emit(p, w, MR_BODY, MR_OP_R, m);
			emit(p, w, MR_BODY, MR_OP_B, m);
		}
	}
	return p;
}

mr_plan *small_merged(uint16_t n_workers, uint32_t n_micro, uint32_t span, bool recompute)
{
	mr_plan *p = straight(n_workers, n_micro, n_micro, MR_FLUSH_LOCAL);

	for (uint16_t w = 0; w < n_workers; w++) {
		uint32_t ahead = n_workers - 1u - w, waits = 0;

		for (uint32_t m = 0; m < ahead; m++)
			emit(p, w, MR_BODY, MR_OP_F, m);
		for (uint32_t m = 0; m < n_micro; m++) {
			if (m + ahead < n_micro)
				emit(p, w, MR_BODY, MR_OP_F, m + ahead);
			if (recompute)
				emit(p, w, MR_BODY, MR_OP_R, m);
			emit(p, w, MR_BODY, MR_OP_I, m);
			if (++waits < span && m + 1 < n_micro)
				continue;
			must(mr_plan_append(p, w, MR_BODY, (mr_instr){.op = MR_OP_W, .span = (uint8_t)waits, .stage = w,
								      .micro = m + 1 - waits}));
			waits = 0;
		}
	}
	return p;
}

/* Endless, every backward with its R before it. */
static mr_plan *small_pipedream_recompute(uint16_t n_workers)
{
	mr_plan *p = straight(n_workers, 1, 1, MR_FLUSH_NONE);

	p->contract.read_f = MR_READ_LATEST;
	p->contract.max_staleness = n_workers - 1u;
	for (uint16_t w = 0; w < n_workers; w++) {
		for (uint32_t m = 0; m < n_workers - 1u - w; m++)
			emit(p, w, MR_PROLOGUE, MR_OP_F, m);
		emit(p, w, MR_BODY, MR_OP_F, n_workers - 1u - w);
		emit(p, w, MR_BODY, MR_OP_R, 0);
		emit(p, w, MR_BODY, MR_OP_B, 0);
	}
	return p;
}

mr_plan *small_golden(const char *name)
{
	char path[MR_GOLDEN_PATH];
	mr_plan *p;

	must(mr_plan_json_read(mr_golden_path(path, "sync/%s.json", name), &p));
	return p;
}

static mr_plan *with(mr_plan *p, bool clip, bool tied, mr_flush flush)
{
	p->contract.clip = clip;
	p->contract.tied = tied;
	p->contract.flush = flush;
	return p;
}

mr_plan *small_plan(int number, const char **name)
{
	static const char *const golden[] = {
		"chimera_D4_T4", "zbv_hand_D2_T4_v2", "dualpipe_D2_T6",
		"interleaved_zb_D2_T4_v2", "gems_D4_T4", "chimera_multi_D4_T8_q2",
	};
	static const char *const made[] = {
		"gpipe lifo", "1f1b", "1f1b clip", "1f1b tied clip", "1f1b tied local", "split", "pipedream",
		"pipedream vertical sync", "pipedream drained", "pipedream finite", "accumulate", "forward",
		"recompute local", "one worker", "split clip", "delayed", "delayed in part", "recompute all but one",
		"pipedream recompute", "merged", "merged clip", "merged recompute", "irregular",
		"validated", "validated split", "validated chunks",
	};
	const int n_made = (int)(sizeof(made) / sizeof(*made));

	if (number >= n_made + 7)
		return NULL;
	if (number == n_made + 6) {
		*name = "chimera tied clip";
		return with(small_golden("chimera_D4_T4"), true, true, MR_FLUSH_BARRIER);
	}
	*name = number < n_made ? made[number] : golden[number - n_made];
	switch (number) {
	case 0:
		return small_gpipe(3, 4, true);
	case 1:
		return small_1f1b(3, 5);
	case 2:
		return with(small_1f1b(3, 4), true, false, MR_FLUSH_BARRIER);
	case 3:
		return with(small_1f1b(3, 4), true, true, MR_FLUSH_BARRIER);
	case 4:
		return with(small_1f1b(3, 4), false, true, MR_FLUSH_LOCAL);
	case 5:
		return small_split(3, 5);
	case 6:
		return small_pipedream(3, false, false);
	case 7:
		return small_pipedream(3, true, false);
	case 8:
		return small_pipedream(3, false, true);
	case 9:
		return small_pipedream_finite(3, 6);
	case 10:
		return small_accumulate(3, 2);
	case 11:
		return small_forward(3, 4);
	case 12:
		return small_recompute(2, 3, 3);
	case 13:
		return small_1f1b(1, 2);
	case 14:
		return with(small_split(2, 4), true, false, MR_FLUSH_BARRIER);
	case 15:
		return small_delayed(3, 3, 1, 3);
	case 16:
		return small_delayed(3, 2, 2, 2);
	case 17:
		return with(small_recompute(3, 4, 2), false, true, MR_FLUSH_BARRIER);
	case 18:
		return small_pipedream_recompute(3);
	case 19:
		return small_merged(3, 6, 2, false);
	case 20:
		return with(small_merged(2, 5, 3, false), true, false, MR_FLUSH_BARRIER);
	case 21:
		return small_merged(2, 4, 2, true);
	case 22:
		return small_irregular(3, 3, 1);
	case 23:
		return with(small_1f1b(3, 4), true, false, MR_FLUSH_VALIDATED);
	case 24:
		return with(small_split(2, 5), true, false, MR_FLUSH_VALIDATED);
	case 25:
		return with(small_golden("interleaved_zb_D2_T4_v2"), true, false, MR_FLUSH_VALIDATED);
	default:
		return small_golden(golden[number - n_made]);
	}
}
