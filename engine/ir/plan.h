/*
 * plan.h - the plan: what every worker does, in which order, on which weights. Everything in millrace meets here.
 *
 * A plan is plain data. Schedules emit its compute instructions (F, B, I, W, R); the lowering adds everything else
 * (norms, gradient reductions, optimizer steps, activation slots, boundary buffers, weight versions); the checker
 * proves it against the contract in its header; the walk, the engine and the replay carry it out. None of them depends
 * on the name of a system.
 *
 * Words. Stage s in [0, S): contiguous layers. Worker w in [0, D). Pipe p in [0, P): one copy of the pipeline
 * direction. Micro-batch m. Version v of a stage: its weights after v commits. Slot: storage for the saved activations
 * of one micro-batch at one stage. Boundary s (0 < s < S), forward: the activation that enters stage s; backward: the
 * gradient that enters stage s-1 from stage s.
 *
 * Sections. Each worker has three lists: prologue, body, epilogue. The body is carried out N times; N is no part of the
 * plan. In a body the numbers are offsets: iteration n (from 0) means
 *     micro   = field + n * n_micro
 *     version = max(0, field + n * commits)          (read and target alike; before the first commits all is version 0;
 *                                                    commits of that stage: mr_plan_commits)
 * In the prologue n = 0, in the epilogue n = N. A synchronous plan is a body alone: one iteration with its flush.
 * A finite list of an asynchronous system is a prologue alone.
 *
 * Windows (mr_plan.endless). If no iteration equals another, the lists are made during the run: a window is iteration n
 * of a body with instructions of its own, in the numbers of a body. The plan's lists then hold window 0 as a prologue
 * that drains at its end; code that needs one iteration as an example of all reads them (ir/endless.h).
 *
 * Storage numbers. MR_STORED: the slot and buffer numbers stand in the instructions (the body leaves no slot taken, so
 * each iteration may use the same ones). MR_MODULO: they follow from the absolute numbers: slot = (micro div P) mod
 * n_slots, boundary buffer = (micro div P) mod its number of buffers, so that a pipe that takes every P-th micro-batch
 * uses its places one after the other. In both, the buffer of version v of a stage is v mod cap.
 *
 * Recomputation. Where a system emits R(m,s) between F(m,s) and its backward, F keeps nothing but its input, which
 * stays in the forward buffer (held until the last backward use, R or not); it uses a slot while it runs, and R takes
 * the slot that the backward then reads. R reads the input that F read and the weights that its backward reads. If
 * these are F's weights (same_version_b, or a flush), R saves the same bits as F would; else it saves what the stage
 * computes with its present weights. R passes nothing to the next stage. At the last stage the target is kept for R,
 * like the input.
 *
 * Span. A W may handle `span` consecutive micro-batches of one commit at once: it computes the sum of their gradients
 * as one product over all their rows, added up in ascending order. Each micro-batch has an I of its own before it. All
 * their slots are given back when the W ends. `slot` and `in` are those of the first micro-batch.
 *
 * Validation (MR_FLUSH_VALIDATED). A step that clips by the global norm needs all gradients, and waiting for them is a
 * barrier. Here U steps at once, as if nothing had to be clipped, and the forwards of the next iteration follow. Only
 * if the norms that are already there show that clipping is needed does U wait for the others. V(s, v), before the
 * first instruction of the next iteration that is no F, waits for all norms of version v. If the step was right, V does
 * nothing. Otherwise it rolls the step back exactly (version v - 1 lies in the other buffer, the optimizer's state in a
 * copy) and repeats it with the clipping factor, and every worker repeats the forwards that it did before its V.
 * All instructions after V use validated weights, so the numbers are those of a plan with a barrier. The V of one
 * worker's stages follow each other directly.
 *
 * Racing (mr_contract.racing). A worker's list holds two sequences, its F and its B with their U. The engine carries
 * out the next instruction of either sequence that is ready, B before F, so timing decides how many F lie between two
 * B. The list itself is one legal order of both. The walk, the drawings and the checker use that order, and so do
 * executors without a clock (replay, simulator). In the engine F and B read the latest versions of the moment and not
 * those in the list. Whatever the order was, the same lists in that order are an ordinary plan (replay/record.h).
 *
 * Replicas (contract.average). Each pipe has versions of its own of every stage and commits them by itself; nothing is
 * reduced between pipes. A round is the `need` micro-batches that make one commit in every pipe; after every `every`
 * rounds AVG brings the pipes together, which makes one more version in each. So with H rounds between, n rounds make n
 * + n / H versions, and every (H + 1)-th version is an average. AVG(s, v, p) is carried out in parts as AR is: on pipe
 * p's worker, for range p of the elements, in all pipes.
 *
 * Stealing (mr_contract.steal; one pipe, a barrier, ascending sums). The table worker_of gives the worker that carries
 * out a stage's F, R, B and I and holds its weights. The tail of a worker's iteration is the W after its last F, R, B
 * and I. A W of the tail carries MR_INSTR_ANY and may be carried out by any free worker:
 *     - its own worker takes the W of its tail one by one, in the order of its list, when it reaches them;
 *     - a worker that has reached its own tail and whose next instruction has to wait takes meanwhile the next W of the
 *       worker that has most of them left (of several the first); its own tail counts, too.
 * Whichever worker takes it, the gradients of a stage are added in ascending order: a W follows the one before it layer
 * by layer, so that several may be under way without changing a bit. Timing decides which worker takes which W. The
 * result, with each W written into the list of the worker that did it, is an ordinary finite plan (ir/steal.h). No
 * other op can be placed ANY: the outputs of F, B and I and the activations that they keep stay with one worker.
 *
 * Joint W (mr_contract.joint_w; several pipes of one stage each, one copy of the weights, a flush, no clipping). A W
 * computes nothing: it leaves what its micro-batches have saved to the AR of all pipes. The range of a pipe is whole
 * layers, and its AR computes their gradients as the sum over the micro-batches of all pipes in ascending order, and
 * steps. So no sum of gradients is written and read again, and the bits are those of one pipe. U(s, v, p) waits for the
 * AR of every pipe, gives back what the W of its pipe have left, and commits. In every pipe W come behind all F and I.
 *
 * Released sums (mr_contract.release_sums; several pipes, a flush, no clipping). A stage sums its gradients in the
 * buffer of the second one above it that trains: its B and W wait until that is committed in all pipes, so nobody reads
 * that sum any more. AR and U stand behind the last B or W of the next lower stage that trains. So gradients of two
 * stages are in memory at a time.
 *
 * Sharded weights (mr_contract.weight_rooms = R; with released sums). Between workers that share no memory each keeps
 * its range of every stage, and passes read copies in R rooms: stage s in room s mod R, as long as no pass of another
 * stage needs the room. It is fetched from the owners of all ranges while passes of up to R - 1 other stages go on
 * (ir/fetches.h). Where workers share memory all read the one copy in place.
 * In G groups of P/G pipes (mr_contract.weight_groups) pipe j of a group also keeps the ranges that pipe j of each
 * other group steps, which sends its own there behind its step. So a group has all weights, and fetches are within it.
 *
 * Ring (mr_contract.ring; several pipes, a flush). Micro-batch m is in pipe m mod P, and the passes of a commit follow
 * each other at each stage: F(m,s) comes after F(m-1,s), and B or I likewise. So at any time one worker reads a stage's
 * weights forward and one backward, as if they were handed from worker to worker. No result depends on it.
 *
 * Stage replicas. A stage that is too long for one worker has stage_replicas[s] = r of them, which take the
 * micro-batches in turn: m belongs to part m mod r of the stage. With P the least common multiple of all r, m goes
 * through pipe m mod P, whose stage s lives where part p mod r lives. Each r micro-batches, one of each part, make a
 * commit of that stage, so stages commit at their own pace: stage s makes n_micro / stage_replicas[s] versions an
 * iteration, and its offsets count those. Parts sum into buffers of their own; AR and U of part q have q in `pipe`,
 * stand on that part's worker, and sum and step range q of r. All parts read one copy of the weights: each part reads
 * the latest version by its own list, and the others have committed it when their ranges of it are done. A step of the
 * run (contract.need) is P micro-batches, or a multiple. A stage of r workers steps with r / stage_replicas[0] times
 * the rate, since it commits more rarely by that factor and each commit sums more micro-batches by it.
 *
 * Whole steps (mr_contract.whole_steps; several pipes that read one copy of the weights and do not flush). A commit is
 * one pipe's: that of the last micro-batch of its count, whose worker steps the whole stage behind its last B. A pipe
 * begins and ends its micro-batches in one iteration, and F reads the latest version by its own list, or by the number
 * of its batch; versions of other pipes it waits for. With need = 1 each pipe sums into a buffer of its own and commits
 * in the order of the micro-batches, whose numbers are thus the order in which gradients arrive: U(s, v) comes after
 * U(s, v-1), whichever workers carry them out. Version v - cap may be overwritten by then: whoever reads it has
 * committed. So cap is 1 + the most commits between a read and the commit of its gradient.
 * With ring, counts may have several micro-batches, of all pipes: these add to one sum a stage, one after the other,
 * and B of the first waits for the step with what was in it. F(m, s) and B(m, s) then come after those of m - 1, also
 * of another count. Stage s may keep the activations of all pipes in rooms[s] = K rooms, that of m in room m mod K:
 * F(m, s) waits for B(m - K, s). The slots of the pipes are then names without memory.
 *
 * Order of the dependencies (as in the literature; loss counts to the last F): F(m,s) after F(m,s-1); B|I(m,s) after
 * F(m,s) and B|I(m,s+1); W after I; R(m,s) before B|I(m,s); U(s) after all B|W of its count, after AR(s) where there is
 * one, and after every stage's N where there is one. See ir/deps.h.
 */
#ifndef MR_IR_PLAN_H
#define MR_IR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mr_op {
	MR_OP_F,   /* forward */
	MR_OP_R,   /* recompute */
	MR_OP_B,   /* full backward: I then W */
	MR_OP_I,   /* input-gradient half */
	MR_OP_W,   /* weight-gradient half */
	MR_OP_N,   /* squared gradient norm of a stage, tensor by tensor */
	MR_OP_AR,  /* reduction of a stage's gradient buffers (between pipes, or the uses of a tied parameter); several
	              pipes: a range */
	MR_OP_U,   /* optimizer step: commits one version of a stage; several pipes: a range of it, but of replicas its
	              own */
	MR_OP_V,   /* validate or roll back */
	MR_OP_AVG, /* averaging between replicas: a range of a stage, in all of them */
	MR_N_OPS
} mr_op;

/* Instruction flags. */
#define MR_INSTR_FIRST_SUM 0x01u /* lowered, on B and W: first gradient of its count, overwrites the sum (beta = 0) */
#define MR_INSTR_UPDATE    0x02u /* lowered, on B and W: completes its count and carries out the step itself */
#define MR_INSTR_DROP 0x04u      /* lowered, on F: an R follows, so what it saves is given up at its end */
#define MR_INSTR_KEEP 0x08u    /* BLOCK, on B: the input gradient alone; the version committed is the one before it */
/* BLOCK, on B: nothing is computed, for the gradient ends at a later stage; committed as KEEP. */
#define MR_INSTR_PASS 0x10u
#define MR_INSTR_ANY 0x20u     /* lowered, on W: whichever worker is free takes it: see "Stealing" above */

typedef struct mr_instr {
	uint8_t op;     /* mr_op */
	uint8_t flags;  /* MR_INSTR_* */
	uint8_t pipe;
	uint8_t span;   /* consecutive micro-batches handled at once; 1, but on W */
	uint16_t stage;
	uint16_t slot;  /* lowered, MR_STORED: activation slot of (micro, stage, pipe); F with MR_INSTR_DROP: its own */
	uint32_t micro; /* first micro-batch; for N, AR, U and AVG: the last one of their count; V: the first one after
	                   the count */
	int32_t read;   /* lowered, on F R B I W: version read */
	int32_t target; /* lowered, on N AR U AVG (and B, W with MR_INSTR_UPDATE): version committed; V: validated; on F
	                   R B I of a plan that predicts: the version predicted. Not lowered: their horizon */
	uint16_t in;    /* lowered, MR_STORED: F, R: forward buffer read; B, I, W: gradient buffer read */
	uint16_t out;   /* lowered, MR_STORED: F: forward buffer written; B, I: gradient buffer written */
} mr_instr;

_Static_assert(sizeof(mr_instr) == 24, "a plan of a million instructions must stay small");

typedef enum mr_section { MR_PROLOGUE, MR_BODY, MR_EPILOGUE, MR_N_SECTIONS } mr_section;

typedef struct mr_list {
	mr_instr *at;
	uint32_t n, room;
} mr_list;

/* What the lists cover: the checker counts against this. */
typedef enum mr_coverage {
	MR_COVER_TRAIN,   /* each (m, s, pipe of m): one F, and one B xor (I and W) */
	MR_COVER_FORWARD, /* each (m, s): one F and nothing else (evaluation) */
	MR_COVER_BLOCK,   /* each (m, s): one F and one B, but a step updates one stage, the active one of its
	                     micro-batch. B of earlier stages carry MR_INSTR_PASS, B of later ones MR_INSTR_KEEP.
	                     Every stage commits a version a step, most of them unchanged, so version k of any stage is
	                     the model after k steps. `target` of F is the minibatch of the data that its micro-batch
	                     takes. */
} mr_coverage;

/* When stage s may go on after its optimizer step. */
typedef enum mr_flush {
	MR_FLUSH_BARRIER,   /* every F of iteration n+1 after every U of iteration n: the makespan counts */
	MR_FLUSH_LOCAL,     /* F(n+1, s) after U(n, s): the period counts */
	MR_FLUSH_VALIDATED, /* LOCAL and clipping: V, not U, waits for the norms of all stages (see "Validation") */
	MR_FLUSH_NONE,      /* asynchronous: commits do not wait for the pipeline to drain */
} mr_flush;

/* Which version F reads. */
typedef enum mr_read_rule {
	MR_READ_BATCH,  /* version = batch number of the micro-batch, less the stage's delay (synchronous: no delay) */
	MR_READ_LATEST, /* the stage's own latest at that place of its list (PipeDream) */
	MR_READ_TAG,    /* what F(m, stage 0) read, at every stage (PipeDream with vertical sync) */
	MR_READ_AGED,   /* what the system's own lists say; only for finite lists */
	MR_READ_FIRST,  /* all micro-batches of a commit read the version that is latest for the first of them, as the
	                   weights predicted from it, which are held for the commit (XPipe); forwards of a stage
	                   ascend, and the version itself may be overwritten meanwhile */
} mr_read_rule;

/* In which order the gradients of one count are summed at every stage. */
typedef enum mr_sum_order {
	MR_SUM_ASCENDING,
	MR_SUM_DESCENDING,
	MR_SUM_LISTED /* as the lists say; stages may differ */
} mr_sum_order;

/*
 * Whether F and B work on weights that are predicted from the version they read: target - read is the horizon, the same
 * for all F and for all R, B and I of a stage. With AHEAD and STEPS it is in commits, so the target is the version
 * predicted. With BACK it is in micro-batches, `need` of which are a commit, since the distance from F to B is seldom a
 * whole number of commits. With same_version_b B works on the weights that were made for its F; they are kept with the
 * activations, and the version itself need not be. STEPS makes weights of two versions alone, so it may start from any
 * version that F reads, in any pipe; an R makes them anew.
 */
typedef enum mr_predict {
	MR_PREDICT_NONE,
	MR_PREDICT_AHEAD, /* w - horizon * lr * direction: along the direction of the optimizer's last step */
	MR_PREDICT_BACK,  /* R, B, I: w + horizon / need * delta, back by the running mean delta of the last steps
	                     (horizon < 0) */
	MR_PREDICT_STEPS, /* w + horizon * (w - the version before it): horizon more steps equal to the last one */
} mr_predict;

/*
 * Whether a stage trains. The weights of a frozen one stay as they are: it makes no version, so its F reads version 0
 * however long the run is. One that passes the gradient on has F and I; a leaf, before which nothing trains, has F
 * alone, whose slot and input are free at its end, and the stage behind it writes no gradient for it. A stage in which
 * some layers are frozen trains; what it leaves out for them no plan sees (stage/stage.h).
 */
typedef enum mr_frozen { MR_TRAINS, MR_FROZEN_PASSES, MR_FROZEN_LEAF } mr_frozen;

/* How replicas, whose weights diverge, are brought together again. */
typedef enum mr_average_rule {
	MR_AVERAGE_NONE,    /* no replicas: all pipes read the same weights */
	MR_AVERAGE_MEAN,    /* all continue from their mean, or from an outer step towards it (local SGD,
	                       DiLoCo) */
	MR_AVERAGE_ELASTIC, /* each is pulled towards a reference, which follows their mean step (AvgPipe) */
} mr_average_rule;

/* With x_r the weights of replica r of R, ref the reference before the average, mean the mean of all x_r:
 *	MEAN             x_r = mean; outer_lr > 0: delta = ref - mean, velocity = outer_mu * velocity + delta,
 *	                 ref -= outer_lr * (delta + outer_mu * velocity), x_r = ref
 *	ELASTIC          x_r -= alpha * (x_r - ref), ref += the mean of the replicas' changes since the last average */
typedef struct mr_average {
#define MR_AVERAGE(type, member, ...) type member;
#include "ir/contract.def"
} mr_average;

typedef enum mr_storage { MR_STORED, MR_MODULO } mr_storage;

/* What a plan promises. contract.def says what each member means. */
typedef struct mr_contract {
#define MR_CONTRACT(type, member, ...) type member;
#include "ir/contract.def"
	mr_average average; /* whether each pipe has weights and commits of its own, and what AVG does with them */
} mr_contract;

/* Copies of a stage's weights that its averages need beside the replicas: reference; velocity; mean of the replicas at
 * the last average. */
static inline uint32_t mr_average_copies(const mr_average *a)
{
	if (a->rule == MR_AVERAGE_ELASTIC)
		return 2;
	return a->outer_lr > 0 ? 1 + (a->outer_mu > 0) : 0;
}

/* Does each pipe have weights of its own, which diverge? */
static inline bool mr_contract_replicates(const mr_contract *c)
{
	return c->average.rule != MR_AVERAGE_NONE;
}

/* Versions after @n counts, averages included; the commit of count n (from 0) makes the version after n, plus 1. */
static inline uint64_t mr_contract_after(const mr_contract *c, uint64_t n)
{
	return n + (c->average.every ? n / c->average.every : 0);
}

/* Optimizer steps behind version @v. */
static inline uint64_t mr_contract_steps(const mr_contract *c, uint64_t v)
{
	return v - (c->average.every ? v / (c->average.every + (uint64_t)1) : 0);
}

/* Is version @v > 0 made by AVG? */
static inline bool mr_contract_averages(const mr_contract *c, uint64_t v)
{
	return c->average.every && v % (c->average.every + (uint64_t)1) == 0;
}

struct mr_endless;

/* A stage without a worker yet. In a plan that is carried out every stage has one; for W see "Stealing". */
#define MR_WORKER_ANY UINT16_MAX

typedef struct mr_plan {
	char system[32];        /* for people; nothing may branch on it */
	uint16_t n_stages;      /* S */
	uint16_t n_workers;     /* D */
	uint8_t n_pipes;        /* P */
	uint32_t n_micro;       /* micro-batches an iteration of the body (or of the whole list when there is no body)
	                           */
	uint32_t commits;       /* versions that each stage commits in an iteration of the body; with stage
	                           replicas: steps (see there) */
	mr_contract contract;
#define MR_STAGES(member, ...) uint8_t *member; /* [S] */
#include "ir/contract.def"
	uint16_t *worker_of;    /* [P][S]: worker of stage s in pipe p; see mr_plan_worker */
	mr_list *lists;         /* [D][MR_N_SECTIONS]; see mr_plan_list */

	/* From here on: filled by the lowering. */
	bool lowered;
	mr_storage storage;
	uint16_t *n_slots;      /* [P][S] activation slots; a pipe without micro-batches has none, and no buffers */
	uint16_t *n_fwd;        /* [P][S] forward buffers of boundary s (0 for s = 0 and inside one worker when not
	                           needed) */
	uint16_t *n_bwd;        /* [P][S] gradient buffers written by stage s for stage s-1 (0 for s = 0) */
	uint16_t *n_versions;   /* [S] version buffers (cap) */

	struct mr_endless *endless; /* owned; NULL: the lists are the whole plan */
} mr_plan;

/** Make an empty plan with room for its tables; all workers MR_WORKER_ANY. Errors: MR_EINVAL for zero or too large
 * counts. */
mr_status mr_plan_create(uint16_t n_stages, uint16_t n_workers, uint8_t n_pipes, mr_plan **out) MR_MUST_USE;
void mr_plan_destroy(mr_plan *plan);

/** Bytes of the instruction lists. */
uint64_t mr_plan_bytes(const mr_plan *plan);

/**
 * An empty plan with the header, contract, placement and stage_replicas of @plan; with @lowered also with what the
 * lowering has filled in. Errors: MR_ERESOURCE.
 */
mr_status mr_plan_create_like(const mr_plan *plan, bool lowered, mr_plan **out) MR_MUST_USE;

/** A copy of @plan, which is not lowered; of an endless plan, its lists alone (window 0). Errors: MR_ERESOURCE. */
mr_status mr_plan_copy(const mr_plan *plan, mr_plan **out) MR_MUST_USE;

/** The instructions of all workers in @section. */
uint64_t mr_plan_length(const mr_plan *plan, mr_section section);

/** Has any worker a body? The record of a run has none, nor has a finite list. */
bool mr_plan_repeats(const mr_plan *plan);

/** Append @in to the list of @worker in @section. */
mr_status mr_plan_append(mr_plan *plan, uint16_t worker, mr_section section, mr_instr in) MR_MUST_USE;

static inline mr_list *mr_plan_list(const mr_plan *plan, uint16_t worker, mr_section section)
{
	return &plan->lists[(size_t)worker * MR_N_SECTIONS + section];
}

/* Index into the [P][S] tables. */
static inline size_t mr_plan_at(const mr_plan *plan, uint8_t pipe, uint16_t stage)
{
	return (size_t)pipe * plan->n_stages + stage;
}

static inline uint16_t mr_plan_worker(const mr_plan *plan, uint8_t pipe, uint16_t stage)
{
	return plan->worker_of[mr_plan_at(plan, pipe, stage)];
}

/** Fill @load [n_stages] with the largest number of pipes in which one worker carries out stage s: the stage's cost
 * counts that many times. Returns whether the numbers differ between stages, as they do where some stages have more
 * workers than others; false where a worker has several stages, whose costs add up. */
bool mr_plan_load(const mr_plan *plan, uint32_t *load);

/* Do stages have replicas (see "Stage replicas")? All have or none; a stage with one worker then counts as one. */
static inline bool mr_plan_has_stage_replicas(const mr_plan *plan)
{
	return plan->stage_replicas[0] > 0;
}

/* Does @stage commit versions? What else it does: stage_ops.h. */
static inline bool mr_plan_trains(const mr_plan *plan, uint16_t stage)
{
	return plan->frozen[stage] == MR_TRAINS;
}

/* Micro-batches that a commit of @stage sums. */
static inline uint32_t mr_plan_need(const mr_plan *plan, uint16_t stage)
{
	return plan->stage_replicas[stage] ? plan->stage_replicas[stage] : plan->contract.need;
}

/* Parts into which sum and step of @stage are cut: its replicas, or else the pipes; whole steps: one. */
static inline uint8_t mr_plan_partial_sums(const mr_plan *plan, uint16_t stage)
{
	if (plan->contract.whole_steps)
		return 1;
	return plan->stage_replicas[stage] ? plan->stage_replicas[stage] : plan->n_pipes;
}

/* Of sharded weights in groups (mr_contract.weight_groups): what pipe @j gets of those that pipe @i keeps. */
typedef enum mr_weights_go {
	MR_GO_NONE,    /* another of its group brings it */
	MR_GO_FETCHED, /* all, when it asks */
	MR_GO_COPIED   /* the range that @i steps, to keep it too */
} mr_weights_go;

static inline mr_weights_go mr_plan_weights_go(const mr_plan *plan, unsigned i, unsigned j)
{
	unsigned each = plan->n_pipes / (plan->contract.weight_groups ? plan->contract.weight_groups : 1);

	return i / each == j / each ? MR_GO_FETCHED : i % each == j % each ? MR_GO_COPIED : MR_GO_NONE;
}

/* The part of @stage to which @pipe belongs. */
static inline uint8_t mr_plan_part(const mr_plan *plan, uint16_t stage, uint8_t pipe)
{
	if (plan->contract.whole_steps)
		return 0;
	return (uint8_t)(plan->stage_replicas[stage] ? pipe % plan->stage_replicas[stage] : pipe);
}

/* Versions that @stage makes in an iteration of the body. */
static inline uint32_t mr_plan_commits(const mr_plan *plan, uint16_t stage)
{
	if (!mr_plan_trains(plan, stage))
		return 0;
	return plan->stage_replicas[stage] ? plan->n_micro / plan->stage_replicas[stage] : plan->commits;
}

/* The version of @stage to which the gradient of @micro is applied: the commits before its own. */
static inline uint64_t mr_plan_applied_on(const mr_plan *plan, uint16_t stage, uint64_t micro)
{
	return mr_plan_trains(plan, stage) ? mr_contract_after(&plan->contract, micro / mr_plan_need(plan, stage)) : 0;
}

/* The version that F of @micro reads at @stage under MR_READ_BATCH. */
static inline uint64_t mr_plan_batch_version(const mr_plan *plan, uint16_t stage, uint64_t micro)
{
	const mr_contract *c = &plan->contract;
	uint64_t batch = micro / c->need, late = stage + (c->catches_up ? micro % c->need : 0);
	uint64_t delay = late < c->delayed ? c->delay : 0;

	return batch > delay && mr_plan_trains(plan, stage) ? mr_contract_after(c, batch - delay) : 0;
}

/* Steps of the run (counts) that an iteration of the body makes; 0 where it trains nothing. */
static inline uint32_t mr_plan_steps(const mr_plan *plan)
{
	return plan->commits ? plan->n_micro / plan->contract.need : 0;
}

/* Does the plan never flush, and yet drain the pipeline at the end of each iteration, of several commits? */
bool mr_plan_drains(const mr_plan *plan);

/* Steps from one pause point to the next: plans with replicas pause only after an average, which ends an iteration, and
 * plans that drain only after a drain. */
static inline uint32_t mr_plan_stride(const mr_plan *plan)
{
	return mr_contract_replicates(&plan->contract) || mr_plan_drains(plan) ? mr_plan_steps(plan) : 1;
}

/* Micro-batches whose gradients one complete sum of @stage holds: each replica sums its own. */
static inline uint32_t mr_plan_sum(const mr_plan *plan, uint16_t stage)
{
	return mr_plan_need(plan, stage) / (mr_contract_replicates(&plan->contract) ? plan->n_pipes : 1u);
}

/* The absolute micro-batch and versions of @in in iteration @n (see "Sections"). */
static inline uint64_t mr_instr_micro(const mr_plan *plan, const mr_instr *in, uint64_t n)
{
	return in->micro + n * plan->n_micro;
}

static inline uint64_t mr_instr_read(const mr_plan *plan, const mr_instr *in, uint64_t n)
{
	int64_t v = in->read + (int64_t)(n * mr_plan_commits(plan, in->stage));

	return v > 0 ? (uint64_t)v : 0;
}

static inline uint64_t mr_instr_target(const mr_plan *plan, const mr_instr *in, uint64_t n)
{
	int64_t v = in->target + (int64_t)(n * mr_plan_commits(plan, in->stage));

	return v > 0 ? (uint64_t)v : 0;
}

/* How far ahead of the version that it reads @in predicts (mr_predict). */
static inline int32_t mr_instr_horizon(const mr_plan *plan, const mr_instr *in)
{
	if (plan->contract.predict == MR_PREDICT_NONE || in->op > MR_OP_I)
		return 0;
	return plan->lowered ? in->target - in->read : in->target;
}

/**
 * Staleness of stage @stage once the run is under way: the most commits between the version that an F reads and the one
 * that its gradient is applied to. @plan is lowered.
 */
uint32_t mr_plan_staleness(const mr_plan *plan, uint16_t stage);

/**
 * The same on average over the micro-batches of a commit, where a commit has several: 1F1B with H forwards ahead and M
 * micro-batches a commit has H / M.
 */
double mr_plan_delay(const mr_plan *plan, uint16_t stage);

/* Is @in, in its first iteration, of one of the first commits, which are made as if the plan flushed? */
static inline bool mr_instr_is_sync(const mr_plan *plan, const mr_instr *in)
{
	return in->micro / plan->contract.need < plan->contract.sync_steps;
}

/** The horizon of F, or else of R, B and I, at @stage, without those of the synchronous start. */
int32_t mr_plan_horizon(const mr_plan *plan, uint16_t stage, bool forward);

/* Does @in work on the weights that were made for its F, even if the version read has been overwritten? */
static inline bool mr_instr_takes_made(const mr_plan *plan, const mr_instr *in)
{
	return plan->contract.same_version_b && in->op != MR_OP_F && mr_instr_horizon(plan, in) != 0 &&
	       !(plan->contract.predict == MR_PREDICT_STEPS && in->op == MR_OP_R);
}

/* Does @in, which reads version @read, work on weights made from that version and the one before it? */
static inline bool mr_instr_takes_two(const mr_plan *plan, const mr_instr *in, uint64_t read)
{
	return plan->contract.predict == MR_PREDICT_STEPS && read > 0 && in->op <= MR_OP_I &&
	       mr_instr_horizon(plan, in) > 0 && !mr_instr_takes_made(plan, in);
}

/** Letters of an op as in the text form: "F", "AR", ... Never NULL. */
const char *mr_op_name(mr_op op);

/** The op called @name, or MR_N_OPS. */
mr_op mr_op_parse(const char *name);

/** A 64-bit hash of everything in the plan that executors follow (header, placement, lists; not the system's name). */
uint64_t mr_plan_hash(const mr_plan *plan);

#endif
