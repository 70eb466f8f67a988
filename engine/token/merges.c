#include "token/merges.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define KNOWN_WORDS ((size_t)1 << 16)
#define KNOWN_BYTES 30
#define KNOWN_TOKENS 8

struct mr_symbol {
	int32_t token; /* -1: merged into its left neighbour */
	int32_t before, after; /* -1: none */
};

struct mr_neighbours {
	int32_t rank, at; /* symbol[at] and its right neighbour, */
	int32_t left, right, token; /* which have been left and right: if no more, they have been merged with others */
};

/* A word and its tokens, at the place of its hash. */
struct mr_known_word {
	uint8_t len, n; /* len 0: none */
	char bytes[KNOWN_BYTES];
	int32_t token[KNOWN_TOKENS];
};

static mr_status no_memory(size_t n)
{
	return mr_fail(MR_ERESOURCE, "no memory for %zu tokens", n);
}

mr_status mr_tokens_reserve(mr_tokens *t, size_t more)
{
	if (t->room - t->n < more) {
		size_t room = t->n + more > 2 * t->room ? t->n + more : 2 * t->room;
		int32_t *wide = realloc(t->at, room * sizeof(*wide));

		if (!wide)
			return no_memory(room);
		t->at = wide;
		t->room = room;
	}
	return MR_OK;
}

mr_status mr_merges_init(mr_merges *m, size_t n)
{
	for (m->places = 16; m->places < 2 * n;)
		m->places *= 2;
	m->place = malloc(m->places * sizeof(*m->place));
	m->known = calloc(KNOWN_WORDS, sizeof(*m->known));
	if (!m->place || !m->known)
		return no_memory(n);
	for (size_t i = 0; i < m->places; i++)
		m->place[i].left = -1;
	return MR_OK;
}

void mr_merges_fini(mr_merges *m)
{
	free(m->place);
	free(m->symbol);
	free(m->heap);
	free(m->known);
	*m = (mr_merges){0};
}

static mr_merge *find(const mr_merges *m, int32_t left, int32_t right)
{
	uint64_t key = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
	size_t i = (key ^ key >> 32) & (m->places - 1);

	while (m->place[i].left >= 0 && (m->place[i].left != left || m->place[i].right != right))
		i = (i + 1) & (m->places - 1);
	return &m->place[i];
}

void mr_merges_put(mr_merges *m, mr_merge rule)
{
	mr_merge *place = find(m, rule.left, rule.right);

	m->n += place->left < 0;
	*place = rule;
}

static bool is_before(const mr_neighbours *a, const mr_neighbours *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* symbol[at] and its right neighbour wait to be merged, if a rule does that. */
static void wait(mr_merges *m, int32_t at)
{
	const mr_symbol *s = m->symbol;
	mr_neighbours *h = m->heap, new;
	const mr_merge *rule;
	size_t i = m->waiting;

	if (at < 0 || s[at].after < 0)
		return;
	rule = find(m, s[at].token, s[s[at].after].token);
	if (rule->left < 0)
		return;
	new = (mr_neighbours){rule->rank, at, rule->left, rule->right, rule->token};
	for (m->waiting++; i && is_before(&new, &h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = new;
}

static mr_neighbours take_first(mr_merges *m)
{
	mr_neighbours *h = m->heap, first = h[0], last = h[--m->waiting];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < m->waiting; i = child) {
		if (child + 1 < m->waiting && is_before(&h[child + 1], &h[child]))
			child++;
		if (!is_before(&h[child], &last))
			break;
		h[i] = h[child];
	}
	h[i] = last;
	return first;
}

static mr_status make_room(mr_merges *m, size_t len)
{
	if (len > INT32_MAX / 4)
		return mr_fail(MR_EDATA, "a word of %zu bytes is too long", len);
	if (len > m->room) {
		size_t room = 2 * len;

		free(m->symbol);
		free(m->heap);
		m->room = 0;
		m->symbol = malloc(room * sizeof(*m->symbol));
		m->heap = malloc(3 * room * sizeof(*m->heap));
		if (!m->symbol || !m->heap)
			return no_memory(room);
		m->room = room;
	}
	return MR_OK;
}

static mr_status merge(mr_merges *m, const mr_token_table *t, const char *word, size_t len, mr_tokens *out)
{
	mr_symbol *s;

	MR_TRY(make_room(m, len));
	s = m->symbol;
	for (size_t i = 0; i < len; i++) {
		int32_t token = t->byte[(unsigned char)word[i]];

		if (token < 0)
			return mr_fail(MR_EDATA, "no token of the tokenizer is the byte 0x%02x",
				       (unsigned)(unsigned char)word[i]);
		s[i] = (mr_symbol){token, (int32_t)i - 1, i + 1 < len ? (int32_t)i + 1 : -1};
	}
	m->waiting = 0;
	for (size_t i = 0; i + 1 < len; i++)
		wait(m, (int32_t)i);
	while (m->waiting) {
		mr_neighbours k = take_first(m);
		int32_t right = s[k.at].after;

		if (s[k.at].token != k.left || right < 0 || s[right].token != k.right)
			continue;
		s[k.at].token = k.token;
		s[k.at].after = s[right].after;
		s[right].token = -1;
		if (s[k.at].after >= 0)
			s[s[k.at].after].before = k.at;
		wait(m, s[k.at].before);
		wait(m, k.at);
	}
	for (int32_t i = 0; i >= 0; i = s[i].after)
		out->at[out->n++] = s[i].token;
	return MR_OK;
}

mr_status mr_merges_encode(mr_merges *m, const mr_token_table *t, const char *word, size_t len, mr_tokens *out)
{
	mr_known_word *k = NULL;
	size_t first = out->n;

	MR_TRY(mr_tokens_reserve(out, len));
	if (len <= KNOWN_BYTES) {
		k = &m->known[mr_hash64(0, word, len) & (KNOWN_WORDS - 1)];
		if (k->len == len && !memcmp(k->bytes, word, len)) {
			memcpy(out->at + out->n, k->token, k->n * sizeof(*k->token));
			out->n += k->n;
			return MR_OK;
		}
	}
	MR_TRY(merge(m, t, word, len, out));
	if (k && out->n - first <= KNOWN_TOKENS) {
		k->len = (uint8_t)len;
		k->n = (uint8_t)(out->n - first);
		memcpy(k->bytes, word, len);
		memcpy(k->token, out->at + first, k->n * sizeof(*k->token));
	}
	return MR_OK;
}
