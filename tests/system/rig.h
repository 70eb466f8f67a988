/*
 * rig.h - a session for tests: a small job, changed by words key=value, with a temporary folder for files.
 *
 *	rig r;
 *	rig_init(&r);                          // mlp, synthetic data, reference f64, gpipe on two workers
 *	rig_set(&r, "system.name=%s", name);   // any number, as for --set; the last wins
 *	rig_open(&r);                          // job, data, graph, cut, plan, place: r.s
 *	...
 *	rig_fini(&r);
 *
 * All of them end the test on failure, with the message.
 */
#ifndef MR_TESTS_SYSTEM_RIG_H
#define MR_TESTS_SYSTEM_RIG_H

#include "replay/replay.h"
#include "job/job.h"
#include "session/session.h"
#include "exec/state.h"

#define RIG_SETS 48

/*
 * The thread sanitizer looks at what threads do beside each other, and takes ten times as long. So there everything is
 * done once, and what one thread does alone is left to the other builds.
 */
#ifdef __SANITIZE_THREAD__
#define RIG_TSAN 1
#else
#define RIG_TSAN 0
#endif

/* Under any sanitizer a grid of cases is thinned: each of its lines is met, but not in every combination. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RIG_SANITIZED 1
#else
#define RIG_SANITIZED 0
#endif

typedef struct rig {
	char dir[64];
	const char *model; /* the base's words of the model, where keys must be absent that the usual ones have */
	char *set[RIG_SETS];
	size_t n_sets;
	mr_job *job;
	mr_session s;
} rig;

typedef struct rig_step {
	uint64_t step;
	double loss, lr, norm; /* global, or the last stage's; -1: not computed */
} rig_step;

/* What a run leaves behind, to be compared to the bit. */
typedef struct rig_result {
	mr_state_list model, optimizer, inflight; /* copies: names and data are owned here */
	rig_step *step;                           /* [n_steps] in order */
	uint64_t n_steps, room;
	double eval;                              /* NAN: not asked for */
} rig_result;

void rig_init(rig *r);
void rig_set(rig *r, const char *fmt, ...) MR_PRINTF(2, 3);
/** Settings written in one text, separated by blanks. */
void rig_sets(rig *r, const char *text);
/** A gpt on a text of its own in place of the mlp. */
void rig_gpt(rig *r);
/** A vit of four blocks on images of its own. */
void rig_vit(rig *r);
/** The same text, and a gpt unless @sets, settings that will be made, begin with another model. */
void rig_tokens(rig *r, const char *sets);
/** Settings of the @i-th network over tokens that is no gpt; NULL behind the last. */
const char *rig_network(size_t i);
void rig_open(rig *r);
/** As rig_open, but the failure is the caller's; its text is all mistakes of the job. */
mr_status rig_try_open(rig *r);
void rig_fini(rig *r);

/** Bytes of the slot and the scratch of one stage of all layers. */
void rig_memory(const rig *r, bool split, uint64_t bytes[2]);

/* --- running --- */

/** An mr_engine_progress that adds steps to @arg's (an rig_result's) losses. */
bool rig_progress(void *arg, const mr_step_rec *rec);

/** Start the engine of an open rig. */
void rig_start(rig *r);
/** Go on to @until, noting losses in @out, which may be NULL. */
void rig_run(rig *r, uint64_t until, rig_result *out);
/** Copy the state (and the losses noted so far stay). With @eval, evaluate first. */
void rig_collect(rig *r, bool eval, rig_result *out);
/** Copy @st into @out. */
void rig_copy_state(const mr_state *st, rig_result *out);
/** Copy the state of a run at a pause point. */
void rig_collect_run(const mr_run *run, rig_result *out);
/** Losses of the step records that @run still holds. */
void rig_losses_of_run(const mr_run *run, rig_result *out);

/** start, run to @steps, collect: the whole. */
void rig_train(rig *r, uint64_t steps, bool eval, rig_result *out);
/** The replay's result for the same session. */
void rig_replay(rig *r, uint64_t steps, mr_replay_order order, uint64_t seed, rig_result *out);

void rig_result_fini(rig_result *out);

/** Equal to the bit: weights, optimizer state, losses, evaluation; with @inflight what is under way too. Prints the
 * first difference under the name @what. */
bool rig_equal(const rig_result *a, const rig_result *b, bool inflight, const char *what);

/** Equal weights and optimizer state alone. */
bool rig_equal_weights(const rig_result *a, const rig_result *b, const char *what);

/** Copy @from's three lists into @to's memory, tensor by tensor, by name; false (and a message on stderr) when they do
 * not name the same. */
bool rig_fill(mr_state *to, const rig_result *from);

/** Delays of 0 to @max_us in one instruction of five; 0: none. Nothing in builds without MR_FAULTS: returns false. */
bool rig_delays(uint32_t max_us, uint64_t seed);

#endif
