/*
 * lstm.c - long short-term memory, one direction.
 *
 *	i, f, o = logistic(a + b), g = tanh(a + b); gates in the order i, f, g, o (a, b: recurrent.h)
 *	c_t = f c_(t-1) + i g      y_t = o tanh(c_t)      c before the first row is 0
 *
 * Hochreiter, Schmidhuber: "Long short-term memory", Neural Computation 9(8), 1997; with the forget gate of Gers,
 * Schmidhuber, Cummins, 2000; the equations and columns are those of PyTorch's LSTM. Reads of the configuration: out,
 * rate, reverse, carry.
 */
#include "nn/layers/recurrent.h"

MR_RECURRENT_LAYER(lstm, MR_CELL_LSTM, "long short-term memory over the rows of a sample")
