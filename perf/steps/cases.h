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

#include "millrace/job.h"

enum { MR_ONE_THREAD, MR_A, MR_A_AGAIN, MR_GPIPE, MR_1F1B, MR_MERGED, MR_PIPEDREAM, MR_VERTICAL, MR_N_SYSTEMS };

/* For mr_job_set. */
typedef struct mr_setting {
	const char *key, *value;
} mr_setting;

typedef struct mr_case {
	const char *name, *what;
	mr_setting set[12];  /* ends with a keyless one */
	const char *backend; /* NULL: auto */
	int vocab;           /* the data are random tokens below this; 0: set names others */
	int batch, micro; /* micro: of the synchronous pipelines */
	int burst;        /* steps timed at once */
	unsigned systems; /* a bit for each of the line-up; 0: all */
	int rounds;       /* at most; 0: as many as asked for */
	bool big;         /* memory is short: "A again" is A's own session, and times only */
} mr_case;

typedef struct mr_system {
	const char *label, *system;
	mr_setting extra; /* of the system's keys; keyless: none */
	int workers, threads;
	bool micro;       /* takes the case's micro-batches */
} mr_system;

extern const mr_case mr_cases[];   /* ends with a nameless one */
extern const mr_case mr_case_tiny; /* of ctest */
extern const mr_system mr_line_up[MR_N_SYSTEMS];

bool mr_case_has(const mr_case *c, int system);

/**
 * The job of @s on @c with @threads a worker, checked. @tokens: a file of random tokens below c->vocab, where there is
 * one. The caller ends *@out with mr_job_fini. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_case_job(const mr_case *c, const mr_system *s, int threads, const char *tokens, mr_job *out) MR_MUST_USE;

/** Write such a file to a new temporary @path, which the caller unlinks. Errors: MR_EIO. */
mr_status mr_case_tokens(const mr_case *c, char path[64]) MR_MUST_USE;

#endif
