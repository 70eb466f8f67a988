#!/bin/sh
# Every case of slow_memory.sh with all types.   long_memory.sh SOURCE BUILD
set -eu
exec sh "$(dirname "$0")/slow_memory.sh" "$1" "$2" all
