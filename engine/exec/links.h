/*
 * links.h - the data flow of one plan: the links of its boundaries, and the slots of its stages.
 *
 * A run has two sets over the same weights: one for its training plan, one for the forward-only plan of evaluation.
 *
 *	stage s-1 --[in.full]--> stage s        the number of a buffer that holds the activation entering s
 *	          <-[in.empty]--                the number comes back after the consumer's last use
 *	stage s   <-[grad.full]- stage s+1      gradients likewise, written by s+1 for s
 *	loader  --[in]--> stage 0, --[target]--> last stage
 *
 * A forward that drops its activations (MR_INSTR_DROP) has no slot to note its buffers in until the recomputation; they
 * are noted by micro-batch.
 *
 * The loader has more buffers than are in use, the more the smaller they are. It is woken when half of these have come
 * back, so it has as long to fill them as the other half lasts: a worker that calls the kernel at every step would pay
 * microseconds for it.
 */
#ifndef MR_EXEC_LINKS_H
#define MR_EXEC_LINKS_H

#include "base/arena.h"
#include "ir/plan.h"
#include "stage/stage.h"
#include "link/link.h"

typedef struct mr_slot {
	uint8_t *memory;
	uint64_t micro, version; /* the micro-batch whose activations these are, and the version that its F read */
	uint32_t in, grad;       /* buffers held for it */
	bool taken;
} mr_slot;

typedef struct mr_links_stage {
	mr_link in, grad, target; /* entering this stage; target only at the last one, grad only before it */
	mr_slot *slot;
	uint8_t *slot_memory;     /* of the first slot; the others' memory follows */
	bool borrows_slots;       /* the memory of its slots is that of other links' */
	uint32_t n_slots;
	uint32_t n_taken, most_taken; /* slots taken; most at once since the reset */
	size_t slot_bytes;
	uint32_t *kept_in, *kept_target; /* [n_kept], by micro-batch modulo n_kept: buffers of dropped micro-batches */
	uint64_t *kept_version;          /* likewise: the version that its F read */
	uint32_t n_kept;                 /* 0: the stage drops none */
	uint8_t *half;                   /* first stage: [n_halves] targets that the loader has made with the inputs */
	uint64_t *half_of;               /* [n_halves] micro-batch + 1 of each, which lies at its number modulo
	                                    n_halves; 0: empty */
	uint32_t n_halves;
	size_t half_bytes;               /* of each */
} mr_links_stage;

typedef struct mr_links {
	const mr_plan *plan;
	mr_links_stage *st;       /* [n_pipes][n_stages] */
	bool train;
	uint32_t stride;         /* mr_plan_stride */
	uint64_t n_samples;      /* evaluation: samples in all, the last micro-batch may be partial; training: 0 = no
	                            end */
	int64_t samples;         /* of a full micro-batch */
	size_t half_bytes;       /* of a micro-batch's targets, if the source makes them with the inputs only; else 0 */
	uint32_t ahead;          /* at least this many of the loader's buffers beyond those in use */
} mr_links;

/* Links and slots of stage @s in @pipe; those of the stages before and after it in the pipe lie beside it. */
static inline mr_links_stage *mr_links_at(const mr_links *l, uint8_t pipe, uint16_t s)
{
	return &l->st[mr_plan_at(l->plan, pipe, s)];
}

/**
 * Choose for each boundary between two workers the first of @kinds that carries it (as mr_link_kind_of). Call it before
 * the layout. Errors: MR_ECONFIG.
 */
mr_status mr_links_choose(mr_links *l, const mr_link_kind *const *kinds) MR_MUST_USE;

/** Take (or measure) the memory of stage @s in @pipe: the buffers that it reads, and its slots. These lie in the memory
 * of the slots of @lender (NULL: nobody lends), laid out before, if it has as many: both are never in use at once. */
void mr_links_layout(mr_links *l, uint8_t pipe, uint16_t s, const mr_stage *stage, const mr_links_stage *lender,
		     mr_arena *a);

/** Fill the slots of stage @s in @pipe, which lie in that memory. The layout does not: plans are laid out by the
 * hundred, and each touch of a huge page would clear it. */
void mr_links_set_up(mr_links *l, uint8_t pipe, uint16_t s);

/** Open the channels of boundaries whose ends share no memory, after the layout. Errors: MR_ERESOURCE, the kind's. */
mr_status mr_links_open(mr_links *l) MR_MUST_USE;

/** Close them. Also after a failure of any of the above. */
void mr_links_close(mr_links *l);

/* The stage's worker: take @slot, which is free; and free it again. */
static inline void mr_links_hold(mr_links_stage *st, mr_slot *slot)
{
	slot->taken = true;
	st->n_taken++;
	st->most_taken = st->n_taken > st->most_taken ? st->n_taken : st->most_taken;
}

static inline void mr_links_free(mr_links_stage *st, mr_slot *slot)
{
	slot->taken = false;
	st->n_taken--;
}

/** Samples of micro-batch @m: all but an evaluation's last have links->samples. */
int64_t mr_links_samples(const mr_links *l, uint64_t m);

#endif
