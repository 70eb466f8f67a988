/* auto_internal.h - what the parts of the search share (auto.c, auto_refine.c). */
#ifndef MR_CHOOSE_AUTO_INTERNAL_H
#define MR_CHOOSE_AUTO_INTERNAL_H

#include "choose/auto.h"
#include "session/costs.h"

/* Measured times over predicted ones, layer by layer; made by mr_auto_verify. */
typedef struct mr_auto_factor {
	double f, b, u; /* of forward passes, of backward passes, of steps */
} mr_auto_factor;

typedef struct mr_auto_search_state {
	const mr_auto_question *q;
	mr_session base;
	mr_auto *a;
	const mr_auto_factor *factor; /* [nodes]; NULL: none */
	double best;          /* step of the best that fits */
	bool fitted;          /* some candidate of several workers fits */
	uint64_t visited;     /* instructions so far */
	uint64_t least_bytes; /* of those that do not fit */
	char least[160];
} mr_auto_search_state;

/** Append a candidate like @like (NULL: nothing is set) to the list; @out is valid until the next call. Errors:
 * MR_ERESOURCE. */
mr_status mr_auto_add(mr_auto_search_state *s, const mr_auto_row *like, mr_auto_row **out) MR_MUST_USE;

/** Set @key of candidate @r, in place of what it has. Errors: MR_ERESOURCE. */
mr_status mr_auto_set(mr_auto_row *r, const char *key, const char *value) MR_MUST_USE;

/** The value of @key; "" where none is set. */
const char *mr_auto_value(const mr_auto_row *r, const char *key);

/** Try candidate @r; a refusal is its reason. */
void mr_auto_try(mr_auto_search_state *s, mr_auto_row *r);

/** Has it been tried, with a result that fits? */
bool mr_auto_is_done(const mr_auto_row *r);

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
