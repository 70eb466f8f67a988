/*
 * share_state.h - the state of a training whose workers are several shares (shares.h), as that of the whole model.
 *
 * Parameters that are cut, and their optimizer state, are joined in buffers; what is whole at each share is that of the
 * first; work under way is each share's own, behind the first under the names "share1.slot.s0.m7" and so on. So the
 * model and its optimizer are saved as of any training, and who reads them need not know of shares.
 */
#ifndef MR_EXEC_SHARE_STATE_H
#define MR_EXEC_SHARE_STATE_H

#include "exec/shares.h"
#include "exec/state.h"

/* Buffers of whole tensors, by their place in the lists; they stay until fini. */
typedef struct mr_share_buffers {
	const mr_graph *whole; /* borrowed */
	void **at;
	size_t n;
	bool holds; /* the lists have been or will be written, and the shares do not have it yet */
} mr_share_buffers;

/** As mr_state_of_run of the whole model. While @b holds, buffers keep what they have. Errors: MR_ERESOURCE. */
mr_status mr_share_state(const mr_shares *s, mr_share_buffers *b, mr_state *out) MR_MUST_USE;

/** Give what @b holds to the shares. Errors: MR_ERESOURCE. */
mr_status mr_share_state_give(const mr_shares *s, mr_share_buffers *b) MR_MUST_USE;

void mr_share_buffers_fini(mr_share_buffers *b);

#endif
