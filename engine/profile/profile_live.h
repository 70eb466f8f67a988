/*
 * profile_live.h - how long each instruction of a plan takes while the engine carries it out.
 *
 * Layers measured in a loop have caches and memory to themselves. In a run the stages, slots and gradients of all
 * workers push each other out, threads wait and are woken, and what one worker writes another reads. So the run itself
 * is let go for a while, its learning rate next to nothing, and the trace tells how long each instruction of the body
 * took, begin to end, waits left out; and how long after the end of one another worker's that waited for it began. How
 * long a step took, and which worker waited how long, is not looked at: that is what a prediction is to say.
 */
#ifndef MR_PROFILE_PROFILE_LIVE_H
#define MR_PROFILE_PROFILE_LIVE_H

#include "exec/run.h"

/** Can it be? Not without a plan whose body repeats in one order, nor where workers share cores: an instruction may
 * then be stopped for another worker's. */
bool mr_profile_is_live(const mr_run_config *c);

typedef struct mr_live_profile {
	double *instr; /* [instructions of all bodies] median seconds, worker after worker, each in the order of its
	                  body; NAN where nothing was measured; NULL: there is no such profile. Owned */
	double spread; /* how much the medians of all instructions together are above their minima (profile.h) */
	double hop_s;  /* median seconds from the end of an instruction to the beginning of one on another worker that
	                  waits for what it hands over; 0: nobody waited */
} mr_live_profile;

/**
 * Run @c's plan for about @seconds, and 5 iterations at least. The caller frees out->instr. Errors: those of
 * mr_engine_create and mr_engine_run.
 */
mr_status mr_profile_live(const mr_run_config *c, double seconds, mr_live_profile *out) MR_MUST_USE;

#endif
