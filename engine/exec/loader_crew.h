/*
 * loader_crew.h - threads beside the loader's that make samples, where each takes milliseconds to decode.
 *
 * The loader posts micro-batches. It and the crew take their samples one by one, those of the oldest micro-batch first;
 * the loader gets micro-batches back in the order in which it posted them. So timing decides which thread makes a
 * sample, and never which sample is where.
 *
 * Thread: the loader's, but for the crew's own.
 */
#ifndef MR_EXEC_LOADER_CREW_H
#define MR_EXEC_LOADER_CREW_H

#include "host/pause.h"

/* A micro-batch under way. The first members are the loader's. */
typedef struct mr_crew_batch {
	uint32_t feed, buffer; /* where it goes */
	uint64_t micro;
	int64_t n;             /* samples */
	int64_t n_taken, n_done;
} mr_crew_batch;

/* Make sample @i of @b. On any thread of the crew and on the loader's, at once. */
typedef void mr_crew_make(void *arg, const mr_crew_batch *b, int64_t i);

typedef struct mr_crew mr_crew;

/** @n_threads besides the loader's, for up to @most micro-batches under way. Errors: MR_ERESOURCE. */
mr_status mr_crew_create(uint32_t n_threads, uint32_t most, mr_crew_make *make, void *arg, mr_crew **out) MR_MUST_USE;
void mr_crew_destroy(mr_crew *c); /* accepts NULL */

/** Start the threads; @loader is woken when a micro-batch is done. Errors: MR_ERESOURCE, and none has started. */
mr_status mr_crew_start(mr_crew *c, mr_parker *loader) MR_MUST_USE;
/** End them. Nothing may be under way. */
void mr_crew_stop(mr_crew *c);

/** Put a micro-batch under way; its n_taken and n_done are 0. There is room. */
void mr_crew_post(mr_crew *c, mr_crew_batch b);

/** Make one sample on this thread; false: all have been taken. */
bool mr_crew_work(mr_crew *c);

/** The oldest micro-batch under way, if it is done: then it is no longer under way. */
bool mr_crew_take(mr_crew *c, mr_crew_batch *out);

/** The same of the oldest one as soon as it is done; false: there is none. */
bool mr_crew_wait(mr_crew *c, mr_crew_batch *out);

#endif
