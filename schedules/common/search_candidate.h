/*
 * search_candidate.h - one candidate of `search`: the placement of the stages, whether backwards are split, and the
 * priorities.
 *
 * A candidate is input of the list scheduler (list_schedule.h), which makes an order of it. Every instruction has a
 * key; the instruction with the lowest key goes first. Keys are drawn as a linear function of kind, micro-batch and
 * stage plus noise, or as small changes of keys that gave a short order.
 */
#ifndef MR_SCHEDULES_SEARCH_CANDIDATE_H
#define MR_SCHEDULES_SEARCH_CANDIDATE_H

#include "schedules/common/list_schedule.h"

typedef enum mr_search_place {
	MR_SEARCH_BLOCKS, /* chunks one after the other: stages s v .. s v + v - 1 on worker s */
	MR_SEARCH_LOOP,   /* round and round: stage s on worker s mod D */
	MR_SEARCH_WAVES,  /* back and forth */
	MR_SEARCH_N_PLACES
} mr_search_place;

typedef struct mr_search_way {
	mr_search_place place;
	bool split, patient; /* as in mr_list_job */
	bool keyed;          /* false: the list scheduler's own priorities */
	uint32_t limit;      /* activations that a worker may keep */
	float *key;          /* [3][S][T] as mr_list_rank_at says; owned */
} mr_search_way;

/* Random numbers for one candidate. */
typedef struct mr_search_dice {
	uint64_t seed, candidate, n;
} mr_search_dice;

/** Uniform in [0, 1). */
double mr_search_roll(mr_search_dice *d);

/** The worker of stage @s in @place. */
uint16_t mr_search_worker(mr_search_place place, uint16_t n_workers, uint16_t n_stages, uint16_t s);

/** Draw keys, patience and a limit from @floor to @cap for @way, whose place and split stand. */
void mr_search_draw(mr_search_way *way, uint16_t n_stages, uint32_t n_micro, uint32_t floor, uint32_t cap,
		    mr_search_dice *d);

/** Make @way a near relative of @from, which has keys. */
void mr_search_vary(mr_search_way *way, const mr_search_way *from, uint16_t n_stages, uint32_t n_micro, uint32_t floor,
		    uint32_t cap, mr_search_dice *d);

#endif
