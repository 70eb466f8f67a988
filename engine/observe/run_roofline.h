/*
 * run_roofline.h - the roofline of a training itself: what F and backward passes of each worker reached, as the mean of
 * all its instructions. FLOPs and bytes are those of the layers, the time is that in which the worker computed, steps
 * of the optimizer inside B included.
 */
#ifndef MR_OBSERVE_RUN_ROOFLINE_H
#define MR_OBSERVE_RUN_ROOFLINE_H

#include "observe/speed.h"
#include "session/session.h"

/** Of @s, whose workers are idle; @peak FLOP/s of a core; @b: NULL: not measured. Of many points the longest are kept.
 * Without a step there is none. */
mr_roofline mr_run_roofline(const mr_session *s, double peak, const mr_bandwidth *b);

#endif
