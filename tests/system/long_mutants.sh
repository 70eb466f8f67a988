#!/bin/sh
# Every edit of tests/mutants.txt is caught by the suites that it names.   long_mutants.sh SOURCE
exec sh "$1/tests/mutants.sh"
