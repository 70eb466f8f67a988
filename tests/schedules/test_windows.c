/*
 * test_windows.c - plans without end: their windows one behind the other are the finite list of as many steps, which
 * the checker of whole plans proves; what is wrong with a window is found by its own proof exactly when it is found in
 * the whole.
 */
#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "ir/endless.h"
#include "lower/window_check.h"
#include "lower/lower.h"
#include "sched_help.h"

static void set_all(mr_values *v, const char *sets)
{
	char text[128], *rest = text;

	snprintf(text, sizeof(text), "%s", sets);
	for (char *one; (one = strtok_r(rest, " ", &rest));) {
		char *value = strchr(one, '=');

		*value++ = 0;
		MR_CHECK_OK(mr_values_set_text(v, one, value));
	}
}

/* @finite: this many steps in one list; else windows of this many, without end, or the timeline's of as many steps. */
static mr_plan *emitted(const char *sets, uint16_t workers, bool finite, uint32_t n_steps, bool inside)
{
	const mr_sched_ops *ops = mr_schedule_find("rpd");
	mr_sched_args a = {.n_workers = workers, .n_micro = finite ? n_steps : 1, .finite = finite, .n_batches = 11};
	mr_plan *p;
	mr_values *v;

	MR_CHECK_OK(mr_values_create(ops->options, &v));
	set_all(v, sets);
	a.options = v;
	a.n_steps = strstr(sets, "timeline") ? n_steps : 0;
	a.window = a.n_steps ? 0 : n_steps;
	MR_CHECK_OK(mr_schedule_emit(ops, &a, &p));
	mr_values_destroy(v);
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = inside}));
	MR_CHECK_OK(mr_plan_check(p));
	return p;
}

static void same_lists(const mr_plan *a, const mr_plan *b)
{
	for (uint16_t w = 0; w < a->n_workers; w++) {
		const mr_list *x = mr_plan_list(a, w, MR_PROLOGUE), *y = mr_plan_list(b, w, MR_PROLOGUE);

		CU_ASSERT_EQUAL_FATAL(x->n, y->n);
		for (uint32_t i = 0; i < x->n; i++)
			CU_ASSERT_FATAL(memcmp(&x->at[i], &y->at[i], sizeof(*x->at)) == 0);
	}
}

/* Window after window, each held to the one before; MR_OK when all are right. */
static mr_status prove(const mr_plan *p, uint64_t n_windows)
{
	mr_plan *before = NULL, *window = NULL;
	mr_status st = MR_OK;

	for (uint64_t n = 0; st == MR_OK && n < n_windows; n++) {
		st = mr_window_create(p, n, &window);
		if (st == MR_OK)
			st = mr_window_check(p, before, n, window);
		mr_plan_destroy(before);
		before = window;
		window = NULL;
	}
	mr_plan_destroy(before);
	return st;
}

/* What of @window, number @n, is of steps before @n_steps, with numbers that count from the start. */
static void append_window(const mr_plan *window, uint64_t n, uint64_t n_steps, mr_plan *to)
{
	for (uint16_t w = 0; w < window->n_workers; w++) {
		const mr_list *l = mr_plan_list(window, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++) {
			mr_instr in = l->at[i];
			uint64_t micro = mr_instr_micro(window, &in, n);

			if (micro >= n_steps)
				continue;
			in.micro = (uint32_t)micro;
			if (in.op != MR_OP_U)
				in.read = (int32_t)mr_instr_read(window, &in, n);
			if (in.op != MR_OP_F && mr_window_pauses(&in))
				in.target = (int32_t)mr_instr_target(window, &in, n);
			MR_CHECK_OK(mr_plan_append(to, w, MR_PROLOGUE, in));
		}
	}
}

/* The first @n_steps steps of @plan as a finite list, lowered, its end drained; fewer where it has fewer. */
static mr_plan *unroll(const mr_plan *plan, uint64_t n_steps)
{
	mr_plan *p, *window;

	n_steps = n_steps < plan->endless->n_steps ? n_steps : plan->endless->n_steps;
	MR_CHECK_OK(mr_plan_create_like(plan, true, &p));
	p->n_micro = p->commits = (uint32_t)n_steps;
	for (uint64_t n = 0; n * plan->n_micro < n_steps; n++) {
		MR_CHECK_OK(mr_window_create(plan, n, &window));
		append_window(window, n, n_steps, p);
		mr_plan_destroy(window);
	}
	return p;
}

static void compare(const char *sets, uint16_t workers, uint32_t length, uint32_t n_steps, bool inside)
{
	mr_plan *p = emitted(sets, workers, false, length, inside), *whole,
		*list = emitted(sets, workers, true, n_steps, inside);

	whole = unroll(p, n_steps);
	same_lists(whole, list);
	MR_CHECK_OK(mr_plan_check(whole));
	MR_CHECK_OK(prove(p, n_steps / p->n_micro + 2));
	mr_plan_destroy(p);
	mr_plan_destroy(whole);
	mr_plan_destroy(list);
}

static void windows_are_the_list(void)
{
	static const char *const sets[] = {"",
					   "delta=0",
					   "delta=1",
					   "delta=30 seed=4",
					   "delays=max delta=3 batch=cyclic",
					   "delays=zero",
					   "delta=9 ringmaster=5"};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		for (uint16_t workers = 1; workers <= 6; workers++)
			for (uint32_t length = 1; length <= 40; length = 3 * length + 1)
				compare(sets[i], workers, length, 5 * length + 17, i % 2);
	compare("", 3, 2000, 2500, true);
	compare("delays=exact stage=timeline batch=timeline", 3, 2500, 2500, true);
	compare("stage=timeline", 4, 2050, 2050, false);
}

/* Numbers stay small where a run has come far, and a window far out is found without those before. */
static void far_out(void)
{
	mr_plan *p = emitted("delta=50", 4, false, 1024, true), *a, *b;
	uint64_t n = 1ull << 40;

	MR_CHECK_OK(mr_window_create(p, n, &a));
	MR_CHECK_OK(mr_window_create(p, n + 1, &b));
	MR_CHECK_OK(mr_window_check(p, a, n + 1, b));
	for (uint16_t w = 0; w < 4; w++)
		for (uint32_t i = 0; i < mr_plan_list(b, w, MR_BODY)->n; i++) {
			const mr_instr *in = &mr_plan_list(b, w, MR_BODY)->at[i];

			CU_ASSERT_FATAL(in->micro < 1024 + 4 && in->read >= -54);
		}
	CU_ASSERT_NOT_EQUAL(mr_window_check(p, b, n + 1, b), MR_OK); /* the seam does not fit */
	mr_plan_destroy(a);
	mr_plan_destroy(b);
	mr_plan_destroy(p);
}

/* --- windows that are wrong --- */

enum { SWAP, LATER, EARLIER, NEXT_MICRO, DROP, TWICE, PASSES, KEEPS, ACTIVE, N_MUTATIONS };

static struct {
	mr_status (*window)(void *arg, uint64_t n, mr_plan *out);
	int what;
	uint16_t worker;
	uint32_t at;
} wrong;

static void mutate(mr_list *l, uint32_t i)
{
	mr_instr *in = &l->at[i], other = *in;

	switch (wrong.what) {
	case SWAP:
		if (i + 1 < l->n) {
			*in = in[1];
			in[1] = other;
		}
		break;
	case LATER:
		in->read++;
		break;
	case EARLIER:
		in->read--;
		break;
	case NEXT_MICRO:
		in->micro++;
		break;
	case DROP:
		memmove(in, in + 1, (l->n - i - 1) * sizeof(*in));
		l->n--;
		break;
	case TWICE:
		in[1 - 2 * (i > 0)] = other;
		break;
	default:
		if (in->op == MR_OP_B)
			in->flags = wrong.what == PASSES ? MR_INSTR_PASS : wrong.what == KEEPS ? MR_INSTR_KEEP : 0;
	}
}

static mr_status wrong_window(void *arg, uint64_t n, mr_plan *out)
{
	mr_status st = wrong.window(arg, n, out);
	mr_list *l = mr_plan_list(out, wrong.worker, MR_BODY);

	if (st == MR_OK && n == 2 && wrong.at < l->n)
		mutate(l, wrong.at);
	return st;
}

/* The same lists are right or wrong for both. */
static bool agree(const mr_plan *p, uint32_t *refused)
{
	mr_status one = prove(p, 5), all;
	char text[200];
	mr_plan *whole;

	snprintf(text, sizeof(text), "%s", one == MR_OK ? "right" : mr_error_text());
	whole = unroll(p, 5 * (uint64_t)p->n_micro);
	all = mr_plan_check(whole);
	mr_plan_destroy(whole);
	*refused += one != MR_OK;
	if ((one == MR_OK) != (all == MR_OK))
		fprintf(stderr, "\nmutation %d of w%u, place %u: the window is %s, the whole %s\n", wrong.what,
			wrong.worker, wrong.at, text, all == MR_OK ? "right" : mr_error_text());
	return (one == MR_OK) == (all == MR_OK);
}

static void what_is_wrong_is_found(void)
{
	static const char *const sets[] = {"delta=3", "delays=zero", "delta=12 seed=2"};
	uint32_t refused = 0, n = 0;

	for (int i = 0; i < 3; i++) {
		mr_plan *p = emitted(sets[i], 3, false, 8, i == 1);

		wrong.window = p->endless->window;
		p->endless->window = wrong_window;
		for (wrong.what = 0; wrong.what < N_MUTATIONS; wrong.what++)
			for (wrong.worker = 0; wrong.worker < 3; wrong.worker++)
				for (wrong.at = 0; wrong.at < 17; wrong.at++, n++)
					CU_ASSERT(agree(p, &refused));
		p->endless->window = wrong.window;
		mr_plan_destroy(p);
	}
	CU_ASSERT(refused > n / 2);
}

void mr_suite_windows(void);
void mr_suite_windows(void)
{
	MR_SUITE("windows");
	MR_TEST(windows_are_the_list);
	MR_TEST(far_out);
	MR_TEST(what_is_wrong_is_found);
}
