#include "nn/kernels/fused/attention/angles.h"

#include <math.h>
#include <stdlib.h>

#define WIDEST 16 /* lanes of a vector */

struct mr_angles {
	mr_angles *next;
	int64_t t, dim, pitch;
	double theta;
	float table[];
};

static size_t bytes_of(const mr_angles *a)
{
	return sizeof(*a) + (size_t)(a->t * 2 * a->pitch) * sizeof(float);
}

/* Rows of a table for @r. Of rows that come one by one the table grows by doubling. */
static int64_t rows_of(const mr_rope *r)
{
	int64_t n = 64;

	while (n < r->first + r->t)
		n *= 2;
	return r->first ? n : r->t;
}

mr_status mr_angles_find(mr_angles **list, const mr_rope *r, const float **table, int64_t *pitch)
{
	mr_angles key = {.t = rows_of(r), .dim = r->dim, .theta = r->theta,
			 .pitch = (r->dim / 2 + WIDEST - 1) / WIDEST * WIDEST};
	mr_angles *a = *list;

	while (a && !(a->t >= r->first + r->t && a->dim == r->dim && a->theta == r->theta))
		a = a->next;
	if (!a) {
		a = calloc(1, bytes_of(&key));
		if (!a)
			return mr_fail(MR_ERESOURCE, "no memory for a table of %zu bytes of rotary positions",
				       bytes_of(&key));
		*a = key;
		a->next = *list;
		*list = a;
		for (int64_t i = 0; i < a->t; i++)
			for (int64_t j = 0; j < a->dim / 2; j++) {
				double angle = (double)i * pow(a->theta, -2.0 * (double)j / (double)a->dim);

				a->table[2 * i * a->pitch + j] = (float)cos(angle);
				a->table[(2 * i + 1) * a->pitch + j] = (float)sin(angle);
			}
	}
	*table = a->table;
	*pitch = a->pitch;
	return MR_OK;
}

void mr_angles_destroy(mr_angles *list)
{
	while (list) {
		mr_angles *next = list->next;

		free(list);
		list = next;
	}
}

size_t mr_angles_bytes(const mr_angles *list)
{
	size_t bytes = 0;

	for (; list; list = list->next)
		bytes += bytes_of(list);
	return bytes;
}
