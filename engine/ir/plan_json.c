#include "ir/plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/plan_json_internal.h"
#include "ir/sched.h"

#define NO_PIPE UINT8_MAX

_Static_assert(MR_PLAN_JSON_MAX_PIPES < NO_PIPE, "a pipe number must not look like none");

/* State of the reader. */
typedef struct mr_plan_file {
	const mr_json *root, *workers, *pipes; /* borrowed; pipes is NULL when the file has none */
	uint32_t n_workers, n_micro, n_stages, n_pipes;
	uint8_t *pipe_of;                      /* [n_micro] pipe of each micro-batch, NO_PIPE while unknown */
	mr_section section;                    /* where the instructions go */
	mr_plan *plan;
} mr_plan_file;

/* --- reading --- */

mr_status mr_plan_json_range(const mr_json *j, const char *what, int64_t low, int64_t high, uint32_t *out)
{
	if (!mr_json_is_int(j))
		return mr_fail(MR_ECONFIG, "%s must be an integer from %lld to %lld, got %s", what, (long long)low,
			       (long long)high, mr_json_kind(j));
	if (mr_json_int(j) < low || mr_json_int(j) > high)
		return mr_fail(MR_ECONFIG, "%s must be from %lld to %lld, got %lld", what, (long long)low,
			       (long long)high, (long long)mr_json_int(j));
	*out = (uint32_t)mr_json_int(j);
	return MR_OK;
}

static mr_status read_counts(mr_plan_file *f)
{
	if (!mr_json_is_object(f->root))
		return mr_fail(MR_ECONFIG, "a plan must be an object, got %s", mr_json_kind(f->root));
	MR_TRY(mr_plan_json_range(mr_json_get(f->root, "D"), "D (workers)", 1, MR_PLAN_JSON_MAX_WORKERS,
				  &f->n_workers));
	MR_TRY(mr_plan_json_range(mr_json_get(f->root, "T"), "T (micro-batches)", 1, MR_PLAN_JSON_MAX_MICRO,
				  &f->n_micro));
	MR_TRY(mr_plan_json_range(mr_json_get(f->root, "stages"), "stages", 1, MR_PLAN_JSON_MAX_STAGES, &f->n_stages));
	f->workers = mr_json_get(f->root, "workers");
	if (!mr_json_is_array(f->workers) || mr_json_size(f->workers) != f->n_workers)
		return mr_fail(MR_ECONFIG,
			       "workers must be an array of D = %u instruction lists, got %s with %zu entries",
			       f->n_workers, mr_json_kind(f->workers), mr_json_size(f->workers));
	f->pipes = mr_json_get(f->root, "pipes");
	f->n_pipes = (uint32_t)mr_json_size(f->pipes);
	if (f->pipes && (!mr_json_is_array(f->pipes) || f->n_pipes < 1 || f->n_pipes > MR_PLAN_JSON_MAX_PIPES))
		return mr_fail(MR_ECONFIG, "pipes must be an array of 1 to %d entries, got %s with %u",
			       MR_PLAN_JSON_MAX_PIPES, mr_json_kind(f->pipes), f->n_pipes);
	return MR_OK;
}

/* The largest pipe number of any instruction, for files without "pipes". Malformed instructions are left to read_instr.
 */
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
		return mr_fail(MR_ECONFIG, "pipe %lld: at most %d pipes are allowed", (long long)most,
			       MR_PLAN_JSON_MAX_PIPES);
	f->n_pipes = (uint32_t)most + 1;
	return MR_OK;
}

static mr_status read_pipe(mr_plan_file *f, uint8_t p)
{
	const mr_json *pipe = mr_json_at(f->pipes, p), *place = mr_json_get(pipe, "stage_to_worker");
	const mr_json *micro = mr_json_get(pipe, "microbatches");
	uint32_t x;

	if (!mr_json_is_array(place) || mr_json_size(place) != f->n_stages)
		return mr_fail(MR_ECONFIG, "stage_to_worker must be an array of %u workers, got %s with %zu entries",
			       f->n_stages, mr_json_kind(place), mr_json_size(place));
	for (uint32_t s = 0; s < f->n_stages; s++) {
		MR_TRY(mr_plan_json_range(mr_json_at(place, s), "a worker in stage_to_worker", 0, f->n_workers - 1,
					  &x));
		f->plan->worker_of[mr_plan_at(f->plan, p, (uint16_t)s)] = (uint16_t)x;
	}
	if (!micro)
		return MR_OK;
	if (!mr_json_is_array(micro))
		return mr_fail(MR_ECONFIG, "microbatches must be an array, got %s", mr_json_kind(micro));
	for (size_t i = 0; i < mr_json_size(micro); i++) {
		MR_TRY(mr_plan_json_range(mr_json_at(micro, i), "a micro-batch in microbatches", 0, f->n_micro - 1,
					  &x));
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

/* Read the entries after a span of 1 that plans with aged reads have: of F the version and the minibatch, of B "keep"
 * or "pass". */
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
		return mr_fail(MR_ECONFIG,
			       "behind the span, B may have \"keep\" or \"pass\" and F a version and a minibatch");
	MR_TRY(mr_plan_json_range(mr_json_at(j, 5), "the version", 0, MR_PLAN_JSON_MAX_MICRO, &read));
	if (mr_json_size(j) == 7)
		MR_TRY(mr_plan_json_range(mr_json_at(j, 6), "the minibatch", 0, INT32_MAX, &minibatch));
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
		return mr_fail(MR_ECONFIG,
			       "expected [op, micro-batch, stage, pipe], and a span behind it or none, got %s with %zu "
			       "entries",
			       mr_json_kind(j), mr_json_size(j));
	if (op == MR_N_OPS)
		return mr_fail(MR_ECONFIG, "the op must be \"F\", \"B\", \"I\", \"W\" or \"R\", got %s%s%s",
			       mr_json_is_string(mr_json_at(j, 0)) ? "\"" : mr_json_kind(mr_json_at(j, 0)),
			       mr_json_is_string(mr_json_at(j, 0)) ? mr_json_string(mr_json_at(j, 0)) : "",
			       mr_json_is_string(mr_json_at(j, 0)) ? "\"" : "");
	MR_TRY(mr_plan_json_range(mr_json_at(j, 1), "the micro-batch", 0, f->n_micro - 1, &micro));
	MR_TRY(mr_plan_json_range(mr_json_at(j, 2), "the stage", 0, f->n_stages - 1, &stage));
	MR_TRY(mr_plan_json_range(mr_json_at(j, 3), "the pipe", 0, f->n_pipes - 1, &pipe));
	host = &f->plan->worker_of[mr_plan_at(f->plan, (uint8_t)pipe, (uint16_t)stage)];
	if (*host == MR_WORKER_ANY)
		*host = worker;
	if (*host != worker)
		return mr_fail(MR_ECONFIG, "stage %u of pipe %u lives on worker %u", stage, pipe, *host);
	if (f->pipe_of[micro] == NO_PIPE && mr_json_get(mr_json_at(f->pipes, pipe), "microbatches"))
		return mr_fail(MR_ECONFIG, "micro-batch %u is none of the microbatches of pipe %u", micro, pipe);
	if (f->pipe_of[micro] == NO_PIPE)
		f->pipe_of[micro] = (uint8_t)pipe;
	if (f->pipe_of[micro] != pipe)
		return mr_fail(MR_ECONFIG, "micro-batch %u belongs to pipe %u, not to pipe %u", micro,
			       f->pipe_of[micro], pipe);
	if (mr_json_size(j) >= 5)
		MR_TRY(mr_plan_json_range(mr_json_at(j, 4), "the span", 1, op == MR_OP_W ? UINT8_MAX : 1, &span));
	MR_TRY(mr_sched_emit_span(f->plan, worker, f->section, op, micro, span, (uint16_t)stage, (uint8_t)pipe));
	return mr_json_size(j) > 5 ? read_own(f, worker, op, j) : MR_OK;
}

static mr_status read_worker(mr_plan_file *f, uint16_t worker)
{
	const mr_json *list = mr_json_at(f->workers, worker);

	if (!mr_json_is_array(list))
		return mr_fail(MR_ECONFIG, "worker %u must be an array of instructions, got %s", worker,
			       mr_json_kind(list));
	for (size_t i = 0; i < mr_json_size(list); i++) {
		mr_status st = read_instr(f, worker, mr_json_at(list, i));

		if (st != MR_OK)
			return mr_fail_in(st, "worker %u, instruction %zu", worker, i);
	}
	return MR_OK;
}

/* Every stage must live somewhere: the tables that the lowering fills are indexed by its worker. */
static mr_status check_placed(const mr_plan_file *f)
{
	for (unsigned p = 0; p < f->n_pipes; p++)
		for (uint16_t s = 0; s < f->n_stages; s++)
			if (mr_plan_worker(f->plan, (uint8_t)p, s) == MR_WORKER_ANY)
				return mr_fail(MR_ECONFIG,
					       "stage %u of pipe %u has no instruction, so no worker is known for it",
					       s, p);
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
	MR_TRY(mr_contract_json_read(mr_json_get(f->root, "contract"), f->plan, &f->section));
	for (unsigned p = 0; f->pipes && p < f->n_pipes; p++) {
		mr_status st = read_pipe(f, (uint8_t)p);

		if (st != MR_OK)
			return mr_fail_in(st, "pipe %u", p);
	}
	for (unsigned w = 0; w < f->n_workers; w++)
		MR_TRY(read_worker(f, (uint16_t)w));
	MR_TRY(mr_contract_json_horizons(mr_json_get(f->root, "contract"), f->plan));
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
	mr_section section = mr_plan_length(plan, MR_BODY) ? MR_BODY : MR_PROLOGUE;
	uint8_t *pipe_of;
	mr_status st;

	if (section == MR_BODY && mr_plan_length(plan, MR_PROLOGUE) + mr_plan_length(plan, MR_EPILOGUE))
		return mr_fail(MR_EINVAL,
			       "a plan with a warm-up and a repeating body has no JSON form; a finite one has");
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
		mr_contract_json_put(w, plan, section == MR_BODY);
		put_pipes(w, plan, pipe_of);
		put_workers(w, plan, section);
	}
	free(pipe_of);
	return st;
}
