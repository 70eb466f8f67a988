/*
 * usdt.h - probes for bpftrace, perf, SystemTap and gdb: user statically defined tracing, provider `millrace`.
 *
 *	probe             arguments                                        when
 *	step              step, loss, norm                                 the last stage has committed a step
 *	instr_begin       worker, op, stage, pipe, micro, version          an instruction has its inputs and begins
 *	instr_end         worker, op, stage, pipe, micro, version          it has ended
 *	layer_begin       pass, name, kind, rows, in, out                  a layer's part of an instruction begins
 *	layer_end         pass, name, kind, rows, in, out                  it has ended
 *	wait_begin        worker, cause, stage, micro                      a worker begins to wait, or the cause changes
 *	wait_end          worker, cause, stage, micro, ns                  that wait has ended; ns: how long it took
 *	commit            worker, stage, pipe, version                     a stage has this version
 *	checkpoint_begin  step                                             a save begins
 *	checkpoint_end    step, saved                                      it has ended; 0: nothing was saved
 *
 * step, micro, version, ns, loss, norm, name, kind, rows, in and out have 8 bytes, all others 4. loss and norm are
 * signed, in millionths; a norm that was not computed is -1. Instructions and waits are those of training, not of
 * evaluations. op is an mr_op (F 0, R 1, B 2, I 3, W 4, N 5, AR 6, U 7, V 8, AVG 9), cause an mr_wait_cause
 * (upstream 1, downstream 2, weights 3, optimizer 4, data 5). A micro-batch is counted over the whole run. pass is 0
 * for F, 1 and 2 for the input and the weight half of a backward pass, 3 for both at once; name and kind are addresses
 * of texts, and rows, in and out the sizes of the layer's product, if it is one: rows of its first input for all
 * samples, columns of it and of the first output. Layers' probes fire in evaluations too, and
 * once where a run warms up. perf/bpf has scripts for them.
 *
 * Each probe has a semaphore, which a tracer raises while it listens: without one a probe costs a load and a branch,
 * and its arguments are not computed. Without the header sys/sdt.h (Debian: systemtap-sdt-dev) the build has no probes.
 */
#ifndef MR_BASE_USDT_H
#define MR_BASE_USDT_H

#include <stdint.h>

#ifdef MR_USDT
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define MR_USDT_PROBE(name)                                                                                            \
	extern unsigned short millrace_##name##_semaphore __attribute__((section(".probes"), visibility("hidden")));
#include "base/usdt.def"
#undef MR_USDT_PROBE

/* Does a tracer listen? */
#define MR_USDT_ON(name) __builtin_expect(*(volatile unsigned short *)&millrace_##name##_semaphore, 0)
#define MR_USDT_FIRE(n, ...) STAP_PROBE##n(millrace, __VA_ARGS__)
#else
#define MR_USDT_ON(name) 0
#define MR_USDT_FIRE(n, ...) ((void)0)
#endif

static inline void mr_usdt_step(uint64_t step, double loss, double norm)
{
	(void)step, (void)loss, (void)norm;
	if (MR_USDT_ON(step)) {
		int64_t loss_ppm = (int64_t)(loss * 1e6), norm_ppm = norm >= 0 ? (int64_t)(norm * 1e6) : -1;

		(void)loss_ppm, (void)norm_ppm;
		MR_USDT_FIRE(3, step, step, loss_ppm, norm_ppm);
	}
}

static inline void mr_usdt_instr_begin(uint32_t worker, uint32_t op, uint32_t stage, uint32_t pipe, uint64_t micro,
				       uint64_t version)
{
	(void)worker, (void)op, (void)stage, (void)pipe, (void)micro, (void)version;
	if (MR_USDT_ON(instr_begin))
		MR_USDT_FIRE(6, instr_begin, worker, op, stage, pipe, micro, version);
}

static inline void mr_usdt_instr_end(uint32_t worker, uint32_t op, uint32_t stage, uint32_t pipe, uint64_t micro,
				     uint64_t version)
{
	(void)worker, (void)op, (void)stage, (void)pipe, (void)micro, (void)version;
	if (MR_USDT_ON(instr_end))
		MR_USDT_FIRE(6, instr_end, worker, op, stage, pipe, micro, version);
}

/* A layer, as its probes show it. */
typedef struct mr_usdt_layer {
	const char *name, *kind;
	int64_t rows, in, out;
} mr_usdt_layer;

static inline void mr_usdt_layer_begin(uint32_t pass, const mr_usdt_layer *l)
{
	(void)pass, (void)l;
	if (MR_USDT_ON(layer_begin))
		MR_USDT_FIRE(6, layer_begin, pass, l->name, l->kind, l->rows, l->in, l->out);
}

static inline void mr_usdt_layer_end(uint32_t pass, const mr_usdt_layer *l)
{
	(void)pass, (void)l;
	if (MR_USDT_ON(layer_end))
		MR_USDT_FIRE(6, layer_end, pass, l->name, l->kind, l->rows, l->in, l->out);
}

static inline void mr_usdt_wait_begin(uint32_t worker, uint32_t cause, uint32_t stage, uint64_t micro)
{
	(void)worker, (void)cause, (void)stage, (void)micro;
	if (MR_USDT_ON(wait_begin))
		MR_USDT_FIRE(4, wait_begin, worker, cause, stage, micro);
}

static inline void mr_usdt_wait_end(uint32_t worker, uint32_t cause, uint32_t stage, uint64_t micro, uint64_t ns)
{
	(void)worker, (void)cause, (void)stage, (void)micro, (void)ns;
	if (MR_USDT_ON(wait_end))
		MR_USDT_FIRE(5, wait_end, worker, cause, stage, micro, ns);
}

static inline void mr_usdt_commit(uint32_t worker, uint32_t stage, uint32_t pipe, uint64_t version)
{
	(void)worker, (void)stage, (void)pipe, (void)version;
	if (MR_USDT_ON(commit))
		MR_USDT_FIRE(4, commit, worker, stage, pipe, version);
}

static inline void mr_usdt_checkpoint_begin(uint64_t step)
{
	(void)step;
	if (MR_USDT_ON(checkpoint_begin))
		MR_USDT_FIRE(1, checkpoint_begin, step);
}

static inline void mr_usdt_checkpoint_end(uint64_t step, uint32_t saved)
{
	(void)step, (void)saved;
	if (MR_USDT_ON(checkpoint_end))
		MR_USDT_FIRE(2, checkpoint_end, step, saved);
}

/** Has this build probes? */
static inline int mr_usdt_built(void)
{
#ifdef MR_USDT
	return 1;
#else
	return 0;
#endif
}

#endif
