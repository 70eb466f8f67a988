#include "ir/contract_field.h"

#include <assert.h>
#include <string.h>

#include "ir/plan_json.h"

/* Words of the enums, by value. */
static const char *const coverage_words[] = {
	[MR_COVER_TRAIN] = "train", [MR_COVER_FORWARD] = "forward", [MR_COVER_BLOCK] = "block"};
static const char *const flush_words[] = {[MR_FLUSH_BARRIER] = "barrier",
					  [MR_FLUSH_LOCAL] = "local",
					  [MR_FLUSH_VALIDATED] = "validated",
					  [MR_FLUSH_NONE] = "none"};
static const char *const read_words[] = {[MR_READ_BATCH] = "batch",
					 [MR_READ_LATEST] = "latest",
					 [MR_READ_TAG] = "tag",
					 [MR_READ_AGED] = "aged",
					 [MR_READ_FIRST] = "first"};
static const char *const sum_words[] = {
	[MR_SUM_ASCENDING] = "ascending", [MR_SUM_DESCENDING] = "descending", [MR_SUM_LISTED] = "listed"};
static const char *const predict_words[] = {[MR_PREDICT_NONE] = "none",
					    [MR_PREDICT_AHEAD] = "ahead",
					    [MR_PREDICT_BACK] = "back",
					    [MR_PREDICT_STEPS] = "steps"};
static const char *const average_words[] = {
	[MR_AVERAGE_NONE] = "none", [MR_AVERAGE_MEAN] = "mean", [MR_AVERAGE_ELASTIC] = "elastic"};

/* What the rows of contract.def say. */
#define FLAG MR_FIELD_FLAG
#define COUNT(lowest, highest) MR_FIELD_COUNT, .low = lowest, .high = highest
#define REAL MR_FIELD_REAL
#define WORD(of) MR_FIELD_WORD, .words = of##_words, .n_words = sizeof(of##_words) / sizeof(of##_words[0])
#define ALWAYS .in_text = true, .in_json = true
#define WITH(member) .leader = MR_FIELD_##member
#define JSON(at) .json = at
#define HASH(word, first) .hash = word, .bit = first
#define ROW(member, key_of, ...)                                                                                       \
	{.name = #member,                                                                                              \
	 .offset = offsetof(mr_contract, member),                                                                      \
	 .size = sizeof(((mr_contract *)0)->member),                                                                   \
	 .key = key_of,                                                                                                \
	 .kind = __VA_ARGS__}

const mr_contract_field mr_contract_fields[MR_N_FIELDS] = {
#define MR_CONTRACT(type, member, ...) ROW(member, __VA_ARGS__),
#define MR_AVERAGE(type, member, ...) ROW(average.member, __VA_ARGS__),
#include "ir/contract.def"
};

const mr_stage_table mr_stage_tables[MR_N_TABLES] = {
#define MR_STAGES(member, key_of, ...) {.key = key_of, .offset = offsetof(mr_plan, member), .most = __VA_ARGS__},
#include "ir/contract.def"
};

uint8_t *mr_stage_table_of(const mr_plan *plan, const mr_stage_table *t)
{
	uint8_t *table;

	memcpy(&table, (const unsigned char *)plan + t->offset, sizeof(table));
	return table;
}

uint8_t mr_stage_table_most(const mr_plan *plan, const mr_stage_table *t)
{
	return t->most == MR_N_PIPES ? plan->n_pipes : t->most;
}

bool mr_stage_table_used(const mr_plan *plan, const mr_stage_table *t)
{
	for (uint16_t s = 0; s < plan->n_stages; s++)
		if (mr_stage_table_of(plan, t)[s])
			return true;
	return false;
}

static const void *place_of(const mr_contract *c, const mr_contract_field *f)
{
	return (const unsigned char *)c + f->offset;
}

uint64_t mr_contract_get(const mr_contract *c, const mr_contract_field *f)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;

	assert(f->size <= sizeof(u64));
	switch (f->size) {
	case sizeof(u64):
		memcpy(&u64, place_of(c, f), sizeof(u64));
		return u64;
	case sizeof(u32):
		memcpy(&u32, place_of(c, f), sizeof(u32));
		return u32;
	case sizeof(u16):
		memcpy(&u16, place_of(c, f), sizeof(u16));
		return u16;
	default:
		memcpy(&u8, place_of(c, f), sizeof(u8));
		return u8;
	}
}

void mr_contract_set(mr_contract *c, const mr_contract_field *f, uint64_t value)
{
	void *to = (unsigned char *)c + f->offset;
	uint32_t u32 = (uint32_t)value;
	uint16_t u16 = (uint16_t)value;
	uint8_t u8 = (uint8_t)value;

	switch (f->size) {
	case sizeof(value):
		memcpy(to, &value, sizeof(value));
		break;
	case sizeof(u32):
		memcpy(to, &u32, sizeof(u32));
		break;
	case sizeof(u16):
		memcpy(to, &u16, sizeof(u16));
		break;
	default:
		memcpy(to, &u8, sizeof(u8));
	}
}

double mr_contract_get_real(const mr_contract *c, const mr_contract_field *f)
{
	double x;

	assert(f->kind == MR_FIELD_REAL);
	memcpy(&x, place_of(c, f), sizeof(x));
	return x;
}

void mr_contract_set_real(mr_contract *c, const mr_contract_field *f, double value)
{
	assert(f->kind == MR_FIELD_REAL);
	memcpy((unsigned char *)c + f->offset, &value, sizeof(value));
}

const char *mr_contract_word(const mr_contract *c, const mr_contract_field *f)
{
	uint64_t i = mr_contract_get(c, f);

	return i < f->n_words ? f->words[i] : "?";
}

uint64_t mr_contract_most(const mr_contract_field *f)
{
	return f->size < sizeof(uint64_t) ? ((uint64_t)1 << 8 * f->size) - 1 : UINT64_MAX;
}

const char *mr_contract_text_key(const mr_contract_field *f)
{
	return f->text ? f->text : f->key;
}

bool mr_contract_in_json(const mr_contract *c, const mr_contract_field *f)
{
	return f->in_json || mr_contract_get(c, f->leader ? &mr_contract_fields[f->leader] : f);
}
