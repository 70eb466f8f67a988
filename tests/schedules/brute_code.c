/* The brute-force execution of plans of tests/lower, for the systems here. */
#include "tests/lower/brute.c"
