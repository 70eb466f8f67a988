#include "checkpoint/init_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "nn/element.h"
#include "checkpoint/foreign_config.h"
#include "session/memory_plan.h"
#include "checkpoint/network_text.h"
#include "exec/state.h"
#include "store/tensor_files.h"

typedef struct source {
	mr_tensor_files *files;
	const char *path;
	bool *used; /* [tensors of the files] */
	bool anyway;
} source;

static const mr_saved_tensor *find(const source *f, const char *name)
{
	static const char *const before[] = {"", "transformer.", "model."};
	char full[256];

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		size_t at;

		snprintf(full, sizeof(full), "%s%s", before[i], name);
		at = mr_tensor_files_find(f->files, full);
		if (at != SIZE_MAX) {
			f->used[at] = true;
			return mr_tensor_files_at(f->files, at);
		}
	}
	return NULL;
}

static int64_t count(const mr_saved_tensor *t)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < t->n_dims; i++)
		n *= t->shape[i];
	return n;
}

static bool same_shape(const mr_saved_tensor *a, const mr_saved_tensor *b)
{
	return a->n_dims == b->n_dims && !memcmp(a->shape, b->shape, a->n_dims * sizeof(*a->shape));
}

static void put_shape(const mr_saved_tensor *t, char *text, size_t size)
{
	size_t at = 0;

	*text = '\0';
	for (uint32_t i = 0; i < t->n_dims && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, i ? " x " : "", t->shape[i]);
}

static bool is_named(const char *name, const char *what)
{
	return !strcmp(name, what);
}

/* Is @from the parameter @name as it is, or are its first rows? */
static bool fits(const char *name, const mr_saved_tensor *to, const mr_saved_tensor *from)
{
	bool matrices = to->n_dims == 2 && from->n_dims == 2;

	return same_shape(to, from) || (matrices && is_named(name, "wpe.weight") && to->shape[1] == from->shape[1] &&
					to->shape[0] < from->shape[0]);
}

/* Parameter or state @to, called @name, from @from. @rest: of its masters, or NULL. */
static mr_status fill(const source *f, const char *name, const mr_saved_tensor *to, int16_t *rest,
		      const mr_saved_tensor *from)
{
	int64_t n = count(to);
	char want[80], have[80];
	void *raw;
	mr_status st;

	put_shape(to, want, sizeof(want));
	put_shape(from, have, sizeof(have));
	if (!fits(name, to, from))
		return mr_fail(MR_ECKPT, "%s: %s is %s, and the model's %s is %s", f->path, from->name, have, name,
			       want);
	if (!mr_dtype_is_weight(from->dtype))
		return mr_fail(MR_ECKPT, "%s: %s holds %s, expected F32, F64, F16 or BF16", f->path, from->name,
			       mr_dtype_saved_name(from->dtype));
	raw = malloc(from->bytes + 1);
	if (!raw)
		return mr_fail(MR_ERESOURCE, "no memory for %" PRIu64 " bytes of %s", from->bytes, from->name);
	st = mr_tensor_files_read(f->files, mr_tensor_files_find(f->files, from->name), raw);
	for (int64_t i = 0; st == MR_OK && i < n; i++)
		mr_element_put_master(to->dtype, to->data, rest, i, mr_element_saved(from->dtype, raw, i));
	free(raw);
	return st;
}

/* The rest of the masters of the weights @name. */
static int16_t *rest_of(const mr_state *s, const char *name)
{
	const mr_state_list *lists[] = {&s->optimizer, &s->inflight};
	char rest[200];

	snprintf(rest, sizeof(rest), "%s.rest", name);
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (!strcmp(lists[k]->at[i].name, rest))
				return lists[k]->at[i].data;
	return NULL;
}

/* The head of a network, and the embedding that it is a copy of where a file has none: a tied one's. */
static const struct {
	const char *head, *embedding;
} heads[] = {
	{"lm_head.weight", "wte.weight"},
	{"lm_head.weight", "model.embed_tokens.weight"},
	{"decoder.weight", "encoder.weight"},
};

#define N_HEADS (sizeof(heads) / sizeof(*heads))

static mr_status fill_one(const source *f, const mr_state *s, const char *name, const mr_saved_tensor *to)
{
	const mr_saved_tensor *from = find(f, name);

	for (size_t i = 0; !from && i < N_HEADS; i++)
		if (is_named(name, heads[i].head))
			from = find(f, heads[i].embedding);
	if (!from)
		return mr_fail(MR_ECKPT, "%s has no tensor %s, which the model needs", f->path, name);
	return fill(f, name, to, rest_of(s, to->name), from);
}

/* What replicas keep of parameter @name beside the model: "r1.NAME", "mean.NAME". */
static mr_status fill_copies(const source *f, const mr_state *s, const char *name)
{
	for (size_t i = 0; i < s->inflight.n; i++) {
		const mr_saved_tensor *t = &s->inflight.at[i];
		const char *dot = strchr(t->name, '.');

		if (dot && !strcmp(dot + 1, name))
			MR_TRY(fill_one(f, s, name, t));
	}
	return MR_OK;
}

static mr_status fill_all(const source *f, const mr_state *s, size_t *n)
{
	for (*n = 0; *n < s->model.n; ++*n) {
		const mr_saved_tensor *t = &s->model.at[*n];

		MR_TRY(fill_one(f, s, t->name, t));
		MR_TRY(fill_copies(f, s, t->name));
	}
	return MR_OK;
}

/* A tensor is read whole, also one of more positions than the network has. That is before the first step, so what a run
 * needs later for checkpoints and samples is still free. */
static mr_status check_memory(mr_session *s, const source *f)
{
	const mr_saved_tensor *largest = NULL;
	uint64_t most = 0;
	char what[300];

	for (size_t i = 0; i < mr_tensor_files_count(f->files); i++) {
		const mr_saved_tensor *t = mr_tensor_files_at(f->files, i);

		uint64_t bytes = t->bytes;

		for (size_t h = 0; h < N_HEADS; h++)
			if (is_named(t->name, heads[h].head))
				bytes = 2 * t->bytes; /* it may be compared with the embedding (is_tied_head) */
		if (bytes > most) {
			most = bytes;
			largest = t;
		}
	}
	if (most <= s->working_bytes)
		return MR_OK;
	snprintf(what, sizeof(what), "what reads tensor %.80s of %.160s", largest->name, f->path);
	return mr_memory_more_fits(s, most - s->working_bytes, what);
}

/* --- tensors that the network has no place for --- */

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n >= len && !strcmp(text + n - len, end);
}

/* What older versions of transformers and PyTorch save beside weights: masks, tables of positions, counts. */
static bool is_buffer(const mr_saved_tensor *t)
{
	static const char *const ends[] = {".attn.masked_bias", ".rotary_emb.inv_freq", ".num_batches_tracked",
					   "position_ids"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_in(t->name, ends[i]))
			return true;
	return t->n_dims == 4 && ends_in(t->name, ".attn.bias");
}

/* Is tensor @i the head of a tied network, and saved although it is the embedding? Errors: MR_EIO, MR_ERESOURCE. */
static mr_status is_tied_head(const source *f, size_t i, bool *tied)
{
	const mr_saved_tensor *t = mr_tensor_files_at(f->files, i);
	mr_status st = MR_OK;

	*tied = false;
	for (size_t h = 0; h < N_HEADS && st == MR_OK && !*tied; h++) {
		const mr_saved_tensor *e = is_named(t->name, heads[h].head) ? find(f, heads[h].embedding) : NULL;
		char *a, *b;

		if (!e || e->bytes != t->bytes || e->dtype != t->dtype || !same_shape(e, t))
			continue;
		a = malloc(t->bytes + 1);
		b = malloc(t->bytes + 1);
		st = a && b ? mr_tensor_files_read(f->files, i, a)
			    : mr_fail(MR_ERESOURCE, "no memory for %" PRIu64 " bytes of %s", t->bytes, t->name);
		if (st == MR_OK)
			st = mr_tensor_files_read(f->files, mr_tensor_files_find(f->files, e->name), b);
		*tied = st == MR_OK && !memcmp(a, b, t->bytes);
		free(a);
		free(b);
	}
	return st;
}

/* What is wrong is an error, or with @anyway of f a warning. */
static mr_status judge(const source *f, mr_status st)
{
	if (st != MR_ECKPT || !f->anyway)
		return st == MR_ECKPT ? mr_fail(st, "%s (--init-anyway goes on all the same)", mr_error_text()) : st;
	mr_log(MR_LOG_WARN, "init", "%s", mr_error_text());
	return MR_OK;
}

enum { NAMED = 6 }; /* tensors that a message names */

static mr_status check_unused(const source *f)
{
	size_t n = mr_tensor_files_count(f->files), unused = 0;
	mr_strbuf names = {0};
	mr_status st = MR_OK;

	for (size_t i = 0; i < n && st == MR_OK; i++) {
		const mr_saved_tensor *t = mr_tensor_files_at(f->files, i);
		bool tied;

		if (f->used[i] || is_buffer(t))
			continue;
		st = is_tied_head(f, i, &tied);
		if (st == MR_OK && !tied && unused++ < NAMED)
			mr_strbuf_printf(&names, "%s%s", unused > 1 ? ", " : "", t->name);
	}
	if (st == MR_OK && unused)
		st = mr_fail(MR_ECKPT, "%s: the network has no parameter for %zu of its tensors: %s%s", f->path, unused,
			     mr_strbuf_text(&names), unused > NAMED ? ", ..." : "");
	mr_strbuf_fini(&names);
	return judge(f, st);
}

static mr_status take(mr_session *s, source *f, size_t *n)
{
	mr_state state;
	mr_status st;

	f->used = calloc(mr_tensor_files_count(f->files) + 1, sizeof(*f->used));
	if (!f->used)
		return mr_fail(MR_ERESOURCE, "%s: no memory", f->path);
	MR_TRY(judge(f, mr_foreign_config_check(s, mr_tensor_files_folder(f->files))));
	MR_TRY(judge(f, mr_network_check(mr_session_model(s), f->path, mr_tensor_files_metadata(f->files, "network"))));
	MR_TRY(check_memory(s, f));
	MR_TRY(mr_executor_state(&s->executor, &state));
	st = fill_all(f, &state, n);
	mr_state_fini(&state);
	return st == MR_OK ? check_unused(f) : st;
}

mr_status mr_init_weights(mr_session *s, const char *path, bool anyway, size_t *n)
{
	source f = {.path = path, .anyway = anyway};
	mr_status st;

	MR_TRY(mr_executor_stand_at(&s->executor, 0)); /* copies of the weights follow before the first step */
	MR_TRY(mr_tensor_files_open(path, &f.files));
	st = take(s, &f, n);
	free(f.used);
	mr_tensor_files_close(f.files);
	return st;
}
