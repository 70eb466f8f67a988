/*
 * deps.h - the data edges of a plan: what an instruction must find done before it may begin.
 *
 * This is the one place that defines them. The order of a worker's own list adds further edges, which the caller
 * handles: an executor may skip every dependency whose source lies on its own worker (the checker has proven that
 * it comes earlier).
 *
 *   instruction     waits for
 *   F(m,s)          F(m,s-1); the commit of the version it reads (BARRIER: of every stage's); a free forward buffer
 *                   of s+1; tied, s = S-1: the commit of that version at stage 0
 *   R(m,s)          F(m,s)
 *   B|I(m,s)        F(m,s); B|I(m,s+1); a free gradient buffer of s
 *   W(m,s)          I(m,s), of each micro-batch of its span; contract.steal: the start of the previous W of the sum,
 *                   which it follows layer by layer and after which it ends; on another worker than the stage's: also
 *                   every I of its count at s
 *   AR(s,v,p)       the last B|W of its count at s in every pipe; tied, s = 0: the same at stage S-1
 *   N(s,v)          AR(s,v,.) of every pipe where there is one, else the last B|W of its count
 *   U(s,v,p)        AR(s,v,p) where there is one (contract.joint_w: AR(s,v,.) of every pipe), else the last B|W of its
 *                   count; with clipping: N(.,v) of every stage
 *
 * Stage replicas (plan.h): the rules for the pipes of a commit hold for the parts of the stage. B(m,s) also waits for
 * the commit before its own, and U(s,v,q) for AR(s,v,.) of every part, so that a norm of the whole sum may come in
 * between.
 *
 * Several pipes share a stage's optimizer step: the elements of its weights are cut into as many ranges as there are
 * pipes, and AR and U of pipe p, on that pipe's worker, sum and step range p. Version v of s is committed when U(s,v,.)
 * of every pipe has ended. N reads the whole sum and stands with pipe 0.
 *
 * Replicas: a pipe's commits are its own. U(s,v,p) waits for the last B|W of its count in pipe p, F(m,s) in pipe p for
 * U(s,v,p) alone, or where version v is an average for AVG(s,v,.) of every pipe; AVG(s,v,p) waits for version v - 1 of
 * s in every pipe.
 *
 * Whole steps (plan.h): U(s,v) stands with the pipe of the last micro-batch of its count, and also waits for version
 * v - 1. With ring B(m,s) of the first m of a count waits for the commit before; with rooms F(m,s) for B(m-K,s).
 *
 * Ring (contract.ring): F(m,s) also waits for F(m-1,s), and B|I(m,s) for B|I(m-1,s), of one commit in the pipe before.
 * Released sums: B and W of s also wait for the commit of their count at the second stage above that trains.
 *
 * V(s,v) waits for N(.,v) of every stage, and where it does (VALIDATED), U(s,v) waits for its own N alone. A B or W
 * that carries MR_INSTR_UPDATE is its own U. Counts: micro-batch m belongs to count m / need; the commit of
 * count c makes version c + 1, and dependencies name counts by that version. Version 0 exists from the start and is
 * never waited for.
 *
 * Storage. A forward buffer of boundary s is taken when F(m,s-1) begins and free again at the end of the last of B, I,
 * W of m at s (the first layer of the consumer reads its input in place; forward-only plans: at the end of F(m,s)). A
 * gradient buffer that B|I(m,s) writes for stage s-1 is taken when B|I(m,s) begins and free again at the end of the
 * last of B, I, W of m at s-1. In an unlowered plan storage is unlimited.
 */
#ifndef MR_IR_DEPS_H
#define MR_IR_DEPS_H

#include "ir/plan.h"
#include "ir/trace.h"

typedef enum mr_dep_kind {
	MR_DEP_F,        /* F of micro-batch @number at (stage, pipe) has ended */
	MR_DEP_GRAD,     /* B or I of micro-batch @number at (stage, pipe) has ended */
	MR_DEP_TURN,     /* contract.steal: the W of micro-batch @number, the previous one of the sum, has started */
	MR_DEP_TAIL,     /* a W away from its stage's worker: every B or I of the count of micro-batch @number at stage
	                    has ended */
	MR_DEP_SUM,      /* every B or W of the count that makes version @number has ended at stage, in all pipes;
	                    replicas: in pipe */
	MR_DEP_AR,       /* AR(stage, pipe, version @number) has ended */
	MR_DEP_REDUCED,  /* AR(stage, version @number) has ended in all pipes */
	MR_DEP_NORM,     /* N(stage, version @number) has ended */
	MR_DEP_NORMS,    /* N(s, version @number) has ended at every stage s */
	MR_DEP_COMMIT,   /* version @number of stage is committed: its U has ended in all pipes; replicas: in pipe */
	MR_DEP_REPLICAS, /* version @number of stage is committed, by U or AVG, in all replicas */
	MR_DEP_COMMITS,  /* version @number of every stage is committed (BARRIER) */
	MR_DEP_FWD_FREE, /* forward buffer @number of boundary stage in pipe is free */
	MR_DEP_BWD_FREE, /* gradient buffer @number that stage writes for stage - 1 in pipe is free */
	MR_N_DEPS
} mr_dep_kind;

typedef struct mr_dep {
	uint8_t kind; /* mr_dep_kind */
	uint8_t pipe; /* F, GRAD, AR, free buffers; replicas: SUM, COMMIT */
	uint16_t stage;
	uint64_t number; /* micro-batch, version or buffer number; absolute */
	uint32_t more;   /* GRAD: this many micro-batches behind @number as well (the span of a W) */
} mr_dep;

#define MR_DEPS_MAX 5

/* Does @micro follow the one before it in the ring? The first of a commit begins when it can, but with whole steps. */
static inline bool mr_ring_follows(const mr_plan *plan, uint64_t micro)
{
	return plan->contract.ring && (plan->contract.whole_steps ? micro : micro % plan->contract.need) > 0;
}

/**
 * The dependencies of @in in iteration @n, in no particular order; returns how many. Storage dependencies come last,
 * and only when the plan is lowered. Any thread; allocates nothing.
 */
uint32_t mr_deps_of(const mr_plan *plan, const mr_instr *in, uint64_t n, mr_dep deps[MR_DEPS_MAX]);

/** The cause under which a wait for a dependency of @kind is recorded. */
mr_wait_cause mr_dep_cause(mr_dep_kind kind);

/** The worker that computes N of @stage, and where there is one pipe, owns its weights and does AR and U (pipe 0's
 * worker). */
static inline uint16_t mr_stage_owner(const mr_plan *plan, uint16_t stage)
{
	return mr_plan_worker(plan, 0, stage);
}

/* Storage numbers of @in in iteration @n, whatever plan->storage is; only for lowered plans (see plan.h). */

/** Activation slot of F, R, B, I, W. */
uint32_t mr_instr_slot(const mr_plan *plan, const mr_instr *in, uint64_t n);

/** Forward buffer that F (and the R, B, I, W after it) reads at a stage > 0. Only of F when the plan is MR_STORED. */
uint32_t mr_instr_in_fwd(const mr_plan *plan, const mr_instr *in, uint64_t n);

/** Gradient buffer that B, I or W reads at a stage < S-1. */
uint32_t mr_instr_in_bwd(const mr_plan *plan, const mr_instr *in, uint64_t n);

/** Buffer written: by F (stage < S-1) a forward buffer of boundary stage+1, by B and I (stage > 0) a gradient buffer.
 */
uint32_t mr_instr_out(const mr_plan *plan, const mr_instr *in, uint64_t n);

#endif
