/*
 * The checker against brute force: good plans are accepted; every damaged plan with which a naive execution goes wrong
 * under some interleaving is refused with a message; random bytes never crash it.
 */
#include "lower/check.h"

#include <string.h>

#include "brute.h"
#include "check.h"
#include "lower/lower.h"
#include "ir/frozen.h"
#include "ir/text.h"
#include "ir/unroll.h"
#include "mutate.h"
#include "small_plans.h"

#define MUTANTS 200

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return below ? (uint32_t)((uint64_t)(seed >> 4) * below >> 28) : 0;
}

static void print_plan(const mr_plan *plan)
{
	if (mr_text_write(plan, stderr) != MR_OK)
		fprintf(stderr, "(no text: %s)\n", mr_error_text());
}

static mr_plan *lowered(int number, const char **name, bool update_inside)
{
	mr_plan *p = small_plan(number, name);

	if (p)
		MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = update_inside}));
	return p;
}

static void good_plans(void)
{
	const char *name;
	mr_plan *p;
	char why[80];

	for (int k = 0; (p = lowered(k / 2, &name, k % 2)); k++) {
		if (!brute_all(p, why)) {
			fprintf(stderr, "\n%s: %s\n", name, why);
			CU_FAIL("a good plan does not run");
			print_plan(p);
		}
		MR_CHECK_OK(mr_plan_check(p));
		mr_plan_destroy(p);
	}
}

/* A stage has the instructions that its contract gives it, and no others (ir/stage_ops.h). */
static void no_other_instructions(void)
{
	uint32_t n = 0;
	const char *name;
	mr_plan *p;

	for (int k = 0; (p = lowered(k, &name, false)); k++) {
		p->frozen[0] = MR_FROZEN_LEAF;
		if (mr_frozen_check(p) == MR_OK) {
			MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "does not allow this op there");
			n++;
		}
		mr_plan_destroy(p);
	}
	CU_ASSERT(n > 1);
}

/* A list that is not empty. */
static mr_list *some_list(mr_plan *p)
{
	mr_list *l;

	do
		l = &p->lists[draw(p->n_workers * (uint32_t)MR_N_SECTIONS)];
	while (!l->n);
	return l;
}

static bool small_plan_exists(int number)
{
	const char *name;
	mr_plan *p = small_plan(number, &name);

	mr_plan_destroy(p);
	return p != NULL;
}

static void swap(mr_list *l, uint32_t i, uint32_t k)
{
	mr_instr t = l->at[i];

	l->at[i] = l->at[k];
	l->at[k] = t;
}

/* One up or down, never below 0. */
static uint32_t nudge(uint32_t x)
{
	return draw(2) || !x ? x + 1 + draw(2) : x - 1;
}

static void damage_instr(mr_plan *p, mr_instr *in)
{
	switch (draw(11)) {
	case 0:
		in->micro = nudge(in->micro);
		break;
	case 1:
		in->slot = (uint16_t)nudge(in->slot);
		break;
	case 2:
		in->in = (uint16_t)nudge(in->in);
		break;
	case 3:
		in->out = (uint16_t)nudge(in->out);
		break;
	case 4:
		in->read += draw(2) ? 1 : -1;
		break;
	case 5:
		in->target += draw(2) ? 1 : -1;
		break;
	case 6:
		in->flags ^= (uint8_t)(1u << draw(3));
		break;
	case 7:
		in->op = (uint8_t)draw(MR_N_OPS);
		break;
	case 8:
		in->stage = (uint16_t)draw(p->n_stages);
		break;
	case 9:
		in->span = (uint8_t)nudge(in->span);
		break;
	default:
		in->pipe = (uint8_t)draw(p->n_pipes + 1u);
		break;
	}
}

static void damage_header(mr_plan *p)
{
	size_t place = draw((uint32_t)p->n_pipes * p->n_stages);
	uint16_t *table[] = {p->n_slots, p->n_fwd, p->n_bwd, p->n_slots, p->n_fwd, p->n_bwd, p->worker_of};

	switch (draw(9)) {
	case 8:
		p->contract.delay = nudge(p->contract.delay);
		p->contract.delayed = (uint16_t)draw(p->n_stages + 1u);
		break;
	case 0:
		p->n_micro = nudge(p->n_micro);
		break;
	case 1:
		p->contract.need = nudge(p->contract.need);
		p->commits = p->contract.need ? p->n_micro / p->contract.need : 0;
		break;
	case 2:
		p->contract.max_staleness = nudge(p->contract.max_staleness);
		break;
	case 3:
		p->contract.read_f = (mr_read_rule)draw(3);
		break;
	case 4:
		p->contract.sum = (mr_sum_order)draw(3);
		break;
	case 5:
		p->storage = p->storage == MR_STORED ? MR_MODULO : MR_STORED;
		break;
	case 6:
		p->n_versions[draw(p->n_stages)] = (uint16_t)nudge(p->n_versions[0]);
		break;
	default: {
		uint16_t *t = table[draw(sizeof(table) / sizeof(*table))];

		t[place] = (uint16_t)nudge(t[place]);
	}
	}
}

static void damage(mr_plan *p)
{
	mr_list *l = some_list(p), *to = some_list(p);
	uint32_t i = draw(l->n), k = draw(l->n);
	mr_instr in = l->at[i];

	switch (draw(8)) {
	case 0: /* drop */
		memmove(&l->at[i], &l->at[i + 1], (--l->n - i) * sizeof(*l->at));
		break;
	case 1: /* duplicate, there or elsewhere */
		MR_CHECK_OK(mr_plan_append(p, (uint16_t)((to - p->lists) / MR_N_SECTIONS),
					   (mr_section)((to - p->lists) % MR_N_SECTIONS), in));
		for (k = to->n - 1; k > 0 && draw(8); k--)
			swap(to, k, k - 1);
		break;
	case 2:
		swap(l, i, k);
		break;
	case 3:
	case 4:
		swap(l, i, i + 1 < l->n ? i + 1 : i);
		break;
	case 5:
	case 6:
		damage_instr(p, &l->at[i]);
		break;
	default:
		damage_header(p);
		break;
	}
}

static void mutants_of(int number, uint32_t *wrong, uint32_t *refused)
{
	const char *name = NULL;
	mr_plan *good = lowered(number, &name, number % 2);
	char why[80];

	for (uint32_t k = 0; k < MUTANTS; k++) {
		mr_plan *p = plan_copy(good);
		mr_status st;

		seed = 1000u * (uint32_t)number + k;
		draw(2);
		for (uint32_t n = 1 + draw(2); n > 0; n--)
			damage(p);
		st = mr_plan_check(p);
		*refused += st != MR_OK;
		if (!brute_all(p, why)) {
			++*wrong;
			if (st == MR_OK) {
				fprintf(stderr, "\n%s, mutant %u is accepted, but: %s\n", name, k, why);
				print_plan(p);
				CU_FAIL_FATAL("the checker accepts a plan that goes wrong");
			}
		}
		mr_plan_destroy(p);
	}
	mr_plan_destroy(good);
}

static void mutants(void)
{
	uint32_t wrong = 0, refused = 0;
	int n = 0;

	for (; small_plan_exists(n); n++)
		mutants_of(n, &wrong, &refused);
	/* Both must have had something to find; the checker may be stricter than a few interleavings, but not much. */
	CU_ASSERT_TRUE(wrong > (uint32_t)n * MUTANTS / 2);
	CU_ASSERT_TRUE(refused < wrong + (uint32_t)n * MUTANTS / 10);
	if (getenv("MR_VERBOSE"))
		fprintf(stderr, "%d plans, %u mutants: brute force finds %u wrong, the checker %u\n", n, n * MUTANTS,
			wrong, refused);
}

/* Other orders of the compute instructions: what can be lowered and passes the checker runs, and many do. */
static void other_orders(void)
{
	uint32_t accepted = 0, n = 0;
	const char *name = NULL;
	char why[80];

	for (int number = 0; small_plan_exists(number); number++)
		for (uint32_t k = 0; k < MUTANTS / 4; k++, n++) {
			mr_plan *p = small_plan(number, &name);
			bool ok;

			seed = 5000u * (uint32_t)number + k;
			draw(2);
			for (uint32_t times = 1 + draw(3); times > 0; times--) {
				mr_list *l = some_list(p);
				uint32_t i = draw(l->n);

				if (draw(12) == 0)
					l->at[i].micro = nudge(l->at[i].micro);
				else if (draw(12) == 0)
					l->at[i].op = (uint8_t)draw(MR_OP_N);
				else
					swap(l, i, draw(4) && i + 1 < l->n ? i + 1 : draw(l->n));
			}
			p->contract.sum = MR_SUM_LISTED;
			p->contract.max_staleness = 100;
			ok = mr_plan_lower(p, &(mr_lower_opts){.update_inside = k % 2}) == MR_OK &&
			     mr_plan_check(p) == MR_OK;
			accepted += ok;
			if (ok && !brute_all(p, why)) {
				fprintf(stderr, "\n%s, order %u is accepted, but: %s\n", name, k, why);
				print_plan(p);
				CU_FAIL_FATAL("the checker accepts a plan that goes wrong");
			}
			mr_plan_destroy(p);
		}
	CU_ASSERT_TRUE(accepted > n / 10);
	CU_ASSERT_TRUE(accepted < n);
	if (getenv("MR_VERBOSE"))
		fprintf(stderr, "%u of %u orders accepted\n", accepted, n);
}

/* Fields of any value: an answer, never a crash (the sanitizers look on). */
static void any_bytes(void)
{
	const char *name;
	mr_plan *good;

	for (int number = 0; (good = lowered(number, &name, false)); number++) {
		for (uint32_t k = 0; k < 60; k++) {
			mr_plan *p = plan_copy(good);
			mr_list *l;

			seed = 77u * (uint32_t)number + k;
			draw(2);
			for (uint32_t n = 1 + draw(6); n > 0; n--) {
				uint32_t bits = draw(1u << 14) * 2654435761u >> draw(30);

				l = some_list(p);
				memcpy((uint8_t *)&l->at[draw(l->n)] + 4 * draw(sizeof(mr_instr) / 4), &bits, 4);
			}
			if (mr_plan_check(p) != MR_OK)
				CU_ASSERT_TRUE(strlen(mr_error_text()) > 10);
			mr_plan_destroy(p);
		}
		mr_plan_destroy(good);
	}
}

/* --- messages --- */

static void names_the_culprit(void)
{
	mr_plan *p = small_1f1b(2, 3);
	mr_list *w1;

	MR_CHECK_FAIL(mr_plan_check(p), MR_EINVAL, "lowered");
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	w1 = mr_plan_list(p, 1, MR_BODY);
	swap(w1, 1, 2); /* w1: F0 F1 B0 ... would be legal, were it not for slots */
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w1 F m1 s1 p0: takes slot 0, which still holds what w1 F m0 s1 p0 saved");
	swap(w1, 1, 2);
	w1->at[3].micro = 2;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 B m2 s1 p0");
	w1->at[3].micro = 1;
	MR_CHECK_OK(mr_plan_check(p));
	p->contract.sum = MR_SUM_DESCENDING;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "descending");
	mr_plan_destroy(p);
}

static void recomputes_what_was_dropped(void)
{
	mr_plan *p = small_recompute(2, 2, 2); /* F0 F1 R0 B0 R1 B1 U */
	mr_list *w0;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	w0 = mr_plan_list(p, 0, MR_BODY);
	w0->at[1].flags = 0;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w0 F m1 s0 p0: keeps what it saves, although an R saves it again");
	w0->at[1].flags = MR_INSTR_DROP;
	swap(w0, 2, 3);
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w0 R m0 s0 p0: must stand between w0 F m0 s0 p0 and its backward");
	swap(w0, 2, 3);
	swap(w0, 3, 4); /* F0 F1 R0 R1 B0 B1 with one slot */
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w0 R m1 s0 p0: takes slot 0, which still holds what w0 R m0 s0 p0 saved");
	swap(w0, 3, 4);
	mr_plan_list(p, 1, MR_BODY)->at[2].in ^= 1;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 R m0 s1 p0: reads forward buffer");
	mr_plan_list(p, 1, MR_BODY)->at[2].in ^= 1;
	memmove(&w0->at[2], &w0->at[3], (--w0->n - 2) * sizeof(*w0->at));
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w0 F m0 s0 p0: drops what it saves, and no R saves it again");
	mr_plan_destroy(p);
}

static void uses_only_what_is_validated(void)
{
	mr_plan *p = small_1f1b(2, 3); /* w0: F0 F1 V B0 F2 B1 B2 N U; w1: F0 V B0 F1 B1 F2 B2 N U */
	mr_list *w0, *w1;

	p->contract.clip = true;
	p->contract.flush = MR_FLUSH_VALIDATED;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	w0 = mr_plan_list(p, 0, MR_BODY);
	w1 = mr_plan_list(p, 1, MR_BODY);
	swap(w0, 2, 3);
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w0 B m3 s0 p0: reads version 1 before V has validated it");
	swap(w0, 2, 3);
	swap(w0, 0, 2);
	swap(w0, 1, 2); /* V F0 F1: nothing early at stage 0, while F0 of stage 1 is */
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 F m3 s1 p0: stands before V, but w0 F m3 s0 p0 behind it");
	swap(w0, 1, 2);
	swap(w0, 0, 2);
	w1->at[1].target = -1;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 V m3 s1 p0");
	w1->at[1].target = 0;
	p->n_versions[1] = 1;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "stage 1 has 1 version buffers");
	mr_plan_destroy(p);
}

static void spans_stay_in_their_commit(void)
{
	mr_plan *p = small_merged(2, 4, 2, false); /* w1: F0 I0 F1 I1 W0x2 F2 ... */
	mr_list *w1;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	w1 = mr_plan_list(p, 1, MR_BODY);
	w1->at[4].span = 1;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "W m1 s1: missing");
	w1->at[4].span = 3;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w1 W m2 s1 p0: weight gradient for the second time, after w1 W m0 s1 p0");
	w1->at[4].span = 5;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w1 W m0 s1 p0: its 5 micro-batches belong to more than one commit");
	w1->at[4].span = 2;
	swap(w1, 3, 4);
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "deadlock, each waits for the next: w1 I m1 s1 p0");
	swap(w1, 3, 4);
	w1->at[0].span = 2;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 F m0 s1 p0: span 2, but only W handles several");
	w1->at[0].span = 1;
	p->contract.sum = MR_SUM_DESCENDING;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "sums 2 micro-batches in ascending order");
	mr_plan_destroy(p);
}

static void prints_the_cycle(void)
{
	mr_plan *p = small_gpipe(2, 2, false);
	mr_list *w0;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	w0 = mr_plan_list(p, 0, MR_BODY);
	swap(w0, 1, 2); /* w0: F0 B0 F1 B1 while w1: F0 F1 B0 B1 */
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "deadlock, each waits for the next: ");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(mr_error_text(), "w0 B m0 s0 p0 -> w1 B m0 s1 p0 -> w1 F m1 s1 p0 -> w0 F m1 s0 p0"));
	swap(w0, 1, 2);
	swap(mr_plan_list(p, 1, MR_BODY), 1, 3); /* w1: F0 B1 B0 F1: a cycle within one list */
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 B m0 s1 p0 -> w1 B m1 s1 p0 -> w1 F m1 s1 p0 -> w1 B m0 s1 p0");
	mr_plan_destroy(p);
}

/* Three iterations of each repeating plan, written out, are a good finite plan of the same meaning. */
static void unrolled_plans(void)
{
	const char *name;
	mr_plan *p, *flat;

	for (int k = 0; (p = lowered(k, &name, false)); k++) {
		char why[80];

		MR_CHECK_OK(mr_plan_unroll(p, mr_plan_steady(p) ? 3 : 0, &flat));
		/* What an endless plan leaves in flight is not complete as a finite one. */
		if (p->storage == MR_STORED || mr_plan_list(p, 0, MR_EPILOGUE)->n) {
			MR_CHECK_OK(mr_plan_check(flat));
			CU_ASSERT_TRUE(brute_run(flat, 0, 1, why));
		}
		mr_plan_destroy(flat);
		mr_plan_destroy(p);
	}
}

void mr_suite_check(void);
void mr_suite_check(void)
{
	MR_SUITE("check");
	MR_TEST(good_plans);
	MR_TEST(no_other_instructions);
	MR_TEST(mutants);
	MR_TEST(other_orders);
	MR_TEST(any_bytes);
	MR_TEST(names_the_culprit);
	MR_TEST(recomputes_what_was_dropped);
	MR_TEST(uses_only_what_is_validated);
	MR_TEST(spans_stay_in_their_commit);
	MR_TEST(prints_the_cycle);
	MR_TEST(unrolled_plans);
}
