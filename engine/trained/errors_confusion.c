/* errors_confusion.c - which classes are taken for which. */
#include <stdlib.h>

#include "trained/errors_internal.h"

#define MOST_MATRIX 40 /* classes of a matrix that can be looked at */
#define MOST_PAIRS 20
#define MOST_CLASSES 4096 /* that are listed */

mr_status mr_confusion_init(mr_confusion *c, size_t n_classes, size_t room)
{
	*c = (mr_confusion){.n_classes = n_classes, .room = room};
	c->pair = malloc((room + 1) * sizeof(*c->pair));
	return c->pair ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the errors of %zu samples", room);
}

void mr_confusion_fini(mr_confusion *c)
{
	free(c->pair);
	*c = (mr_confusion){0};
}

void mr_confusion_take(mr_confusion *c, size_t target, size_t prediction)
{
	if (c->n < c->room)
		c->pair[c->n++] = (uint64_t)target * c->n_classes + prediction;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A pair that occurs, and how often. */
typedef struct pair {
	uint64_t is, n;
} pair;

/* The first of @most pairs with different classes, by how often they occur. Returns how many there are. */
static size_t find_pairs(const mr_confusion *c, pair *to, size_t most)
{
	size_t have = 0;

	for (size_t i = 0, n; i < c->n; i += n) {
		pair p = {.is = c->pair[i]};
		size_t at;

		for (n = 1; i + n < c->n && c->pair[i + n] == p.is;)
			n++;
		p.n = n;
		if (p.is / c->n_classes == p.is % c->n_classes)
			continue;
		for (at = have; at && to[at - 1].n < p.n; at--)
			if (at < most)
				to[at] = to[at - 1];
		if (at < most)
			to[at] = p;
		have += have < most;
	}
	return have;
}

static void put_pairs(const mr_confusion *c, const char *(*name)(const void *, size_t, mr_strbuf *), const void *arg,
		      mr_json_writer *w)
{
	pair at[MOST_PAIRS];
	size_t n = find_pairs(c, at, MOST_PAIRS);
	mr_strbuf room = {0};

	mr_json_field_array(w, "confused");
	for (size_t i = 0; i < n; i++) {
		mr_json_begin_object(w);
		mr_json_field_string(w, "target", name(arg, (size_t)(at[i].is / c->n_classes), &room));
		mr_json_field_string(w, "prediction", name(arg, (size_t)(at[i].is % c->n_classes), &room));
		mr_json_field_uint(w, "samples", at[i].n);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	mr_strbuf_fini(&room);
}

/* Samples, predictions and right predictions of each class, in this order. */
static void put_classes(const mr_confusion *c, const char *(*name)(const void *, size_t, mr_strbuf *), const void *arg,
			mr_json_writer *w)
{
	uint64_t *count = calloc(3 * c->n_classes, sizeof(*count));
	mr_strbuf room = {0};

	if (!count)
		return; /* the list is left out */
	for (size_t i = 0; i < c->n; i++) {
		uint64_t target = c->pair[i] / c->n_classes, prediction = c->pair[i] % c->n_classes;

		count[3 * target]++;
		count[3 * prediction + 1]++;
		count[3 * target + 2] += target == prediction;
	}
	mr_json_field_array(w, "classes");
	for (size_t i = 0; i < c->n_classes; i++) {
		mr_json_begin_object(w);
		mr_json_field_string(w, "class", name(arg, i, &room));
		mr_json_field_uint(w, "samples", count[3 * i]);
		mr_json_field_uint(w, "predictions", count[3 * i + 1]);
		mr_json_field_uint(w, "right", count[3 * i + 2]);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	mr_strbuf_fini(&room);
	free(count);
}

/* A row for each target. */
static void put_matrix(const mr_confusion *c, mr_json_writer *w)
{
	size_t at = 0;

	mr_json_field_array(w, "confusion");
	for (uint64_t i = 0; i < c->n_classes * c->n_classes; i++) {
		uint64_t n = 0;

		for (; at < c->n && c->pair[at] == i; at++)
			n++;
		if (i % c->n_classes == 0)
			mr_json_begin_array(w);
		mr_json_put_uint(w, n);
		if ((i + 1) % c->n_classes == 0)
			mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

void mr_confusion_put(mr_confusion *c, const char *(*name)(const void *, size_t, mr_strbuf *), const void *arg,
		      mr_json_writer *w)
{
	size_t right = 0;

	qsort(c->pair, c->n, sizeof(*c->pair), ascending);
	for (size_t i = 0; i < c->n; i++)
		right += c->pair[i] / c->n_classes == c->pair[i] % c->n_classes;
	mr_json_field_double(w, "accuracy", (double)right / (double)c->n);
	if (c->n_classes <= MOST_CLASSES)
		put_classes(c, name, arg, w);
	if (c->n_classes <= MOST_MATRIX)
		put_matrix(c, w);
	put_pairs(c, name, arg, w);
}
