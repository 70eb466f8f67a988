#include "sched_help.h"

#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"

const double sched_costs[SCHED_COSTS][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 1, 2}};

mr_values *sched_values(const sched_case *c)
{
	char text[256], *at = text, *set;
	mr_values *v = NULL;

	if (!c->ops->options)
		return NULL;
	MR_CHECK_OK(mr_values_create(c->ops->options, &v));
	if (c->option)
		MR_CHECK_OK(mr_values_set_text(v, c->option, c->value));
	snprintf(text, sizeof(text), "%s", c->sets ? c->sets : "");
	while ((set = strsep(&at, " "))) {
		char *value = strchr(set, '=');

		if (!value)
			continue;
		*value++ = 0;
		MR_CHECK_OK(mr_values_set_text(v, set, value));
	}
	return v;
}

static mr_sched_args args_of(const sched_case *c, const mr_values *v)
{
	return (mr_sched_args){.n_workers = c->n_workers,
			       .chunks = c->chunks,
			       .n_micro = c->n_micro,
			       .n_commits = c->n_commits,
			       .finite = c->finite,
			       .options = v};
}

static mr_status emit(const sched_case *c, mr_plan **out)
{
	mr_values *v = sched_values(c);
	mr_sched_args args = args_of(c, v);
	mr_status st = mr_schedule_emit(c->ops, &args, out);

	mr_values_destroy(v);
	return st;
}

mr_plan *sched_emit(const sched_case *c)
{
	mr_plan *plan = NULL;
	mr_status st = emit(c, &plan);

	sched_blame(c, st == MR_OK);
	MR_CHECK_OK(st);
	return plan;
}

mr_plan *sched_try_emit(const sched_case *c)
{
	mr_plan *plan = NULL;
	mr_status st = emit(c, &plan);

	if (st == MR_OK)
		return plan;
	CU_ASSERT_TRUE_FATAL(sched_blame(c, st == MR_ECONFIG));
	CU_ASSERT_TRUE_FATAL(sched_blame(c, strstr(mr_error_text(), c->ops->name) == mr_error_text()));
	CU_ASSERT_TRUE_FATAL(sched_blame(c, strlen(mr_error_text()) > strlen(c->ops->name) + 20));
	return NULL;
}

mr_plan *sched_lowered(const sched_case *c)
{
	mr_plan *plan = sched_emit(c);
	mr_status st = mr_plan_lower(plan, NULL);

	if (st == MR_OK)
		st = mr_plan_check(plan);
	sched_blame(c, st == MR_OK);
	MR_CHECK_OK(st);
	return plan;
}

mr_sched_claims sched_claims(const sched_case *c, double f, double i, double w)
{
	mr_values *v = sched_values(c);
	mr_sched_args args = args_of(c, v);
	mr_sched_claims out;

	MR_CHECK_OK(mr_schedule_claims(c->ops, &args, f, i, w, &out));
	mr_values_destroy(v);
	return out;
}

bool sched_blame(const sched_case *c, bool ok)
{
	if (!ok)
		fprintf(stderr, "\n%s D=%u T=%u v=%u %s %s=%s %s\n", c->ops->name, c->n_workers, c->n_micro, c->chunks,
			c->finite ? "finite" : "endless or one iteration", c->option ? c->option : "-",
			c->value ? c->value : "-", c->sets ? c->sets : "");
	return ok;
}

typedef struct grid {
	uint16_t max_workers;
	uint32_t max_micro;
	void (*fn)(const sched_case *c);
} grid;

/* A search goes through the other systems itself: each of its cases costs as much as all of theirs. */
static bool searches(const sched_case *c)
{
	return c->ops->options && mr_option_find(c->ops->options, "tries");
}

static void sizes(const grid *g, sched_case c)
{
	for (c.n_workers = 1; c.n_workers <= g->max_workers; c.n_workers++)
		for (c.n_micro = 1; c.n_micro <= g->max_micro; c.n_micro++) {
			if (searches(&c) && c.n_micro > 3 && c.n_micro % 4)
				continue;
			c.finite = false;
			if (!c.ops->ends && (!c.ops->asynchronous || c.ops->accumulates || c.n_micro == 1))
				g->fn(&c);
			c.finite = true;
			if (c.ops->asynchronous)
				g->fn(&c);
		}
}

static void chunks(const grid *g, sched_case c)
{
	bool chooses = c.ops->options && mr_option_find(c.ops->options, "chunks");

	for (c.chunks = chooses; c.chunks <= (chooses ? 4 : 0); c.chunks++)
		sizes(g, c);
}

void sched_sizes(uint16_t max_workers, uint32_t max_micro, const sched_case *c, void (*fn)(const sched_case *c))
{
	sizes(&(grid){max_workers, max_micro, fn}, *c);
}

void sched_grid(uint16_t max_workers, uint32_t max_micro, void (*fn)(const sched_case *c))
{
	grid g = {max_workers, max_micro, fn};

	for (size_t i = 0; mr_schedule_at(i); i++) {
		sched_case c = {.ops = mr_schedule_at(i)};

		if (searches(&c))
			c.sets = "tries=10"; /* the laws hold for any, and more take long */
		if (c.ops->options && mr_option_find(c.ops->options, "every"))
			c.sets = "every=2"; /* plans are that many times as long */
		chunks(&g, c);
		for (const mr_option *o = c.ops->options; o && o->name; o++) {
			char choices[128], *at = choices, *value;

			/* Options of other kinds have no values to go through; the system's own suite tries them. */
			snprintf(choices, sizeof(choices), "%s",
				 o->type == MR_OPT_ENUM ? o->words : o->type == MR_OPT_BOOL ? "true|false" : "");
			c.option = o->name;
			while ((value = strsep(&at, "|"))) {
				c.value = value;
				if (*value && strcmp(value, o->def))
					chunks(&g, c);
			}
		}
	}
}
