/*
 * ranks.h - the processes over which one run is spread, and how they talk beside its links.
 *
 * Every rank opens the same configuration and builds the same run: the same plan, the same layout of memory. It owns
 * some of the workers, and carries out their lists with threads of its own; memory of other ranks' workers is mapped,
 * and never touched but for what a save or a resume brings. Between workers of one rank links are rings; between ranks
 * they are of the transport's kind (channel.h). Rank 0 leads: it alone speaks, writes files, and says how far all run
 * (ranks/over_ranks.h).
 *
 * A transport is a table of functions. Two sorts of messages go between two ranks, each sort in its order: notes, which
 * are small and looked for while workers run, and data, for which both sides wait.
 */
#ifndef MR_LINK_RANKS_H
#define MR_LINK_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/message_time.h"
#include "base/status.h"
#include "link/channel.h"

#define MR_COPIES_MOST 8388608   /* first bytes of a message that Open MPI copies over TCP: millrace-mpi sets it */
#define MR_RANKS_LOOK_NS 1000000 /* between two looks at workers and notes: each takes some 15 us of a core */

enum { MR_RANKS_HOST = 64, MR_RANKS_CPUS = 512, MR_NOTE_TEXT = 1024 };

/* A small message. What `kind` and the numbers mean is the caller's. */
typedef struct mr_note {
	uint32_t kind, status;
	uint64_t number[4];
	double value[4];
	char text[MR_NOTE_TEXT];
} mr_note;

/* Where a rank runs: the host's name, and the CPUs that it may use, as the kernel prints them. */
typedef struct mr_rank_host {
	char host[MR_RANKS_HOST], cpus[MR_RANKS_CPUS];
} mr_rank_host;

typedef struct mr_ranks mr_ranks;

typedef struct mr_transport {
	const char *name; /* such as "Open MPI 4.1.4" */
	/** The first bytes of a message between hosts, all of a shorter one, that the library sends from a copy and
	 * gets into one; 0: it has none to speak of. */
	uint64_t copies_most;
	/** The kind of link between ranks; it carries what mr_ranks_own says goes between two. */
	const mr_link_kind *kind;
	/** The owners of a run's workers are known: before its links are chosen. */
	void (*own)(const mr_ranks *r);
	/** Send @n to rank @to. Returns when it may be overwritten. Errors: MR_EIO. */
	mr_status (*tell)(uint32_t to, const mr_note *n) MR_MUST_USE;
	/** The next note from rank @from; *@is_there: there is one. Errors: MR_EIO. */
	mr_status (*hear)(uint32_t from, mr_note *out, bool *is_there) MR_MUST_USE;
	/** As hear, and the note stays the next one. */
	mr_status (*peek)(uint32_t from, mr_note *out, bool *is_there) MR_MUST_USE;
	/** Data of @bytes to, and from, a rank that waits for them. Errors: MR_EIO, MR_ESTALLED the rank is lost. */
	mr_status (*send)(uint32_t to, const void *data, size_t bytes) MR_MUST_USE;
	mr_status (*receive)(uint32_t from, void *data, size_t bytes) MR_MUST_USE;
	/** Workers of all ranks are idle: each consumer of a channel learns how many messages were posted. All ranks
	 * call it. Errors: MR_EIO, MR_ESTALLED. */
	mr_status (*settle)(void) MR_MUST_USE;
	/** A rank that has not been heard of for too long, or that is known to be gone; UINT32_MAX: none. */
	uint32_t (*lost)(void);
	/** Bytes of links that this rank has sent so far. */
	uint64_t (*sent)(void);
	/** Rank 0's clock is ahead of this one's by @ahead_ns: messages are timed by it. */
	void (*align)(int64_t ahead_ns);
	/** The thread that moves messages keeps to CPU @cpu from now on: to measure what it takes of it. */
	void (*keep_to)(uint32_t cpu);
	/** The messages with rank @rank so far: in *@to what this rank has done for those to it, in *@from how those
	 * from it came. The other members stay as they are. */
	void (*sum)(uint32_t rank, mr_message_sum *to, mr_message_sum *from);
	/** From now on keep the times of each message that comes. Errors: MR_ERESOURCE. */
	mr_status (*trace)(void) MR_MUST_USE;
	/** Those, in any order, at most the last 65,536; no worker runs. Borrowed until the next message. */
	size_t (*messages)(const mr_message_time **out);
} mr_transport;

struct mr_ranks {
	const mr_transport *by;
	uint32_t n, self;
	mr_rank_host *at;   /* [n] */
	uint32_t *of_worker; /* [n_workers] the rank that owns each; NULL: no run yet. Owned */
	uint16_t n_workers;
	const mr_link_kind *kinds[3]; /* for mr_run_config.links */
};

/** Spread @n_workers over the ranks of @r: as @text says, a number for each, or ("") in equal stretches, in their
 * order. Errors: MR_ECONFIG some rank gets none, or @text has another number of numbers, or no such rank;
 * MR_ERESOURCE. */
mr_status mr_ranks_own(mr_ranks *r, uint16_t n_workers, const char *text) MR_MUST_USE;

/** The ranks of @r that share host and CPUs with this one, itself among them: those place their workers together.
 * Returns how many workers they own; *@first: how many of these come before this rank's. */
uint16_t mr_ranks_neighbours(const mr_ranks *r, uint16_t *first);

/** Has @rank the host and the CPUs of this one? It has itself. */
bool mr_ranks_share_cpus(const mr_ranks *r, uint32_t rank);

/** Workers of rank @rank. */
uint16_t mr_ranks_workers(const mr_ranks *r, uint32_t rank);

/** All ranks call it: measure how far rank 0's clock is ahead of this one's, within a fraction of the shortest way of a
 * message there and back, and tell the transport. Errors: the transport's. */
mr_status mr_ranks_align(const mr_ranks *r, int64_t *ahead_ns) MR_MUST_USE;

/** Tell all other ranks. Errors: the transport's. */
mr_status mr_ranks_tell_all(const mr_ranks *r, const mr_note *n) MR_MUST_USE;

/** The next note from rank @from, which will come. Errors: the transport's; MR_ESTALLED a rank is lost. */
mr_status mr_ranks_wait_for(const mr_ranks *r, uint32_t from, mr_note *out) MR_MUST_USE;

/** MR_ESTALLED, with the rank and its host, if one is lost. */
mr_status mr_ranks_check(const mr_ranks *r) MR_MUST_USE;

/** "rank 2 (host b)", into @text; returns it. */
const char *mr_ranks_name(const mr_ranks *r, uint32_t rank, char *text, size_t size);

#endif
