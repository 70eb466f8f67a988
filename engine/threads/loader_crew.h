/*
 * loader_crew.h - threads that make samples together with the loader's thread, for samples that take milliseconds each
 * to decode.
 *
 * The loader posts micro-batches. Its thread and the crew's take their samples one by one, those of the oldest
 * micro-batch first; the loader gets micro-batches back in the order in which it posted them. So timing decides which
 * thread makes a sample, but never which sample is where.
 *
 * Thread: the loader's thread calls all functions; the crew's threads are internal.
 */
#ifndef MR_THREADS_LOADER_CREW_H
#define MR_THREADS_LOADER_CREW_H

#include "host/pause.h"

/* A micro-batch under way. The first members are the loader's. */
typedef struct mr_crew_batch {
	uint32_t feed, buffer; /* where it goes */
	uint64_t micro;
	int64_t n;             /* samples */
	int64_t n_taken, n_done;
} mr_crew_batch;

/* Make sample @i of @b. Called on the crew's threads and on the loader's, at the same time. */
typedef void mr_crew_make(void *arg, const mr_crew_batch *b, int64_t i);

typedef struct mr_crew mr_crew;

/** A crew of @n_threads besides the loader's thread, for up to @most micro-batches under way. Errors: MR_ERESOURCE. */
mr_status mr_crew_create(uint32_t n_threads, uint32_t most, mr_crew_make *make, void *arg, mr_crew **out) MR_MUST_USE;
void mr_crew_destroy(mr_crew *c); /* accepts NULL */

/** From now on the threads are restricted to the CPUs @cpu[0..n), which @c borrows. While none runs. */
void mr_crew_restrict(mr_crew *c, const uint32_t *cpu, uint32_t n);

/** Start the threads; they wake @loader when a micro-batch is done. Errors: MR_ERESOURCE; then no thread runs. */
mr_status mr_crew_start(mr_crew *c, mr_parker *loader) MR_MUST_USE;
/** End the threads. No micro-batch may be under way. */
void mr_crew_stop(mr_crew *c);

/** Put a micro-batch under way, with n_taken and n_done 0. The caller keeps to @most. */
void mr_crew_post(mr_crew *c, mr_crew_batch b);

/** Make one sample on the calling thread; false: all samples under way have been taken. */
bool mr_crew_work(mr_crew *c);

/** Remove the oldest micro-batch under way and copy it to @out, if it is done; false: it is not, or there is none. */
bool mr_crew_take(mr_crew *c, mr_crew_batch *out);

/** The same, but makes samples and waits until the oldest one is done; false: there is none. */
bool mr_crew_wait(mr_crew *c, mr_crew_batch *out);

#endif
