/*
 * cases.h - what perf/steps times: the cases, and the line-up of systems that take turns on each.
 *
 * A case is a model, its data (synthetic or random tokens: what they say does not change how long a step takes), an
 * optimizer and a batch. peer_torch.py holds the same cases under the same names.
 *
 * GPT-2 comes twice. gpt2-124m is the published model: 12 layers, 768 wide, 12 heads, vocabulary 50257 (llm.c pads it
 * to 50304, 0.1 % more), head tied to the token embedding, 124 M parameters; every row, PyTorch and llm.c included,
 * is that model. PipeDream cannot share weights between its first and last stage, so gpt2-untied has a head of its
 * own, 163 M parameters, for every row of it; the arithmetic of a step is the same, the optimizer has a third more to
 * do. Positions: as many as the context, 64 (llm.c stores 1024, unused).
 */
#ifndef PERF_STEPS_CASES_H
#define PERF_STEPS_CASES_H

#include "config/config.h"

enum { MR_ONE_THREAD, MR_A, MR_A_AGAIN, MR_GPIPE, MR_1F1B, MR_MERGED, MR_PIPEDREAM, MR_VERTICAL, MR_N_SYSTEMS };

typedef struct mr_case {
	const char *name, *what;
	const char *model, *data, *optimizer, *backend; /* data NULL: random tokens below vocab */
	int vocab;
	int batch, micro; /* micro: of the synchronous pipelines */
	int burst;        /* steps timed at once */
	unsigned systems; /* a bit for each of the line-up; 0: all */
	int rounds;       /* at most; 0: as many as asked for */
	bool big;         /* memory is short: "A again" is A's own session, and times only */
} mr_case;

typedef struct mr_system {
	const char *label, *system, *extra; /* extra: keys of the system group */
	int workers, threads;
	bool micro;                         /* takes the case's micro-batches */
} mr_system;

extern const mr_case mr_cases[];   /* ends with a nameless one */
extern const mr_case mr_case_tiny; /* of ctest */
extern const mr_system mr_line_up[MR_N_SYSTEMS];

bool mr_case_has(const mr_case *c, int system);

/**
 * The configuration of @s on @c with @threads a worker, as `millrace train` would read it. @tokens: a file of random
 * tokens below c->vocab, where the case has no data of its own. The caller destroys *@out. Errors: MR_EIO,
 * MR_ECONFIG.
 */
mr_status mr_case_config(const mr_case *c, const mr_system *s, int threads, const char *tokens,
			 mr_config **out) MR_MUST_USE;

/** Write such a file to a new temporary @path, which the caller unlinks. Errors: MR_EIO. */
mr_status mr_case_tokens(const mr_case *c, char path[64]) MR_MUST_USE;

#endif
