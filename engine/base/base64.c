#include "base/base64.h"

void mr_base64(const void *data, size_t n, mr_strbuf *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = data;

	for (size_t i = 0; i < n; i += 3) {
		unsigned b = (unsigned)s[i] << 16 | (i + 1 < n ? (unsigned)s[i + 1] << 8 : 0) |
			     (i + 2 < n ? s[i + 2] : 0u);
		char four[4] = {digits[b >> 18], digits[b >> 12 & 63], '=', '='};

		if (i + 1 < n)
			four[2] = digits[b >> 6 & 63];
		if (i + 2 < n)
			four[3] = digits[b & 63];
		mr_strbuf_append_n(out, four, 4);
	}
}
