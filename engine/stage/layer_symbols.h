/*
 * layer_symbols.h - the passes of a layer as profilers see them: "linear:x_W:16x256x64", its kind, the product (or the
 * pass, where that is none) and the shape, rows of a micro-batch, columns of input and output (base/perf_map.h).
 */
#ifndef MR_STAGE_LAYER_SYMBOLS_H
#define MR_STAGE_LAYER_SYMBOLS_H

#include "base/perf_map.h"
#include "planner/graph.h"

enum mr_layer_pass { MR_PASS_F, MR_PASS_I, MR_PASS_W, MR_PASS_BOTH, MR_N_PASSES };

/* NULL: not asked for. */
typedef struct mr_layer_symbols {
	mr_perf_stub *of[MR_N_PASSES];
} mr_layer_symbols;

/** Of @n, whose needs for @samples are @z. */
mr_layer_symbols mr_layer_symbols_of(const mr_node *n, int64_t samples, const mr_layer_needs *z);

/** Carry out @pass of a layer for @n calls (above 1: MR_PASS_W alone). Errors: the layer's. */
mr_status mr_layer_symbols_call(const mr_layer_symbols *y, enum mr_layer_pass pass, const mr_layer_ops *ops,
				const mr_layer_call *c, uint32_t n) MR_MUST_USE;

#endif
