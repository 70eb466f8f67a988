/*
 * profile_live.h - measures each instruction of a plan while the engine carries it out.
 *
 * Layers measured in a loop have caches and memory to themselves. In a run the stages, slots and gradients of all
 * workers evict each other, threads wait and are woken, and one worker reads what another writes. So the run itself
 * goes on for a while, with a learning rate next to nothing, and the trace gives the time of each instruction of the
 * body from begin to end without waits, and the time from the end of an instruction to the begin of one on another
 * worker that waited for it. The waits of workers are not used: the prediction computes them. Nor is the length of
 * steps, which shows how far that prediction is off.
 */
#ifndef MR_PROFILE_PROFILE_LIVE_H
#define MR_PROFILE_PROFILE_LIVE_H

#include "exec/run.h"

/** Is this possible? It needs a plan whose body repeats in one order, and workers that do not share cores: an
 * instruction may otherwise be stopped for another worker's. */
bool mr_profile_is_live(const mr_run_config *c);

typedef struct mr_live_profile {
	double *instr; /* [instructions of all bodies] median seconds, worker after worker, each in the order of its
	                  body; NAN if not measured; NULL: there is no such profile. Owned */
	double spread; /* distance of the medians of all instructions together from their minima (profile.h) */
	double step_s; /* median seconds of a step, by the worker whose are the longest; 0: not measured */
	double hop_s;  /* median seconds from the end of an instruction to the begin of one on another worker that
	                  waits for its output; 0: no worker waited */
} mr_live_profile;

/**
 * Run @c's plan for about @seconds, and at least 5 iterations. The caller frees out->instr. Errors: those of
 * mr_engine_create and mr_engine_run.
 */
mr_status mr_profile_live(const mr_run_config *c, double seconds, mr_live_profile *out) MR_MUST_USE;

#endif
