/* base64.h - bytes as text (RFC 4648), for pictures inside pages and JSON. */
#ifndef MR_BASE_BASE64_H
#define MR_BASE_BASE64_H

#include "base/str.h"

/** Append the @n bytes of @data, padded. Failure shows in @out. */
void mr_base64(const void *data, size_t n, mr_strbuf *out);

#endif
