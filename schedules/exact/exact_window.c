#include "schedules/exact/exact_window.h"

#include <stdlib.h>
#include <string.h>

#include "schedules/exact/exact_cross.h"

struct mr_exact_narrower {
	const mr_exact_job *job;
	int64_t *work;         /* [n_passes] */
	int64_t *least;        /* [n_passes] heads before any target */
	bool *late;            /* [n_workers] heads, tails or orders there have changed since it was looked at: */
	uint32_t *heads_from;  /* [n_chains] the first pass whose head has; n_micro: none */
	uint32_t *tails_to;    /* [n_chains] behind the last pass whose tail has; 0: none */
	uint32_t *orders_from; /* [n_chains] the first pass with more before it; n_micro: none */
	uint32_t *news;        /* [3][most_beside] these of the worker that is looked at */
	uint32_t *at, *end;    /* [most_beside] where a merge of chains is */
	uint32_t *behind;      /* [most_beside] of each chain the first pass that comes behind */
	uint32_t *by_head;     /* [passes of a worker] */
	uint32_t *heap;        /* likewise */
	int64_t *left;         /* likewise: work */
	uint64_t made;         /* times that windows were narrowed */
};

/* --- windows --- */

mr_status mr_exact_window_init(const mr_exact_job *job, mr_exact_window *out)
{
	out->head = calloc(job->n_passes, sizeof(*out->head));
	out->tail = calloc(job->n_passes, sizeof(*out->tail));
	out->before = calloc((size_t)job->n_passes * job->most_beside, sizeof(*out->before));
	if (out->head && out->tail && out->before)
		return MR_OK;
	mr_exact_window_fini(out);
	return mr_fail(MR_ERESOURCE, "no memory for the windows of %u passes", job->n_passes);
}

void mr_exact_window_fini(mr_exact_window *w)
{
	free(w->head);
	free(w->tail);
	free(w->before);
	*w = (mr_exact_window){0};
}

void mr_exact_window_copy(const mr_exact_job *job, mr_exact_window *to, const mr_exact_window *from)
{
	memcpy(to->head, from->head, job->n_passes * sizeof(*to->head));
	memcpy(to->tail, from->tail, job->n_passes * sizeof(*to->tail));
	memcpy(to->before, from->before, (size_t)job->n_passes * job->most_beside * sizeof(*to->before));
}

mr_status mr_exact_narrower_create(const mr_exact_job *job, mr_exact_narrower **out)
{
	mr_exact_narrower *n = calloc(1, sizeof(*n));
	size_t most = (size_t)job->most_beside * job->n_micro;
	mr_status st;

	if (n) {
		n->job = job;
		n->work = calloc(job->n_passes, sizeof(*n->work));
		n->least = calloc(job->n_passes, sizeof(*n->least));
		n->late = calloc(job->n_workers, sizeof(*n->late));
		n->heads_from = calloc(job->n_chains, sizeof(*n->heads_from));
		n->tails_to = calloc(job->n_chains, sizeof(*n->tails_to));
		n->orders_from = calloc(job->n_chains, sizeof(*n->orders_from));
		n->news = calloc((size_t)3 * job->most_beside, sizeof(*n->news));
		n->at = calloc(job->most_beside, sizeof(*n->at));
		n->end = calloc(job->most_beside, sizeof(*n->end));
		n->behind = calloc(job->most_beside, sizeof(*n->behind));
		n->by_head = calloc(most, sizeof(*n->by_head));
		n->heap = calloc(most, sizeof(*n->heap));
		n->left = calloc(most, sizeof(*n->left));
	}
	for (uint32_t x = 0; n && n->work && x < job->n_passes; x++)
		n->work[x] = job->work[x / job->n_micro];
	if (n && n->work && n->least && n->late && n->heads_from && n->tails_to && n->orders_from && n->news && n->at &&
	    n->end && n->behind && n->by_head && n->heap && n->left)
		st = mr_exact_cross(job, n->least);
	else
		st = mr_fail(MR_ERESOURCE, "no memory to bound an order of %u passes", job->n_passes);
	if (st == MR_OK)
		*out = n;
	else
		mr_exact_narrower_destroy(n);
	return st;
}

void mr_exact_narrower_destroy(mr_exact_narrower *n)
{
	if (!n)
		return;
	free(n->work);
	free(n->least);
	free(n->late);
	free(n->heads_from);
	free(n->tails_to);
	free(n->orders_from);
	free(n->news);
	free(n->at);
	free(n->end);
	free(n->behind);
	free(n->by_head);
	free(n->heap);
	free(n->left);
	free(n);
}

uint64_t mr_exact_narrower_made(const mr_exact_narrower *n)
{
	return n->made;
}

static uint32_t *before_of(const mr_exact_job *j, const mr_exact_window *w, uint32_t pass, uint32_t chain)
{
	return &w->before[(size_t)pass * j->most_beside + j->place[chain]];
}

void mr_exact_put_before(const mr_exact_job *job, mr_exact_window *w, uint32_t pass, uint32_t chain, uint32_t n)
{
	uint32_t *x = before_of(job, w, pass, chain);

	*x = n > *x ? n : *x;
}

/* --- along what passes wait for --- */

static bool raise(int64_t *x, int64_t to)
{
	if (*x >= to)
		return false;
	*x = to;
	return true;
}

/* A head of @micro of @chain has been raised. */
static void note_head(mr_exact_narrower *n, uint32_t chain, uint32_t micro)
{
	n->late[n->job->worker[chain]] = true;
	if (micro < n->heads_from[chain])
		n->heads_from[chain] = micro;
}

static void note_tail(mr_exact_narrower *n, uint32_t chain, uint32_t micro)
{
	n->late[n->job->worker[chain]] = true;
	if (micro + 1 > n->tails_to[chain])
		n->tails_to[chain] = micro + 1;
}

static void note_order(mr_exact_narrower *n, uint32_t chain, uint32_t micro)
{
	n->late[n->job->worker[chain]] = true;
	if (micro < n->orders_from[chain])
		n->orders_from[chain] = micro;
}

static void head_of(mr_exact_narrower *n, mr_exact_window *w, uint32_t chain, uint32_t micro)
{
	const mr_exact_job *j = n->job;
	uint32_t x = chain * j->n_micro + micro;
	const mr_exact_edges *e = &j->needs[x];
	bool later = micro && raise(&w->head[x], w->head[x - 1] + j->work[chain]);

	for (uint32_t k = 0; k < e->n; k++)
		later |= raise(&w->head[x], w->head[e->at[k].pass] + n->work[e->at[k].pass] + e->at[k].lag);
	if (later)
		note_head(n, chain, micro);
}

static void tail_of(mr_exact_narrower *n, mr_exact_window *w, uint32_t chain, uint32_t micro)
{
	const mr_exact_job *j = n->job;
	uint32_t x = chain * j->n_micro + micro;
	const mr_exact_edges *e = &j->feeds[x];
	bool longer = micro + 1 < j->n_micro && raise(&w->tail[x], w->tail[x + 1] + j->work[chain]);

	for (uint32_t k = 0; k < e->n; k++)
		longer |= raise(&w->tail[x], w->tail[e->at[k].pass] + n->work[e->at[k].pass] + e->at[k].lag);
	if (longer)
		note_tail(n, chain, micro);
}

static void along_edges(mr_exact_narrower *n, mr_exact_window *w)
{
	const mr_exact_job *j = n->job;
	uint32_t s;

	for (uint32_t m = 0; m < j->n_micro; m++) {
		for (s = 0; s < j->n_stages; s++)
			head_of(n, w, MR_EXACT_KINDS * s + MR_EXACT_F, m);
		for (s = j->n_stages; s-- > 0;) {
			head_of(n, w, MR_EXACT_KINDS * s + MR_EXACT_I, m);
			head_of(n, w, MR_EXACT_KINDS * s + MR_EXACT_W, m);
		}
	}
	for (uint32_t m = j->n_micro; m-- > 0;) {
		for (s = 0; s < j->n_stages; s++) {
			tail_of(n, w, MR_EXACT_KINDS * s + MR_EXACT_W, m);
			tail_of(n, w, MR_EXACT_KINDS * s + MR_EXACT_I, m);
		}
		for (s = j->n_stages; s-- > 0;)
			tail_of(n, w, MR_EXACT_KINDS * s + MR_EXACT_F, m);
	}
}

/* --- on one worker --- */

/* The earliest begin of a pass behind the first n->end[k] passes of each of @chain [@beside], or @best if that is no
 * later. */
static int64_t begin_behind(mr_exact_narrower *n, const mr_exact_window *w, const uint16_t *chain, uint32_t beside,
			    int64_t best)
{
	const mr_exact_job *j = n->job;
	int64_t all = 0, done = 0;

	for (uint32_t k = 0; k < beside; k++)
		all += (int64_t)n->end[k] * j->work[chain[k]];
	for (;;) {
		uint32_t take = beside;
		int64_t latest = -1;

		for (uint32_t k = 0; k < beside; k++) {
			int64_t head = n->end[k] ? w->head[chain[k] * j->n_micro + n->end[k] - 1] : -1;

			if (head > latest) {
				latest = head;
				take = k;
			}
		}
		if (take == beside || latest + all <= best)
			return best;
		done += j->work[chain[take]];
		n->end[take]--;
		best = latest + done > best ? latest + done : best;
	}
}

/* The same backward: what is left behind a pass that precedes the passes from n->at[k] on of each chain. */
static int64_t rest_behind(mr_exact_narrower *n, const mr_exact_window *w, const uint16_t *chain, uint32_t beside,
			   int64_t best)
{
	const mr_exact_job *j = n->job;
	int64_t all = 0, done = 0;

	for (uint32_t k = 0; k < beside; k++)
		all += (int64_t)(j->n_micro - n->at[k]) * j->work[chain[k]];
	for (;;) {
		uint32_t take = beside;
		int64_t longest = -1;

		for (uint32_t k = 0; k < beside; k++) {
			int64_t tail = n->at[k] < j->n_micro ? w->tail[chain[k] * j->n_micro + n->at[k]] : -1;

			if (tail > longest) {
				longest = tail;
				take = k;
			}
		}
		if (take == beside || longest + all <= best)
			return best;
		done += j->work[chain[take]];
		n->at[take]++;
		best = longest + done > best ? longest + done : best;
	}
}

/* What comes before what comes before @x, the @m-th pass of the @c-th of @chain, comes before it. false: a circle. */
static bool close_pass(mr_exact_narrower *n, mr_exact_window *w, const uint16_t *chain, uint32_t beside, uint32_t c,
		       uint32_t m)
{
	const mr_exact_job *j = n->job;
	uint32_t *mine = &w->before[((size_t)chain[c] * j->n_micro + m) * j->most_beside];
	const uint32_t *last = mine - j->most_beside;
	bool more = false;

	mine[c] = m;
	for (uint32_t k = 0; m && k < beside; k++)
		if (k != c && last[k] > mine[k]) {
			mine[k] = last[k];
			more = true;
		}
	for (uint32_t k = 0; k < beside; k++) {
		const uint32_t *its;

		if (k == c || !mine[k])
			continue;
		its = &w->before[((size_t)chain[k] * j->n_micro + mine[k] - 1) * j->most_beside];
		if (its[c] > m)
			return false;
		for (uint32_t e = 0; e < beside; e++)
			if (e != c && its[e] > mine[e]) {
				mine[e] = its[e];
				more = true;
			}
	}
	if (more)
		note_order(n, chain[c], m);
	return true;
}

static bool close_order(mr_exact_narrower *n, mr_exact_window *w, uint32_t worker)
{
	const mr_exact_job *j = n->job;
	const uint16_t *chain = &j->chain[j->first[worker]];
	uint32_t beside = j->first[worker + 1] - j->first[worker];

	for (uint32_t c = 0; c < beside; c++)
		for (uint32_t m = 0; m < j->n_micro; m++)
			if (!close_pass(n, w, chain, beside, c, m))
				return false;
	return true;
}

/* Put before each pass of @worker what does not fit behind it. false: two passes fit in neither order. */
static bool order_pairs(mr_exact_narrower *n, mr_exact_window *w, uint32_t worker, int64_t target)
{
	const mr_exact_job *j = n->job;
	const uint16_t *chain = &j->chain[j->first[worker]];
	uint32_t beside = j->first[worker + 1] - j->first[worker];

	for (uint32_t c = 0; c < beside; c++)
		for (uint32_t m = 0; m < j->n_micro; m++) {
			uint32_t x = chain[c] * j->n_micro + m, *mine = &w->before[(size_t)x * j->most_beside];
			int64_t room = target - w->head[x] - j->work[chain[c]];

			if (room < w->tail[x])
				return false;
			for (uint32_t k = 0; k < beside; k++) {
				const int64_t *tail = &w->tail[(size_t)chain[k] * j->n_micro];
				uint32_t b = mine[k];

				if (k == c)
					continue;
				while (b < j->n_micro && room < j->work[chain[k]] + tail[b])
					b++;
				if (b == mine[k])
					continue;
				mine[k] = b;
				note_order(n, chain[c], m);
				if (w->before[((size_t)chain[k] * j->n_micro + b - 1) * j->most_beside + c] > m)
					return false;
			}
		}
	return true;
}

/* Take over what is new at @worker. */
static void take_news(mr_exact_narrower *n, uint32_t worker)
{
	const mr_exact_job *j = n->job;

	for (uint32_t k = j->first[worker]; k < j->first[worker + 1]; k++) {
		uint32_t c = j->chain[k], at = k - j->first[worker];

		n->news[at] = n->heads_from[c];
		n->news[j->most_beside + at] = n->tails_to[c];
		n->news[2 * j->most_beside + at] = n->orders_from[c];
		n->heads_from[c] = n->orders_from[c] = j->n_micro;
		n->tails_to[c] = 0;
	}
	n->late[worker] = false;
}

/* Is anything new for the head of @m of the @c-th chain, behind the first n->end of all? */
static bool head_is_due(const mr_exact_narrower *n, uint32_t beside, uint32_t c, uint32_t m)
{
	bool due = m >= n->news[2 * n->job->most_beside + c];

	for (uint32_t k = 0; !due && k < beside; k++)
		due = n->news[k] < n->end[k];
	return due;
}

/* Likewise for a tail, before those from n->at on. */
static bool tail_is_due(const mr_exact_narrower *n, uint32_t beside)
{
	const uint32_t *tails = n->news + n->job->most_beside, *orders = tails + n->job->most_beside;
	bool due = false;

	for (uint32_t k = 0; !due && k < beside; k++)
		due = tails[k] > n->at[k] || (n->at[k] < n->job->n_micro && n->at[k] >= orders[k]);
	return due;
}

static void raise_heads(mr_exact_narrower *n, mr_exact_window *w, uint32_t worker)
{
	const mr_exact_job *j = n->job;
	const uint16_t *chain = &j->chain[j->first[worker]];
	uint32_t beside = j->first[worker + 1] - j->first[worker];

	for (uint32_t c = 0; c < beside; c++)
		for (uint32_t m = 0; m < j->n_micro; m++) {
			uint32_t x = chain[c] * j->n_micro + m;

			memcpy(n->end, &w->before[(size_t)x * j->most_beside], beside * sizeof(*n->end));
			n->end[c] = m;
			if (head_is_due(n, beside, c, m) &&
			    raise(&w->head[x], begin_behind(n, w, chain, beside, w->head[x])))
				note_head(n, chain[c], m);
		}
}

static void raise_tails(mr_exact_narrower *n, mr_exact_window *w, uint32_t worker)
{
	const mr_exact_job *j = n->job;
	const uint16_t *chain = &j->chain[j->first[worker]];
	uint32_t beside = j->first[worker + 1] - j->first[worker];

	for (uint32_t c = 0; c < beside; c++) {
		memset(n->behind, 0, beside * sizeof(*n->behind));
		for (uint32_t m = 0; m < j->n_micro; m++) {
			uint32_t x = chain[c] * j->n_micro + m;

			for (uint32_t k = 0; k < beside; k++) {
				const uint32_t *its = &w->before[(size_t)chain[k] * j->n_micro * j->most_beside + c];

				while (n->behind[k] < j->n_micro && its[(size_t)n->behind[k] * j->most_beside] <= m)
					n->behind[k]++;
				n->at[k] = n->behind[k];
			}
			n->at[c] = m + 1;
			if (tail_is_due(n, beside) &&
			    raise(&w->tail[x], rest_behind(n, w, chain, beside, w->tail[x])))
				note_tail(n, chain[c], m);
		}
	}
}

/* --- all of a worker in the best preemptive order --- */

static void push(const mr_exact_narrower *n, const mr_exact_window *w, uint32_t many, uint32_t x)
{
	for (; many && w->tail[n->by_head[n->heap[(many - 1) / 2]]] < w->tail[n->by_head[x]]; many = (many - 1) / 2)
		n->heap[many] = n->heap[(many - 1) / 2];
	n->heap[many] = x;
}

static uint32_t pop(const mr_exact_narrower *n, const mr_exact_window *w, uint32_t many)
{
	uint32_t last = n->heap[--many], at = 0;

	for (uint32_t child; (child = 2 * at + 1) < many; at = child) {
		child += child + 1 < many &&
			 w->tail[n->by_head[n->heap[child + 1]]] > w->tail[n->by_head[n->heap[child]]];
		if (w->tail[n->by_head[n->heap[child]]] <= w->tail[n->by_head[last]])
			break;
		n->heap[at] = n->heap[child];
	}
	n->heap[at] = last;
	return many;
}

/* Fill n->by_head with the passes of @worker; returns how many. */
static uint32_t sort_heads(const mr_exact_narrower *n, const mr_exact_window *w, uint32_t worker)
{
	const mr_exact_job *j = n->job;
	const uint16_t *chain = &j->chain[j->first[worker]];
	uint32_t beside = j->first[worker + 1] - j->first[worker], many = 0;

	memset(n->at, 0, beside * sizeof(*n->at));
	for (;;) {
		uint32_t take = beside;

		for (uint32_t k = 0; k < beside; k++)
			if (n->at[k] < j->n_micro &&
			    (take == beside || w->head[chain[k] * j->n_micro + n->at[k]] <
						       w->head[chain[take] * j->n_micro + n->at[take]]))
				take = k;
		if (take == beside)
			return many;
		n->left[many] = j->work[chain[take]];
		n->by_head[many++] = chain[take] * j->n_micro + n->at[take]++;
	}
}

static bool fits(const mr_exact_narrower *n, const mr_exact_window *w, uint32_t worker, int64_t target)
{
	uint32_t many = sort_heads(n, w, worker), next = 0, waiting = 0;
	int64_t t = 0;

	while (next < many || waiting) {
		uint32_t x;

		if (!waiting && w->head[n->by_head[next]] > t)
			t = w->head[n->by_head[next]];
		for (; next < many && w->head[n->by_head[next]] <= t; next++)
			push(n, w, waiting++, next);
		x = n->heap[0];
		if (next < many && w->head[n->by_head[next]] < t + n->left[x]) {
			n->left[x] -= w->head[n->by_head[next]] - t;
			t = w->head[n->by_head[next]];
			continue;
		}
		t += n->left[x];
		if (t + w->tail[n->by_head[x]] > target)
			return false;
		waiting = pop(n, w, waiting);
	}
	return true;
}

/* --- all of it --- */

static bool narrow_worker(mr_exact_narrower *n, mr_exact_window *w, uint32_t worker, int64_t target)
{
	if (!close_order(n, w, worker))
		return false;
	take_news(n, worker);
	raise_heads(n, w, worker);
	raise_tails(n, w, worker);
	return order_pairs(n, w, worker, target);
}

bool mr_exact_narrow(mr_exact_narrower *n, mr_exact_window *w, int64_t target, uint32_t worker)
{
	const mr_exact_job *j = n->job;
	bool again = true;

	n->made++;
	for (uint32_t k = 0; k < j->n_workers; k++)
		n->late[k] = worker == MR_EXACT_NOWHERE || worker == k;
	for (uint32_t c = 0; c < j->n_chains; c++) {
		bool all = worker == MR_EXACT_NOWHERE;

		n->heads_from[c] = all ? 0 : j->n_micro;
		n->tails_to[c] = all ? j->n_micro : 0;
		n->orders_from[c] = all || worker == j->worker[c] ? 0 : j->n_micro;
	}
	while (again) {
		along_edges(n, w);
		again = false;
		for (uint32_t k = 0; k < j->n_workers; k++) {
			if (!n->late[k])
				continue;
			if (!narrow_worker(n, w, k, target))
				return false;
			again = true;
		}
	}
	for (uint32_t k = 0; k < j->n_workers; k++)
		if (!fits(n, w, k, target))
			return false;
	return true;
}

void mr_exact_window_begin(const mr_exact_narrower *n, mr_exact_window *w)
{
	const mr_exact_job *j = n->job;

	memcpy(w->head, n->least, j->n_passes * sizeof(*w->head));
	memset(w->tail, 0, j->n_passes * sizeof(*w->tail));
	memset(w->before, 0, (size_t)j->n_passes * j->most_beside * sizeof(*w->before));
	for (uint32_t c = 0; c < j->n_chains; c++)
		for (uint32_t m = 0; m < j->n_micro; m++) {
			const mr_exact_edges *e = &j->needs[c * j->n_micro + m];

			for (uint32_t k = 0; k < e->n; k++) {
				uint32_t from = e->at[k].pass / j->n_micro;

				if (j->worker[from] == j->worker[c])
					mr_exact_put_before(j, w, c * j->n_micro + m, from,
							    e->at[k].pass % j->n_micro + 1);
			}
		}
}

int64_t mr_exact_lower(mr_exact_narrower *n, int64_t from, int64_t to, mr_exact_window *w)
{
	while (from < to) {
		int64_t middle = from + (to - from) / 2;

		mr_exact_window_begin(n, w);
		if (mr_exact_narrow(n, w, middle, MR_EXACT_NOWHERE))
			to = middle;
		else
			from = middle + 1;
	}
	mr_exact_window_begin(n, w);
	(void)!mr_exact_narrow(n, w, to, MR_EXACT_NOWHERE);
	return to;
}

/* --- on trial --- */

/* Of @chain, the first pass that comes behind @micro of @than in every order. */
static uint32_t first_behind(const mr_exact_job *j, const mr_exact_window *w, uint32_t chain, uint32_t than,
			     uint32_t micro)
{
	uint32_t low = 0, high = j->n_micro;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (*before_of(j, w, chain * j->n_micro + middle, than) > micro)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Let the first @n passes of @chain come before @pass, on trial in @spare. false: no order meets the target then. */
static bool allows(mr_exact_narrower *n, const mr_exact_window *w, mr_exact_window *spare, int64_t target,
		   uint32_t pass, uint32_t chain, uint32_t many)
{
	mr_exact_window_copy(n->job, spare, w);
	mr_exact_put_before(n->job, spare, pass, chain, many);
	return mr_exact_narrow(n, spare, target, n->job->worker[chain]);
}

/* Try the passes of @c against those of @d on the same worker whose order is open. false: no order meets the target. */
static bool try_chains(mr_exact_narrower *n, mr_exact_window *w, mr_exact_window *spare, int64_t target, uint64_t most,
		       uint32_t c, uint32_t d, bool *changed)
{
	const mr_exact_job *j = n->job;

	for (uint32_t m = 0; m < j->n_micro && n->made < most; m++) {
		uint32_t x = c * j->n_micro + m, known = *before_of(j, w, x, d), behind = first_behind(j, w, d, c, m);

		if (known >= behind)
			continue;
		/* the first of the open ones behind x */
		if (!allows(n, w, spare, target, d * j->n_micro + known, c, m + 1)) {
			mr_exact_put_before(j, w, x, d, known + 1);
			*changed = true;
			if (!mr_exact_narrow(n, w, target, j->worker[c]))
				return false;
		}
	}
	return true;
}

bool mr_exact_narrow_by_trial(mr_exact_narrower *n, mr_exact_window *w, mr_exact_window *spare, int64_t target,
			      uint64_t most)
{
	const mr_exact_job *j = n->job;
	bool changed = true;

	most += n->made;
	if (!mr_exact_narrow(n, w, target, MR_EXACT_NOWHERE))
		return false;
	while (changed) {
		changed = false;
		for (uint16_t k = 0; k < j->n_workers; k++)
			for (uint32_t a = j->first[k]; a < j->first[k + 1u]; a++)
				for (uint32_t b = j->first[k]; b < j->first[k + 1u]; b++)
					if (a != b && !try_chains(n, w, spare, target, most, j->chain[a],
								  j->chain[b], &changed))
						return false;
	}
	return true;
}
