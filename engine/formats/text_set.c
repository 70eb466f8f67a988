#include "formats/text_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

/* The slot of @text, or the free one where it belongs. */
static size_t slot_of(const mr_text_set *s, const char *text)
{
	size_t at = (size_t)mr_hash64(0, text, strlen(text)) & (s->n_slots - 1);

	while (s->slot[at] && strcmp(s->text[s->slot[at] - 1], text) != 0)
		at = (at + 1) & (s->n_slots - 1);
	return at;
}

static void fill_slots(mr_text_set *s)
{
	memset(s->slot, 0, s->n_slots * sizeof(*s->slot));
	for (size_t i = 0; i < s->n; i++)
		s->slot[slot_of(s, s->text[i])] = (uint32_t)i + 1;
}

static mr_status grow(mr_text_set *s)
{
	size_t room = s->room ? 2 * s->room : 16;
	char **text = realloc(s->text, room * sizeof(*text));
	uint32_t *slot;

	if (text)
		s->text = text;
	slot = realloc(s->slot, 2 * room * sizeof(*slot));
	if (slot)
		s->slot = slot;
	if (!text || !slot)
		return mr_fail(MR_ERESOURCE, "no memory for %zu different texts", room);
	s->room = room;
	s->n_slots = 2 * room;
	fill_slots(s);
	return MR_OK;
}

mr_status mr_text_set_add(mr_text_set *s, const char *text)
{
	size_t at;

	if (s->n == s->room)
		MR_TRY(grow(s));
	at = slot_of(s, text);
	if (s->slot[at])
		return MR_OK;
	s->text[s->n] = strdup(text);
	if (!s->text[s->n])
		return mr_fail(MR_ERESOURCE, "no memory for a text");
	s->slot[at] = (uint32_t)++s->n;
	s->bytes += strlen(text);
	return MR_OK;
}

int64_t mr_text_set_find(const mr_text_set *s, const char *text)
{
	return s->n ? (int64_t)s->slot[slot_of(s, text)] - 1 : -1;
}

void mr_text_set_sort(mr_text_set *s, int (*compare)(const void *, const void *))
{
	if (!s->n)
		return;
	qsort(s->text, s->n, sizeof(*s->text), compare);
	fill_slots(s);
}

void mr_text_set_fini(mr_text_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->text[i]);
	free(s->text);
	free(s->slot);
	*s = (mr_text_set){0};
}
