#!/bin/sh
# A hundred kills at random instants.   long_kills.sh SOURCE BUILD
set -eu
exec sh "$(dirname "$0")/slow_kills.sh" "$1" "$2" 100
