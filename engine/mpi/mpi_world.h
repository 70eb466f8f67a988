/*
 * mpi_world.h - this process among those that mpirun or srun started: begin, end, and what its links share.
 *
 * MPI 3.1 is all that is asked for, with MPI_THREAD_SERIALIZED: every call to the library is made under one lock, and
 * none of them waits. Whoever waits for a message drives the library (mr_mpi_drive); where all threads compute, one
 * thread does, every MR_MPI_TICK_NS while it has something to do, else every MR_MPI_NAP_NS: a look takes some 15 us of
 * a core, which may be a worker's. A worker that falls asleep wakes it. It also tells the other ranks twice a second
 * that this one is alive, since over TCP the library reports a stopped process or a cut link after minutes only.
 */
#ifndef MR_MPI_MPI_WORLD_H
#define MR_MPI_MPI_WORLD_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/fault.h"
#include "link/ranks.h"

#define MR_MPI_TICK_NS 100000
#define MR_MPI_NAP_NS 500000
#define MR_MPI_BEAT_NS 500000000ull
#define MR_MPI_LOST_NS 2500000000ull /* a rank that is silent for so long is lost */
#define MR_MPI_LOOK_NS 50000000ull   /* of silence is counted between two looks at most */
#define MR_MPI_STOPPED_NS 1000000000ull /* without a call of the library: this process was stopped */
#define MR_MPI_BEGIN_S 60            /* until all ranks have met; nobody hears of the others before */
#define MR_MPI_MEET_MS 1000            /* for other ranks to end, behind a failure */
#define MR_MPI_END_S 5               /* for the library, behind all work */

typedef struct mr_mpi_world {
	pthread_mutex_t lock;
	MPI_Comm links, notes, data, beats;
	int n, self;
	int most_tag;                /* largest tag */
	const uint32_t *of_worker;   /* lent by mr_ranks */
	const mr_ranks *ranks;       /* NULL: they have not met */
	pthread_t thread;
	bool is_open, has_thread;
	_Atomic bool ends;
	mr_parker napper;            /* of the thread, while it naps */
	_Atomic bool thread_waits;   /* for the lock, which a worker that looks without a pause would never leave it */
	_Atomic uint32_t lost;       /* UINT32_MAX: none */
	_Atomic uint64_t sent;       /* bytes of links */
} mr_mpi_world;

extern mr_mpi_world mr_mpi;

/**
 * Begin, if this process is one of several that a launcher of MPI started: *@out then has them, for mr_mpi_end; else
 * NULL. Errors: MR_ERESOURCE, MR_EIO the library's.
 */
mr_status mr_mpi_begin(mr_ranks **out) MR_MUST_USE;

/** End, all ranks together; where @code is not 0: at once, as its launcher then ends all others. @r may be NULL. */
void mr_mpi_end(mr_ranks *r, int code);

/** Bytes that a call of the library, whose lengths are ints, may have in a row. */
static inline size_t mr_mpi_block(void)
{
	return mr_fault_block(1 << 30);
}

/** MR_EIO with the library's text, unless @code is success. @what: "a message cannot be sent". */
mr_status mr_mpi_check(int code, const char *what) MR_MUST_USE;

/** Wait for @request, without the lock, which is free for others meanwhile. Errors: as mr_mpi_check; MR_ESTALLED a rank
 * is lost. */
mr_status mr_mpi_wait_for(MPI_Request *request, const char *what) MR_MUST_USE;

/** A message of @rank has come: it lives. With the lock. */
void mr_mpi_heard(uint32_t rank);

/** Before any call that moves messages, with the lock. */
void mr_mpi_look_back(void);

/* --- mpi_link.c --- */

extern const mr_link_kind mr_mpi_kind;

/** Let the library move messages, with the lock; returns whether one has arrived or left. */
bool mr_mpi_drive(void);

/** Is there something that the library does not do by itself meanwhile, with the lock: a message that is to leave, a
 * large one that may come, or a worker that sleeps until one has come? */
bool mr_mpi_is_busy(void);

/** mr_transport.settle. */
mr_status mr_mpi_settle(void) MR_MUST_USE;

/** Free what all channels share. */
void mr_mpi_links_fini(void);

#endif
