/* The search through all interleavings of tests/lower, for the systems here. */
#include "tests/lower/brute_explore.c"
