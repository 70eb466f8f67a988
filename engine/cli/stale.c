#include "cli/stale.h"

#include <stdio.h>

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

/* Systems that predict or correct weights, or begin slowly, deal with staleness themselves. */
static bool is_dealt_with(const mr_session *s)
{
	return mr_session_is_mitigated(s) || s->plan->contract.aim != MR_AIM_NONE || s->plan->contract.slow_start;
}

static void warn_unmitigated(const mr_session *s, uint32_t age)
{
	mr_strbuf names;
	uint32_t n = 0;

	mr_strbuf_init(&names);
	for (uint32_t i = 0; mr_mitigate_at(i); i++) {
		const mr_mitigate_ops *m = mr_mitigate_at(i);

		if (!mr_mitigate_is_none(m) && (!m->suits || m->suits(&s->optim)))
			mr_strbuf_printf(&names, "%s%s", n++ ? ", " : "", m->name);
	}
	fprintf(stderr, "millrace: warning: %s with gradients up to %u commit%s stale and no mitigation often trains worse than without a pipeline: "
			"set mitigation.name (%s) or optimizer.name (muon, nadamw)\n",
		s->optim.ops->name, age, age == 1 ? "" : "s", mr_strbuf_text(&names));
	mr_strbuf_fini(&names);
}

void mr_stale_warn(const mr_session *s)
{
	uint32_t age = most_stale(s);

	if (!mr_mitigate_is_none(s->mitigate.ops) && !age)
		fprintf(stderr, "millrace: warning: mitigation %s changes nothing: %s with %u worker%s has no stale gradients\n",
			s->mitigate.ops->name, mr_config_plugin(s->config, MR_CONFIG_SYSTEM), s->place.n_workers,
			s->place.n_workers == 1 ? "" : "s");
	if (age && s->optim.ops->suffers && !is_dealt_with(s))
		warn_unmitigated(s, age);
}
