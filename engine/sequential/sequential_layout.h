/*
 * sequential_layout.h - places for the tensors of plain training that live for a part of a step only: tensors whose
 * lives do not overlap share memory.
 *
 *	a value that no backward half reads   from its layer's F to that of its last reader
 *	a gradient                            from the I of its value's last reader to the backward of the layer that
 *	                                      made the value
 *	kept                                  in one layer's backward; in the place of dy if the layer allows it and
 *	                                      nothing comes after
 *
 * The gradient of a sum is that of its inputs, so it is one tensor with the gradient of the first input; and with that
 * of the other input, if the node that made that input goes backward (and reads the gradient) before any node adds to
 * it. The value that enters the loss becomes its own gradient.
 *
 * This saves cache misses more than bytes: with a place for each, every gradient of a step went to memory and
 * back, and attention's backward of GPT-256 took 15 to 25 % longer, products of mlp b128 2 to 6 %.
 */
#ifndef MR_SEQUENTIAL_SEQUENTIAL_LAYOUT_H
#define MR_SEQUENTIAL_SEQUENTIAL_LAYOUT_H

#include "stage/lifetime.h"
#include "sequential/sequential.h"

#define MR_SEQUENTIAL_OWN SIZE_MAX
#define MR_SEQUENTIAL_NOWHERE (SIZE_MAX - 1)

typedef struct mr_sequential_layout {
	size_t *value;       /* [n_values] offset in `passing`, or MR_SEQUENTIAL_OWN: it lives as long as the run;
	                        MR_SEQUENTIAL_NOWHERE: only its sum with another is computed (mr_node.addend) */
	size_t *grad;        /* [n_values] of its gradient; MR_SEQUENTIAL_OWN: in the place of the value that enters the
	                        loss */
	size_t *kept;        /* [n_nodes] */
	mr_lifetime passing; /* .bytes: of all tensors that live for a part of a step */
	size_t scratch;      /* the largest need of a layer during a call, in bytes */
} mr_sequential_layout;

/** For a run made from @c. End with mr_sequential_layout_fini, also after an error: MR_ERESOURCE. */
mr_status mr_sequential_layout_make(const mr_sequential_config *c, mr_sequential_layout *out) MR_MUST_USE;
void mr_sequential_layout_fini(mr_sequential_layout *l);

#endif
