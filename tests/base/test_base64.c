/* The examples of RFC 4648. */
#include "base/base64.h"

#include <string.h>

#include "check.h"

static void examples(void)
{
	static const char *const in[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xff\xfe\xfb"};
	static const char *const out[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy", "//77"};
	mr_strbuf b = {0};

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		mr_strbuf_reset(&b);
		mr_base64(in[i], strlen(in[i]), &b);
		CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&b), out[i]);
	}
	mr_strbuf_fini(&b);
}

void mr_suite_base64(void);
void mr_suite_base64(void)
{
	MR_SUITE("base64");
	MR_TEST(examples);
}
