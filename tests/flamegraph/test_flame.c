/* Folded stacks become boxes; what is no stack is refused. */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "perf/flamegraph/flame.h"

static mr_status read_text(const char *text, mr_flame **f)
{
	FILE *in = fmemopen((char *)(void *)text, strlen(text), "r");
	mr_status st;

	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	st = mr_flame_read(in, f);
	fclose(in);
	return st;
}

static void test_picture(void)
{
	char *text = NULL;
	size_t n;
	mr_flame *f;
	FILE *out = open_memstream(&text, &n);
	mr_svg v = mr_svg_file(out);

	CU_ASSERT_EQUAL_FATAL(read_text("w0;run;linear_forward;gemm<8> 60\n"
					"w0;run;linear_backward_weight 20\n"
					"w1;run 18\n"
					"w1;run;linear:dz_W^T+dW:16x64x256 1\n"
					"w0;run;linear_forward 0001\n", &f), MR_OK);
	CU_ASSERT_EQUAL(mr_flame_svg(f, "a & b", 0.01, &v), MR_OK);
	fclose(out);
	/* Of 100 samples; 1176 wide. */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "<title>w0: 81 samples, 81.00%</title>"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "<title>linear_forward (x W): 61 samples, 61.00%</title>"
					    "<rect class=\"oF\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "<title>gemm&lt;8&gt;: 60 samples, 60.00%</title><rect class=\"oF\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "linear_backward_weight (dW): 20 samples"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "<title>linear dz W^T+dW 16x64x256: 1 samples, 1.00%</title>"
					    "<rect class=\"oI\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "width=\"705.20\"")); /* gemm<8>, less the gap */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "a &amp; b"));
	free(text);
	text = NULL;
	out = open_memstream(&text, &n);
	v = mr_svg_file(out);
	CU_ASSERT_EQUAL(mr_flame_svg(f, "", 0.5, &v), MR_OK);
	fclose(out);
	CU_ASSERT_PTR_NULL(strstr(text, "<title>w1")); /* too narrow */
	free(text);
	mr_flame_destroy(f);
}

static void test_refused(void)
{
	mr_flame *f;

	CU_ASSERT_EQUAL(read_text("a;b 1\nno number here\n", &f), MR_EDATA);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "line 2"));
	CU_ASSERT_EQUAL(read_text("a;b 3x\n", &f), MR_EDATA);
	CU_ASSERT_EQUAL(read_text(" 3\n", &f), MR_EDATA);
	CU_ASSERT_EQUAL(read_text("\n", &f), MR_EDATA);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "nothing was sampled"));
}

void mr_suite_flame(void)
{
	CU_pSuite s = CU_add_suite("flame", NULL, NULL);

	CU_add_test(s, "the picture", test_picture);
	CU_add_test(s, "refused", test_refused);
}
