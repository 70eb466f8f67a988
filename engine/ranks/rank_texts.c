#include "ranks/rank_texts.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/over_ranks.h"

/* How long the text of the other rank is. Rank 0 asks second, so that a rank that has failed meanwhile waits for it. */
static mr_status swap_lengths(const mr_ranks *r, uint32_t with, size_t own, size_t *other)
{
	mr_note mine = {.kind = MR_RANK_TEXT, .number = {own}}, n;
	char name[96];

	if (r->self)
		MR_TRY(r->by->tell(with, &mine));
	MR_TRY(mr_ranks_wait_for(r, with, &n));
	if (n.kind == MR_RANK_FAILED)
		return mr_fail((mr_status)n.status, "%s: %.*s", mr_ranks_name(r, with, name, sizeof(name)),
			       MR_NOTE_TEXT, n.text);
	if (n.kind != MR_RANK_TEXT)
		return mr_fail(MR_ESTOPPED, "%s has ended", mr_ranks_name(r, with, name, sizeof(name)));
	*other = n.number[0];
	return r->self ? MR_OK : r->by->tell(with, &mine);
}

static mr_status get(const mr_ranks *r, uint32_t from, size_t bytes, char **out)
{
	mr_status st;

	if (!bytes)
		return MR_OK;
	*out = malloc(bytes);
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory for %zu bytes of another rank", bytes);
	st = r->by->receive(from, *out, bytes);
	if (st == MR_OK)
		return MR_OK;
	free(*out);
	*out = NULL;
	return st;
}

mr_status mr_rank_texts_swap(const mr_ranks *r, uint32_t with, const char *own, char **out)
{
	size_t mine = own ? strlen(own) + 1 : 0, other = 0;

	*out = NULL;
	MR_TRY(swap_lengths(r, with, mine, &other));
	if (r->self && mine) /* one of the two sends first */
		MR_TRY(r->by->send(with, own, mine));
	MR_TRY(get(r, with, other, out));
	return !r->self && mine ? r->by->send(with, own, mine) : MR_OK;
}

mr_status mr_rank_texts_compare(const mr_ranks *r, uint32_t a, const char *of_a, uint32_t b, const char *of_b)
{
	char name_a[96], name_b[96];

	while (*of_a && *of_b) {
		size_t i = strcspn(of_a, "\n"), j = strcspn(of_b, "\n"), name = strcspn(of_a, ":");

		if (i != j || strncmp(of_a, of_b, i) != 0)
			return mr_fail(MR_ECONFIG, "%.*s differs: %.*s on %s, %.*s on %s", (int)name, of_a,
				       (int)(i - name - 2), of_a + name + 2,
				       mr_ranks_name(r, a, name_a, sizeof(name_a)), (int)(j - name - 2),
				       of_b + name + 2, mr_ranks_name(r, b, name_b, sizeof(name_b)));
		of_a += i + (of_a[i] != 0);
		of_b += j + (of_b[j] != 0);
	}
	return MR_OK;
}
