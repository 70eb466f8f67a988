#include "schedules/exact/exact_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define MEMO_HEADS (1u << 16)
#define MEMO_WORDS (8u << 20) /* 64 MiB; when it is full no further node is kept */

/* One depth: a pass more in its place than at the depth before. */
typedef struct level {
	mr_exact_window window;
	uint32_t *chain;     /* [most_beside] what may come next, the best first */
	uint32_t n, next;    /* of these; tried */
	uint32_t made;       /* the pass that led here */
	int64_t free_before; /* when its worker was free without it */
} level;

typedef struct tree {
	const mr_exact_job *job;
	mr_exact_narrower *narrower;
	int64_t target;
	level *level;        /* [n_passes + 1], windows as far as they were needed */
	uint32_t depth;
	uint32_t *done;      /* [n_chains] */
	int64_t *end;        /* [n_passes] of those done */
	int64_t *free_at;    /* [n_workers] */
	uint32_t *kept;      /* [n_workers] */
	int64_t *memo;       /* entries: next entry, chains done, times */
	uint32_t *head;      /* [MEMO_HEADS] first entry; 0: none */
	size_t n_memo;
	int64_t *look;       /* the entry of a node */
} tree;

static mr_status open_level(const tree *t, level *l)
{
	if (l->chain)
		return MR_OK;
	l->chain = malloc(t->job->most_beside * sizeof(*l->chain));
	if (!l->chain)
		return mr_fail(MR_ERESOURCE, "no memory for a tree of %u passes", t->job->n_passes);
	return mr_exact_window_init(t->job, &l->window);
}

/* --- what may come next --- */

/* When the next pass of @chain can begin; -1: not yet known, or there is none. */
static int64_t begin_of(const tree *t, uint32_t chain)
{
	const mr_exact_job *j = t->job;
	uint32_t m = t->done[chain], w = j->worker[chain];
	const mr_exact_edges *e = &j->needs[chain * j->n_micro + (m < j->n_micro ? m : 0)];
	int64_t begin = t->free_at[w];

	if (m >= j->n_micro || (chain % MR_EXACT_KINDS == MR_EXACT_F && t->kept[w] >= j->cap[w]))
		return -1;
	for (uint32_t k = 0; k < e->n; k++) {
		uint32_t from = e->at[k].pass / j->n_micro;
		int64_t there = t->end[e->at[k].pass] + e->at[k].lag;

		if (t->done[from] <= e->at[k].pass % j->n_micro)
			return -1;
		begin = there > begin ? there : begin;
	}
	return begin;
}

static int64_t head_of(const tree *t, uint32_t chain)
{
	int64_t begin = begin_of(t, chain), head;

	if (begin < 0)
		return -1;
	head = t->level[t->depth].window.head[chain * t->job->n_micro + t->done[chain]];
	return head > begin ? head : begin;
}

/* Fill the list of the node at t->depth. */
static void list(tree *t)
{
	const mr_exact_job *j = t->job;
	level *l = &t->level[t->depth];
	uint32_t first = MR_EXACT_NOWHERE;
	int64_t soonest = INT64_MAX;

	l->n = l->next = 0;
	for (uint32_t c = 0; c < j->n_chains; c++) {
		int64_t begin = head_of(t, c);

		if (begin >= 0 && begin + j->work[c] < soonest) {
			soonest = begin + j->work[c];
			first = c;
		}
	}
	if (first == MR_EXACT_NOWHERE)
		return;
	for (uint32_t k = j->first[j->worker[first]]; k < j->first[j->worker[first] + 1u]; k++) {
		uint32_t c = j->chain[k], at = l->n;
		int64_t begin = head_of(t, c), tail;

		if (begin < 0 || (begin >= soonest && c != first))
			continue;
		tail = l->window.tail[c * j->n_micro + t->done[c]] + j->work[c];
		for (; at; at--) {
			uint32_t d = l->chain[at - 1];

			if (l->window.tail[d * j->n_micro + t->done[d]] + j->work[d] >= tail)
				break;
			l->chain[at] = d;
		}
		l->chain[at] = c;
		l->n++;
	}
}

/* --- steps --- */

static void make(tree *t, uint32_t chain, uint32_t depth)
{
	const mr_exact_job *j = t->job;
	uint32_t w = j->worker[chain], kind = chain % MR_EXACT_KINDS, x = chain * j->n_micro + t->done[chain];
	int64_t begin = begin_of(t, chain);

	t->level[depth].made = x;
	t->level[depth].free_before = t->free_at[w];
	t->end[x] = begin + j->work[chain];
	t->free_at[w] = t->end[x];
	t->kept[w] += kind == MR_EXACT_F;
	t->kept[w] -= kind == MR_EXACT_W;
	t->done[chain]++;
}

static void unmake(tree *t, uint32_t depth)
{
	const mr_exact_job *j = t->job;
	uint32_t chain = t->level[depth].made / j->n_micro, w = j->worker[chain], kind = chain % MR_EXACT_KINDS;

	t->done[chain]--;
	t->free_at[w] = t->level[depth].free_before;
	t->kept[w] -= kind == MR_EXACT_F;
	t->kept[w] += kind == MR_EXACT_W;
}

/* --- nodes seen --- */

/* Add when the outputs of @chain that @to has not taken are there. */
static size_t add_outputs(const tree *t, uint32_t chain, uint32_t to, int64_t *at)
{
	const mr_exact_job *j = t->job;
	int64_t lag = j->worker[chain] == j->worker[to] ? 0 : j->lag[chain / MR_EXACT_KINDS],
		free_at = t->free_at[j->worker[to]];
	size_t n = 0;

	for (uint32_t m = t->done[to]; m < t->done[chain]; m++) {
		int64_t there = t->end[chain * j->n_micro + m] + lag;

		at[n++] = there > free_at ? there : free_at;
	}
	return n;
}

/* Fill t->look; returns its length. What follows depends on no more of the past. */
static size_t describe(tree *t, uint64_t *hash)
{
	const mr_exact_job *j = t->job;
	size_t n = 1;

	*hash = 0;
	for (uint32_t c = 0; c < j->n_chains; c++) {
		t->look[n++] = t->done[c];
		*hash = mr_mix64(*hash + t->done[c]);
	}
	for (uint16_t w = 0; w < j->n_workers; w++)
		t->look[n++] = t->free_at[w];
	for (uint32_t s = 0; s + 1 < j->n_stages; s++) {
		uint32_t c = MR_EXACT_KINDS * s;

		n += add_outputs(t, c + MR_EXACT_F, c + MR_EXACT_KINDS + MR_EXACT_F, &t->look[n]);
		n += add_outputs(t, c + MR_EXACT_KINDS + MR_EXACT_I, c + MR_EXACT_I, &t->look[n]);
	}
	return n;
}

/* Has a node with as much done been seen that was nowhere later? If not, keep this one. */
static bool seen(tree *t)
{
	uint64_t hash;
	size_t n = describe(t, &hash), chains = t->job->n_chains;
	uint32_t *head = &t->head[hash % MEMO_HEADS];

	for (size_t e = *head; e; e = (size_t)t->memo[e]) {
		size_t k = 1;

		if (memcmp(&t->memo[e + 1], &t->look[1], chains * sizeof(*t->look)) != 0)
			continue;
		for (k = 1 + chains; k < n && t->memo[e + k] <= t->look[k]; k++)
			;
		if (k == n)
			return true;
	}
	if (t->n_memo + n > MEMO_WORDS)
		return false;
	t->look[0] = *head;
	memcpy(&t->memo[t->n_memo], t->look, n * sizeof(*t->look));
	*head = (uint32_t)t->n_memo;
	t->n_memo += n;
	return false;
}

/* --- the search --- */

/* Go to the next node below the one at t->depth. false: it is refuted or seen. */
static bool enter(tree *t, uint32_t chain)
{
	const mr_exact_job *j = t->job;
	level *l = &t->level[t->depth], *below = &t->level[t->depth + 1];
	uint32_t w = j->worker[chain], m = t->done[chain];

	mr_exact_window_copy(j, &below->window, &l->window);
	make(t, chain, t->depth + 1);
	for (uint32_t k = j->first[w]; k < j->first[w + 1]; k++) {
		uint32_t c = j->chain[k];

		if (c != chain && t->done[c] < j->n_micro)
			mr_exact_put_before(j, &below->window, c * j->n_micro + t->done[c], chain, m + 1);
	}
	if (!mr_exact_narrow(t->narrower, &below->window, t->target, w) || seen(t)) {
		unmake(t, t->depth + 1);
		return false;
	}
	t->depth++;
	list(t);
	return true;
}

static mr_status search(tree *t, uint64_t most, mr_exact_answer *answer)
{
	uint64_t made = 0;

	*answer = MR_EXACT_NONE;
	list(t);
	for (;;) {
		level *l = &t->level[t->depth];

		if (t->depth == t->job->n_passes) {
			*answer = MR_EXACT_FOUND;
			break;
		}
		if (l->next == l->n) {
			if (!t->depth)
				break;
			unmake(t, t->depth--);
			continue;
		}
		if (made == most) {
			*answer = MR_EXACT_UNKNOWN;
			break;
		}
		MR_TRY(open_level(t, &t->level[t->depth + 1]));
		made++;
		(void)!enter(t, l->chain[l->next++]);
	}
	return MR_OK;
}

static mr_status allocate(tree *t)
{
	const mr_exact_job *j = t->job;

	t->level = calloc((size_t)j->n_passes + 1, sizeof(*t->level));
	t->done = calloc(j->n_chains, sizeof(*t->done));
	t->end = calloc(j->n_passes, sizeof(*t->end));
	t->free_at = calloc(j->n_workers, sizeof(*t->free_at));
	t->kept = calloc(j->n_workers, sizeof(*t->kept));
	t->memo = malloc(MEMO_WORDS * sizeof(*t->memo));
	t->head = calloc(MEMO_HEADS, sizeof(*t->head));
	t->look = calloc(1 + j->n_chains + j->n_workers + (size_t)j->n_passes, sizeof(*t->look));
	t->n_memo = 1;
	if (t->level && t->done && t->end && t->free_at && t->kept && t->memo && t->head && t->look)
		return open_level(t, &t->level[0]);
	return mr_fail(MR_ERESOURCE, "no memory for a tree of %u passes", j->n_passes);
}

static void fini(tree *t)
{
	for (uint32_t k = 0; t->level && k <= t->job->n_passes; k++) {
		free(t->level[k].chain);
		mr_exact_window_fini(&t->level[k].window);
	}
	free(t->level);
	free(t->done);
	free(t->end);
	free(t->free_at);
	free(t->kept);
	free(t->memo);
	free(t->head);
	free(t->look);
}

static void take(const tree *t, mr_exact_order *out)
{
	const mr_exact_job *j = t->job;

	out->makespan = 0;
	for (uint16_t w = 0; w < j->n_workers; w++) {
		uint32_t n = j->first[w] * j->n_micro;

		for (uint32_t k = 1; k <= j->n_passes; k++)
			if (j->worker[t->level[k].made / j->n_micro] == w)
				out->pass[n++] = t->level[k].made;
		out->makespan = t->free_at[w] > out->makespan ? t->free_at[w] : out->makespan;
	}
}

mr_status mr_exact_tree(const mr_exact_job *job, mr_exact_narrower *narrower, const mr_exact_window *root,
			int64_t target, uint64_t most, mr_exact_order *out, mr_exact_answer *answer)
{
	tree t = {.job = job, .narrower = narrower, .target = target};
	mr_status st = allocate(&t);

	if (st == MR_OK) {
		mr_exact_window_copy(job, &t.level[0].window, root);
		*answer = MR_EXACT_NONE;
		if (mr_exact_narrow(narrower, &t.level[0].window, target, MR_EXACT_NOWHERE))
			st = search(&t, most, answer);
	}
	if (st == MR_OK && *answer == MR_EXACT_FOUND)
		take(&t, out);
	fini(&t);
	return st;
}
