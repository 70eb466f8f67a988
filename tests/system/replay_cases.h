/*
 * replay_cases.h - the parallel engine against its single-thread replay, to the bit, while instructions are delayed at
 * random.
 */
#ifndef MR_TESTS_SYSTEM_REPLAY_CASES_H
#define MR_TESTS_SYSTEM_REPLAY_CASES_H

#include <stdint.h>

/**
 * Each system at 2, 3 and 4 workers, @runs runs each on one engine restarted in place; half of them pause and evaluate.
 */
void replay_pipedream(uint32_t runs);
void replay_vertical_sync(uint32_t runs);
void replay_arrivals(uint32_t runs);
void replay_cyclic(uint32_t runs);
void replay_no_stash(uint32_t runs);
void replay_accumulating(uint32_t runs);
/** Systems that work on predicted or corrected weights. */
void replay_aiming(uint32_t runs);
/** Mitigations of stale gradients. */
void replay_mitigated(uint32_t runs);
void replay_replicas(uint32_t runs);
/** Stages whose replicas take turns, and pipelines that drain, on an mlp and a gpt. */
void replay_turns(uint32_t runs);
/** Every system that flushes and its variants (sync_cases.h). */
void replay_flushing(uint32_t runs);
/** pipedream on a gpt with dropout and per-stage clipping. */
void replay_gpt(uint32_t runs);
/** The same on a llama, without stashed weights and with recomputation, and on a vit. */
void replay_llama(uint32_t runs);
void replay_vit(uint32_t runs);
/** pipedream on a translation model and on a captioning model. */
void replay_gnmt(uint32_t runs);
void replay_s2vt(uint32_t runs);
/** pipedream and pipedream_2bw on a dlrm, whose tables lie in several stages. */
void replay_dlrm(uint32_t runs);
/** pipedream and pipedream_2bw on the networks of rig_network. */
void replay_networks(uint32_t runs);
/** rpd with drawn, fixed, exact and limited delays, on an mlp and a gpt. */
void replay_drawn(uint32_t runs);
/** pipedream on oneDNN, where there is one. */
void replay_dnnl(uint32_t runs);

/** Systems of all kinds on an mlp with batch normalisation, each at one size. */
void replay_batch_norm(uint32_t runs);
/** The same on an LSTM language model that carries its state from window to window. */
void replay_carried(uint32_t runs);

/** All of these in bf16 on the reference backend, once each; in bf16_pure those that it takes. */
void replay_bf16(uint32_t runs);
void replay_bf16_pure(uint32_t runs);

/* All of them, for a suite that calls X(name) on each. */
#define REPLAY_CASES(X) \
	X(pipedream) \
	X(vertical_sync) X(arrivals) X(cyclic) X(no_stash) X(accumulating) X(aiming) X(mitigated) X(replicas) X(turns) \
		X(flushing) X(gpt) X(llama) X(vit) X(gnmt) X(s2vt) X(dlrm) X(networks) X(drawn) X(dnnl) X(bf16) \
		X(bf16_pure)

#endif
