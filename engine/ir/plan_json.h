/*
 * plan_json.h - the plan as JSON: the compute instructions of one iteration, for other programs.
 *
 *	{"system": "1f1b", "D": 2, "T": 4, "v": 1, "stages": 2,
 *	 "contract": {"coverage": "train", "flush": "barrier", "read": "batch", "sum": "ascending", "need": 4,
 *	              "staleness": 0,
 *	              "same_version_b": true, "clip": false, "tied": false, "private_weights": false, "racing": false,
 *	              "repeats": true},
 *	 "pipes": [{"stage_to_worker": [0, 1], "microbatches": [0, 1, 2, 3]}],
 *	 "workers": [[["F",0,0,0], ["F",1,0,0], ["B",0,0,0], ...], [...]]}
 *
 * D workers, T micro-batches of one iteration (all pipes together, numbered 0..T-1), S = "stages". "workers" holds for
 * every worker its instructions in order, each [op, micro-batch, stage, pipe] with op F, B, I, W or R. A W of several
 * consecutive micro-batches at once has their number after the pipe: ["W",0,0,0,4]. In a plan with aged reads more
 * entries follow a span of 1: of F the version that it reads and the minibatch of the data, ["F",7,0,0,1,5,3], and of a
 * B that leaves
 * its stage unchanged the word "keep" or "pass": ["B",7,0,0,1,"keep"].
 *
 * Required when reading: D, T, stages and workers. "pipes" may be absent: the instructions then say where a stage lives
 * and how many pipes there are. "v" and everything else is ignored, "metrics" and "expect" among it.
 *
 * The contract holds the words of the text form (ir/text.h), and "repeats": whether the lists are a body, carried out
 * again and again, or the whole of a finite plan. Its members are the keys of ir/contract.def, which says what each
 * means (its tables are arrays of a number a stage; absent: zeros), and "horizons" (how far F and B predict, a number a
 * stage each; absent: none). Other words and members are refused. Defaults of members that are left out: one
 * training iteration with a flush, TRAIN, BARRIER, BATCH, need T (a stage's gradient sums the micro-batches of all its
 * pipes), sum order as listed, staleness 0, same_version_b; the plan repeats unless "flush" is "none"; "delay" alone
 * means at every stage.
 *
 * The plan read holds compute instructions only. The reader does not judge it: lower and check it next. A plan file is
 * untrusted: counts are capped (below), every number is checked before it is an index, and every refusal is one message
 * that names the place
 * ("worker 2, instruction 14: ...").
 */
#ifndef MR_IR_PLAN_JSON_H
#define MR_IR_PLAN_JSON_H

#include "base/json.h"
#include "ir/plan.h"

#define MR_PLAN_JSON_MAX_BYTES ((size_t)256 << 20)
#define MR_PLAN_JSON_MAX_WORKERS 4096
#define MR_PLAN_JSON_MAX_STAGES 4096
#define MR_PLAN_JSON_MAX_PIPES 64
#define MR_PLAN_JSON_MAX_MICRO 1000000

/**
 * Read the plan file @path. The caller destroys *@out, which is untouched on error.
 * Errors: MR_ECONFIG with "path: place: what is wrong"; MR_ERESOURCE without memory.
 */
mr_status mr_plan_json_read(const char *path, mr_plan **out) MR_MUST_USE;

/** The same from @len bytes of @text; messages without a path. */
mr_status mr_plan_json_read_text(const char *text, size_t len, mr_plan **out) MR_MUST_USE;

/**
 * Write the members of the plan's object ("system" to "workers") into the object that is open in @w: the caller opens
 * and closes it, and may add members such as "metrics". Only compute instructions are written; those that the lowering
 * added are left out. Of a plan with a body, the body; otherwise the prologue.
 * Errors: MR_EINVAL for a plan with prologue and body, which this form cannot hold (print its finite form).
 */
mr_status mr_plan_json_put(mr_json_writer *w, const mr_plan *plan) MR_MUST_USE;

#endif
