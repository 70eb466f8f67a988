/*
 * team.h - distribute the range of a kernel over the threads of a context.
 *
 * Header only, for the files of the backend `fused`. A context with one thread, and work too small to share, never
 * enters OpenMP.
 */
#ifndef MR_KERNELS_TEAM_H
#define MR_KERNELS_TEAM_H

#include "base/perf_map.h"
#include "nn/kernels/fused/vec/vec.h"

/* A thread is used only for at least this many elements of work (a fork and join costs some microseconds). */
#define MR_TEAM_GRAIN 8192

/** The number of pieces into which @n units of @weight elements of work each are cut for @n_threads, with bounds that
 * are multiples of @step. */
static inline int64_t mr_team_pieces(uint32_t n_threads, int64_t n, int64_t step, int64_t weight)
{
#ifdef MR_OPENMP
	int64_t pieces = n_threads, useful = n * weight / MR_TEAM_GRAIN, units = (n + step - 1) / step;

	if (pieces > useful)
		pieces = useful;
	if (pieces > units)
		pieces = units;
	return pieces > 1 ? pieces : 1;
#else
	(void)n_threads, (void)n, (void)step, (void)weight;
	return 1;
#endif
}

#ifdef MR_OPENMP
/* What one thread does of a range. */
typedef struct mr_team_piece {
	mr_vec_fn *fn;
	const void *args;
	int64_t lo, hi;
} mr_team_piece;

static inline mr_status mr_team_run_piece(const void *piece, const void *unused, uint32_t i)
{
	const mr_team_piece *p = piece;

	(void)unused;
	p->fn(p->args, p->lo, p->hi, i);
	return MR_OK;
}
#endif

/**
 * Run @fn over [0, @n), in @pieces whose bounds are multiples of @step, one on each thread. Call it from the leader of
 * a team of at least as many threads, outside any parallel region. A layer that has a name for profilers has it on each
 * thread, also the leader's: in OpenMP's own functions stacks often end.
 */
static inline void mr_team_run_pieces(int64_t pieces, mr_vec_fn *fn, const void *args, int64_t n, int64_t step)
{
#ifdef MR_OPENMP
	int64_t units = (n + step - 1) / step;

	if (pieces > 1) {
		mr_perf_stub *name = mr_perf_map_current();

#pragma omp parallel for num_threads((int)pieces) schedule(static, 1)
		for (int64_t i = 0; i < pieces; i++) {
			int64_t lo = units * i / pieces * step, hi = units * (i + 1) / pieces * step;
			mr_team_piece p = {.fn = fn, .args = args, .lo = lo, .hi = hi < n ? hi : n};

			(void)mr_perf_map_call(name, mr_team_run_piece, &p, NULL, (uint32_t)i);
		}
		return;
	}
#else
	(void)pieces, (void)step;
#endif
	fn(args, 0, n, 0);
}

/** Cut the range into at most @n_threads pieces with mr_team_pieces and run @fn over them. */
static inline void mr_team_run(uint32_t n_threads, mr_vec_fn *fn, const void *args, int64_t n, int64_t step,
			       int64_t weight)
{
	mr_team_run_pieces(mr_team_pieces(n_threads, n, step, weight), fn, args, n, step);
}

#endif
