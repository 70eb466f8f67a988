#include "exec/features/window_store.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ir/endless.h"
#include "lower/window_check.h"

#define KEPT 4 /* windows that are kept though no worker uses them */

typedef struct entry {
	uint64_t n;
	mr_plan *plan;
	uint32_t n_users;
	uint64_t asked;  /* count of requests at the last one for it */
	bool proved;     /* false: it was made only to prove the one after it */
} entry;

struct mr_windows {
	const mr_plan *plan;
	pthread_mutex_t lock;
	entry *at;
	uint32_t n, room, most;
	uint64_t n_asked, n_made;
};

mr_status mr_windows_create(const mr_plan *plan, mr_windows **out)
{
	mr_windows *w = calloc(1, sizeof(*w));

	if (!w)
		return mr_fail(MR_ERESOURCE, "no memory for the windows of a plan");
	w->plan = plan;
	pthread_mutex_init(&w->lock, NULL);
	*out = w;
	return MR_OK;
}

void mr_windows_destroy(mr_windows *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n; i++)
		mr_plan_destroy(w->at[i].plan);
	free(w->at);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static entry *find(mr_windows *w, uint64_t n)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->at[i].n == n)
			return &w->at[i];
	return NULL;
}

/* A free entry: beyond the number of kept windows, the unused one whose last request is oldest is destroyed. */
static entry *make_room(mr_windows *w)
{
	entry *old = NULL;

	for (uint32_t i = 0; i < w->n && w->n >= KEPT; i++)
		if (!w->at[i].n_users && (!old || w->at[i].asked < old->asked))
			old = &w->at[i];
	if (old) {
		mr_plan_destroy(old->plan);
		return old;
	}
	if (w->n == w->room) {
		uint32_t room = w->room ? 2 * w->room : KEPT;
		entry *at = realloc(w->at, room * sizeof(*at));

		if (!at)
			return NULL;
		w->at = at;
		w->room = room;
	}
	w->n++;
	w->most = w->n > w->most ? w->n : w->most;
	return &w->at[w->n - 1];
}

/* Window @n, not yet there. Locked. */
static mr_status make(mr_windows *w, uint64_t n)
{
	mr_plan *plan;
	entry *e;

	MR_TRY(mr_window_create(w->plan, n, &plan));
	e = make_room(w);
	if (!e) {
		mr_plan_destroy(plan);
		return mr_fail(MR_ERESOURCE, "no memory for the windows of a plan");
	}
	*e = (entry){.n = n, .plan = plan, .asked = w->n_asked};
	w->n_made++;
	return MR_OK;
}

/* The lock is held, and the window before is taken meanwhile: the proof of the seam needs both. */
static mr_status prove(mr_windows *w, uint64_t n)
{
	const mr_plan *before = NULL;
	mr_status st = MR_OK;

	if (n && !find(w, n - 1))
		MR_TRY(make(w, n - 1));
	if (n) {
		find(w, n - 1)->n_users++;
		before = find(w, n - 1)->plan;
	}
	if (!find(w, n))
		st = make(w, n);
	if (st == MR_OK)
		st = mr_window_check(w->plan, before, n, find(w, n)->plan);
	if (st == MR_OK)
		find(w, n)->proved = true;
	if (n)
		find(w, n - 1)->n_users--;
	return st;
}

mr_status mr_windows_take(mr_windows *w, uint64_t n, const mr_plan **out)
{
	mr_status st = MR_OK;
	entry *e;

	pthread_mutex_lock(&w->lock);
	w->n_asked++;
	e = find(w, n);
	if (!e || !e->proved)
		st = prove(w, n);
	e = find(w, n);
	if (st == MR_OK) {
		e->n_users++;
		e->asked = w->n_asked;
		*out = e->plan;
	}
	pthread_mutex_unlock(&w->lock);
	return st;
}

void mr_windows_give_back(mr_windows *w, const mr_plan *window)
{
	if (!window)
		return;
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->n; i++)
		w->at[i].n_users -= w->at[i].plan == window;
	pthread_mutex_unlock(&w->lock);
}

/* Where F of @m stands in the list of stage @s in window @n, or the list's length. */
static uint32_t place_of(const mr_plan *window, uint64_t n, uint16_t s, uint64_t m)
{
	const mr_list *l = mr_plan_list(window, s, MR_BODY);
	uint32_t i = 0;

	while (i < l->n && (l->at[i].op != MR_OP_F || mr_instr_micro(window, &l->at[i], n) != m))
		i++;
	return i;
}

mr_status mr_windows_forward(mr_windows *w, uint16_t s, uint64_t m, const mr_plan **window, uint64_t *n, uint32_t *at)
{
	for (*n = m / w->plan->n_micro + 1; (*n)-- > 0;) { /* it may stand before the window of its B */
		MR_TRY(mr_windows_take(w, *n, window));
		*at = place_of(*window, *n, s, m);
		if (*at < mr_plan_list(*window, s, MR_BODY)->n)
			return MR_OK;
		mr_windows_give_back(w, *window);
	}
	*window = NULL;
	return mr_fail(MR_EINVAL, "micro-batch %llu has no forward at stage %u", (unsigned long long)m, s);
}

mr_status mr_windows_seek(mr_windows *w, uint16_t worker, uint64_t step, uint64_t *n, const mr_plan **window,
			  uint32_t *at)
{
	uint64_t left = step % w->plan->n_micro;
	const mr_list *l;

	*n = step / w->plan->n_micro;
	MR_TRY(mr_windows_take(w, *n, window));
	l = mr_plan_list(*window, worker, MR_BODY);
	for (*at = 0; left > 0 && *at < l->n; ++*at)
		left -= mr_window_pauses(&l->at[*at]);
	return MR_OK;
}

mr_status mr_windows_begun(mr_windows *w, uint16_t s, uint64_t step, uint64_t *n_f)
{
	const mr_plan *window;
	const mr_list *l;
	uint64_t n;
	uint32_t at;

	*n_f = 0;
	MR_TRY(mr_windows_seek(w, s, step, &n, &window, &at));
	for (;;) {
		l = mr_plan_list(window, s, MR_BODY);
		while (at > 0 && l->at[at - 1].op != MR_OP_F)
			at--;
		if (at > 0)
			*n_f = mr_instr_micro(window, &l->at[at - 1], n) + 1;
		mr_windows_give_back(w, window);
		if (at > 0 || n == 0)
			return MR_OK;
		MR_TRY(mr_windows_take(w, --n, &window));
		at = mr_plan_list(window, s, MR_BODY)->n;
	}
}

void mr_windows_count(mr_windows *w, uint64_t *made, uint32_t *most)
{
	pthread_mutex_lock(&w->lock);
	*made = w->n_made;
	*most = w->most;
	pthread_mutex_unlock(&w->lock);
}
