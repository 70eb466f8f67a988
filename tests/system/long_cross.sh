#!/bin/sh
# Builds for aarch64, runs tests of kernels there by qemu, and trains: `./mill cross`.   long_cross.sh SOURCE BUILD
set -u
cd "$1" || exit 1
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg; do
	if ! command -v $tool >/dev/null; then
		echo "cross: skipped: there is no $tool here (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross" \
			"libgomp1-arm64-cross qemu-user)"
		exit 77
	fi
done
if ! grep -q '^MILLRACE_SANITIZE:STRING=$' "$2/CMakeCache.txt"; then
	echo "cross: skipped: once is enough"
	exit 77
fi
exec ./mill cross
