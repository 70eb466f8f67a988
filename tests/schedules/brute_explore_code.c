/* The search through all interleavings of tests/ir, for the systems here. */
#include "tests/ir/brute_explore.c"
