#include "session/init_weights.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/element.h"
#include "session/state.h"
#include "store/safetensors.h"

typedef struct source {
	mr_safetensors *file;
	const char *path;
} source;

static const mr_saved_tensor *find(const source *f, const char *name)
{
	static const char *const before[] = {"", "transformer.", "model."};
	const mr_saved_tensor *t = NULL;
	char full[256];

	for (size_t i = 0; !t && i < sizeof(before) / sizeof(*before); i++) {
		snprintf(full, sizeof(full), "%s%s", before[i], name);
		t = mr_safetensors_find(f->file, full);
	}
	return t;
}

/* The type of the numbers of @t; false: they are none. */
static bool type_of(mr_saved_dtype saved, mr_dtype *out)
{
	*out = saved == MR_SAVED_F64 ? MR_F64 : saved == MR_SAVED_BF16 ? MR_BF16 : MR_F32;
	return saved == MR_SAVED_F64 || saved == MR_SAVED_BF16 || saved == MR_SAVED_F32;
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

/* How @from becomes @to: as it is, by its first rows, or transposed. */
typedef enum fitting { FIT_NOT, FIT_SAME, FIT_ROWS, FIT_TRANSPOSED } fitting;

static bool is_named(const char *name, const char *what)
{
	return !strcmp(name, what);
}

static fitting fits(const char *name, const mr_saved_tensor *to, const mr_saved_tensor *from)
{
	bool matrices = to->n_dims == 2 && from->n_dims == 2, embeds = strstr(from->name, "wte.weight") != NULL;

	if (same_shape(to, from) && (!is_named(name, "lm_head.weight") || !embeds))
		return FIT_SAME;
	if (matrices && is_named(name, "wpe.weight") && to->shape[1] == from->shape[1] && to->shape[0] < from->shape[0])
		return FIT_ROWS;
	if (matrices && is_named(name, "lm_head.weight") && to->shape[0] == from->shape[1] &&
	    to->shape[1] == from->shape[0])
		return FIT_TRANSPOSED;
	return FIT_NOT;
}

/* Parameter or state @to, called @name, from @from. @rest: of its masters, or NULL. */
static mr_status fill(const source *f, const char *name, const mr_saved_tensor *to, int16_t *rest,
		      const mr_saved_tensor *from)
{
	fitting how = fits(name, to, from);
	int64_t n = count(to), rows = to->n_dims ? to->shape[0] : 1, cols = rows ? n / rows : 0;
	char want[80], have[80];
	mr_dtype type, own;
	void *raw;
	mr_status st;

	put_shape(to, want, sizeof(want));
	put_shape(from, have, sizeof(have));
	if (how == FIT_NOT)
		return mr_fail(MR_ECKPT, "%s: %s is %s, and the model's %s is %s", f->path, from->name, have, name,
			       want);
	if (!type_of(from->dtype, &type) || !type_of(to->dtype, &own))
		return mr_fail(MR_ECKPT, "%s: %s holds %s, expected F32, F64 or BF16", f->path, from->name,
			       mr_saved_dtype_name(from->dtype));
	raw = malloc(from->bytes + 1);
	if (!raw)
		return mr_fail(MR_ERESOURCE, "no memory for %" PRIu64 " bytes of %s", from->bytes, from->name);
	st = mr_safetensors_read(f->file, from, raw);
	for (int64_t i = 0; st == MR_OK && i < n; i++) {
		int64_t at = how == FIT_TRANSPOSED ? i % cols * rows + i / cols : i;

		mr_element_put_master(own, to->data, rest, i, mr_element(type, raw, at));
	}
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

static mr_status fill_one(const source *f, const mr_state *s, const char *name, const mr_saved_tensor *to)
{
	const mr_saved_tensor *from = find(f, name);

	if (!from && is_named(name, "lm_head.weight"))
		from = find(f, "wte.weight");
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

mr_status mr_init_weights(mr_session *s, const char *path, size_t *n)
{
	source f = {.path = path};
	mr_state state;
	mr_status st;

	MR_TRY(mr_executor_stand_at(&s->executor, 0)); /* copies of the weights follow before the first step */
	MR_TRY(mr_safetensors_open(AT_FDCWD, path, NULL, &f.file));
	st = mr_executor_state(&s->executor, &state);
	if (st == MR_OK) {
		st = fill_all(&f, &state, n);
		mr_state_fini(&state);
	}
	mr_safetensors_close(f.file);
	return st;
}
