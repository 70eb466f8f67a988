/* The brute-force execution of plans of tests/ir, for the systems here. */
#include "tests/ir/brute_rules.c"
