#include "data/absent.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "data/part.h"

typedef struct absent {
	mr_dataset base;
	mr_dataset_ops ops;  /* the source's, but for what reads */
	char *alphabet;      /* base.alphabet */
	int64_t *values;     /* base.values */
	mr_failure *asked;   /* for a sample */
} absent;

typedef enum kind { SHAPE, INT, HEX, DOUBLE, BOOL } kind;

static const struct {
	kind kind;
	size_t at; /* in mr_dataset */
	const char *name;
} facts[] = {
	{HEX, offsetof(mr_dataset, fingerprint), "the data (their fingerprint)"},
	{SHAPE, offsetof(mr_dataset, input), "the data (an input)"},
	{SHAPE, offsetof(mr_dataset, image), "the data (an image)"},
	{SHAPE, offsetof(mr_dataset, target), "the data (a target)"},
	{INT, offsetof(mr_dataset, classes), "the data (their classes)"},
	{INT, offsetof(mr_dataset, frames), "the data (frames of a sample)"},
	{INT, offsetof(mr_dataset, source_classes), "the data (classes of the source)"},
	{DOUBLE, offsetof(mr_dataset, target_low), "the data (the least target)"},
	{DOUBLE, offsetof(mr_dataset, target_high), "the data (the greatest target)"},
	{DOUBLE, offsetof(mr_dataset, target_mean), "the data (mean of the targets)"},
	{DOUBLE, offsetof(mr_dataset, target_deviation), "the data (deviation of the targets)"},
	{INT, offsetof(mr_dataset, numbers), "the data (numbers of a sample)"},
	{INT, offsetof(mr_dataset, n_train), "the data (samples that train)"},
	{INT, offsetof(mr_dataset, n_valid), "the data (samples that validate)"},
	{BOOL, offsetof(mr_dataset, trains_only), "the data (no part validates)"},
	{INT, offsetof(mr_dataset, columns), "the data (columns of the text)"},
	{HEX, offsetof(mr_dataset, seed), "the data (seed of their order)"},
};
static const char halves[] = "the data (made by halves)", values[] = "the data (values of each category)",
		  alphabet[] = "the data (alphabet)", line[] = "the data";

static void print_shape(mr_shape s, mr_strbuf *out)
{
	for (uint32_t i = 0; i < mr_shape_dims(s); i++)
		mr_strbuf_printf(out, "%s%lld", i ? " x " : "", (long long)mr_shape_dim(s, i));
	mr_strbuf_append(out, s.tokens ? " tokens" : " numbers");
}

static void print_fact(kind k, const void *at, mr_strbuf *out)
{
	switch (k) {
	case SHAPE: print_shape(*(const mr_shape *)at, out); break;
	case INT: mr_strbuf_printf(out, "%" PRId64, *(const int64_t *)at); break;
	case HEX: mr_strbuf_printf(out, "%016" PRIx64, *(const uint64_t *)at); break;
	case DOUBLE: mr_strbuf_printf(out, "%.17g", *(const double *)at); break;
	case BOOL: mr_strbuf_printf(out, "%d", *(const bool *)at); break;
	}
}

static size_t n_categories(const mr_dataset *d)
{
	return d->values && d->numbers ? (size_t)(d->input.cols - (d->numbers > 0 ? d->numbers : 0)) : 0;
}

void mr_absent_print(const mr_dataset *d, bool loaded, mr_strbuf *out)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		mr_strbuf_printf(out, "%s: ", facts[i].name);
		print_fact(facts[i].kind, (const char *)d + facts[i].at, out);
		mr_strbuf_append(out, "\n");
	}
	mr_strbuf_printf(out, "%s: %d\n%s: %zu", halves, d->ops->halves, values, n_categories(d));
	for (size_t i = 0; i < n_categories(d); i++)
		mr_strbuf_printf(out, " %" PRId64, d->values[i]);
	mr_strbuf_printf(out, "\n%s: %s\n", alphabet, d->alphabet ? d->alphabet : "none");
	if (loaded)
		mr_strbuf_printf(out, "%s: %s\n", line, d->describe ? d->describe : d->ops->name);
}

/* The value in the line @name of @text, whose bytes are *@n; "": there is none. */
static const char *find(const char *text, const char *name, size_t *n)
{
	size_t length = strlen(name);

	for (*n = 0; *text; text += strcspn(text, "\n"), text += *text != 0)
		if (!strncmp(text, name, length) && !strncmp(text + length, ": ", 2)) {
			*n = strcspn(text + length + 2, "\n");
			return text + length + 2;
		}
	return "";
}

bool mr_absent_in(const char *text)
{
	return *find(text, facts[0].name, &(size_t){0}) != 0;
}

static mr_shape read_shape(const char *text)
{
	int64_t dim[MR_MAX_DIMS];
	uint32_t n = 0;
	char *end;
	bool tokens;

	for (dim[n++] = strtoll(text, &end, 10); n < MR_MAX_DIMS && !strncmp(end, " x ", 3);)
		dim[n++] = strtoll(end + 3, &end, 10);
	tokens = !strcmp(end, " tokens") || !strncmp(end, " tokens\n", 8);
	return n == 2 ? (mr_shape){.rows = dim[0], .cols = dim[1], .tokens = tokens} : mr_shape_of(n, dim, tokens);
}

static void read_fact(kind k, const char *text, void *at)
{
	switch (k) {
	case SHAPE: *(mr_shape *)at = read_shape(text); break;
	case INT: *(int64_t *)at = strtoll(text, NULL, 10); break;
	case HEX: *(uint64_t *)at = strtoull(text, NULL, 16); break;
	case DOUBLE: *(double *)at = strtod(text, NULL); break;
	case BOOL: *(bool *)at = *text == '1'; break;
	}
}

static mr_status read_all(absent *a, const char *text)
{
	size_t n, n_values;
	char *at;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		read_fact(facts[i].kind, find(text, facts[i].name, &n), (char *)&a->base + facts[i].at);
	a->ops.halves = *find(text, halves, &n) == '1';
	n_values = strtoull(find(text, values, &n), &at, 10);
	a->values = calloc(n_values + 1, sizeof(*a->values));
	for (size_t i = 0; a->values && i < n_values; i++)
		a->values[i] = strtoll(at, &at, 10);
	a->base.values = n_values ? a->values : NULL;
	at = (char *)(uintptr_t)find(text, alphabet, &n);
	a->alphabet = strndup(at, n);
	a->base.alphabet = a->alphabet && strcmp(a->alphabet, "none") != 0 ? a->alphabet : NULL;
	at = (char *)(uintptr_t)find(text, line, &n);
	a->base.describe = n ? strndup(at, n) : strdup(a->ops.name);
	a->asked = mr_failure_create();
	return a->values && a->alphabet && a->base.describe && a->asked ? MR_OK : mr_data_no_memory(0);
}

/* --- what is asked of it --- */

static void refuse(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	(void)i, (void)g, (void)input, (void)target;
	mr_failure_set(((const absent *)d)->asked,
		       "%s: a sample was asked of a rank that does not read the data", d->describe);
}

static void refuse_one(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	refuse(d, i, i, input, target);
}

static mr_status check(const mr_dataset *d)
{
	return mr_failure_check(((const absent *)d)->asked);
}

static void close_absent(mr_dataset *d)
{
	absent *a = (absent *)d;

	free(a->alphabet);
	free(a->values);
	mr_failure_destroy(a->asked);
}

mr_status mr_absent_create(const mr_dataset_ops *ops, const char *text, mr_dataset **out)
{
	absent *a = calloc(1, sizeof(*a));
	mr_status st;

	*out = NULL;
	if (!a)
		return mr_data_no_memory(sizeof(*a));
	a->ops = (mr_dataset_ops){.name = ops->name,
				  .summary = ops->summary,
				  .options = ops->options,
				  .bytes = sizeof(*a),
				  .check = check,
				  .close = close_absent,
				  .train = refuse_one,
				  .valid = refuse_one,
				  .sample = refuse,
				  .in_order = ops->in_order};
	a->base.ops = &a->ops;
	st = read_all(a, text);
	if (st == MR_OK)
		*out = &a->base;
	else
		mr_dataset_close(&a->base);
	return st;
}
