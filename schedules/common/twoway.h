/*
 * twoway.h - shared by the systems in which several pipes run over the same workers, half of them down and half of
 * them up.
 *
 *	down   s -> s            w0 w1 w2 w3           With S = 2D stages a direction is folded at its end
 *	up     s -> D-1-s        w3 w2 w1 w0           and comes back (a V): down s -> s, then 2D-1-s; up mirrored.
 *
 * Pipes 0 .. q-1 go down, q .. 2q-1 up. Pipe k of a direction is shifted round by k D/q workers, so that the pipes of
 * one direction never meet at a worker. Which weights a pipe reads is an option that all these systems have.
 */
#ifndef MR_SCHEDULES_TWOWAY_H
#define MR_SCHEDULES_TWOWAY_H

#include "ir/sched.h"
#include "schedules/common/slots.h"

/* The row of an option table about weights; see mr_contract.private_weights. */
#define MR_TWOWAY_WEIGHTS \
	{"weights", MR_OPT_ENUM, "shared", 0, 0, "shared|private", NULL, \
	 "all pipes read one copy of the weights, or each pipe has a copy of its own on its workers"}

/**
 * Make a synchronous plan called @name of @args->n_micro micro-batches with chunks * D stages (chunks is 1 or 2) in
 * each of @n_pipes (1 or an even number that divides D or is 2) pipes, placed as above; its gradients are summed in
 * ascending order and its weights are shared or private as the option `weights` says. Errors: those of mr_sched_create.
 */
mr_status mr_twoway_create(const mr_sched_args *args, const char *name, uint32_t n_pipes, mr_plan **out) MR_MUST_USE;

/**
 * How many of @n_micro micro-batches the pipe @pipe of @plan gets. Even: as equal as possible, the first pipe of each
 * direction before the second, down before up. Otherwise pipe after pipe is filled with @full.
 */
uint32_t mr_twoway_share(const mr_plan *plan, uint32_t n_micro, uint8_t pipe, bool even, uint32_t full);

/**
 * Enter one unit: micro-batches @first .. @first + @n_micro - 1 (at most D), divided among the pipes as @even says, in
 * one-way traffic from slot @slot on. Micro-batch j of a pipe is at stage s in slot 2j + s forward and 2j + 2S - 1 - s
 * backward. With an even D the two directions take slots of different parity at every worker, so nothing meets; 2S
 * slots later the next unit's forwards fit behind.
 */
mr_status mr_twoway_unit(mr_slots *slots, uint64_t slot, uint32_t first, uint32_t n_micro, bool even) MR_MUST_USE;

#endif
