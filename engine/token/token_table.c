#include "token/token_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

static mr_status no_memory(size_t n)
{
	return mr_fail(MR_ERESOURCE, "no memory for a vocabulary of %zu tokens", n);
}

void mr_token_table_init(mr_token_table *t)
{
	*t = (mr_token_table){0};
	memset(t->byte, -1, sizeof(t->byte));
}

void mr_token_table_fini(mr_token_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i].bytes);
	free(t->at);
	free(t->place);
	*t = (mr_token_table){0};
}

/* The place of a token, or the free one where it would go. */
static int32_t *find(const mr_token_table *t, const char *bytes, size_t len)
{
	size_t i = mr_hash64(0, bytes, len) & (t->places - 1);

	for (;; i = (i + 1) & (t->places - 1)) {
		const mr_token *k = t->place[i] < 0 ? NULL : &t->at[t->place[i]];

		if (!k || (k->len == len && !memcmp(k->bytes, bytes, len)))
			return &t->place[i];
	}
}

static mr_status widen_places(mr_token_table *t)
{
	mr_token_table wide = *t;

	wide.places = t->places ? 2 * t->places : 1024;
	wide.place = malloc(wide.places * sizeof(*wide.place));
	if (!wide.place)
		return no_memory(t->listed);
	memset(wide.place, -1, wide.places * sizeof(*wide.place));
	for (size_t i = 0; i < t->places; i++)
		if (t->place[i] >= 0)
			*find(&wide, t->at[t->place[i]].bytes, t->at[t->place[i]].len) = t->place[i];
	free(t->place);
	t->place = wide.place;
	t->places = wide.places;
	return MR_OK;
}

static mr_status widen(mr_token_table *t, size_t n)
{
	if (n > t->room) {
		size_t room = 2 * n;
		mr_token *wide = realloc(t->at, room * sizeof(*wide));

		if (!wide)
			return no_memory(n);
		memset(wide + t->room, 0, (room - t->room) * sizeof(*wide));
		t->at = wide;
		t->room = room;
	}
	t->n = n > t->n ? n : t->n;
	return MR_OK;
}

mr_status mr_token_table_put(mr_token_table *t, int64_t number, const char *bytes, size_t len, bool listed)
{
	mr_token *k;
	int32_t *place;

	MR_TRY(widen(t, (size_t)number + 1));
	if (2 * (t->listed + 1) > t->places)
		MR_TRY(widen_places(t));
	k = &t->at[number];
	if (k->bytes)
		return mr_fail(MR_EDATA, "two tokens have the number %lld", (long long)number);
	place = listed ? find(t, bytes, len) : NULL;
	if (place && *place >= 0)
		return mr_fail(MR_EDATA, "the tokens %d and %lld are the same", *place, (long long)number);
	k->bytes = malloc(len + 1);
	if (!k->bytes)
		return no_memory(t->n);
	memcpy(k->bytes, bytes, len);
	k->bytes[len] = '\0';
	k->len = len;
	if (!listed)
		return MR_OK;
	*place = (int32_t)number;
	t->listed++;
	if (len == 1)
		t->byte[(unsigned char)*bytes] = (int32_t)number;
	return MR_OK;
}

int32_t mr_token_table_find(const mr_token_table *t, const char *bytes, size_t len)
{
	return t->places ? *find(t, bytes, len) : -1;
}
