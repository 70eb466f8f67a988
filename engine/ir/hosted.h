/*
 * hosted.h - the stages of each worker, so that a walk of a list need not look at the stages of others.
 */
#ifndef MR_IR_HOSTED_H
#define MR_IR_HOSTED_H

#include "ir/plan.h"

typedef struct mr_hosted {
	uint32_t *first; /* [D + 1] into stage */
	uint16_t *stage; /* worker after worker, ascending, each once */
} mr_hosted;

/** The stages that each worker has in pipes 0 to @n_pipes - 1 of @plan. Errors: MR_ERESOURCE. */
mr_status mr_hosted_init(mr_hosted *h, const mr_plan *plan, uint8_t n_pipes) MR_MUST_USE;
void mr_hosted_fini(mr_hosted *h);

static inline uint32_t mr_hosted_count(const mr_hosted *h, uint16_t worker)
{
	return h->first[worker + 1u] - h->first[worker];
}

#endif
