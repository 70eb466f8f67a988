/*
 * links.h - what flows: the slots, boundary buffers and rings that one plan needs.
 *
 * A run has two sets over the same weights: one for its training plan, one for the forward-only plan of evaluation.
 *
 *	stage s-1 --[in.full]--> stage s        the number of a buffer that holds the activation entering s
 *	          <-[in.empty]--                the number comes back after the consumer's last use
 *	stage s   <-[grad.full]- stage s+1      gradients likewise, written by s+1 for s
 *	loader  --[in]--> stage 0, --[target]--> last stage
 *
 * Nothing is copied: the producer writes into the consumer's memory and the consumer reads in place. Which buffer a
 * micro-batch uses is a fact of the plan, so the message carries no news, only "it is there"; it is checked against the
 * plan. A forward that drops what it saves (MR_INSTR_DROP) has no slot to note its buffers in until the recomputation:
 * they are kept by micro-batch.
 * A plan that flushes may take messages in another order than they are sent: the consumer then notes in `arrived` what
 * has come.
 * Numbers may come back in another order than they left (GPipe's last-in-first-out backward), so the producer notes
 * them in `state`. A ring can hold all its buffers' numbers: pushing never waits.
 *
 * The loader has more buffers than are in use, the more the smaller they are. It is woken when half of these have come
 * back, which leaves it the other half of the time to fill them: a worker that calls the kernel at every step pays
 * microseconds for it.
 *
 * Between two stages of one worker there is nothing to send: whoever comes later in the worker's list finds the buffer
 * in the state in which the earlier one left it. The plan may use such a boundary in any order.
 */
#ifndef MR_EXEC_LINKS_H
#define MR_EXEC_LINKS_H

#include "base/arena.h"
#include "host/ring.h"
#include "ir/plan.h"
#include "stage/stage.h"

/* Of a boundary buffer. Between workers the producer sees no more than IDLE and TAKEN: FULL is in the ring. */
typedef enum mr_buffer_state { MR_BUFFER_TAKEN, MR_BUFFER_IDLE, MR_BUFFER_FULL } mr_buffer_state;

typedef struct mr_link {
	mr_ring full, empty;
	uint32_t n;      /* buffers */
	uint32_t n_used; /* of them that have been written since the reset: the highest number, plus 1; the producer's
	                    */
	size_t bytes;    /* of each */
	uint32_t every;  /* of the buffers that come back, so many at once wake the producer */
	uint8_t *buffer; /* [n][bytes], in the consumer's memory */
	uint8_t *state;  /* [n] mr_buffer_state, the producer's; of a local link the worker's */
	uint32_t *slots; /* the two rings' messages */
	uint8_t *arrived; /* [n] the consumer's: full buffers that it has been told of and has yet to take;
	                     NULL: it takes them in the order in which they are sent */
	bool local;      /* both ends are one worker: no rings, the states say all */
} mr_link;

typedef struct mr_slot {
	uint8_t *memory;
	uint64_t micro, version; /* whose activations these are, and which weights its F read */
	uint32_t in, grad;       /* buffers held for it */
	bool taken;
} mr_slot;

typedef struct mr_links_stage {
	mr_link in, grad, target; /* entering this stage; target only at the last one, grad only before it */
	mr_slot *slot;
	uint32_t n_slots;
	uint32_t n_taken, most_taken; /* slots taken; most at once since the reset */
	size_t slot_bytes;
	uint32_t *kept_in, *kept_target; /* [n_kept], by micro-batch modulo n_kept: buffers of dropped micro-batches */
	uint64_t *kept_version;          /* likewise: what its F read */
	uint32_t n_kept;                 /* 0: the stage drops none */
} mr_links_stage;

typedef struct mr_links {
	const mr_plan *plan;
	mr_links_stage *st;       /* [n_pipes][n_stages] */
	bool train;
	uint32_t stride;         /* mr_plan_stride */
	uint64_t n_samples;      /* evaluation: samples in all, the last micro-batch may be partial; training: 0 = no
	                            end */
	int64_t samples;         /* of a full micro-batch */
} mr_links;

/* What stage @s has in @pipe; the stages before and behind it in the same pipe are its neighbours. */
static inline mr_links_stage *mr_links_at(const mr_links *l, uint8_t pipe, uint16_t s)
{
	return &l->st[mr_plan_at(l->plan, pipe, s)];
}

/** Take (or measure) the memory of stage @s in @pipe: what it consumes and what it saves. */
void mr_links_layout(mr_links *l, uint8_t pipe, uint16_t s, const mr_stage *stage, mr_arena *a);

/**
 * Prepare the rings of link @h between these threads' parkers: all buffers idle, nothing under way.
 * Also puts a used link back to its beginning.
 */
mr_status mr_link_reset(mr_link *h, mr_parker *producer, mr_parker *consumer) MR_MUST_USE;

static inline void *mr_link_buffer(const mr_link *h, uint32_t i)
{
	return h->buffer + (size_t)i * h->bytes;
}

/* Producer: buffer @i, which is idle, is taken. */
static inline void mr_link_hold(mr_link *h, uint32_t i)
{
	h->state[i] = MR_BUFFER_TAKEN;
	if (i >= h->n_used)
		h->n_used = i + 1;
}

/** Producer: is buffer @i idle (after looking at what came back)? Then it is taken. */
bool mr_link_take(mr_link *h, uint32_t i);

/** Producer: buffer @i is full. */
static inline void mr_link_put(mr_link *h, uint32_t i)
{
	bool room = true;

	if (h->local)
		h->state[i] = MR_BUFFER_FULL;
	else
		room = mr_ring_try_push(&h->full, i);
	(void)room; /* the ring holds all numbers */
}

/** Consumer: buffer @want of a boundary whose ends have orders of their own. False: it is not full yet. */
bool mr_link_find(mr_link *h, uint32_t want);

/** Consumer: the next full buffer; of a local link, or one without an order, buffer @want. False: it is not there yet.
 */
static inline bool mr_link_get(mr_link *h, uint32_t want, uint32_t *got)
{
	if (!h->local && h->arrived) {
		*got = want;
		return mr_link_find(h, want);
	}
	if (!h->local)
		return mr_ring_try_pop(&h->full, got);
	if (h->state[want] != MR_BUFFER_FULL)
		return false;
	h->state[want] = MR_BUFFER_TAKEN;
	*got = want;
	return true;
}

/** Consumer: done with buffer @i for good. */
static inline void mr_link_give_back(mr_link *h, uint32_t i)
{
	bool room = true;

	if (h->local)
		h->state[i] = MR_BUFFER_IDLE;
	else
		room = mr_ring_try_push(&h->empty, i);
	(void)room;
}

/* The stage's worker: @slot, which is free, is taken; it is free again. */
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
