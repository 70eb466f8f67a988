# missing_package SUITE WHAT PACKAGE: ends a test that needs WHAT, which Debian's PACKAGE has. It is skipped on
# somebody's machine, and fails in continuous integration, where mill installs what tests need (test_packages there).
missing_package() {
	echo "$1: skipped: there is no $2 here (Debian: $3)"
	[ -z "${CI:-}" ] || exit 1
	exit 77
}
