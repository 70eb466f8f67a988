/*
 * profile.h - measures the time of each layer on this machine.
 *
 * Stage by stage, on a leader thread and a team set up like the worker's own, while all other workers are idle, or
 * while each measures a stage of its own: then they share caches and memory as in a run in which no worker waits. Each
 * repeat goes forward through all layers, then backward, input half and weight half apart, then does the optimizer
 * step. If the run steps inside the backward pass, so does the measurement: with one micro-batch a commit every weight
 * half has its step, and no update of its own is left; with several only the last one has, and the time by which it is
 * longer is the update. If the plan merges W, the largest merged W of the stage is measured too, its micro-batches in
 * slots of their own. The layers lie where they lie in a step (the same layout of stage and weights, memory on the
 * worker's node), and each is called after the one before it, so caches are as in a step of this stage. The times are
 * medians. Work that a stage does between its layers (copies at its boundaries) is added to its last layer.
 * On a busy machine a repeat in which the thread was ready but not running (host/sched_delay.h) is
 * left out and made again, within bounds. The distance of medians from minima shows other disturbances: if it is large,
 * all is measured again, and the least disturbed measurement is kept. The caller gets that distance, and may warn or
 * refuse.
 *
 * A layer that has caches to itself is faster than in a run. So by default the plan runs as well, to measure its
 * instructions (profile_live.h), and the times of the layers are scaled to match them (costs/costs_live.h).
 */
#ifndef MR_PROFILE_PROFILE_H
#define MR_PROFILE_PROFILE_H

#include "host/handoff.h"
#include "host/perf_events.h"
#include "profile/profile_commit.h"
#include "profile/profile_live.h"

#define MR_PROFILE_MIN_REPEATS 5u
#define MR_PROFILE_FEW_REPEATS 2u
#define MR_PROFILE_TRIES 3u       /* most tries of a measurement that is disturbed */
#define MR_PROFILE_CALM 0.15      /* a spread up to this is no disturbance */
#define MR_PROFILE_DISTURBED 0.25 /* a larger spread is worth a warning */
#define MR_PROFILE_HOPELESS 1.0   /* a larger spread makes the measurement useless */

typedef enum mr_profile_method {
	MR_PROFILE_ALONE,    /* one stage at a time */
	MR_PROFILE_BRIEF,    /* the same, but once, however disturbed, with MR_PROFILE_FEW_REPEATS behind one that does
	                        not count, and nothing but times */
	MR_PROFILE_TOGETHER, /* a stage of each worker at once */
	MR_PROFILE_LIVE,     /* one at a time, then the plan itself and the commits that workers make together, if
	                        mr_profile_is_live */
} mr_profile_method;

typedef struct mr_layer_profile {
	double f, i, w;                   /* median seconds of one micro-batch; 0 if the layer has no such half */
	double g;                         /* median seconds that each further micro-batch of a merged W saves, compared
	                                     with w; 0 if the plan has none */
	double spread;                    /* of f + i + w: distance of the medians from the minima, 0.1 for a tenth */
	double flops_f, flops_i, flops_w; /* model FLOPs of one micro-batch, of the halves that are carried out */
} mr_layer_profile;

/* What the processor counted in some calls of a layer's F, I and W, beside their time. */
typedef struct mr_layer_counted {
	mr_perf_counts counts[3];
	double seconds[3];
	uint32_t n[3];
} mr_layer_counted;

typedef struct mr_profile {
	mr_layer_profile *layer; /* [nodes of the graph]; owned */
	double *update_s;        /* [stages] median seconds of one optimizer step by itself; 0 if the w above contain
	                            it; owned */
	double *inside_s;        /* [stages] of one step inside a backward pass, without the part that the w above
	                            contain; NAN where there cannot be one; owned */
	double *spread;          /* [stages] likewise, of all layers of a stage together; owned */
	double *sum_s;           /* [stages] median seconds of adding one gradient of the stage to another; owned */
	double *norm_s;          /* [stages] median seconds of the norm of its gradient; owned */
	double worst;            /* the largest spread: of a stage, of the run, or half of the difference between equal
	                            layers */
	char worst_of[120];      /* its source, such as "stage 1" */
	mr_live_profile live;    /* instr NULL: not measured; owned */
	mr_commit_rates commits; /* 0: not measured */
	uint32_t repeats;        /* fewest over the stages */
	mr_layer_counted *counted; /* [nodes] made after the times, which they do not change; owned */
	char missing[512];       /* which events are not counted, and why (host/perf_events.h); "": none */
	mr_handoff handoff;  /* between the first two workers' cores; 0 where they share one */
} mr_profile;

/**
 * Measure for at least @seconds a stage and MR_PROFILE_MIN_REPEATS repeats, after a warm-up, of a run whose commits sum
 * @n_micro micro-batches. Of @c it uses graph, partition, plan, kernels, data, optim,
 * place, clip, seed, samples and memory_limit (of one stage); a live measurement uses all that an engine does, and
 * takes @seconds a stage more. The place must be this machine's. Call mr_profile_fini, also after an error. Errors:
 * MR_ERESOURCE, MR_EDNN, MR_EDIVERGED, those of an engine. */
mr_status mr_profile_measure(const mr_run_config *c, uint32_t n_micro, double seconds, mr_profile_method method,
			     mr_profile *out) MR_MUST_USE;
void mr_profile_fini(mr_profile *p);

/** By what part of @minima seconds @medians seconds exceed them; 0 if both are too short to compare. */
double mr_profile_spread(double medians, double minima);


#endif
