/* auto_internal.h - what the parts of the search share (auto.c, auto_refine.c). */
#ifndef MR_CHOOSE_AUTO_INTERNAL_H
#define MR_CHOOSE_AUTO_INTERNAL_H

#include "choose/auto.h"
#include "session/session_forecast.h"
#include "costs/measured_machine.h"

/* Measured times over predicted ones of all layers, by teams of @threads threads with micro-batches of @samples
 * samples; sums of logarithms of @n runs. What backward passes took is known of i and w together. */
typedef struct mr_auto_factors {
	uint32_t threads;
	int64_t samples;
	double n;
	mr_stage_cost *log; /* [nodes]; owned */
} mr_auto_factors;
#define MR_AUTO_FACTORS 24u
#define MR_AUTO_TEAMS 8u

/* Measured steps over those predicted with corrected passes; sum of logarithms of @n runs. */
typedef struct mr_auto_rest {
	uint32_t workers;
	double n, log;
} mr_auto_rest;

typedef struct mr_auto_search_state {
	mr_auto_question q;
	mr_session base;
	mr_measured_machine here;
	mr_auto *a;
	mr_auto_factors factors[MR_AUTO_FACTORS]; /* [n_factors] */
	uint32_t n_factors;
	mr_auto_rest rest[MR_AUTO_TEAMS]; /* [n_rest] */
	uint32_t n_rest;
	double best;          /* step of the best that fits */
	double share;         /* of memory and links that a candidate has; 0: all */
	uint32_t n_hosts;     /* whose cores the machine has; 1: one machine */
	bool loaded;          /* the base has read its data */
	bool fitted;          /* some candidate of several workers fits */
	uint64_t visited;     /* instructions so far */
	uint64_t least_bytes; /* of those that do not fit */
	char least[160], least_why[200];
} mr_auto_search_state;

/** Load the data of the base, once. Errors: those of a session. */
mr_status mr_auto_load(mr_auto_search_state *s) MR_MUST_USE;

/** Predict @at, whose session is open, with the costs of the search and its corrections; @f: zero but for @of. The
 * caller calls mr_forecast_fini, also after an error. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_auto_forecast(const mr_auto_search_state *s, mr_forecast *f) MR_MUST_USE;

/** Predict the step of @r again, with the present corrections and @s->share, and the bound of its cut (NULL: not
 * wanted); INFINITY: it cannot run. */
double mr_auto_predict(const mr_auto_search_state *s, const mr_auto_row *r, double *bound_s);

/** How many times as long as by their passes steps of @workers workers were; 1: none was measured. */
double mr_auto_rest_of(const mr_auto_search_state *s, uint32_t workers);

/** Mark the rows that no other beats in time, memory and staleness at once, and find the best on half of the cores. The
 * rows must be sorted. */
void mr_auto_mark(mr_auto_search_state *s);

/** List all candidates with their bounds (auto_candidates.c). Errors: MR_ERESOURCE. */
mr_status mr_auto_candidates(mr_auto_search_state *s) MR_MUST_USE;

/** Append a candidate like @like (NULL: nothing is set) to the list; @out is valid until the next call. Errors:
 * MR_ERESOURCE. */
mr_status mr_auto_add(mr_auto_search_state *s, const mr_auto_row *like, mr_auto_row **out) MR_MUST_USE;

/** Set @key of candidate @r, in place of what it has. Errors: MR_ERESOURCE. */
mr_status mr_auto_set(mr_auto_row *r, const char *key, const char *value) MR_MUST_USE;

/** Write the label of @r, which tells its system and the options that it sets. */
void mr_auto_name(mr_auto_row *r);

/** Try candidate @r; a refusal is its reason. */
void mr_auto_try(mr_auto_search_state *s, mr_auto_row *r);

/** Sort by step, those that cannot run last. */
void mr_auto_sort(mr_auto *a);

/* --- auto_refine.c --- */

/**
 * Improve the best candidates: cuts of the suffix programme (planner/suffix_cuts.h) with replicas and recomputation of
 * single stages; then one place over the boundary of the busiest stage, and one core over to the busiest team, as long
 * as that makes the step shorter. The rows must be sorted. Errors: MR_ERESOURCE.
 */
mr_status mr_auto_refine(mr_auto_search_state *s) MR_MUST_USE;

#endif
