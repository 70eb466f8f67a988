#include "ir/plan_json_internal.h"

#include <stdlib.h>
#include <string.h>

#include "ir/contract_field.h"
#include "ir/sched.h"

/* --- reading --- */

static bool is_key(const char *key)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++)
		if (!strcmp(mr_contract_fields[i].key, key))
			return true;
	for (unsigned i = 0; i < MR_N_TABLES; i++)
		if (!strcmp(mr_stage_tables[i].key, key))
			return true;
	return !strcmp(key, "repeats") || !strcmp(key, "horizons");
}

static mr_status check_keys(const mr_json *contract)
{
	if (!mr_json_is_object(contract))
		return mr_fail(MR_ECONFIG, "must be an object, got %s", mr_json_kind(contract));
	for (const char *key = mr_json_next_key(contract, NULL); key; key = mr_json_next_key(contract, key))
		if (!is_key(key))
			return mr_fail(MR_ECONFIG, "\"%.60s\" is not a key of a contract", key);
	return MR_OK;
}

static mr_status read_word(const mr_json *j, const mr_contract_field *f, uint64_t *out)
{
	const char *word = mr_json_string(j);
	char known[160];
	size_t at = 0;

	for (uint32_t i = 0; word && i < f->n_words; i++)
		if (!strcmp(f->words[i], word)) {
			*out = i;
			return MR_OK;
		}
	for (uint32_t i = 0; i < f->n_words && at < sizeof(known); i++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s\"%s\"", i ? ", " : "", f->words[i]);
	return mr_fail(MR_ECONFIG, "%s must be one of %s, got %s%.40s%s", f->key, known, word ? "\"" : "",
		       word ? word : mr_json_kind(j), word ? "\"" : "");
}

static mr_status read_bool(const mr_json *j, const char *key, bool *out)
{
	if (!mr_json_is_bool(j))
		return mr_fail(MR_ECONFIG, "%s must be true or false, got %s", key, mr_json_kind(j));
	*out = mr_json_bool(j);
	return MR_OK;
}

/* A bound or a value of contract.def, with the numbers of @plan in place of MR_N_MICRO and MR_N_STAGES. */
static int64_t number_in(const mr_plan *plan, int64_t x)
{
	return x == MR_N_MICRO ? plan->n_micro : x == MR_N_STAGES ? plan->n_stages : x;
}

/* Set the value that a member has when the file leaves it out. */
static void set_absent(mr_plan *plan, const mr_contract_field *f)
{
	const mr_contract_field *leader = &mr_contract_fields[f->leader];
	bool led = f->leader && !mr_contract_get(&plan->contract, leader);

	mr_contract_set(&plan->contract, f, led ? 0 : (uint64_t)number_in(plan, f->absent));
}

static mr_status read_field(const mr_json *j, mr_plan *plan, const mr_contract_field *f)
{
	uint32_t count;
	uint64_t x = 0;
	bool flag;

	switch (f->kind) {
	case MR_FIELD_FLAG:
		MR_TRY(read_bool(j, f->key, &flag));
		x = flag;
		break;
	case MR_FIELD_COUNT:
		MR_TRY(mr_plan_json_range(j, f->key, f->low, number_in(plan, f->high), &count));
		x = count;
		break;
	case MR_FIELD_WORD:
		MR_TRY(read_word(j, f, &x));
		break;
	case MR_FIELD_REAL:
		if (!mr_json_is_number(j))
			return mr_fail(MR_ECONFIG, "%s must be a number, got %s", f->key, mr_json_kind(j));
		mr_contract_set_real(&plan->contract, f, mr_json_double(j));
		return MR_OK;
	}
	mr_contract_set(&plan->contract, f, x);
	return MR_OK;
}

/* "turns": [2, 1]: a number a stage. */
static mr_status read_table(mr_plan *plan, const mr_stage_table *t, const mr_json *j)
{
	if (!j)
		return MR_OK;
	if (!mr_json_is_array(j) || mr_json_size(j) != plan->n_stages)
		return mr_fail(MR_ECONFIG, "%s must be an array of %u numbers", t->key, plan->n_stages);
	for (uint32_t s = 0; s < plan->n_stages; s++) {
		uint32_t x = 0;

		MR_TRY(mr_plan_json_range(mr_json_at(j, s), t->key, 0, mr_stage_table_most(plan, t), &x));
		mr_stage_table_of(plan, t)[s] = (uint8_t)x;
	}
	return MR_OK;
}

/* A leader stands before the fields that depend on it. */
static mr_status read_fields(const mr_json *contract, mr_plan *plan)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		const mr_contract_field *f = &mr_contract_fields[i];
		const mr_json *j = mr_json_get(contract, f->key);

		if (j)
			MR_TRY(read_field(j, plan, f));
		else
			set_absent(plan, f);
	}
	return MR_OK;
}

static mr_status read_contract(const mr_json *j, mr_plan *plan, mr_section *section)
{
	mr_contract *c = &plan->contract;
	bool repeats;

	if (j)
		MR_TRY(check_keys(j));
	MR_TRY(read_fields(j, plan));
	for (unsigned i = 0; i < MR_N_TABLES; i++)
		MR_TRY(read_table(plan, &mr_stage_tables[i], mr_json_get(j, mr_stage_tables[i].key)));
	if (plan->n_micro % c->need)
		return mr_fail(MR_ECONFIG, "need: %u micro-batches make no whole number of commits of %u",
			       plan->n_micro, c->need);
	plan->commits =
		c->coverage == MR_COVER_FORWARD ? 0 : (uint32_t)mr_contract_after(c, plan->n_micro / c->need);
	repeats = c->flush != MR_FLUSH_NONE;
	if (mr_json_get(j, "repeats"))
		MR_TRY(read_bool(mr_json_get(j, "repeats"), "repeats", &repeats));
	*section = repeats ? MR_BODY : MR_PROLOGUE;
	return MR_OK;
}

mr_status mr_contract_json_read(const mr_json *contract, mr_plan *plan, mr_section *section)
{
	mr_status st = read_contract(contract, plan, section);

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

static void put_table(mr_json_writer *w, const mr_plan *plan, const mr_stage_table *t)
{
	mr_json_key(w, t->key);
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < plan->n_stages; s++)
		mr_json_put_uint(w, mr_stage_table_of(plan, t)[s]);
	mr_json_end_array(w);
}

static void put_field(mr_json_writer *w, const mr_contract *c, const mr_contract_field *f)
{
	mr_json_key(w, f->key);
	switch (f->kind) {
	case MR_FIELD_FLAG:
		mr_json_put_bool(w, mr_contract_get(c, f) != 0);
		break;
	case MR_FIELD_COUNT:
		mr_json_put_uint(w, mr_contract_get(c, f));
		break;
	case MR_FIELD_REAL:
		mr_json_put_double(w, mr_contract_get_real(c, f));
		break;
	case MR_FIELD_WORD:
		mr_json_put_string(w, mr_contract_word(c, f));
		break;
	}
}

/* The fields that have this place. */
static void put_fields(mr_json_writer *w, const mr_contract *c, unsigned place)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		const mr_contract_field *f = &mr_contract_fields[i];

		if (f->json == place && mr_contract_in_json(c, f))
			put_field(w, c, f);
	}
}

void mr_contract_json_put(mr_json_writer *w, const mr_plan *plan, bool repeats)
{
	const mr_contract *c = &plan->contract;

	mr_json_key(w, "contract");
	mr_json_begin_object(w);
	for (unsigned place = 1; place <= MR_JSON_PLACES; place++) {
		put_fields(w, c, place);
		if (place != MR_JSON_TABLES)
			continue;
		if (c->predict != MR_PREDICT_NONE)
			put_horizons(w, plan);
		for (unsigned i = 0; i < MR_N_TABLES; i++)
			if (mr_stage_table_used(plan, &mr_stage_tables[i]))
				put_table(w, plan, &mr_stage_tables[i]);
	}
	put_fields(w, c, 0);
	mr_json_key(w, "repeats");
	mr_json_put_bool(w, repeats);
	mr_json_end_object(w);
}
