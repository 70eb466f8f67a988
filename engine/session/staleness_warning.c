#include "session/staleness_warning.h"

#include <stdio.h>

#include "base/notice.h"
#include "base/str.h"

static uint32_t most_stale(const mr_session *s)
{
	uint32_t most = 0;

	for (uint16_t k = 0; s->plan && k < s->plan->n_stages; k++) {
		uint32_t age = mr_plan_staleness(s->plan, k);

		most = age > most ? age : most;
	}
	return most;
}

/* Systems that predict or correct weights, or start slowly, handle staleness themselves. */
static bool is_dealt_with(const mr_session *s)
{
	return mr_session_is_mitigated(s) || s->plan->contract.predict != MR_PREDICT_NONE ||
	       s->plan->contract.slow_start;
}

/* Would mitigation @ops, with its defaults, be accepted in this session? */
static bool would_do(const mr_session *s, const mr_mitigate_ops *ops)
{
	mr_values *values = NULL;
	mr_mitigate m;

	if (mr_mitigate_is_none(ops) || (ops->suits && !ops->suits(&s->optim)))
		return false;
	if (ops->options && mr_values_create(ops->options, &values) != MR_OK)
		return false;
	mr_mitigate_init(&m, ops, values);
	mr_values_destroy(values);
	return mr_session_takes(s, &m) && (!ops->check || ops->check(&m, &s->optim) == MR_OK);
}

static void warn_unmitigated(const mr_session *s, uint32_t age)
{
	mr_strbuf names = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; mr_mitigate_at(i); i++)
		if (would_do(s, mr_mitigate_at(i)))
			mr_strbuf_printf(&names, "%s%s", n++ ? ", " : "", mr_mitigate_at(i)->name);
	mr_notice("warning: %s with gradients up to %u commit%s stale and no mitigation often trains worse "
		  "than without a pipeline: "
		  "set %s%s%soptimizer.name (muon, nadamw)",
		  s->optim.ops->name, age, age == 1 ? "" : "s", n ? "mitigation.name (" : "", mr_strbuf_text(&names),
		  n ? ") or " : "");
	mr_strbuf_fini(&names);
}

/* Is the mitigation only a slow start, in a plan without a stage that is late enough for it? */
static bool is_idle(const mr_session *s)
{
	mr_mitigate m = s->mitigate;

	if (!m.slow_start || !m.ops->check)
		return false;
	m.slow_start = 0;
	for (uint16_t k = 0; s->plan && k < s->plan->n_stages; k++)
		if (mr_plan_delay(s->steady ? s->steady : s->plan, k) > 1)
			return false;
	return m.ops->check(&m, &s->optim) != MR_OK;
}

void mr_staleness_warn(const mr_session *s)
{
	uint32_t age = most_stale(s);

	if (!mr_mitigate_is_none(s->mitigate.ops) && !age)
		mr_notice("warning: mitigation %s changes nothing: %s with %u worker%s has no stale "
			  "gradients",
			  s->mitigate.ops->name, s->job->system.name, s->place.n_workers,
			  s->place.n_workers == 1 ? "" : "s");
	else if (is_idle(s))
		mr_notice("warning: mitigation %s changes nothing: with t1_steps and as much momentum as limit "
			  "everywhere it starts stages slowly that are more than one commit late, and none is",
			  s->mitigate.ops->name);
	if (age && s->optim.ops->suffers && !is_dealt_with(s))
		warn_unmitigated(s, age);
}
