#include "ir/plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/sched.h"
#include "ir/text_words.h"

#define NO_PIPE UINT8_MAX

_Static_assert(MR_PLAN_JSON_MAX_PIPES < NO_PIPE, "a pipe number must not look like none");

/* What is known while a file is read. */
typedef struct mr_plan_file {
	const mr_json *root, *workers, *pipes; /* borrowed; pipes is NULL when the file has none */
	uint32_t n_workers, n_micro, n_stages, n_pipes;
	uint8_t *pipe_of;                      /* [n_micro] pipe of each micro-batch, NO_PIPE while unknown */
	mr_section section;                    /* where the instructions go */
	mr_plan *plan;
} mr_plan_file;

/* --- reading --- */

/* @j as a number from @low to @high. */
static mr_status in_range(const mr_json *j, const char *what, int64_t low, int64_t high, uint32_t *out)
{
	if (!mr_json_is_int(j))
		return mr_fail(MR_ECONFIG, "%s must be an integer from %lld to %lld, got %s", what, (long long)low,
			       (long long)high, mr_json_kind(j));
	if (mr_json_int(j) < low || mr_json_int(j) > high)
		return mr_fail(MR_ECONFIG, "%s must be from %lld to %lld, got %lld", what, (long long)low, (long long)high,
			       (long long)mr_json_int(j));
	*out = (uint32_t)mr_json_int(j);
	return MR_OK;
}

static mr_status read_counts(mr_plan_file *f)
{
	if (!mr_json_is_object(f->root))
		return mr_fail(MR_ECONFIG, "a plan must be an object, got %s", mr_json_kind(f->root));
	MR_TRY(in_range(mr_json_get(f->root, "D"), "D (workers)", 1, MR_PLAN_JSON_MAX_WORKERS, &f->n_workers));
	MR_TRY(in_range(mr_json_get(f->root, "T"), "T (micro-batches)", 1, MR_PLAN_JSON_MAX_MICRO, &f->n_micro));
	MR_TRY(in_range(mr_json_get(f->root, "stages"), "stages", 1, MR_PLAN_JSON_MAX_STAGES, &f->n_stages));
	f->workers = mr_json_get(f->root, "workers");
	if (!mr_json_is_array(f->workers) || mr_json_size(f->workers) != f->n_workers)
		return mr_fail(MR_ECONFIG, "workers must be an array of D = %u instruction lists, got %s with %zu entries",
			       f->n_workers, mr_json_kind(f->workers), mr_json_size(f->workers));
	f->pipes = mr_json_get(f->root, "pipes");
	f->n_pipes = (uint32_t)mr_json_size(f->pipes);
	if (f->pipes && (!mr_json_is_array(f->pipes) || f->n_pipes < 1 || f->n_pipes > MR_PLAN_JSON_MAX_PIPES))
		return mr_fail(MR_ECONFIG, "pipes must be an array of 1 to %d entries, got %s with %u", MR_PLAN_JSON_MAX_PIPES,
			       mr_json_kind(f->pipes), f->n_pipes);
	return MR_OK;
}

/* The largest pipe number of any instruction, for files without "pipes". Malformed instructions are left to read_instr. */
static mr_status count_pipes(mr_plan_file *f)
{
	int64_t most = 0;

	for (uint32_t w = 0; w < f->n_workers; w++) {
		const mr_json *list = mr_json_at(f->workers, w);

		for (size_t i = 0; i < mr_json_size(list); i++) {
			int64_t pipe = mr_json_int(mr_json_at(mr_json_at(list, i), 3));

			most = pipe > most ? pipe : most;
		}
	}
	if (most >= MR_PLAN_JSON_MAX_PIPES)
		return mr_fail(MR_ECONFIG, "pipe %lld: at most %d pipes are allowed", (long long)most, MR_PLAN_JSON_MAX_PIPES);
	f->n_pipes = (uint32_t)most + 1;
	return MR_OK;
}

static mr_status read_pipe(mr_plan_file *f, uint8_t p)
{
	const mr_json *pipe = mr_json_at(f->pipes, p), *place = mr_json_get(pipe, "stage_to_worker");
	const mr_json *micro = mr_json_get(pipe, "microbatches");
	uint32_t x;

	if (!mr_json_is_array(place) || mr_json_size(place) != f->n_stages)
		return mr_fail(MR_ECONFIG, "stage_to_worker must be an array of %u workers, got %s with %zu entries", f->n_stages,
			       mr_json_kind(place), mr_json_size(place));
	for (uint32_t s = 0; s < f->n_stages; s++) {
		MR_TRY(in_range(mr_json_at(place, s), "a worker in stage_to_worker", 0, f->n_workers - 1, &x));
		f->plan->worker_of[mr_plan_at(f->plan, p, (uint16_t)s)] = (uint16_t)x;
	}
	if (!micro)
		return MR_OK;
	if (!mr_json_is_array(micro))
		return mr_fail(MR_ECONFIG, "microbatches must be an array, got %s", mr_json_kind(micro));
	for (size_t i = 0; i < mr_json_size(micro); i++) {
		MR_TRY(in_range(mr_json_at(micro, i), "a micro-batch in microbatches", 0, f->n_micro - 1, &x));
		if (f->pipe_of[x] != NO_PIPE)
			return mr_fail(MR_ECONFIG, "micro-batch %u already belongs to pipe %u", x, f->pipe_of[x]);
		f->pipe_of[x] = p;
	}
	return MR_OK;
}

static mr_op op_of(const mr_json *j)
{
	const char *name = mr_json_string(j);

	return name && strlen(name) == 1 && strchr("FBIWR", *name) ? mr_op_parse(name) : MR_N_OPS;
}

/* What only lists of their own reads say, behind a span of 1: F the version and the minibatch, B what it leaves out. */
static mr_status read_own(mr_plan_file *f, uint16_t worker, mr_op op, const mr_json *j)
{
	mr_list *l = mr_plan_list(f->plan, worker, f->section);
	mr_instr *in = &l->at[l->n - 1];
	const char *word = mr_json_string(mr_json_at(j, 5));
	uint32_t read, minibatch = 0;

	if (op == MR_OP_B && word && mr_json_size(j) == 6 && (!strcmp(word, "keep") || !strcmp(word, "pass"))) {
		in->flags = !strcmp(word, "keep") ? MR_INSTR_KEEP : MR_INSTR_PASS;
		return MR_OK;
	}
	if (op != MR_OP_F)
		return mr_fail(MR_ECONFIG, "behind the span, B may have \"keep\" or \"pass\" and F a version and a minibatch");
	MR_TRY(in_range(mr_json_at(j, 5), "the version", 0, MR_PLAN_JSON_MAX_MICRO, &read));
	if (mr_json_size(j) == 7)
		MR_TRY(in_range(mr_json_at(j, 6), "the minibatch", 0, INT32_MAX, &minibatch));
	in->read = (int32_t)read;
	in->target = (int32_t)minibatch;
	return MR_OK;
}

static mr_status read_instr(mr_plan_file *f, uint16_t worker, const mr_json *j)
{
	mr_op op = op_of(mr_json_at(j, 0));
	uint32_t micro, stage, pipe, span = 1;
	uint16_t *host;

	if (!mr_json_is_array(j) || mr_json_size(j) < 4 || mr_json_size(j) > 7)
		return mr_fail(MR_ECONFIG, "expected [op, micro-batch, stage, pipe], and a span behind it or none, got %s with %zu entries", mr_json_kind(j),
			       mr_json_size(j));
	if (op == MR_N_OPS)
		return mr_fail(MR_ECONFIG, "the op must be \"F\", \"B\", \"I\", \"W\" or \"R\", got %s%s%s",
			       mr_json_is_string(mr_json_at(j, 0)) ? "\"" : mr_json_kind(mr_json_at(j, 0)),
			       mr_json_is_string(mr_json_at(j, 0)) ? mr_json_string(mr_json_at(j, 0)) : "",
			       mr_json_is_string(mr_json_at(j, 0)) ? "\"" : "");
	MR_TRY(in_range(mr_json_at(j, 1), "the micro-batch", 0, f->n_micro - 1, &micro));
	MR_TRY(in_range(mr_json_at(j, 2), "the stage", 0, f->n_stages - 1, &stage));
	MR_TRY(in_range(mr_json_at(j, 3), "the pipe", 0, f->n_pipes - 1, &pipe));
	host = &f->plan->worker_of[mr_plan_at(f->plan, (uint8_t)pipe, (uint16_t)stage)];
	if (*host == MR_WORKER_ANY)
		*host = worker;
	if (*host != worker)
		return mr_fail(MR_ECONFIG, "stage %u of pipe %u lives on worker %u", stage, pipe, *host);
	if (f->pipe_of[micro] == NO_PIPE)
		f->pipe_of[micro] = (uint8_t)pipe;
	if (f->pipe_of[micro] != pipe)
		return mr_fail(MR_ECONFIG, "micro-batch %u belongs to pipe %u, not to pipe %u", micro, f->pipe_of[micro], pipe);
	if (mr_json_size(j) >= 5)
		MR_TRY(in_range(mr_json_at(j, 4), "the span", 1, op == MR_OP_W ? UINT8_MAX : 1, &span));
	MR_TRY(mr_sched_emit_span(f->plan, worker, f->section, op, micro, span, (uint16_t)stage, (uint8_t)pipe));
	return mr_json_size(j) > 5 ? read_own(f, worker, op, j) : MR_OK;
}

static mr_status read_worker(mr_plan_file *f, uint16_t worker)
{
	const mr_json *list = mr_json_at(f->workers, worker);

	if (!mr_json_is_array(list))
		return mr_fail(MR_ECONFIG, "worker %u must be an array of instructions, got %s", worker, mr_json_kind(list));
	for (size_t i = 0; i < mr_json_size(list); i++) {
		mr_status st = read_instr(f, worker, mr_json_at(list, i));

		if (st != MR_OK)
			return mr_fail_in(st, "worker %u, instruction %zu", worker, i);
	}
	return MR_OK;
}

/* "horizons": [[of F at each stage], [of B at each stage]]. */
static mr_status read_horizons(mr_plan_file *f)
{
	const mr_json *j = mr_json_get(mr_json_get(f->root, "contract"), "horizons");
	int32_t *h = calloc(2 * (size_t)f->n_stages, sizeof(*h));
	bool good = mr_json_is_array(j) && mr_json_size(j) == 2;

	if (!h)
		return mr_fail(MR_ERESOURCE, "no memory for the horizons of %u stages", f->n_stages);
	for (size_t i = 0; i < 2 && good; i++) {
		const mr_json *row = mr_json_at(j, i);

		good = mr_json_is_array(row) && mr_json_size(row) == f->n_stages;
		for (uint32_t s = 0; s < f->n_stages && good; s++) {
			const mr_json *x = mr_json_at(row, s);

			good = mr_json_is_int(x) && mr_json_int(x) >= -MR_PLAN_JSON_MAX_MICRO && mr_json_int(x) <= MR_PLAN_JSON_MAX_MICRO;
			h[i * f->n_stages + s] = good ? (int32_t)mr_json_int(x) : 0;
		}
	}
	if (good)
		mr_sched_aim(f->plan, h, h + f->n_stages);
	free(h);
	return !j || good ? MR_OK
			  : mr_fail(MR_ECONFIG, "contract: horizons must be two arrays of %u numbers from -%d to %d", f->n_stages,
				    MR_PLAN_JSON_MAX_MICRO, MR_PLAN_JSON_MAX_MICRO);
}

/* Every stage must live somewhere: the tables that the lowering fills are indexed by its worker. */
static mr_status check_placed(const mr_plan_file *f)
{
	for (unsigned p = 0; p < f->n_pipes; p++)
		for (uint16_t s = 0; s < f->n_stages; s++)
			if (mr_plan_worker(f->plan, (uint8_t)p, s) == MR_WORKER_ANY)
				return mr_fail(MR_ECONFIG, "stage %u of pipe %u has no instruction, so no worker is known for it", s, p);
	return MR_OK;
}

static void read_name(mr_plan_file *f)
{
	const char *name = mr_json_string(mr_json_get(f->root, "system"));

	snprintf(f->plan->system, sizeof(f->plan->system), "%s", name ? name : "file");
	for (char *c = f->plan->system; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '_';
}

/* --- the contract --- */

static const char *const contract_keys[] = {"coverage",       "flush", "read", "sum",  "need", "staleness",
					    "same_version_b", "clip",  "tied", "repeats", "delay", "delayed",
					    "private_weights", "racing", "keep_read", "steal", "aim", "memory_ppm", "slow_start", "sync_steps", "horizons", "turns", "average", "every", "alpha",
					    "outer_lr", "outer_mu", "average_state"};

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
		MR_TRY(in_range(mr_json_get(j, "every"), "every", 1, MR_PLAN_JSON_MAX_MICRO, &a->every));
	MR_TRY(read_real(j, "alpha", &a->alpha));
	MR_TRY(read_real(j, "outer_lr", &a->outer_lr));
	MR_TRY(read_real(j, "outer_mu", &a->outer_mu));
	return read_bool(j, "average_state", &a->state);
}

/* "turns": [2, 1]: workers of each stage that take the micro-batches in turn. */
static mr_status read_turns(mr_plan_file *f, const mr_json *j)
{
	if (!j)
		return MR_OK;
	if (!mr_json_is_array(j) || mr_json_size(j) != f->n_stages)
		return mr_fail(MR_ECONFIG, "turns must be an array of %u numbers", f->n_stages);
	for (uint32_t s = 0; s < f->n_stages; s++) {
		uint32_t x = 0;

		MR_TRY(in_range(mr_json_at(j, s), "a number of turns", 1, f->n_pipes, &x));
		f->plan->turns[s] = (uint8_t)x;
	}
	return MR_OK;
}

/* What the file says of its contract, on top of what it means when it says nothing. */
static mr_status read_contract_of(mr_plan_file *f, const mr_json *j)
{
	mr_contract *c = &f->plan->contract;
	unsigned coverage = c->coverage, flush = c->flush, read = c->read_f, sum = c->sum, aim = c->aim;
	uint32_t delayed;
	bool repeats;

	MR_TRY(check_contract_keys(j));
	MR_TRY(READ_WORD("coverage", mr_text_coverage, &coverage));
	MR_TRY(READ_WORD("flush", mr_text_flush, &flush));
	MR_TRY(READ_WORD("read", mr_text_read_rule, &read));
	MR_TRY(READ_WORD("sum", mr_text_sum, &sum));
	MR_TRY(READ_WORD("aim", mr_text_aim, &aim));
	MR_TRY(read_average(j, &c->average));
	MR_TRY(read_turns(f, mr_json_get(j, "turns")));
	if (mr_json_get(j, "memory_ppm"))
		MR_TRY(in_range(mr_json_get(j, "memory_ppm"), "memory_ppm", 0, 1000000, &c->memory_ppm));
	if (mr_json_get(j, "slow_start"))
		MR_TRY(in_range(mr_json_get(j, "slow_start"), "slow_start", 0, INT32_MAX, &c->slow_start));
	if (mr_json_get(j, "sync_steps"))
		MR_TRY(in_range(mr_json_get(j, "sync_steps"), "sync_steps", 0, MR_PLAN_JSON_MAX_MICRO, &c->sync_steps));
	if (mr_json_get(j, "need"))
		MR_TRY(in_range(mr_json_get(j, "need"), "need", 1, f->n_micro, &c->need));
	if (mr_json_get(j, "staleness"))
		MR_TRY(in_range(mr_json_get(j, "staleness"), "staleness", 0, MR_PLAN_JSON_MAX_MICRO, &c->max_staleness));
	if (mr_json_get(j, "delay"))
		MR_TRY(in_range(mr_json_get(j, "delay"), "delay", 0, MR_PLAN_JSON_MAX_MICRO, &c->delay));
	delayed = c->delay ? f->n_stages : 0;
	if (mr_json_get(j, "delayed"))
		MR_TRY(in_range(mr_json_get(j, "delayed"), "delayed", 0, f->n_stages, &delayed));
	c->delayed = (uint16_t)delayed;
	MR_TRY(read_bool(j, "same_version_b", &c->same_version_b));
	MR_TRY(read_bool(j, "clip", &c->clip));
	MR_TRY(read_bool(j, "tied", &c->tied));
	MR_TRY(read_bool(j, "private_weights", &c->private_weights));
	MR_TRY(read_bool(j, "racing", &c->racing));
	MR_TRY(read_bool(j, "keep_read", &c->keep_read));
	MR_TRY(read_bool(j, "steal", &c->steal));
	if (f->n_micro % c->need)
		return mr_fail(MR_ECONFIG, "need: %u micro-batches make no whole number of commits of %u", f->n_micro, c->need);
	c->coverage = (mr_coverage)coverage;
	c->flush = (mr_flush)flush;
	c->read_f = (mr_read_rule)read;
	c->sum = (mr_sum_order)sum;
	c->aim = (mr_aim)aim;
	f->plan->commits = c->coverage == MR_COVER_FORWARD ? 0 : (uint32_t)mr_contract_after(c, f->n_micro / c->need);
	repeats = c->flush != MR_FLUSH_NONE;
	MR_TRY(read_bool(j, "repeats", &repeats));
	f->section = repeats ? MR_BODY : MR_PROLOGUE;
	return MR_OK;
}

static mr_status read_contract(mr_plan_file *f)
{
	const mr_json *contract = mr_json_get(f->root, "contract");
	mr_status st;

	f->plan->commits = 1;
	f->plan->contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_BARRIER,
		.read_f = MR_READ_BATCH,
		.sum = MR_SUM_LISTED,
		.need = f->n_micro,
		.same_version_b = true,
	};
	f->section = MR_BODY;
	st = contract ? read_contract_of(f, contract) : MR_OK;
	return st == MR_OK ? MR_OK : mr_fail_in(st, "contract");
}

/* --- the whole --- */

static mr_status read_plan(mr_plan_file *f)
{
	MR_TRY(read_counts(f));
	if (!f->pipes)
		MR_TRY(count_pipes(f));
	f->pipe_of = malloc(f->n_micro);
	if (!f->pipe_of)
		return mr_fail(MR_ERESOURCE, "no memory for %u micro-batches", f->n_micro);
	memset(f->pipe_of, NO_PIPE, f->n_micro);
	MR_TRY(mr_plan_create((uint16_t)f->n_stages, (uint16_t)f->n_workers, (uint8_t)f->n_pipes, &f->plan));
	read_name(f);
	f->plan->n_micro = f->n_micro;
	MR_TRY(read_contract(f));
	for (unsigned p = 0; f->pipes && p < f->n_pipes; p++) {
		mr_status st = read_pipe(f, (uint8_t)p);

		if (st != MR_OK)
			return mr_fail_in(st, "pipe %u", p);
	}
	for (unsigned w = 0; w < f->n_workers; w++)
		MR_TRY(read_worker(f, (uint16_t)w));
	MR_TRY(read_horizons(f));
	return check_placed(f);
}

static mr_status read_root(const mr_json *root, mr_plan **out)
{
	mr_plan_file f = {.root = root};
	mr_status st = read_plan(&f);

	free(f.pipe_of);
	if (st == MR_OK)
		*out = f.plan;
	else
		mr_plan_destroy(f.plan);
	return st == MR_EINVAL ? MR_ECONFIG : st;
}

mr_status mr_plan_json_read(const char *path, mr_plan **out)
{
	mr_json *root;
	mr_status st;

	MR_TRY(mr_json_read_file(path, MR_PLAN_JSON_MAX_BYTES, &root));
	st = read_root(root, out);
	mr_json_destroy(root);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", path);
}

mr_status mr_plan_json_read_text(const char *text, size_t len, mr_plan **out)
{
	mr_json *root;
	mr_status st;

	MR_TRY(mr_json_read_text(text, len, &root));
	st = read_root(root, out);
	mr_json_destroy(root);
	return st;
}

/* --- writing --- */

static size_t count_in(const mr_plan *plan, mr_section section)
{
	size_t n = 0;

	for (unsigned w = 0; w < plan->n_workers; w++)
		n += mr_plan_list(plan, (uint16_t)w, section)->n;
	return n;
}

/* Which pipe each micro-batch takes, from its F at stage 0. */
static mr_status find_pipes(const mr_plan *plan, mr_section section, uint8_t *pipe_of)
{
	memset(pipe_of, NO_PIPE, plan->n_micro);
	for (unsigned w = 0; w < plan->n_workers; w++) {
		const mr_list *list = mr_plan_list(plan, (uint16_t)w, section);

		for (uint32_t i = 0; i < list->n; i++) {
			const mr_instr *in = &list->at[i];

			if (!mr_op_is_compute(in->op))
				continue;
			for (unsigned k = 0; k < in->span; k++) {
				if (in->micro + (uint64_t)k >= plan->n_micro)
					return mr_fail(MR_EINVAL, "micro-batch %llu of %u: not one closed iteration",
						       (unsigned long long)in->micro + k, plan->n_micro);
				pipe_of[in->micro + k] = in->pipe;
			}
		}
	}
	return MR_OK;
}

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

static void put_contract(mr_json_writer *w, const mr_plan *plan, bool repeats)
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
	if (c->aim != MR_AIM_NONE) {
		mr_json_key(w, "aim");
		mr_json_put_string(w, mr_text_aim[c->aim]);
		mr_json_key(w, "memory_ppm");
		mr_json_put_uint(w, c->memory_ppm);
		put_horizons(w, plan);
	}
	if (mr_plan_has_turns(plan)) {
		mr_json_key(w, "turns");
		mr_json_begin_array(w);
		for (uint16_t s = 0; s < plan->n_stages; s++)
			mr_json_put_uint(w, plan->turns[s]);
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

static void put_pipes(mr_json_writer *w, const mr_plan *plan, const uint8_t *pipe_of)
{
	mr_json_key(w, "pipes");
	mr_json_begin_array(w);
	for (unsigned p = 0; p < plan->n_pipes; p++) {
		mr_json_begin_object(w);
		mr_json_key(w, "stage_to_worker");
		mr_json_begin_array(w);
		for (uint16_t s = 0; s < plan->n_stages; s++)
			mr_json_put_uint(w, mr_plan_worker(plan, (uint8_t)p, s));
		mr_json_end_array(w);
		mr_json_key(w, "microbatches");
		mr_json_begin_array(w);
		for (uint32_t m = 0; m < plan->n_micro; m++)
			if (pipe_of[m] == p)
				mr_json_put_uint(w, m);
		mr_json_end_array(w);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
}

static void put_instr(mr_json_writer *w, const mr_plan *plan, const mr_instr *in)
{
	bool reads = in->op == MR_OP_F && plan->contract.read_f == MR_READ_AGED;
	uint8_t leaves = in->flags & (MR_INSTR_KEEP | MR_INSTR_PASS);

	mr_json_begin_array(w);
	mr_json_put_string(w, mr_op_name((mr_op)in->op));
	mr_json_put_uint(w, in->micro);
	mr_json_put_uint(w, in->stage);
	mr_json_put_uint(w, in->pipe);
	if (in->span > 1 || reads || leaves)
		mr_json_put_uint(w, in->span);
	if (reads) {
		mr_json_put_uint(w, (uint64_t)in->read);
		mr_json_put_uint(w, (uint64_t)in->target);
	} else if (leaves) {
		mr_json_put_string(w, leaves & MR_INSTR_KEEP ? "keep" : "pass");
	}
	mr_json_end_array(w);
}

static void put_workers(mr_json_writer *w, const mr_plan *plan, mr_section section)
{
	mr_json_key(w, "workers");
	mr_json_begin_array(w);
	for (unsigned i = 0; i < plan->n_workers; i++) {
		const mr_list *list = mr_plan_list(plan, (uint16_t)i, section);

		mr_json_begin_array(w);
		for (uint32_t k = 0; k < list->n; k++)
			if (mr_op_is_compute(list->at[k].op))
				put_instr(w, plan, &list->at[k]);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

mr_status mr_plan_json_put(mr_json_writer *w, const mr_plan *plan)
{
	mr_section section = count_in(plan, MR_BODY) ? MR_BODY : MR_PROLOGUE;
	uint8_t *pipe_of;
	mr_status st;

	if (section == MR_BODY && count_in(plan, MR_PROLOGUE) + count_in(plan, MR_EPILOGUE))
		return mr_fail(MR_EINVAL, "a plan with a warm-up and a repeating body has no JSON form; a finite one has");
	pipe_of = malloc(plan->n_micro ? plan->n_micro : 1);
	if (!pipe_of)
		return mr_fail(MR_ERESOURCE, "no memory for %u micro-batches", plan->n_micro);
	st = find_pipes(plan, section, pipe_of);
	if (st == MR_OK) {
		mr_json_key(w, "system");
		mr_json_put_string(w, plan->system);
		mr_json_key(w, "D");
		mr_json_put_uint(w, plan->n_workers);
		mr_json_key(w, "T");
		mr_json_put_uint(w, plan->n_micro);
		if (plan->n_stages % plan->n_workers == 0) {
			mr_json_key(w, "v");
			mr_json_put_uint(w, plan->n_stages / plan->n_workers);
		}
		mr_json_key(w, "stages");
		mr_json_put_uint(w, plan->n_stages);
		put_contract(w, plan, section == MR_BODY);
		put_pipes(w, plan, pipe_of);
		put_workers(w, plan, section);
	}
	free(pipe_of);
	return st;
}
