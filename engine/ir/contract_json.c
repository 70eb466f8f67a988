#include "ir/plan_json_internal.h"

#include <stdlib.h>
#include <string.h>

#include "ir/sched.h"
#include "ir/text_words.h"

/* --- reading --- */

static const char *const contract_keys[] = {
	"coverage",  "flush",   "read",    "sum",        "need",       "staleness",       "same_version_b",
	"clip",      "tied",    "repeats", "delay",      "delayed",    "private_weights", "racing",
	"keep_read", "steal",   "aim",     "memory_ppm", "slow_start", "sync_steps",      "horizons",
	"turns",     "average", "every",   "alpha",      "outer_lr",   "outer_mu",        "average_state"};

static mr_status read_word(const mr_json *contract, const char *key, const char *const *words, size_t n, unsigned *out)
{
	const mr_json *j = mr_json_get(contract, key);
	const char *word = mr_json_string(j);
	char known[160];
	size_t at = 0;

	if (!j)
		return MR_OK;
	for (unsigned i = 0; word && i < n; i++)
		if (!strcmp(words[i], word)) {
			*out = i;
			return MR_OK;
		}
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s\"%s\"", i ? ", " : "", words[i]);
	return mr_fail(MR_ECONFIG, "%s must be one of %s, got %s%.40s%s", key, known, word ? "\"" : "",
		       word ? word : mr_json_kind(j), word ? "\"" : "");
}

static mr_status read_bool(const mr_json *contract, const char *key, bool *out)
{
	const mr_json *j = mr_json_get(contract, key);

	if (j && !mr_json_is_bool(j))
		return mr_fail(MR_ECONFIG, "%s must be true or false, got %s", key, mr_json_kind(j));
	if (j)
		*out = mr_json_bool(j);
	return MR_OK;
}

static mr_status check_contract_keys(const mr_json *contract)
{
	const size_t n = sizeof(contract_keys) / sizeof(contract_keys[0]);

	if (!mr_json_is_object(contract))
		return mr_fail(MR_ECONFIG, "must be an object, got %s", mr_json_kind(contract));
	for (const char *key = mr_json_next_key(contract, NULL); key; key = mr_json_next_key(contract, key)) {
		size_t i = 0;

		while (i < n && strcmp(contract_keys[i], key) != 0)
			i++;
		if (i == n)
			return mr_fail(MR_ECONFIG, "\"%.60s\" is no part of a contract", key);
	}
	return MR_OK;
}

#define READ_WORD(key, words, out) read_word(j, key, words, MR_TEXT_COUNT(words), out)

static mr_status read_real(const mr_json *contract, const char *key, double *out)
{
	const mr_json *j = mr_json_get(contract, key);

	if (j && !mr_json_is_number(j))
		return mr_fail(MR_ECONFIG, "%s must be a number, got %s", key, mr_json_kind(j));
	if (j)
		*out = mr_json_double(j);
	return MR_OK;
}

static mr_status read_average(const mr_json *j, mr_average *a)
{
	unsigned rule = a->rule;

	MR_TRY(READ_WORD("average", mr_text_average, &rule));
	a->rule = (mr_average_rule)rule;
	if (mr_json_get(j, "every"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "every"), "every", 1, MR_PLAN_JSON_MAX_MICRO, &a->every));
	MR_TRY(read_real(j, "alpha", &a->alpha));
	MR_TRY(read_real(j, "outer_lr", &a->outer_lr));
	MR_TRY(read_real(j, "outer_mu", &a->outer_mu));
	return read_bool(j, "average_state", &a->state);
}

/* "turns": [2, 1]: workers of each stage that take the micro-batches in turn. */
static mr_status read_turns(mr_plan *plan, const mr_json *j)
{
	if (!j)
		return MR_OK;
	if (!mr_json_is_array(j) || mr_json_size(j) != plan->n_stages)
		return mr_fail(MR_ECONFIG, "turns must be an array of %u numbers", plan->n_stages);
	for (uint32_t s = 0; s < plan->n_stages; s++) {
		uint32_t x = 0;

		MR_TRY(mr_plan_json_range(mr_json_at(j, s), "a number of turns", 1, plan->n_pipes, &x));
		plan->stage_replicas[s] = (uint8_t)x;
	}
	return MR_OK;
}

/* What the file says of its contract, on top of what it means when it says nothing. */
static mr_status read_contract(const mr_json *j, mr_plan *plan, mr_section *section)
{
	mr_contract *c = &plan->contract;
	unsigned coverage = c->coverage, flush = c->flush, read = c->read_f, sum = c->sum, aim = c->predict;
	uint32_t delayed;
	bool repeats;

	MR_TRY(check_contract_keys(j));
	MR_TRY(READ_WORD("coverage", mr_text_coverage, &coverage));
	MR_TRY(READ_WORD("flush", mr_text_flush, &flush));
	MR_TRY(READ_WORD("read", mr_text_read_rule, &read));
	MR_TRY(READ_WORD("sum", mr_text_sum, &sum));
	MR_TRY(READ_WORD("aim", mr_text_predict, &aim));
	MR_TRY(read_average(j, &c->average));
	MR_TRY(read_turns(plan, mr_json_get(j, "turns")));
	if (mr_json_get(j, "memory_ppm"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "memory_ppm"), "memory_ppm", 0, 1000000, &c->ema_decay_ppm));
	if (mr_json_get(j, "slow_start"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "slow_start"), "slow_start", 0, INT32_MAX, &c->slow_start));
	if (mr_json_get(j, "sync_steps"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "sync_steps"), "sync_steps", 0, MR_PLAN_JSON_MAX_MICRO,
					  &c->sync_steps));
	if (mr_json_get(j, "need"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "need"), "need", 1, plan->n_micro, &c->need));
	if (mr_json_get(j, "staleness"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "staleness"), "staleness", 0, MR_PLAN_JSON_MAX_MICRO,
					  &c->max_staleness));
	if (mr_json_get(j, "delay"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "delay"), "delay", 0, MR_PLAN_JSON_MAX_MICRO, &c->delay));
	delayed = c->delay ? plan->n_stages : 0;
	if (mr_json_get(j, "delayed"))
		MR_TRY(mr_plan_json_range(mr_json_get(j, "delayed"), "delayed", 0, plan->n_stages, &delayed));
	c->delayed = (uint16_t)delayed;
	MR_TRY(read_bool(j, "same_version_b", &c->same_version_b));
	MR_TRY(read_bool(j, "clip", &c->clip));
	MR_TRY(read_bool(j, "tied", &c->tied));
	MR_TRY(read_bool(j, "private_weights", &c->private_weights));
	MR_TRY(read_bool(j, "racing", &c->racing));
	MR_TRY(read_bool(j, "keep_read", &c->keep_read));
	MR_TRY(read_bool(j, "steal", &c->steal));
	if (plan->n_micro % c->need)
		return mr_fail(MR_ECONFIG, "need: %u micro-batches make no whole number of commits of %u",
			       plan->n_micro, c->need);
	c->coverage = (mr_coverage)coverage;
	c->flush = (mr_flush)flush;
	c->read_f = (mr_read_rule)read;
	c->sum = (mr_sum_order)sum;
	c->predict = (mr_predict)aim;
	plan->commits = c->coverage == MR_COVER_FORWARD ? 0 : (uint32_t)mr_contract_after(c, plan->n_micro / c->need);
	repeats = c->flush != MR_FLUSH_NONE;
	MR_TRY(read_bool(j, "repeats", &repeats));
	*section = repeats ? MR_BODY : MR_PROLOGUE;
	return MR_OK;
}

mr_status mr_contract_json_read(const mr_json *contract, mr_plan *plan, mr_section *section)
{
	mr_status st;

	plan->commits = 1;
	plan->contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_BARRIER,
		.read_f = MR_READ_BATCH,
		.sum = MR_SUM_LISTED,
		.need = plan->n_micro,
		.same_version_b = true,
	};
	*section = MR_BODY;
	st = contract ? read_contract(contract, plan, section) : MR_OK;
	return st == MR_OK ? MR_OK : mr_fail_in(st, "contract");
}

mr_status mr_contract_json_horizons(const mr_json *contract, mr_plan *plan)
{
	const mr_json *j = mr_json_get(contract, "horizons");
	int32_t *h = calloc(2 * (size_t)plan->n_stages, sizeof(*h));
	bool good = mr_json_is_array(j) && mr_json_size(j) == 2;

	if (!h)
		return mr_fail(MR_ERESOURCE, "no memory for the horizons of %u stages", plan->n_stages);
	for (size_t i = 0; i < 2 && good; i++) {
		const mr_json *row = mr_json_at(j, i);

		good = mr_json_is_array(row) && mr_json_size(row) == plan->n_stages;
		for (uint32_t s = 0; s < plan->n_stages && good; s++) {
			const mr_json *x = mr_json_at(row, s);

			good = mr_json_is_int(x) && mr_json_int(x) >= -MR_PLAN_JSON_MAX_MICRO &&
			       mr_json_int(x) <= MR_PLAN_JSON_MAX_MICRO;
			h[i * plan->n_stages + s] = good ? (int32_t)mr_json_int(x) : 0;
		}
	}
	if (good)
		mr_sched_aim(plan, h, h + plan->n_stages);
	free(h);
	return !j || good ? MR_OK
			  : mr_fail(MR_ECONFIG, "contract: horizons must be two arrays of %u numbers from -%d to %d",
				    plan->n_stages, MR_PLAN_JSON_MAX_MICRO, MR_PLAN_JSON_MAX_MICRO);
}

/* --- writing --- */

static void put_horizons(mr_json_writer *w, const mr_plan *plan)
{
	mr_json_key(w, "horizons");
	mr_json_begin_array(w);
	for (int backward = 0; backward < 2; backward++) {
		mr_json_begin_array(w);
		for (uint16_t s = 0; s < plan->n_stages; s++)
			mr_json_put_int(w, mr_plan_horizon(plan, s, !backward));
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

static void put_average(mr_json_writer *w, const mr_average *a)
{
	mr_json_key(w, "average");
	mr_json_put_string(w, mr_text_average[a->rule]);
	mr_json_key(w, "every");
	mr_json_put_uint(w, a->every);
	mr_json_key(w, "alpha");
	mr_json_put_double(w, a->alpha);
	mr_json_key(w, "outer_lr");
	mr_json_put_double(w, a->outer_lr);
	mr_json_key(w, "outer_mu");
	mr_json_put_double(w, a->outer_mu);
	mr_json_key(w, "average_state");
	mr_json_put_bool(w, a->state);
}

void mr_contract_json_put(mr_json_writer *w, const mr_plan *plan, bool repeats)
{
	const mr_contract *c = &plan->contract;

	mr_json_key(w, "contract");
	mr_json_begin_object(w);
	mr_json_key(w, "coverage");
	mr_json_put_string(w, mr_text_coverage[c->coverage]);
	mr_json_key(w, "flush");
	mr_json_put_string(w, mr_text_flush[c->flush]);
	mr_json_key(w, "read");
	mr_json_put_string(w, mr_text_read_rule[c->read_f]);
	mr_json_key(w, "sum");
	mr_json_put_string(w, mr_text_sum[c->sum]);
	mr_json_key(w, "need");
	mr_json_put_uint(w, c->need);
	mr_json_key(w, "staleness");
	mr_json_put_uint(w, c->max_staleness);
	if (c->predict != MR_PREDICT_NONE) {
		mr_json_key(w, "aim");
		mr_json_put_string(w, mr_text_predict[c->predict]);
		mr_json_key(w, "memory_ppm");
		mr_json_put_uint(w, c->ema_decay_ppm);
		put_horizons(w, plan);
	}
	if (mr_plan_has_stage_replicas(plan)) {
		mr_json_key(w, "turns");
		mr_json_begin_array(w);
		for (uint16_t s = 0; s < plan->n_stages; s++)
			mr_json_put_uint(w, plan->stage_replicas[s]);
		mr_json_end_array(w);
	}
	if (c->slow_start) {
		mr_json_key(w, "slow_start");
		mr_json_put_uint(w, c->slow_start);
	}
	if (c->sync_steps) {
		mr_json_key(w, "sync_steps");
		mr_json_put_uint(w, c->sync_steps);
	}
	if (c->delay) {
		mr_json_key(w, "delay");
		mr_json_put_uint(w, c->delay);
		mr_json_key(w, "delayed");
		mr_json_put_uint(w, c->delayed);
	}
	mr_json_key(w, "same_version_b");
	mr_json_put_bool(w, c->same_version_b);
	mr_json_key(w, "clip");
	mr_json_put_bool(w, c->clip);
	mr_json_key(w, "tied");
	mr_json_put_bool(w, c->tied);
	mr_json_key(w, "private_weights");
	mr_json_put_bool(w, c->private_weights);
	mr_json_key(w, "racing");
	mr_json_put_bool(w, c->racing);
	if (mr_contract_replicates(c))
		put_average(w, &c->average);
	if (c->keep_read) {
		mr_json_key(w, "keep_read");
		mr_json_put_bool(w, true);
	}
	if (c->steal) {
		mr_json_key(w, "steal");
		mr_json_put_bool(w, true);
	}
	mr_json_key(w, "repeats");
	mr_json_put_bool(w, repeats);
	mr_json_end_object(w);
}
