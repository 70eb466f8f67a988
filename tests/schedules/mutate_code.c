/* The mutations of plans of tests/ir, for the systems here. */
#include "tests/ir/mutate.c"
