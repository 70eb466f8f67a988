/*
 * share.h - what a layer sees of the other shares of its worker (tensor parallelism).
 *
 * A worker may be g shares: each has a thread team of its own, a part of the columns or rows of the weights that are
 * cut (planner/share_graph.h), and a copy of the others. All shares carry out the same instructions in the same order.
 * Where one needs the sum of what all have computed, they meet: each shows its part and gets the parts of all, so that
 * all add them in the same order and have the same bits. As Shoeybi et al.: "Megatron-LM", 2019, section 3, whose two
 * operators f and g are the layers share_in and share_out.
 *
 * What lies between layers that are cut may be computed by each share for a part of the rows of every sample alone (as
 * Korthikanti et al.: "Reducing activation recomputation", 2022): share q of g has rows [q R / g, (q + 1) R / g) of R.
 * share_in then puts the rows of all together, share_out leaves each its own rows of the sum, and share_rows and
 * share_join are between whole values and such parts. They have the number of parts in their configuration.
 */
#ifndef MR_NN_SHARE_H
#define MR_NN_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define MR_SHARES_MOST 64

/* What a share shows for another one: pieces @step bytes apart. */
typedef struct mr_shares_part {
	const uint8_t *at;
	size_t step;
} mr_shares_part;

typedef struct mr_shares_face {
	uint32_t n;    /* shares */
	uint32_t self; /* which of them this one is */
	/** Show @bytes at @mine, a copy of which is made, and wait for those of all shares: @part[q] are share q's,
	 * until the next meeting but one. Thread: the worker's leader. Errors: MR_ESTOPPED. */
	mr_status (*meet)(void *arg, const void *mine, size_t bytes, const void *part[MR_SHARES_MOST]) MR_MUST_USE;
	/** The same of @pieces pieces of @piece bytes for each share, in their order, piece by piece: each reads only
	 * its own, which are @part[q] of share q. */
	mr_status (*meet_own)(void *arg, const void *mine, size_t pieces, size_t piece,
			      mr_shares_part part[MR_SHARES_MOST]) MR_MUST_USE;
	void *arg;
} mr_shares_face;

#endif
