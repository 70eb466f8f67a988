/*
 * run_manifest.h - the facts in a checkpoint's manifest about the run that made it, and the check whether another run
 * may go on from there.
 */
#ifndef MR_CHECKPOINT_RUN_MANIFEST_H
#define MR_CHECKPOINT_RUN_MANIFEST_H

#include "session/session.h"
#include "store/checkpoint_io.h"

/* All facts, each at most once in a manifest, where its name is the key. */
#define MR_RUN_MANIFEST(X) \
	X(millrace) X(choices) X(isa) \
	X(model) X(system) X(optimizer) X(mitigation) X(precision) X(backend) X(kernels) X(slots) X(stages) X(workers) \
		X(threads) X(seed) X(batch) X(microbatches) X(parameters) X(clip) X(learning_rate) X(options) \
			X(costs) X(plan) X(identity) X(data) X(vocabulary) X(smoothness) X(minimum) X(gradient) \
				X(best_val_loss) X(best_train_loss) X(averaging) X(state) X(configuration) X(form) \
					X(elastic)

typedef enum mr_fact {
#define MR_FACT(name) MR_FACT_##name,
	MR_RUN_MANIFEST(MR_FACT)
#undef MR_FACT
	MR_RUN_MANIFEST_MOST
} mr_fact;

/* The facts "identity" and "slots": checkpoint/identity.h. The fact "state" is the form of the optimizer's state;
 * without it that is f32, the precision's own. */

/* The fact "vocabulary" of data that are no text; for text it is mr_dataset.alphabet. Older builds wrote none.
 * best_train_loss: the lowest loss of an evaluation of all training samples, if there are no others. */
#define MR_NO_VOCABULARY "none"

/* The fact "configuration" is the configuration with all values, and "form" the form of the data (data/dataset.h), if
 * they have one: with both a checkpoint alone is enough to use the model. Older builds wrote neither. */

typedef struct mr_run_manifest {
	mr_saved_text at[MR_RUN_MANIFEST_MOST]; /* point into text, long ones into the session */
	char text[MR_RUN_MANIFEST_MOST][640];
	size_t n;
} mr_run_manifest;

/** Collect the present facts of @s, which is started; @val_loss of its best checkpoint, NAN: none yet. Errors:
 * MR_ERESOURCE. */
mr_status mr_run_manifest_collect(const mr_session *s, double val_loss, mr_run_manifest *f) MR_MUST_USE;

/** Library and instructions that compute @s, on which last bits depend, into @text, which is returned. */
const char *mr_run_manifest_kernels(const mr_session *s, char *text, size_t size);

#define MR_RATE_ROOM 480 /* bytes of mr_run_manifest_rate, with all milestones */

/** "cosine 0.003 to 0.0003 over 1000 steps, warm-up 10", into @text, which is returned. */
const char *mr_run_manifest_rate(const mr_lr *lr, char *text, size_t size);

/**
 * Check that @s may go on from @ck. Errors: MR_ECKPT with a message that names the first difference, causes before
 * effects.
 */
mr_status mr_run_manifest_fit(const mr_session *s, const mr_checkpoint *ck) MR_MUST_USE;

#endif
