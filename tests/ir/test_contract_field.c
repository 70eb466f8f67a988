/*
 * Every field of the contract, as contract.def lists them: each of its values is printed, read back and hashed, in both
 * forms of a plan. A new row is tested without a line here.
 */
#include "ir/contract_field.h"

#include <string.h>

#include "check.h"
#include "ir/plan_json.h"
#include "ir/sched.h"
#include "ir/text.h"

#define N_STAGES 3
#define N_MICRO 12
#define MAX_VALUES 8

static const mr_contract_field *field(unsigned i)
{
	return &mr_contract_fields[i];
}

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* Values of @f that a plan file may have, the largest last. */
static unsigned values_of(const mr_contract_field *f, uint64_t v[MAX_VALUES])
{
	unsigned n = 0;

	switch (f->kind) {
	case MR_FIELD_FLAG:
		v[n++] = false;
		v[n++] = true;
		break;
	case MR_FIELD_COUNT:
		v[n++] = (uint64_t)f->low;
		v[n++] = f->high == MR_N_MICRO ? N_MICRO : f->high == MR_N_STAGES ? N_STAGES : (uint64_t)f->high;
		break;
	case MR_FIELD_REAL:
		v[n++] = bits_of(0);
		v[n++] = bits_of(1.0 / 3);
		v[n++] = bits_of(0.7);
		break;
	case MR_FIELD_WORD:
		CU_ASSERT_FATAL(f->n_words <= MAX_VALUES);
		for (; n < f->n_words; n++)
			v[n] = n;
	}
	return n;
}

static uint64_t last_value(const mr_contract_field *f)
{
	uint64_t v[MAX_VALUES];

	return v[values_of(f, v) - 1];
}

/* What the forms make of a contract. */
typedef struct shown {
	char *text, *json;
	uint64_t hash;
} shown;

static mr_plan *plan_with(const mr_contract *c)
{
	mr_plan *p = NULL;

	MR_CHECK_OK(mr_plan_create(N_STAGES, N_STAGES, 1, &p));
	snprintf(p->system, sizeof(p->system), "fields");
	p->n_micro = N_MICRO;
	p->contract = *c;
	p->commits = c->coverage == MR_COVER_FORWARD ? 0 : (uint32_t)mr_contract_after(c, N_MICRO / c->need);
	for (uint16_t s = 0; s < N_STAGES; s++) {
		p->worker_of[s] = s;
		for (uint32_t m = 0; m < N_MICRO; m++)
			MR_CHECK_OK(mr_sched_emit(p, s, MR_BODY, MR_OP_F, m, s, 0));
	}
	return p;
}

static shown show_plan(const mr_plan *p)
{
	shown out = {.hash = mr_plan_hash(p)};
	mr_json_writer w;
	mr_strbuf text = {0};
	size_t len = 0;
	FILE *f = open_memstream(&out.json, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	w = mr_json_begin(f, false);
	MR_CHECK_OK(mr_plan_json_put(&w, p));
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	MR_CHECK_OK(mr_text_print(p, &text));
	out.text = strdup(mr_strbuf_text(&text));
	CU_ASSERT_PTR_NOT_NULL_FATAL(out.text);
	mr_strbuf_fini(&text);
	return out;
}

static shown show(const mr_contract *c)
{
	mr_plan *p = plan_with(c);
	shown out = show_plan(p);

	mr_plan_destroy(p);
	return out;
}

static void forget(shown *s)
{
	free(s->text);
	free(s->json);
}

static void check_same(const mr_contract *a, const mr_contract *b, const char *form)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		if (mr_contract_get(a, field(i)) != mr_contract_get(b, field(i)))
			fprintf(stderr, "\n%s: %s is %llu, and comes back as %llu\n", form, field(i)->name,
				(unsigned long long)mr_contract_get(a, field(i)),
				(unsigned long long)mr_contract_get(b, field(i)));
		CU_ASSERT_EQUAL(mr_contract_get(a, field(i)), mr_contract_get(b, field(i)));
	}
}

static void check_comes_back(const mr_contract *c, const shown *s)
{
	mr_plan *p = NULL;

	MR_CHECK_OK(mr_text_read(s->text, strlen(s->text), &p));
	check_same(c, &p->contract, "text");
	CU_ASSERT_EQUAL(mr_plan_hash(p), s->hash);
	mr_plan_destroy(p);
	p = NULL;
	MR_CHECK_OK(mr_plan_json_read_text(s->json, strlen(s->json), &p));
	check_same(c, &p->contract, "JSON");
	CU_ASSERT_EQUAL(mr_plan_hash(p), s->hash);
	mr_plan_destroy(p);
}

/* The smallest contract in which @f has @value: with the field that leads it, and what that leads. */
static mr_contract contract_with(const mr_contract_field *f, uint64_t value)
{
	mr_contract c = {.need = 4};

	if (f->leader)
		mr_contract_set(&c, field(f->leader), last_value(field(f->leader)));
	mr_contract_set(&c, f, value);
	CU_ASSERT_EQUAL(mr_contract_get(&c, f), value);
	for (unsigned i = 0; i < MR_N_FIELDS; i++)
		if (field(i)->leader && mr_contract_get(&c, field(field(i)->leader)) && !mr_contract_get(&c, field(i)))
			mr_contract_set(&c, field(i), (uint64_t)field(i)->low);
	return c;
}

static void contract_each_value_of_each_field(void)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		uint64_t v[MAX_VALUES] = {0};
		unsigned n = values_of(field(i), v);
		mr_contract c = contract_with(field(i), v[0]);
		shown first = show(&c);

		CU_ASSERT(n > 1);
		check_comes_back(&c, &first);
		for (unsigned k = 1; k < n; k++) {
			shown now;

			c = contract_with(field(i), v[k]);
			now = show(&c);
			if (!strcmp(now.text, first.text) || !strcmp(now.json, first.json) || now.hash == first.hash)
				fprintf(stderr, "\n%s: value %llu does not show everywhere\n", field(i)->name,
					(unsigned long long)v[k]);
			CU_ASSERT_STRING_NOT_EQUAL(now.text, first.text);
			CU_ASSERT_STRING_NOT_EQUAL(now.json, first.json);
			CU_ASSERT_NOT_EQUAL(now.hash, first.hash);
			check_comes_back(&c, &now);
			forget(&now);
		}
		forget(&first);
	}
}

/* Every number of every table of stages, in all forms. */
static void contract_each_value_of_each_table(void)
{
	for (const mr_stage_table *t = mr_stage_tables; t < mr_stage_tables + MR_N_TABLES; t++) {
		mr_contract c = {.need = 4};
		mr_plan *p = plan_with(&c);
		shown without = show_plan(p);
		char key[64];

		snprintf(key, sizeof(key), "\"%s\":", t->key);
		CU_ASSERT_PTR_NULL(strstr(without.json, key));
		CU_ASSERT(mr_stage_table_most(p, t) > 0);
		for (uint8_t v = 1; v <= mr_stage_table_most(p, t); v++) {
			shown now;

			mr_stage_table_of(p, t)[0] = v;
			now = show_plan(p);
			CU_ASSERT_STRING_NOT_EQUAL(now.text, without.text);
			CU_ASSERT_PTR_NOT_NULL(strstr(now.json, key));
			CU_ASSERT_NOT_EQUAL(now.hash, without.hash);
			check_comes_back(&c, &now);
			forget(&now);
		}
		forget(&without);
		mr_plan_destroy(p);
	}
}

static void contract_all_fields_at_once(void)
{
	mr_contract c = {0};
	shown all;

	for (unsigned i = 0; i < MR_N_FIELDS; i++)
		mr_contract_set(&c, field(i), last_value(field(i)));
	all = show(&c);
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		char key[64];

		snprintf(key, sizeof(key), "\"%s\":", field(i)->key);
		CU_ASSERT_PTR_NOT_NULL(strstr(all.json, key));
		CU_ASSERT_PTR_NOT_NULL(strstr(all.text, mr_contract_text_key(field(i))));
	}
	check_comes_back(&c, &all);
	forget(&all);
}

/* JSON has a field that is led exactly where its leader is not 0. */
static void contract_leaders(void)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		mr_contract without = {.need = 4};
		mr_contract with = contract_with(field(i), (uint64_t)field(i)->low);
		shown a, b;
		char key[64];

		if (!field(i)->leader)
			continue;
		CU_ASSERT_FATAL(field(i)->leader < i);
		a = show(&without);
		b = show(&with);
		snprintf(key, sizeof(key), "\"%s\":", field(i)->key);
		CU_ASSERT_PTR_NULL(strstr(a.json, key));
		CU_ASSERT_PTR_NOT_NULL(strstr(b.json, key));
		forget(&a);
		forget(&b);
	}
}

/* Every field that was there before contract.def, as it was printed and hashed then: plan files and checkpoints of that
 * time hold it. */
static const char old_text[] =
	"plan fields\nstages 1 workers 1 pipes 2 micro 8 commits 6\n"
	"contract block flush=validated read=first sum=listed need=2 staleness=7 same_version_b clip tied "
	"private_weights racing keep_read steal delay=3 delayed=1 aim=back memory=135000 slow_start=100 "
	"sync_steps=50 average=elastic every=2 average_state alpha=0.25 outer_lr=0.75 outer_mu=0.5\n"
	"turns 2\nplace p0 0\nplace p1 0\n[body x N micro+8 ver+6]\nw0 F m+0 s0 p0\nw0 F m+1 s0 p1\n";
static const char old_json[] =
	"{\"coverage\":\"block\",\"flush\":\"validated\",\"read\":\"first\",\"sum\":\"listed\",\"need\":2,"
	"\"staleness\":7,\"aim\":\"back\",\"memory_ppm\":135000,\"horizons\":[[0],[0]],\"turns\":[2],"
	"\"slow_start\":100,\"sync_steps\":50,\"delay\":3,\"delayed\":1,\"same_version_b\":true,"
	"\"clip\":true,\"tied\":true,\"private_weights\":true,\"racing\":true,\"average\":\"elastic\",\"every\":2,"
	"\"alpha\":0.25,\"outer_lr\":0.75,\"outer_mu\":0.5,\"average_state\":true,\"keep_read\":true,\"steal\":true,"
	"\"repeats\":true}";
#define OLD_HASH 0x60c36aef2611880cu

static void contract_old_forms_stay(void)
{
	mr_plan *p = NULL;
	shown s;

	MR_CHECK_OK(mr_text_read(old_text, sizeof(old_text) - 1, &p));
	s = show_plan(p);
	CU_ASSERT_STRING_EQUAL(s.text, old_text);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.json, old_json));
	CU_ASSERT_EQUAL(s.hash, OLD_HASH);
	forget(&s);
	mr_plan_destroy(p);
}

/* What the values of @f take in the hash. */
static unsigned hash_bits(const mr_contract_field *f)
{
	uint64_t last = f->kind == MR_FIELD_COUNT ? mr_contract_most(f) : last_value(f);
	unsigned bits = 1;

	for (; bits < 64 && last >> bits; bits++)
		;
	return bits;
}

/* Each key is one field's; every value of an enum has a word; places in the words of the hash do not overlap. */
static void contract_table_is_sound(void)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		const mr_contract_field *f = field(i);

		CU_ASSERT(f->hash <= MR_HASH_WORDS && f->json <= MR_JSON_PLACES);
		CU_ASSERT(!f->hash || f->bit + hash_bits(f) <= 64);
		for (uint32_t k = 0; k < f->n_words; k++)
			CU_ASSERT_PTR_NOT_NULL(f->words[k]);
		for (unsigned k = 0; k < i; k++) {
			const mr_contract_field *g = field(k);

			CU_ASSERT_STRING_NOT_EQUAL(f->key, g->key);
			CU_ASSERT_STRING_NOT_EQUAL(mr_contract_text_key(f), mr_contract_text_key(g));
			CU_ASSERT(!f->hash || f->hash != g->hash || f->bit >= g->bit + hash_bits(g) ||
				  g->bit >= f->bit + hash_bits(f));
		}
	}
}

void mr_suite_contract_field(void); /* the runner declares it too */

void mr_suite_contract_field(void)
{
	MR_SUITE("contract_field");
	MR_TEST(contract_each_value_of_each_field);
	MR_TEST(contract_each_value_of_each_table);
	MR_TEST(contract_all_fields_at_once);
	MR_TEST(contract_leaders);
	MR_TEST(contract_old_forms_stay);
	MR_TEST(contract_table_is_sound);
}
