/*
 * starter.h - a first configuration for data of one's own: it trains as it stands, and its comments say why each value
 * is what it is and which ones are worth changing.
 *
 * The kind of data decides on the network, the amount of data on its size and on the number of steps, and the cores of
 * the machine on how large a network is worth trying: about five minutes of training. The system is left open: the
 * caller plans with the draft (choose/auto.h), and then completes it.
 */
#ifndef MR_STARTER_STARTER_H
#define MR_STARTER_STARTER_H

#include "base/str.h"
#include "host/topo.h"

typedef struct mr_starter_draft {
	mr_strbuf before;  /* the groups in front of `system` */
	mr_strbuf train;   /* the lines of `train`, without its micro-batches */
	mr_strbuf after;   /* the groups behind `machine` */
	mr_strbuf notes;   /* lines for the user: the target, and what of the data is left out, and why */
	uint64_t batch;    /* samples a step */
	uint32_t workers;  /* stages that are usual for such data on this machine */
} mr_starter_draft;

/* What a draft is completed with. */
typedef struct mr_starter_system {
	const char *name;
	uint32_t workers, threads, n_micro; /* threads of each worker; 0: its share of the cores */
	const char *why;                    /* one line, for a comment above the group */
} mr_starter_system;

/**
 * Draft a configuration for the file or folder @path on @machine. @folder stands in front of the paths in it: "" where
 * the configuration lies in the current folder, else with a "/" at its end. @target is the column of a table to
 * predict; empty: it is guessed. The caller calls fini, also after an error. Errors: MR_EDATA with the path and what
 * was expected of it; MR_ERESOURCE.
 */
mr_status mr_starter_write(const char *path, const char *folder, const char *target, const mr_topo *machine,
			   mr_starter_draft *out) MR_MUST_USE;
void mr_starter_fini(mr_starter_draft *d);

/** Append the configuration: the draft with @system. Errors: MR_ERESOURCE. */
mr_status mr_starter_complete(const mr_starter_draft *d, const mr_starter_system *system, mr_strbuf *out) MR_MUST_USE;

#endif
