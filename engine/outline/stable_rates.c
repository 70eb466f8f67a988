#include "outline/stable_rates.h"

#include <string.h>

#include "objective/stable_rate.h"

#define MOST_NAMED 4 /* groups of stages; of more only those with the least and the most delay are named */

/* Do all F of @stage in the body of @pipe have the delay *@tau, which is the first one's where it is negative? */
static bool same_delay(const mr_plan *p, uint8_t pipe, uint16_t stage, int64_t *tau)
{
	const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, stage), MR_BODY);

	for (uint32_t k = 0; k < l->n; k++) {
		const mr_instr *in = &l->at[k];
		int64_t age = (int64_t)mr_plan_applied_on(p, stage, in->micro) - in->read;

		if (in->op != MR_OP_F || in->stage != stage || in->pipe != pipe)
			continue;
		if (*tau >= 0 && *tau != age)
			return false;
		*tau = age;
	}
	return true;
}

/* By how many commits each gradient of @stage is late; -1: not all by as many, or there is none. */
static int64_t delay_of(const mr_plan *p, uint16_t stage)
{
	int64_t tau = -1;

	for (uint32_t pipe = 0; pipe < p->n_pipes; pipe++)
		if (!same_delay(p, (uint8_t)pipe, stage, &tau))
			return -1;
	return tau;
}

/* Is a step lr times a fixed sum of gradients? */
static bool is_linear(const mr_optim *o)
{
	return (!strcmp(o->ops->name, "sgd") || !strcmp(o->ops->name, "momentum")) && o->weight_decay == 0;
}

static bool applies(const mr_session *s, const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	return c->coverage == MR_COVER_TRAIN && c->flush == MR_FLUSH_NONE && !c->racing && !p->endless &&
	       !mr_contract_replicates(c) &&
	       (c->predict == MR_PREDICT_NONE || c->predict == MR_PREDICT_BACK) && !mr_session_is_mitigated(s) &&
	       is_linear(&s->optim);
}

/* The first stage behind @stage whose delay is another. */
static uint16_t group_end(const mr_plan *p, uint16_t stage)
{
	uint16_t end = (uint16_t)(stage + 1);

	while (end < p->n_stages && delay_of(p, end) == delay_of(p, stage))
		end++;
	return end;
}

static void print_group(const mr_session *s, const mr_plan *p, uint16_t first, uint16_t end, bool begins, FILE *out)
{
	int64_t tau = delay_of(p, first);

	if (tau < 0)
		return;
	fprintf(out, "%s%.3g at stage%s %u", begins ? "" : ", ",
		mr_stable_rate((uint32_t)tau, s->optim.mu, s->optim.nesterov), end - first > 1 ? "s" : "", first);
	if (end - first > 1)
		fprintf(out, " to %u", end - 1u);
	fprintf(out, " (%lld%s)", (long long)tau,
		!begins ? "" : tau == 1 ? " commit late" : " commits late");
}

void mr_stable_rates_print(const mr_session *s, const mr_plan *p, FILE *out)
{
	uint16_t least = 0, most = 0;
	uint32_t n_groups = 0;

	if (!applies(s, p))
		return;
	for (uint16_t k = 0; k < p->n_stages; k = group_end(p, k), n_groups++) {
		least = delay_of(p, k) < delay_of(p, least) ? k : least;
		most = delay_of(p, k) > delay_of(p, most) ? k : most;
	}
	if (delay_of(p, most) <= 0)
		return;
	fprintf(out, "rate     stable while lr x curvature is below ");
	for (uint16_t k = 0, end, n = 0; k < p->n_stages; k = end) {
		end = group_end(p, k);
		if (n_groups <= MOST_NAMED || k == least || k == most)
			print_group(s, p, k, end, n++ == 0, out);
	}
	fputc('\n', out);
}
