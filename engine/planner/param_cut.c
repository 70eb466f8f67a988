#include "planner/param_cut.h"

#include <string.h>

int64_t mr_param_cut_at(const mr_param_cut *c, int64_t inner, int64_t i, int64_t *n)
{
	int64_t whole = 0, part, at, begin = 0;

	for (uint32_t b = 0; b < c->n_blocks; b++)
		whole += c->block[b];
	part = whole / c->of * inner;
	at = i % part;
	for (uint32_t b = 0;; b++) {
		int64_t mine = c->block[b] / c->of * inner;

		if (at < mine) {
			*n = mine - at;
			return i / part * whole * inner + begin + c->self * mine + at;
		}
		at -= mine;
		begin += c->block[b] * inner;
	}
}

void mr_param_cut_join(const mr_param_cut *c, int64_t inner, int64_t n, size_t bytes, const void *part, void *whole)
{
	int64_t some;

	for (int64_t i = 0; i < n; i += some) {
		int64_t at = mr_param_cut_at(c, inner, i, &some);

		memcpy((char *)whole + (size_t)at * bytes, (const char *)part + (size_t)i * bytes,
		       (size_t)some * bytes);
	}
}

void mr_param_cut_take(const mr_param_cut *c, int64_t inner, int64_t n, size_t bytes, const void *whole, void *part)
{
	int64_t some;

	for (int64_t i = 0; i < n; i += some) {
		int64_t at = mr_param_cut_at(c, inner, i, &some);

		memcpy((char *)part + (size_t)i * bytes, (const char *)whole + (size_t)at * bytes,
		       (size_t)some * bytes);
	}
}
