#!/bin/sh
# The weights of every system and network in the other precisions.   long_bits.sh SOURCE BUILD
set -eu
exec sh "$(dirname "$0")/slow_bits.sh" "$1" "$2" compare f32 bf16 bf16_pure
