/* The mutations of plans of tests/lower, for the systems here. */
#include "tests/lower/mutate.c"
