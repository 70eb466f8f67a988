/*
 * contract_field.h - the fields of a contract as a table, made from contract.def. Code that prints, reads, hashes or
 * checks a contract loops over the table and names no field.
 */
#ifndef MR_IR_CONTRACT_FIELD_H
#define MR_IR_CONTRACT_FIELD_H

#include "ir/plan.h"

typedef enum mr_field_kind {
	MR_FIELD_FLAG,  /* bool */
	MR_FIELD_COUNT, /* uint16_t or uint32_t */
	MR_FIELD_REAL,  /* double */
	MR_FIELD_WORD,  /* an enum without negative values */
} mr_field_kind;

/* The number of each field, by its member: MR_FIELD_need, MR_FIELD_average_rule. */
typedef enum mr_contract_id {
#define MR_CONTRACT(type, member, ...) MR_FIELD_##member,
#define MR_AVERAGE(type, member, ...) MR_FIELD_average_##member,
#include "ir/contract.def"
	MR_N_FIELDS
} mr_contract_id;

/* Stand for a number of the plan in the bounds and values of a COUNT. */
#define MR_N_MICRO (-1)
#define MR_N_STAGES (-2)

/* Words of the hash (mr_plan_hash), from 1; those of averages take part with replicas only. */
#define MR_HASH_WORDS 14u
#define MR_HASH_AVERAGE_FIRST 9u
#define MR_HASH_AVERAGE_LAST 12u

/* Places in the JSON form, from 1; fields of one place stand in the order of contract.def. */
#define MR_JSON_PLACES 7u
#define MR_JSON_TABLES 2u /* the tables of stages ("horizons", "turns") stand behind this one */

typedef struct mr_contract_field {
	const char *name;         /* "need", "average.every" */
	size_t offset, size;      /* in mr_contract */
	const char *key;          /* in the JSON form, and in the text form unless .text names another */
	const char *text;         /* "": the value stands alone, first in its line */
	mr_field_kind kind;
	const char *const *words; /* WORD: [n_words], by value */
	uint32_t n_words;
	int64_t low, high;        /* COUNT: the range in a JSON file; high may be MR_N_MICRO or MR_N_STAGES */
	int64_t absent;           /* value when a JSON file leaves the key out; may be MR_N_MICRO or MR_N_STAGES */
	bool in_text, in_json;    /* written also where it is 0 */
	uint8_t leader;           /* mr_contract_id of an earlier row, 0: none. Where the leader is 0 this field is 0,
				     too, and JSON has either both or neither. */
	uint8_t json;             /* place in the JSON form; 0: behind all that have one */
	uint8_t hash, bit;        /* word of the hash, and where the value begins in it; 0: a word of its own */
} mr_contract_field;

#define MR_N_PIPES 0u /* stands for the number of pipes as the most of a table */

/* A table of the contract: a number a stage. */
typedef struct mr_stage_table {
	const char *key;
	size_t offset; /* of its pointer, in mr_plan */
	uint8_t most;
	bool unnamed;  /* hashed without its key */
} mr_stage_table;

enum {
#define MR_STAGES(member, ...) MR_TABLE_##member,
#include "ir/contract.def"
	MR_N_TABLES
};

/** All tables, in the order of contract.def. */
extern const mr_stage_table mr_stage_tables[MR_N_TABLES];

/** The numbers of @t in @plan, [n_stages]; and the highest that one may have. */
uint8_t *mr_stage_table_of(const mr_plan *plan, const mr_stage_table *t);
uint8_t mr_stage_table_most(const mr_plan *plan, const mr_stage_table *t);

/** Is any number of @t not 0, so that forms of @plan have the table? */
bool mr_stage_table_used(const mr_plan *plan, const mr_stage_table *t);

/** All fields, in the order of contract.def. */
extern const mr_contract_field mr_contract_fields[MR_N_FIELDS];

/** The value of @f as an integer; of a MR_FIELD_REAL the bits of the double. */
uint64_t mr_contract_get(const mr_contract *c, const mr_contract_field *f);

/** Set @f to @value, in the form of mr_contract_get; @value must be in the field's range. */
void mr_contract_set(mr_contract *c, const mr_contract_field *f, uint64_t value);

double mr_contract_get_real(const mr_contract *c, const mr_contract_field *f);
void mr_contract_set_real(mr_contract *c, const mr_contract_field *f, double value);

/** The word of a WORD; "?" for a value that has none. */
const char *mr_contract_word(const mr_contract *c, const mr_contract_field *f);

/** The largest value that a COUNT can hold. */
uint64_t mr_contract_most(const mr_contract_field *f);

/** Its key in the text form. */
const char *mr_contract_text_key(const mr_contract_field *f);

/** Does the JSON form of @c have @f? */
bool mr_contract_in_json(const mr_contract *c, const mr_contract_field *f);

#endif
