#include "token/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/stats.h"

/* Of a word besides its place: the allocator's smallest piece, and its place in the order of frequencies. As many words
 * as there are now fit into a table that has grown. */
#define WORD_BYTES (32 + sizeof(mr_word *))

/* The place of a word, or the free one where it would go. */
static mr_word *find(const mr_vocabulary *v, const char *text, size_t len)
{
	size_t i = mr_hash64(0, text, len) & (v->room - 1);

	while (v->place[i].text && (v->place[i].len != len || memcmp(v->place[i].text, text, len) != 0))
		i = (i + 1) & (v->room - 1);
	return &v->place[i];
}

static mr_status grow(mr_vocabulary *v)
{
	mr_vocabulary wide = {.room = v->room ? 2 * v->room : 1024, .n = v->n};

	MR_TRY(mr_room_check(NULL, "a vocabulary", wide.room * sizeof(*wide.place) + v->n * WORD_BYTES));
	wide.place = calloc(wide.room, sizeof(*wide.place));
	if (!wide.place)
		return mr_fail(MR_ERESOURCE, "no memory for a vocabulary of %zu words", v->n);
	for (size_t i = 0; i < v->room; i++)
		if (v->place[i].text)
			*find(&wide, v->place[i].text, v->place[i].len) = v->place[i];
	free(v->place);
	*v = wide;
	return MR_OK;
}

mr_status mr_vocabulary_count(mr_vocabulary *v, const char *text, size_t len)
{
	mr_word *w;

	if (2 * (v->n + 1) > v->room)
		MR_TRY(grow(v));
	w = find(v, text, len);
	if (!w->text) {
		w->text = malloc(len + 1);
		if (!w->text)
			return mr_fail(MR_ERESOURCE, "no memory for a vocabulary of %zu words", v->n);
		memcpy(w->text, text, len);
		w->text[len] = 0;
		w->len = len;
		w->number = -1;
		v->n++;
	}
	w->count++;
	return MR_OK;
}

static int by_count(const void *a, const void *b)
{
	const mr_word *x = *(mr_word *const *)a, *y = *(mr_word *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->text, y->text);
}

mr_status mr_vocabulary_seal(mr_vocabulary *v, int32_t first, size_t most, size_t *n)
{
	mr_word **order = calloc(v->n + 1, sizeof(*order));
	size_t found = 0;

	if (!order)
		return mr_fail(MR_ERESOURCE, "no memory for a vocabulary of %zu words", v->n);
	for (size_t i = 0; i < v->room; i++)
		if (v->place[i].text)
			order[found++] = &v->place[i];
	qsort(order, found, sizeof(*order), by_count);
	*n = most && most < found ? most : found;
	for (size_t i = 0; i < *n; i++)
		order[i]->number = first + (int32_t)i;
	free(order);
	return MR_OK;
}

int32_t mr_vocabulary_find(const mr_vocabulary *v, const char *text, size_t len)
{
	const mr_word *w = v->room ? find(v, text, len) : NULL;

	return w && w->text ? w->number : -1;
}

void mr_vocabulary_fini(mr_vocabulary *v)
{
	for (size_t i = 0; i < v->room; i++)
		free(v->place[i].text);
	free(v->place);
	*v = (mr_vocabulary){0};
}
