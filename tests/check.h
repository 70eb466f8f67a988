/* check.h - shorthand for the CUnit suites: one suite a file, one line a test. */
#ifndef MR_TESTS_CHECK_H
#define MR_TESTS_CHECK_H

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

/* With a sanitizer a suite that goes through a grid may take a part of it, which its comment names: the plain build
 * takes all of it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MR_SANITIZED 1
#else
#define MR_SANITIZED 0
#endif

/* Begin a suite inside mr_suite_<name>(); then add tests with MR_TEST(fn). */
#define MR_SUITE(name) CU_pSuite mr_suite_ = CU_add_suite(name, NULL, NULL)
#define MR_TEST(fn) CU_add_test(mr_suite_, #fn, fn)

/* The call must succeed; otherwise its message is printed and the test ends. */
#define MR_CHECK_OK(expr)                                                                             \
	do {                                                                                          \
		mr_status mr_check_st_ = (expr);                                                      \
		if (mr_check_st_ != MR_OK)                                                            \
			fprintf(stderr, "\n%s:%d: %s: %s\n", __FILE__, __LINE__,                      \
				mr_status_name(mr_check_st_), mr_error_text());                       \
		CU_ASSERT_EQUAL_FATAL(mr_check_st_, MR_OK);                                           \
	} while (0)

/* The call must fail with @code and a message that contains @part. */
#define MR_CHECK_FAIL(expr, code, part)                                                               \
	do {                                                                                          \
		CU_ASSERT_EQUAL_FATAL((expr), (code));                                                \
		if (!strstr(mr_error_text(), (part)))                                                 \
			fprintf(stderr, "\n%s:%d: text was: %s\n", __FILE__, __LINE__, mr_error_text()); \
		CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(mr_error_text(), (part)));                        \
	} while (0)

#endif
