/*
 * share.h - units of work that the threads of one call take as they come.
 *
 * With fixed halves the faster thread waits for the slower one, and on a host with other guests now one core, now
 * another is slower: with products of 128 rows 6 to 7 % of a training step were such waits. So each thread has a part
 * of its own, taken in ascending order (it reads next what it prefetched), and a thread that has finished its part
 * steals units, also in ascending order, that another thread has not started.
 *
 * Only for results that do not depend on which thread computes which unit. Each thread has one shared word, which all
 * threads increment atomically, so each number is given once; nothing else is published through it (the fork before and
 * the join after the call order all data), so OpenMP's default, relaxed order, is enough. A thread that reads what
 * another thread made in the same call checks its `open` first:
 *
 *	W0  mr_share_open      by the thread that owns the part   all that it wrote before becomes visible
 *	R0  mr_share_is_open   by the others                      to a thread that reads true
 *
 * No thread waits for it: a team may have fewer threads than there are parts, and then one thread has several, one
 * after the other.
 */
#ifndef MR_KERNELS_SHARE_H
#define MR_KERNELS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mr_share {
	_Alignas(64) int64_t next; /* first unit that no thread has taken; may run beyond @end */
	int64_t end;
	int32_t open;              /* the part's owner has made everything that others need to steal from it */
} mr_share;

/** Shares out @n units to @threads parts, share[0] to share[@threads - 1]. Before the fork. */
static inline void mr_share_init(mr_share *share, uint32_t threads, int64_t n)
{
	for (uint32_t i = 0; i < threads; i++) {
		share[i].next = n * i / threads;
		share[i].end = n * (i + 1) / threads;
		share[i].open = 0;
	}
}

/* What was there before. */
static inline int64_t mr_share_raise(mr_share *s, int64_t by)
{
	int64_t at;

#ifdef MR_OPENMP
#pragma omp atomic capture
#endif
	{
		at = s->next;
		s->next += by;
	}
	return at;
}

static inline bool mr_share_empty(const mr_share *s)
{
	int64_t at;

#ifdef MR_OPENMP
#pragma omp atomic read
#endif
	at = s->next;
	return at >= s->end;
}

static inline void mr_share_open(mr_share *s)
{
#ifdef MR_OPENMP
#pragma omp atomic write release /* W0 */
#endif
	s->open = 1;
}

static inline bool mr_share_is_open(mr_share *s)
{
	int32_t open;

#ifdef MR_OPENMP
#pragma omp atomic read acquire /* R0 */
#endif
	open = s->open;
	return open;
}

/** The next unit of this part, or -1: no more than @leave are left (to others' eyes: they may just be taken). */
static inline int64_t mr_share_take_part(mr_share *s, int64_t leave)
{
	int64_t at;

#ifdef MR_OPENMP
#pragma omp atomic read
#endif
	at = s->next;
	if (at + leave >= s->end)
		return -1;
	at = mr_share_raise(s, 1);
	return at < s->end ? at : -1;
}

/** The next unit for @thread, or -1: all are taken. Of its own part it takes @own units, up to *@end; of another's one.
 */
static inline int64_t mr_share_take(mr_share *share, uint32_t threads, uint32_t thread, int64_t own, int64_t *end)
{
	for (uint32_t i = 0; i < threads; i++, own = 1) {
		mr_share *s = &share[(thread + i) % threads];
		int64_t at;

		if (mr_share_empty(s))
			continue;
		at = mr_share_raise(s, own);
		if (at < s->end) {
			*end = at + own < s->end ? at + own : s->end;
			return at;
		}
	}
	return -1;
}

#endif
