#include "ir/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/contract_field.h"
#include "ir/endless.h"

/* A plan holds at most this many (pipe, stage) pairs: far above any machine, and too few for a table size to overflow.
 */
#define MAX_PLACES 65535u

static const char *const op_names[MR_N_OPS] = {
	[MR_OP_F] = "F", [MR_OP_R] = "R",   [MR_OP_B] = "B", [MR_OP_I] = "I", [MR_OP_W] = "W",
	[MR_OP_N] = "N", [MR_OP_AR] = "AR", [MR_OP_U] = "U", [MR_OP_V] = "V", [MR_OP_AVG] = "AVG",
};

/* The tables of a plan. Creating, copying and freeing all loop over this list. */
typedef struct plan_table {
	size_t offset; /* of its pointer, in mr_plan */
	size_t size;   /* of an entry */
	bool by_place; /* [P][S]; otherwise [S] */
	bool lowered;  /* the lowering fills it */
} plan_table;

#define TABLE(member) offsetof(mr_plan, member), sizeof(*((mr_plan *)0)->member)

static const plan_table tables[] = {
#define MR_STAGES(member, ...) {TABLE(member), false, false},
#include "ir/contract.def"
	{TABLE(worker_of), true, false}, {TABLE(n_slots), true, true},     {TABLE(n_fwd), true, true},
	{TABLE(n_bwd), true, true},      {TABLE(n_versions), false, true},
};

#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

static void *table_in(const mr_plan *plan, const plan_table *t)
{
	void *table;

	memcpy(&table, (const unsigned char *)plan + t->offset, sizeof(table));
	return table;
}

static size_t n_entries(const mr_plan *plan, const plan_table *t)
{
	return plan->n_stages * (t->by_place ? (size_t)plan->n_pipes : 1);
}

static bool make_table(mr_plan *plan, const plan_table *t)
{
	void *table = calloc(n_entries(plan, t), t->size);

	memcpy((unsigned char *)plan + t->offset, &table, sizeof(table));
	return table != NULL;
}

mr_status mr_plan_create(uint16_t n_stages, uint16_t n_workers, uint8_t n_pipes, mr_plan **out)
{
	size_t places = (size_t)n_pipes * n_stages;
	mr_plan *p;
	bool made;

	*out = NULL;
	if (!n_stages || !n_workers || !n_pipes)
		return mr_fail(MR_EINVAL, "a plan needs at least one stage, worker and pipe, not %u, %u and %u",
			       n_stages, n_workers, n_pipes);
	if (places > MAX_PLACES || n_workers == MR_WORKER_ANY)
		return mr_fail(MR_EINVAL, "a plan of %u stages, %u workers and %u pipes is too large", n_stages,
			       n_workers, n_pipes);
	p = calloc(1, sizeof(*p));
	if (!p)
		return mr_fail(MR_ERESOURCE, "no memory for a plan");
	p->n_stages = n_stages;
	p->n_workers = n_workers;
	p->n_pipes = n_pipes;
	p->lists = calloc((size_t)n_workers * MR_N_SECTIONS, sizeof(*p->lists));
	made = p->lists != NULL;
	for (unsigned i = 0; i < N_TABLES; i++)
		made &= make_table(p, &tables[i]);
	if (!made) {
		mr_plan_destroy(p);
		return mr_fail(MR_ERESOURCE, "no memory for the tables of a plan of %zu places", places);
	}
	for (size_t i = 0; i < places; i++)
		p->worker_of[i] = MR_WORKER_ANY;
	*out = p;
	return MR_OK;
}

void mr_plan_destroy(mr_plan *plan)
{
	if (!plan)
		return;
	if (plan->lists)
		for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
			free(plan->lists[i].at);
	free(plan->lists);
	for (unsigned i = 0; i < N_TABLES; i++)
		free(table_in(plan, &tables[i]));
	mr_endless_destroy(plan->endless);
	free(plan);
}

uint64_t mr_plan_bytes(const mr_plan *plan)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		bytes += plan->lists[i].room * sizeof(*plan->lists[i].at);
	return bytes;
}

mr_status mr_plan_append(mr_plan *plan, uint16_t worker, mr_section section, mr_instr in)
{
	mr_list *l;

	if (worker >= plan->n_workers || (unsigned)section >= MR_N_SECTIONS)
		return mr_fail(MR_EINVAL, "no list of worker %u, section %d in a plan of %u workers", worker,
			       (int)section, plan->n_workers);
	l = mr_plan_list(plan, worker, section);
	if (l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 16;
		mr_instr *at = room > l->room ? realloc(l->at, room * sizeof(*at)) : NULL;

		if (!at)
			return mr_fail(MR_ERESOURCE, "no memory for %u instructions of worker %u", room, worker);
		l->at = at;
		l->room = room;
	}
	l->at[l->n++] = in;
	return MR_OK;
}

const char *mr_op_name(mr_op op)
{
	return (unsigned)op < MR_N_OPS ? op_names[op] : "?";
}

mr_op mr_op_parse(const char *name)
{
	unsigned op = 0;

	while (op < MR_N_OPS && strcmp(name, op_names[op]))
		op++;
	return (mr_op)op;
}

/* FNV-1a over the values, not the bytes of the structs: padding and the byte order of the machine must not matter. */
static void mix(uint64_t *h, uint64_t value)
{
	for (int i = 0; i < 8; i++) {
		*h ^= value >> (8 * i) & 0xff;
		*h *= 0x100000001b3u;
	}
}

mr_status mr_plan_create_like(const mr_plan *plan, bool lowered, mr_plan **out)
{
	mr_plan *p;

	MR_TRY(mr_plan_create(plan->n_stages, plan->n_workers, plan->n_pipes, &p));
	memcpy(p->system, plan->system, sizeof(p->system));
	p->n_micro = plan->n_micro;
	p->commits = plan->commits;
	p->contract = plan->contract;
	for (unsigned i = 0; i < N_TABLES; i++)
		if (lowered || !tables[i].lowered)
			memcpy(table_in(p, &tables[i]), table_in(plan, &tables[i]),
			       n_entries(plan, &tables[i]) * tables[i].size);
	if (lowered) {
		p->lowered = plan->lowered;
		p->storage = plan->storage;
	}
	*out = p;
	return MR_OK;
}

mr_status mr_plan_copy(const mr_plan *plan, mr_plan **out)
{
	size_t n_lists = (size_t)plan->n_workers * MR_N_SECTIONS;
	mr_plan *p;
	mr_status st;

	assert(!plan->lowered);
	MR_TRY(mr_plan_create_like(plan, false, &p));
	st = MR_OK;
	for (size_t i = 0; st == MR_OK && i < n_lists; i++)
		for (uint32_t k = 0; st == MR_OK && k < plan->lists[i].n; k++)
			st = mr_plan_append(p, (uint16_t)(i / MR_N_SECTIONS), (mr_section)(i % MR_N_SECTIONS),
					    plan->lists[i].at[k]);
	if (st != MR_OK)
		mr_plan_destroy(p);
	else
		*out = p;
	return st;
}

/* Does @stage live on the worker of @pipe in an earlier pipe, too? */
static bool is_again(const mr_plan *plan, unsigned pipe, uint16_t stage)
{
	for (unsigned p = 0; p < pipe; p++)
		if (mr_plan_worker(plan, (uint8_t)p, stage) == mr_plan_worker(plan, (uint8_t)pipe, stage))
			return true;
	return false;
}

static uint32_t staleness_in(const mr_plan *plan, const mr_list *l, uint16_t stage)
{
	int64_t most = 0;

	for (uint32_t k = 0; k < l->n; k++) {
		int64_t age = (int64_t)mr_plan_applied_on(plan, stage, l->at[k].micro) - l->at[k].read;

		if (l->at[k].stage == stage && l->at[k].op == MR_OP_F && age > most)
			most = age;
	}
	return (uint32_t)most;
}

uint32_t mr_plan_staleness(const mr_plan *plan, uint16_t stage)
{
	uint32_t most = 0;

	if (plan->endless) /* one window does not stand for all */
		return plan->contract.max_staleness;
	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (int sec = 0; sec < MR_N_SECTIONS && !is_again(plan, p, stage); sec++) {
			uint16_t w = mr_plan_worker(plan, (uint8_t)p, stage);
			uint32_t n = staleness_in(plan, mr_plan_list(plan, w, (mr_section)sec), stage);

			most = n > most ? n : most;
		}
	return most;
}

/* Adds the ages of the F of @stage in list @l that count (see below) to *@sum; returns how many there are. */
static uint32_t add_ages(const mr_plan *plan, const mr_list *l, int sec, uint16_t stage, int64_t *sum)
{
	uint32_t need = mr_plan_need(plan, stage), n = 0;

	for (uint32_t k = 0; k < l->n; k++) {
		const mr_instr *in = &l->at[k];

		if (in->stage != stage || in->op != MR_OP_F || (sec == MR_PROLOGUE && in->micro + need < plan->n_micro))
			continue;
		*sum += (int64_t)(in->micro / need) - in->read;
		n++;
	}
	return n;
}

/* Averages over the F of an iteration; over those of the last commit where there is no iteration. */
double mr_plan_delay(const mr_plan *plan, uint16_t stage)
{
	uint32_t n = 0;
	int64_t sum = 0;

	if (mr_plan_need(plan, stage) == 1)
		return mr_plan_staleness(plan, stage);
	for (int sec = MR_BODY; sec >= MR_PROLOGUE && n == 0; sec--)
		for (unsigned p = 0; p < plan->n_pipes; p++) {
			uint16_t w = mr_plan_worker(plan, (uint8_t)p, stage);

			if (!is_again(plan, p, stage))
				n += add_ages(plan, mr_plan_list(plan, w, (mr_section)sec), sec, stage, &sum);
		}
	return n ? (double)sum / n : 0;
}

int32_t mr_plan_horizon(const mr_plan *plan, uint16_t stage, bool forward)
{
	uint16_t w = mr_plan_worker(plan, 0, stage);

	for (int sec = 0; sec < MR_N_SECTIONS && w < plan->n_workers; sec++) {
		const mr_list *l = mr_plan_list(plan, w, (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++) {
			const mr_instr *in = &l->at[i];

			if (in->stage == stage && in->op <= MR_OP_I && (in->op == MR_OP_F) == forward &&
			    !mr_instr_is_sync(plan, in))
				return mr_instr_horizon(plan, in);
		}
	}
	return 0;
}

bool mr_plan_drains(const mr_plan *plan)
{
	if (plan->contract.flush != MR_FLUSH_NONE || plan->contract.coverage != MR_COVER_TRAIN || plan->commits < 2)
		return false;
	/* Each iteration ends what it begins if nothing is under way before the first. */
	return mr_plan_length(plan, MR_BODY) && !mr_plan_length(plan, MR_PROLOGUE);
}

uint64_t mr_plan_length(const mr_plan *plan, mr_section section)
{
	uint64_t n = 0;

	for (uint16_t w = 0; w < plan->n_workers; w++)
		n += mr_plan_list(plan, w, section)->n;
	return n;
}

bool mr_plan_repeats(const mr_plan *plan)
{
	return mr_plan_length(plan, MR_BODY) > 0;
}

static void mix_table(uint64_t *h, const uint16_t *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mix(h, table[i]);
}

/* A field without a place in the words is mixed with its key, where it is not 0. */
static void mix_contract(uint64_t *h, const mr_contract *c)
{
	uint64_t word[MR_HASH_WORDS + 1] = {0};

	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		const mr_contract_field *f = &mr_contract_fields[i];

		word[f->hash] |= mr_contract_get(c, f) << f->bit;
	}
	for (unsigned i = 1; i <= MR_HASH_WORDS; i++)
		if (i < MR_HASH_AVERAGE_FIRST || i > MR_HASH_AVERAGE_LAST || mr_contract_replicates(c))
			mix(h, word[i]);
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		const mr_contract_field *f = &mr_contract_fields[i];

		if (f->hash || !mr_contract_get(c, f))
			continue;
		for (const char *k = f->key; *k; k++)
			mix(h, (unsigned char)*k);
		mix(h, mr_contract_get(c, f));
	}
}

static void mix_tables(uint64_t *h, const mr_plan *plan)
{
	for (const mr_stage_table *t = mr_stage_tables; t < mr_stage_tables + MR_N_TABLES; t++) {
		if (!mr_stage_table_used(plan, t))
			continue;
		for (const char *k = t->key; *k && !t->unnamed; k++)
			mix(h, (unsigned char)*k);
		for (uint16_t s = 0; s < plan->n_stages; s++)
			mix(h, mr_stage_table_of(plan, t)[s]);
	}
}

static void mix_instr(uint64_t *h, const mr_instr *in)
{
	mix(h, in->op | (uint64_t)in->flags << 8 | (uint64_t)in->pipe << 16 | (uint64_t)in->span << 24 |
		       (uint64_t)in->stage << 32 | (uint64_t)in->slot << 48);
	mix(h, in->micro | (uint64_t)in->in << 32 | (uint64_t)in->out << 48);
	mix(h, (uint32_t)in->read | (uint64_t)(uint32_t)in->target << 32);
}

/* Do two stages have a worker in common? */
static bool are_mixed(const mr_plan *plan)
{
	size_t places = (size_t)plan->n_pipes * plan->n_stages;

	for (size_t a = 0; a < places; a++)
		for (size_t b = 0; b < a; b++)
			if (plan->worker_of[a] == plan->worker_of[b] && a % plan->n_stages != b % plan->n_stages)
				return true;
	return false;
}

bool mr_plan_load(const mr_plan *plan, uint32_t *load)
{
	bool differs = false;

	for (uint16_t s = 0; s < plan->n_stages; s++) {
		load[s] = 0;
		for (unsigned p = 0; p < plan->n_pipes; p++) {
			uint32_t n = 0;

			for (unsigned q = 0; q < plan->n_pipes; q++)
				n += mr_plan_worker(plan, (uint8_t)q, s) == mr_plan_worker(plan, (uint8_t)p, s);
			load[s] = n > load[s] ? n : load[s];
		}
		differs |= load[s] != load[0];
	}
	return differs && !are_mixed(plan);
}

uint64_t mr_plan_hash(const mr_plan *plan)
{
	size_t places = (size_t)plan->n_pipes * plan->n_stages;
	uint64_t h = 0xcbf29ce484222325u;

	mix(&h, plan->n_stages);
	mix(&h, plan->n_workers);
	mix(&h, plan->n_pipes);
	if (plan->endless) { /* the length of a window changes nothing */
		mix_contract(&h, &plan->contract);
		mix_table(&h, plan->worker_of, places);
		mix(&h, plan->endless->identity);
		return h;
	}
	mix(&h, plan->n_micro);
	mix(&h, plan->commits);
	mix_contract(&h, &plan->contract);
	mix_tables(&h, plan);
	mix_table(&h, plan->worker_of, places);
	mix(&h, (uint64_t)plan->lowered | (uint64_t)plan->storage << 1);
	mix_table(&h, plan->n_slots, places);
	mix_table(&h, plan->n_fwd, places);
	mix_table(&h, plan->n_bwd, places);
	mix_table(&h, plan->n_versions, plan->n_stages);
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++) {
		mix(&h, plan->lists[i].n);
		for (uint32_t k = 0; k < plan->lists[i].n; k++)
			mix_instr(&h, &plan->lists[i].at[k]);
	}
	return h;
}
