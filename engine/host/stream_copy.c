#include "host/stream_copy.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* An ordinary store reads the line that it overwrites, and pushes another out of the cache. */
void mr_stream_copy(void *to, const void *from, uint64_t bytes)
{
#if defined(__x86_64__)
	const uint64_t line = 64;
	uint8_t *t = to;
	const uint8_t *f = from;
	uint64_t head = (line - (uintptr_t)t % line) % line;

	if (bytes < 4 * line) {
		memcpy(to, from, bytes);
		return;
	}
	memcpy(t, f, head);
	for (t += head, f += head, bytes -= head; bytes >= line; t += line, f += line, bytes -= line)
		for (int i = 0; i < 4; i++)
			_mm_stream_si128((__m128i *)(void *)t + i,
					 _mm_loadu_si128((const __m128i *)(const void *)f + i));
	memcpy(t, f, bytes);
	_mm_sfence();
#else
	memcpy(to, from, bytes);
#endif
}
