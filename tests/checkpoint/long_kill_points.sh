#!/bin/sh
# Every point of the checkpoint writer, for every system.   long_kill_points.sh SOURCE BUILD
set -eu
exec sh "$(dirname "$0")/slow_kill_points.sh" "$1" "$2" sequential gpipe 1f1b pipedream
