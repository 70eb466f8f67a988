/*
 * peer.h - other programs that train the same model, as yardsticks: they take turns with ours in every round.
 *
 * A peer builds its model once a case and then waits, idle, for its bursts. All of a case build at once; then each
 * compares its settings alone. One that fails or falls silent is dropped for the case, with a message, and the
 * benchmark goes on.
 *
 *   PyTorch  peer_torch.py as a co-process that imports its libraries once and forks for each case: "go N f32" makes
 *            that process run N steps in that precision and answer with the time of one. As its CPU users tune it: one
 *            pool of pinned threads, a malloc that keeps its memory, fused optimizers. Each precision runs in the
 *            fastest of the settings that it tries before it is ready (eager, compiled, packed weights, f32 masters of
 *            bf16 weights); what it says of each is printed.
 *   PyTorch, MKL for AMD
 *            the same once more with a library preloaded (preload/mkl_amd.c), without which its MKL leaves AVX-512 of
 *            AMD's processors alone. Only there, or where it is asked for, and in f32: in bf16 it made no difference.
 *   JAX      peer_jax.py, the same dialogue, for perceptrons.
 *   llm.c    train_gpt2 of a checkout, built by its user (-Ofast, OpenMP), on a random checkpoint and random tokens
 *            that are written in its formats for the time being. It takes no commands, so it is stopped
 *            (SIGSTOP) whenever a step line appears and continued for a burst, which is then timed from here; what it
 *            prints as a step's time includes the time it stood still. Its steps with validation or sampling in front
 *            are not counted.
 */
#ifndef PERF_STEPS_PEER_H
#define PERF_STEPS_PEER_H

#include "perf/steps/cases.h"
#include "perf/steps/process.h"

enum { MR_TORCH, MR_TORCH_AMD, MR_JAX, MR_LLMC, MR_N_PEERS };

typedef struct mr_peer mr_peer;

/* A peer's burst. */
typedef struct mr_peer_work {
	mr_bench_precision precision;
	int steps, warm; /* warm: before them, untimed */
} mr_peer_work;

typedef struct mr_peer_ops {
	const char *name;
	bool (*takes)(const mr_case *c, mr_bench_precision precision);
	/* Begin to build @c in p->precisions, with @threads. */
	mr_status (*start)(mr_peer *p, const mr_case *c, int threads);
	mr_status (*built)(mr_peer *p);  /* wait until it has done so; NULL: start does */
	mr_status (*choose)(mr_peer *p); /* try its settings, and be warm; NULL: it has none */
	mr_status (*end)(mr_peer *p);    /* leave the case and stay; NULL: it is stopped */
	/* *@ms of a step, or 0 when this burst says nothing about one. */
	mr_status (*burst)(mr_peer *p, const mr_peer_work *w, double *ms);
	void (*clean)(void); /* remove its files, after the process is gone; may be NULL. Async-signal-safe */
	const char *missing; /* how to give it, for people */
	const char *script;  /* a co-process in Python: its file in perf/; else NULL */
	bool preload;        /* a co-process in Python: MR_MKL_AMD is loaded before its libraries */
} mr_peer_ops;

struct mr_peer {
	const mr_peer_ops *ops;
	const char *where;    /* the Python, or the checkout; NULL: not given */
	double patience_s;    /* silence that counts as failure */
	unsigned precisions;  /* in which it takes part in this case, a bit for each; 0: it does not (any more) */
	char label[MR_N_BENCH_PRECISIONS][128]; /* with its version and setting; after start */
	char failed[512];     /* why it no longer takes part in this case; "": it does */
	mr_process process;
};

extern const mr_peer_ops mr_peer_torch, mr_peer_torch_amd, mr_peer_jax, mr_peer_llmc;

/** As the operations, but a failure is written to p->failed, printed as a line, and ends the process and its part in
 * the case. built, choose and end are fine without a part. */
void mr_peer_start(mr_peer *p, const mr_case *c, unsigned precisions, int threads);
void mr_peer_built(mr_peer *p);
void mr_peer_choose(mr_peer *p);
bool mr_peer_burst(mr_peer *p, const mr_peer_work *w, double *ms);
void mr_peer_end(mr_peer *p);
void mr_peer_stop(mr_peer *p);

/** Environment of a peer: pinned threads, memory kept, @preload (NULL: nothing). @room is for the count of threads.
 * NULL-terminated, and valid until the next call. */
const char *const *mr_peer_env(int threads, const char *preload, char room[32]);

/** Whether MKL has to be told that this processor has AVX-512: it is AMD's. */
bool mr_peer_is_amd(void);

#endif
