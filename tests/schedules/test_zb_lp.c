/*
 * The linear program of zb_auto, read back as text: it has the rows and variables that its size asks for, the search's
 * own order satisfies every row at the span that it claims, and nothing below that span or out of order does.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "ir/walk.h"
#include "sched_help.h"

#define NEAR 1e-7 /* lifted rows add and take away spans of up to some hundreds */

/* A point in the space of the variables: ends from a walk of the plan, orders from its lists. */
typedef struct point {
	const mr_plan *plan;
	const mr_walk *walk;
	double r;
} point;

typedef struct row {
	char name[32];
	double sum, right;
	unsigned terms;
	bool at_least;
} row;

static mr_op op_of(char letter)
{
	return letter == 'F' ? MR_OP_F : letter == 'I' ? MR_OP_I : MR_OP_W;
}

static const mr_walk_rec *find(const point *p, unsigned w, char letter, unsigned micro)
{
	for (size_t k = p->walk->first[w]; k < p->walk->first[w + 1]; k++)
		if (p->walk->at[k].in->op == op_of(letter) && p->walk->at[k].in->micro == micro)
			return &p->walk->at[k];
	CU_FAIL_FATAL("a variable of an instruction that the plan has not");
	return NULL;
}

/* The value of the variable called @name. */
static double value(const point *p, const char *name)
{
	char a, b;
	unsigned m, n, w;

	if (!strcmp(name, "R"))
		return p->r;
	if (sscanf(name, "t_%c%u_w%u", &a, &m, &w) == 3)
		return find(p, w, a, m)->end;
	CU_ASSERT_EQUAL_FATAL(sscanf(name, "p_%c%u%c%u_w%u", &a, &m, &b, &n, &w), 5);
	CU_ASSERT_TRUE_FATAL((b == 'F' || (a == 'W' && b == 'I')) && a != b && m < n);
	return find(p, w, a, m) < find(p, w, b, n);
}

/* Read one row "name: + 2 x - y >= 3" or a bound "R <= 3" from *@at and go behind it. */
static bool read_row(const char **at, const point *p, row *out)
{
	double factor = 1;
	char word[64];
	int len;

	*out = (row){0};
	while (sscanf(*at, " %63[^ \n]%n", word, &len) == 1) {
		char *end;
		double number = strtod(word, &end);

		if (isupper((unsigned char)word[0]) && word[1]) /* a section */
			return false;
		*at += len;
		if (word[len = (int)strlen(word) - 1] == ':') {
			word[len] = 0;
			snprintf(out->name, sizeof(out->name), "%.31s", word);
		} else if (!strcmp(word, ">=") || !strcmp(word, "<=")) {
			out->at_least = *word == '>';
			out->right = strtod(*at, &end);
			CU_ASSERT_FATAL(end != *at);
			*at = end;
			return true;
		} else if (!strcmp(word, "+") || !strcmp(word, "-")) {
			factor = *word == '-' ? -1 : 1;
		} else if (!*end) {
			factor *= number;
		} else {
			out->sum += factor * value(p, word);
			out->terms++;
			factor = 1;
		}
	}
	return false;
}

static bool holds(const row *r)
{
	return r->at_least ? r->sum >= r->right - NEAR : r->sum <= r->right + NEAR;
}

typedef struct counts {
	unsigned rows, broken, bounds, binaries, hold, longest_line;
} counts;

static const char *section(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	return at + strlen(name);
}

static counts judge(const char *text, const point *p)
{
	const char *at = section(text, "\nSubject To\n");
	counts c = {0};
	char word[64];
	row r;
	int len;

	while (read_row(&at, p, &r)) {
		CU_ASSERT(r.terms > 0 && *r.name);
		c.rows++;
		c.hold += !strncmp(r.name, "hold_", 5);
		c.broken += !holds(&r);
	}
	for (at = section(text, "\nBounds\n"); read_row(&at, p, &r); c.bounds++)
		c.broken += !holds(&r);
	if (strstr(text, "\nBinaries\n"))
		for (at = section(text, "\nBinaries\n"); sscanf(at, " %63s%n", word, &len) == 1 && *word == 'p';
		     at += len) {
			(void)value(p, word);
			c.binaries++;
		}
	CU_ASSERT_STRING_EQUAL(section(text, "\nEnd"), "\n");
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		c.longest_line = strcspn(line, "\n") > c.longest_line ? (unsigned)strcspn(line, "\n") : c.longest_line;
	return c;
}

/* Swap the two instructions of @list that stand at @k and behind it. */
static void swap(mr_list *list, uint32_t k)
{
	mr_instr in = list->at[k];

	list->at[k] = list->at[k + 1];
	list->at[k + 1] = in;
}

/* Does @list keep at most @cap forwards, of each of which I and W free one half? */
static bool keeps(const mr_list *list, double cap)
{
	double held = 0, most = 0;

	for (uint32_t k = 0; k < list->n; k++) {
		held += list->at[k].op == MR_OP_F ? 1 : -0.5;
		most = fmax(most, held);
	}
	return most <= cap;
}

/* The last worker's order with one W later: the program takes it where it is as short and keeps the memory, and only
 * there. */
static void judge_changed(const char *text, mr_plan *plan, const mr_cost *cost, double span, double cap)
{
	mr_list *list = mr_plan_list(plan, (uint16_t)(plan->n_workers - 1), MR_BODY);

	for (uint32_t k = 0; k + 1 < list->n; k++) {
		mr_walk *walk = NULL;
		bool taken;

		if (list->at[k].op != MR_OP_W || list->at[k + 1].op == MR_OP_W)
			continue;
		swap(list, k);
		MR_CHECK_OK(mr_plan_walk(plan, cost, 1, &(mr_walk_opts){.no_period = true}, &walk));
		taken = judge(text, &(point){.plan = plan, .walk = walk, .r = span}).broken == 0;
		CU_ASSERT_EQUAL(taken, walk->span <= span + NEAR && keeps(list, cap));
		mr_walk_destroy(walk);
		swap(list, k);
	}
}

static void one_case(uint16_t d, uint32_t t, const char *cap, double cap_is, const mr_cost *cost)
{
	const mr_sched_ops *ops = mr_schedule_find("zb_auto");
	mr_sched_args args = {.n_workers = d, .n_micro = t, .costs = cost};
	uint32_t holding = cap_is < t ? t - (uint32_t)floor(cap_is) : 0;
	mr_values *v = NULL;
	mr_plan *plan = NULL;
	mr_walk *walk = NULL;
	mr_strbuf text;
	counts c;
	double claimed;

	mr_strbuf_init(&text);
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	MR_CHECK_OK(mr_values_set_text(v, "cap", cap));
	args.options = v;
	MR_CHECK_OK(mr_schedule_emit(ops, &args, &plan));
	MR_CHECK_OK(mr_schedule_export_lp(ops, &args, &text));
	MR_CHECK_OK(mr_plan_walk(plan, cost, 1, &(mr_walk_opts){.no_period = true}, &walk));
	CU_ASSERT_EQUAL_FATAL(sscanf(strstr(text.data, "R = "), "R = %lf", &claimed), 1);
	CU_ASSERT_DOUBLE_EQUAL(walk->span, claimed, 1e-9);

	c = judge(text.data, &(point){.plan = plan, .walk = walk, .r = walk->span});
	CU_ASSERT_EQUAL(c.broken, 0);
	CU_ASSERT_EQUAL(c.rows,
			3 * d * (t - 1) + 2 * d * t + 2 * (d - 1) * t + 3 * d * t * (t - 1) + d * holding + 3 * d * t);
	CU_ASSERT_EQUAL(c.hold, d * holding);
	CU_ASSERT_EQUAL(c.binaries, 3 * d * t * (t - 1) / 2);
	CU_ASSERT_EQUAL(c.bounds, 2);
	CU_ASSERT(c.longest_line < 200);
	/* no order is shorter than itself */
	CU_ASSERT(judge(text.data, &(point){.plan = plan, .walk = walk, .r = walk->span - 0.01}).broken > 0);
	judge_changed(text.data, plan, cost, claimed, cap_is);
	mr_walk_destroy(walk);
	mr_plan_destroy(plan);
	mr_values_destroy(v);
	mr_strbuf_fini(&text);
}

static void lp_fits_the_search(void)
{
	uint32_t x = 7;

	for (uint16_t d = 1; d <= 4; d++)
		for (uint32_t t = 1; t <= 7; t += 2)
			for (unsigned k = 0; k < 4; k++) {
				static const char *const caps[] = {"1", "2.5", "D", "none"};
				mr_stage_cost stage[4];

				for (unsigned s = 0; s < 4; s++) {
					x = x * 1664525 + 1013904223;
					stage[s] = (mr_stage_cost){.f = 1 + (x >> 29),
								   .i = 1 + (x >> 24) % 8,
								   .w = (x >> 20) % 4,
								   .c = (x >> 16) % 3 * 0.25};
				}
				one_case(d, t, caps[k],
					 k == 0   ? 1
					 : k == 1 ? 2.5
					 : k == 2 ? d
						  : INFINITY,
					 &(mr_cost){d, stage});
			}
}

/* With memory for one forward the order that memory for more allows does not fit. */
static void lp_holds_the_cap(void)
{
	const mr_sched_ops *ops = mr_schedule_find("zb_auto");
	mr_stage_cost stage[3] = {{.f = 1, .i = 1, .w = 1}, {.f = 1, .i = 1, .w = 1}, {.f = 1, .i = 1, .w = 1}};
	sched_case much = {.ops = ops, .n_workers = 3, .n_micro = 6, .option = "cap", .value = "2D"};
	sched_case little = {.ops = ops, .n_workers = 3, .n_micro = 6, .option = "cap", .value = "1"};
	mr_plan *plan = sched_emit(&much);
	mr_values *v = sched_values(&little);
	mr_walk *walk = NULL;
	mr_strbuf text;

	mr_strbuf_init(&text);
	MR_CHECK_OK(mr_schedule_export_lp(ops, &(mr_sched_args){.n_workers = 3, .n_micro = 6, .options = v}, &text));
	MR_CHECK_OK(mr_plan_walk(plan, &(mr_cost){3, stage}, 1, &(mr_walk_opts){.no_period = true}, &walk));
	CU_ASSERT(judge(text.data, &(point){.plan = plan, .walk = walk, .r = walk->span}).broken > 0);
	mr_walk_destroy(walk);
	mr_values_destroy(v);
	mr_plan_destroy(plan);
	mr_strbuf_fini(&text);
}

static void lp_refuses(void)
{
	mr_strbuf text;

	mr_strbuf_init(&text);
	MR_CHECK_FAIL(
		mr_schedule_export_lp(mr_schedule_find("gpipe"), &(mr_sched_args){.n_workers = 2, .n_micro = 4}, &text),
		MR_ECONFIG, "gpipe solves no linear program; these do: zb_auto");
	MR_CHECK_FAIL(mr_schedule_export_lp(mr_schedule_find("zb_auto"),
					    &(mr_sched_args){.n_workers = 8, .n_micro = 100}, &text),
		      MR_ECONFIG,
		      "zb_auto: a linear program for 8 workers and 100 micro-batches has 118800 binary variables");
	CU_ASSERT_EQUAL(text.len, 0);
	mr_strbuf_fini(&text);
}

void mr_suite_zb_lp(void); /* the runner declares it too */

void mr_suite_zb_lp(void)
{
	MR_SUITE("zb_lp");
	MR_TEST(lp_fits_the_search);
	MR_TEST(lp_holds_the_cap);
	MR_TEST(lp_refuses);
}
