/* Advice from made-up curves: each rule speaks where its curve is, and not elsewhere. */
#include "page/advice.h"

#include <math.h>
#include <string.h>

#include "check.h"

#define STEPS 200

typedef struct curves {
	mr_figures row[2 * STEPS];
	size_t n;
	char text[4096];
} curves;

static void note(void *arg, const char *text)
{
	curves *c = arg;

	strncat(c->text, text, sizeof(c->text) - strlen(c->text) - 2);
	strcat(c->text, "\n");
}

static double falling(double t)
{
	return 0.2 + 2 * exp(-2 * t);
}

static double fallen(double t)
{
	return 0.2 + 2 * exp(-20 * t);
}

static double bowl(double t)
{
	return 0.5 + (t - 0.3) * (t - 0.3);
}

/* Curves over the part of the steps that is over; @every 0: no evaluation. */
static unsigned advise(curves *c, double (*loss)(double), double (*val)(double), uint64_t every, double norm)
{
	c->n = 0;
	c->text[0] = 0;
	for (uint64_t i = 1; i <= STEPS; i++) {
		mr_figures *r = &c->row[c->n++];
		double t = (double)i / STEPS;

		*r = mr_figures_at(i);
		r->loss = loss(t);
		r->lr = 0.01;
		r->grad_norm = i == STEPS / 2 ? norm : 1;
		if (!every || i % every)
			continue;
		r = &c->row[c->n++];
		*r = mr_figures_at(i);
		r->val_loss = val(t);
	}
	return mr_advice(c->row, c->n, note, c);
}

static bool says(const curves *c, const char *part)
{
	return strstr(c->text, part) != NULL;
}

static void rules(void)
{
	static curves c;

	CU_ASSERT_EQUAL(advise(&c, falling, falling, 10, 1), 1);
	CU_ASSERT(says(&c, "still falling at the end: train longer (train.steps = 400;"));
	CU_ASSERT_EQUAL(advise(&c, falling, bowl, 10, 1), 1);
	CU_ASSERT(says(&c, "After step 60 the validation loss grew") && says(&c, "train.patience"));
	CU_ASSERT_EQUAL(advise(&c, fallen, fallen, 10, 1), 1);
	CU_ASSERT(says(&c, "hardly fell in the last third") && says(&c, "cosine"));
	CU_ASSERT_EQUAL(advise(&c, falling, falling, 0, 1), 1);
	CU_ASSERT(says(&c, "There was no evaluation") && says(&c, "train.eval_every = "));
	CU_ASSERT_EQUAL(advise(&c, falling, falling, 100, 1), 1);
	CU_ASSERT(says(&c, "too few evaluations") && says(&c, "train.eval_every = 11"));
	CU_ASSERT_EQUAL(advise(&c, bowl, falling, 10, 1), 2);
	CU_ASSERT(says(&c, "training loss grew again") && says(&c, "optimizer.lr = 0.0033"));
	CU_ASSERT_EQUAL(advise(&c, falling, falling, 10, 50), 2);
	CU_ASSERT(says(&c, "norm 50, usual is 1") && says(&c, "train.clip = 2 "));
}

/* Of a short run nothing is said; values that are not finite are no values. */
static void little(void)
{
	static curves c;

	advise(&c, falling, falling, 10, 1);
	CU_ASSERT_EQUAL(mr_advice(c.row, 15, note, &c), 0);
	CU_ASSERT_EQUAL(mr_advice(c.row, 0, note, &c), 0);
	CU_ASSERT_PTR_NULL(mr_advice_best(c.row, 5));
	for (size_t i = 0; i < c.n; i += 3)
		c.row[i].loss = c.row[i].val_loss = (double)NAN;
	CU_ASSERT(mr_advice(c.row, c.n, note, &c) >= 1);
	CU_ASSERT(isfinite(mr_advice_best(c.row, c.n)->val_loss));
}

void mr_suite_advice(void);
void mr_suite_advice(void)
{
	MR_SUITE("advice");
	MR_TEST(rules);
	MR_TEST(little);
}
