/*
 * gru.c - gated recurrent unit, one direction.
 *
 *	r, z = logistic(a + b), n = tanh(a + r b); gates in the order r, z, n (a, b: recurrent.h)
 *	y_t = (1 - z) n + z y_(t-1)
 *
 * Cho and others: "Learning phrase representations using RNN encoder-decoder", EMNLP 2014. r is applied after the
 * recurrent product, as in PyTorch's GRU, whose equations and order of columns these are. Reads of the configuration:
 * out, rate, reverse, carry.
 */
#include "nn/layers/recurrent.h"

MR_RECURRENT_LAYER(gru, MR_CELL_GRU, "gated recurrent unit over the rows of a sample")
