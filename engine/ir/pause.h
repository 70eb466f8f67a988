/*
 * pause.h - where a run may stop: pause point k is where every worker has just made version k of the last of its
 * stages.
 *
 * There every stage has the same latest version, no sum is begun, and nothing that a worker has before the point waits
 * for what another has behind it (mr_check_pauses). In a body, whose iterations make one version each, that is the end
 * of an iteration; a prologue may make versions too, where a system's order takes a few of them to become regular.
 * Pause point 0 is the start.
 */
#ifndef MR_IR_PAUSE_H
#define MR_IR_PAUSE_H

#include "ir/plan.h"

/**
 * The pause points inside @worker's prologue: @at [@room] (NULL: none wanted) gets the place in the list behind each.
 * Returns how many there are.
 */
uint32_t mr_pauses_of(const mr_plan *plan, uint16_t worker, uint32_t *at, uint32_t room);

#endif
