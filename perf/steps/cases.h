/*
 * cases.h - what perf/steps times: the cases, and the line-up of systems that take turns on each.
 *
 * A case is a model, its data (synthetic or random tokens: what they say does not change how long a step takes), an
 * optimizer and a batch. perf/peer_models holds the same cases under the same names.
 *
 * GPT-2 comes in two forms. gpt2-124m is the published model: 12 layers, 768 wide, 12 heads, vocabulary 50257 (llm.c
 * pads it to 50304, 0.1 % more), head tied to the token embedding, 124 M parameters; every row, PyTorch and llm.c
 * included, is that model. gpt2-4x256 and gpt2-16x256 are the same on longer and on more sequences. PipeDream cannot
 * share weights between its first and last stage, so gpt2-untied has a head of its own, 163 M parameters, for every row
 * of it; the arithmetic of a step is the same, the optimizer has a third more to do. Positions: as many as the context
 * (llm.c stores 1024, unused).
 *
 * attention-2048 is no model but causal attention alone (attention.h).
 */
#ifndef PERF_STEPS_CASES_H
#define PERF_STEPS_CASES_H

#include "millrace/job.h"
#include "nn/kernels.h"

enum {
	MR_ONE_THREAD,
	MR_A,
	MR_A_AGAIN,
	MR_GPIPE,
	MR_1F1B,
	MR_MERGED,
	MR_PIPEDREAM,
	MR_VERTICAL,
	MR_DATA_PARALLEL,
	MR_JOINT,
	MR_PLANNED, /* what plan --auto chooses for the case, from nominal costs */
	MR_N_SYSTEMS
};

typedef enum mr_bench_precision { MR_BENCH_F32, MR_BENCH_BF16, MR_N_BENCH_PRECISIONS } mr_bench_precision;

/* For mr_job_set. */
typedef struct mr_setting {
	const char *key, *value;
} mr_setting;

typedef struct mr_case {
	const char *name, *what;
	mr_setting set[12];  /* ends with a keyless one */
	mr_attn attention;   /* samples 0: a model; else attention alone (attention.h), and set is empty */
	const char *backend; /* NULL: auto */
	int vocab;           /* the data are random tokens below this; 0: set names others */
	int batch, micro; /* micro: of the synchronous pipelines */
	int whole;        /* micro-batches of those that take the batch as one, where memory is short; 0: one */
	int burst;        /* steps timed at once */
	unsigned systems; /* a bit for each of the line-up; 0: all */
	int rounds;       /* at most; 0: as many as asked for */
	bool big;         /* memory is short: "A again" is A's own session, and times only */
	bool long_steps;  /* of seconds: none is made before a burst, and plans are not replayed */
	bool apart;       /* timed where --case names it alone: no row of the table */
} mr_case;

/* How many micro-batches a system makes of a batch. */
typedef enum mr_micro { MR_MICRO_WHOLE, MR_MICRO_CASE, MR_MICRO_DEFAULT /* the system's own */ } mr_micro;

typedef struct mr_system {
	const char *label, *system;
	mr_setting extra; /* of the system's keys; keyless: none */
	int workers, threads;
	mr_micro micro;
	bool bf16;        /* in the line-up of bf16, too */
	bool short_list;  /* in the short line-up, which is what the table needs */
} mr_system;

extern const mr_case mr_cases[];   /* ends with a nameless one */
extern const mr_case mr_case_tiny; /* of ctest */
extern const mr_system mr_line_up[MR_N_SYSTEMS];

/** Whether @system takes part in @c; @all: of the whole line-up, else of the short one. */
bool mr_case_has(const mr_case *c, int system, mr_bench_precision precision, bool all);

/** "f32", "bf16". */
const char *mr_bench_precision_name(mr_bench_precision precision);

/** The backend by which our systems train @c: "auto" where it has the precision, else the first of fused and onednn
 * that has; "auto" where none has, which then says why. */
const char *mr_case_backend(const mr_case *c, mr_bench_precision precision);

static inline bool mr_case_is_attention(const mr_case *c)
{
	return c->attention.samples > 0;
}

/**
 * The job of @s on @c in @precision with @threads a worker, checked. @tokens: a file of random tokens below c->vocab,
 * where there is one. The caller ends *@out with mr_job_fini. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_case_job(const mr_case *c, const mr_system *s, mr_bench_precision precision, int threads,
		      const char *tokens, mr_job *out) MR_MUST_USE;

/** Write such a file to a new temporary @path, which the caller unlinks. Errors: MR_EIO. */
mr_status mr_case_tokens(const mr_case *c, char path[64]) MR_MUST_USE;

#endif
