#include "sched_help.h"

#include <string.h>

#include "check.h"
#include "ir/check.h"
#include "ir/lower.h"

mr_values *sched_values(const sched_case *c)
{
	mr_values *v = NULL;

	if (!c->ops->options)
		return NULL;
	MR_CHECK_OK(mr_values_create(c->ops->options, &v));
	if (c->option)
		MR_CHECK_OK(mr_values_set_text(v, c->option, c->value));
	return v;
}

static mr_sched_args args_of(const sched_case *c, const mr_values *v)
{
	return (mr_sched_args){
		.n_workers = c->n_workers, .chunks = 1, .n_micro = c->n_micro, .finite = c->finite, .options = v};
}

mr_plan *sched_emit(const sched_case *c)
{
	mr_values *v = sched_values(c);
	mr_sched_args args = args_of(c, v);
	mr_plan *plan = NULL;
	mr_status st = mr_schedule_emit(c->ops, &args, &plan);

	sched_blame(c, st == MR_OK);
	MR_CHECK_OK(st);
	mr_values_destroy(v);
	return plan;
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

mr_sched_claims sched_claims(const sched_case *c)
{
	mr_values *v = sched_values(c);
	mr_sched_args args = args_of(c, v);
	mr_sched_claims out;

	MR_CHECK_OK(mr_schedule_claims(c->ops, &args, &out));
	mr_values_destroy(v);
	return out;
}

bool sched_blame(const sched_case *c, bool ok)
{
	if (!ok)
		fprintf(stderr, "\n%s D=%u T=%u %s %s=%s\n", c->ops->name, c->n_workers, c->n_micro,
			c->finite ? "finite" : "endless or one iteration", c->option ? c->option : "-", c->value ? c->value : "-");
	return ok;
}

static void sizes(void (*fn)(const sched_case *c), sched_case c)
{
	static const uint16_t workers[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};

	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
		uint32_t d = c.n_workers = workers[i];

		for (c.n_micro = 1; c.n_micro <= 4 * d; c.n_micro += d <= 6 ? 1 : d - 2) {
			c.finite = false;
			if (!c.ops->asynchronous || c.n_micro == 1)
				fn(&c);
			c.finite = true;
			if (c.ops->asynchronous)
				fn(&c);
		}
	}
}

void sched_grid(void (*fn)(const sched_case *c))
{
	for (size_t i = 0; mr_schedule_at(i); i++) {
		sched_case c = {.ops = mr_schedule_at(i)};

		sizes(fn, c);
		for (const mr_option *o = c.ops->options; o && o->name; o++) {
			char choices[128], *at = choices, *value;

			/* Options of other kinds have no values to go through; the system's own suite tries them. */
			snprintf(choices, sizeof(choices), "%s",
				 o->type == MR_OPT_ENUM ? o->choices : o->type == MR_OPT_BOOL ? "true|false" : "");
			c.option = o->name;
			while ((value = strsep(&at, "|"))) {
				c.value = value;
				if (*value && strcmp(value, o->def))
					sizes(fn, c);
			}
		}
	}
}
