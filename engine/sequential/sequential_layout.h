/*
 * sequential_layout.h - where the tensors of plain training lie that live for a part of a step only: those whose lives
 * do not meet share memory.
 *
 *	a value that no backward half reads   from its layer's F to that of its last reader
 *	a gradient                            from the I of its value's last reader to the backward of the layer that
 *	                                      made the value
 *	kept                                  in one layer's backward; in the place of dy where the layer allows it and
 *	                                      nothing comes after
 *
 * The gradient of a sum is that of its inputs, so it is one tensor with that of the first input, and with that of the
 * other one if the node that made that goes backward (and reads it) before any adds to it. What enters the loss becomes
 * its own gradient.
 *
 * This is for the caches more than for the bytes: with a place for each, every gradient of a step went to memory and
 * came from there, and attention's backward of GPT-256 took 15 to 25 % longer, products of mlp b128 2 to 6 %.
 */
#ifndef MR_SEQUENTIAL_SEQUENTIAL_LAYOUT_H
#define MR_SEQUENTIAL_SEQUENTIAL_LAYOUT_H

#include "stage/lifetime.h"
#include "sequential/sequential.h"

#define MR_SEQUENTIAL_OWN SIZE_MAX
#define MR_SEQUENTIAL_NOWHERE (SIZE_MAX - 1)

typedef struct mr_sequential_layout {
	size_t *value;       /* [n_values] offset among what passes, or MR_SEQUENTIAL_OWN: it lives as long as the run;
	                        MR_SEQUENTIAL_NOWHERE: it never is, only its sum with another (mr_node.addend) */
	size_t *grad;        /* [n_values] of its gradient; MR_SEQUENTIAL_OWN: in the place of the value that enters the
	                        loss */
	size_t *kept;        /* [n_nodes] */
	mr_lifetime passing; /* .bytes: of all that passes */
	size_t scratch;      /* bytes that the layer with the most needs during a call */
} mr_sequential_layout;

/** For a run made from @c. End with mr_sequential_layout_fini, also after an error: MR_ERESOURCE. */
mr_status mr_sequential_layout_make(const mr_sequential_config *c, mr_sequential_layout *out) MR_MUST_USE;
void mr_sequential_layout_fini(mr_sequential_layout *l);

#endif
