/*
 * contender.h - what takes turns in a case: a system of ours, or a peer, in one precision; and the samples of its
 * bursts.
 *
 * What is timed of ours is what trains: the session of `millrace train`, the engine's one step loop. A burst is timed
 * as a whole, but one of a plan that never drains from commit to commit, as it would go on in training; the first
 * step after another one's burst does not count, of ours as of peers, but where steps take seconds. Before and after
 * each burst a cache-line ping-pong tells the placement of the two cores (host/probe.h); a burst that saw both, or
 * cannot tell, is dropped. One in which others used CPU (load.h) is kept apart, and counts only where a contender has
 * more than twice as many of them in that placement as of the others. Two of these in a case are made again at once.
 */
#ifndef PERF_STEPS_CONTENDER_H
#define PERF_STEPS_CONTENDER_H

#include "base/json.h"
#include "session/session.h"
#include "host/probe.h"
#include "perf/steps/attention.h"
#include "perf/steps/cases.h"
#include "perf/steps/load.h"
#include "perf/steps/peer.h"

enum {
	MR_MAX_ROUNDS = 64,
	MR_MAX_REPEATS = 2, /* bursts more than rounds, in place of those that do not count */
	MR_MAX_BURSTS = MR_MAX_ROUNDS + MR_MAX_REPEATS,
	MR_N_CONTENDERS = MR_N_BENCH_PRECISIONS * (MR_N_SYSTEMS + MR_N_PEERS), /* more than with --choices */
};

#define MR_FAR_OFF 1.3

typedef struct mr_samples {
	double ms[MR_MAX_BURSTS];   /* a step */
	double over[MR_MAX_BURSTS]; /* measured / allowed.h; [n_over] */
	double allowed[MR_MAX_BURSTS]; /* ms a step; [n_over] */
	size_t n, n_over;
} mr_samples;

typedef struct mr_contender {
	const char *label;
	char chosen[128];           /* a label that is made: of the planner's choice, of a table of choices */
	mr_bench_precision precision;
	const mr_system *system;    /* NULL: a peer */
	const char *choices;        /* its table of choices (nn/choices.h); NULL: the built-in one */
	struct mr_contender *same;  /* times this one's session again; NULL: has its own */
	struct mr_contender *a;     /* of the planner's choice: A, whose session it times if it chooses just that */
	mr_peer *peer;              /* NULL: ours */
	int workers, threads;
	bool out;                   /* takes no part (any more) */
	bool far_off[2];            /* by placement: others are so much faster that it is not timed there any more */
	char why[512];              /* why ours does not */
	mr_job job;
	mr_session s;
	mr_attention *attention;    /* in place of a session; NULL: none */
	uint64_t steps;             /* done so far */
	mr_samples quiet[2];        /* by placement, NEAR and FAR: no other process used CPU */
	mr_samples disturbed[2];    /* others did */
	size_t dropped;             /* bursts of no one placement */
	int repeats;                /* bursts that were made in place of others */
	mr_use use;                 /* of all bursts together */
} mr_contender;

/* The case, the machine and the peers of a burst. */
typedef struct mr_bout {
	const mr_case *c;
	const mr_topo *topo;
	bool still; /* all bursts are of the placement MR_PROBE_NEAR */
	const mr_peer *peers; /* [MR_N_PEERS] */
	mr_use rest;          /* own_s: CPU of those that stood still; sums over the bursts */
} mr_bout;

/** The samples that count in placement @place: the quiet ones, or the disturbed ones where these are more than twice as
 * many. */
const mr_samples *mr_contender_samples(const mr_contender *x, int place);

/** Whether these are disturbed ones. */
bool mr_contender_marked(const mr_contender *x, int place);

/**
 * Build @x for @b->c and run one burst of it, untimed. Where memory does not suffice, or the machine has no kernels of
 * its own for bf16, it is out, with a sentence that is also printed. Other errors are errors.
 */
mr_status mr_contender_open(mr_contender *x, const mr_bout *b, const char *tokens) MR_MUST_USE;

/**
 * Each of @all, [n], of which all quiet bursts in a placement, two or more, took more than MR_FAR_OFF times the least
 * median of its side (ours, peers) in its precision is far off there, until that has grown. So the one with
 * that median never is, nor is PyTorch as installed, which is a column of the table.
 */
void mr_contenders_judge(mr_contender *all, size_t n);

/** One burst of @x, and where it does not count another one, but MR_MAX_REPEATS of these in a case. None where it is
 * far off in the placement that the cores have now. */
mr_status mr_contender_burst(mr_contender *x, mr_bout *b) MR_MUST_USE;

/**
 * Replay all steps that @x has done on one thread and compare the weights bit for bit: prints a line, and writes an
 * object to @json (NULL: none). *@same: they are equal. Without a plan there is nothing to prove.
 */
mr_status mr_contender_prove(mr_contender *x, mr_json_writer *json, bool *same) MR_MUST_USE;

void mr_contender_close(mr_contender *x);

#endif
