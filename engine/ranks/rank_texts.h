/* rank_texts.h - texts of any length between rank 0 and another, while there is no run. */
#ifndef MR_RANKS_RANK_TEXTS_H
#define MR_RANKS_RANK_TEXTS_H

#include "link/ranks.h"

/** Rank 0 and another call it with each other as @with: each sends @own (NULL: nothing), and has what the other sends
 * in *@out (NULL: nothing), which the caller frees. Errors: the failure of the other rank (mr_over_ranks_give_up);
 * MR_ESTOPPED rank 0 has ended; the transport's; MR_ERESOURCE. */
mr_status mr_rank_texts_swap(const mr_ranks *r, uint32_t with, const char *own, char **out) MR_MUST_USE;

/** Compare the lines "name: value" of texts of rank @a and rank @b, up to the end of the shorter one. Errors:
 * MR_ECONFIG a line differs, with both values and hosts. */
mr_status mr_rank_texts_compare(const mr_ranks *r, uint32_t a, const char *of_a, uint32_t b,
				const char *of_b) MR_MUST_USE;

#endif
