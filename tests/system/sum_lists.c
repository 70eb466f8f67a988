#include "sum_lists.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Micro-batches that (@stage, @pipe) sums, in the order of its worker's list, to @micro; returns how many. */
static uint32_t put_list(const mr_plan *p, uint16_t stage, uint8_t pipe, uint32_t *micro)
{
	const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, stage), MR_BODY);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		const mr_instr *in = &l->at[i];

		if (in->stage == stage && in->pipe == pipe && (in->op == MR_OP_B || in->op == MR_OP_W))
			for (uint32_t k = 0; k < in->span; k++)
				micro[n++] = in->micro + k;
	}
	return n;
}

/* Are the lists of part @a those of part @b? */
static bool same(const sum_lists *l, uint32_t a, uint32_t b)
{
	uint32_t n = l->lists.n_pipes;
	const uint32_t *x = l->begin + a * n, *y = l->begin + b * n;

	for (uint32_t i = 0; i < n; i++)
		if (x[i + 1] - x[i] != y[i + 1] - y[i])
			return false;
	return !memcmp(l->micro + x[0], l->micro + y[0], (x[n] - x[0]) * sizeof(*l->micro));
}

void sum_lists_of(const mr_plan *p, const mr_partition *cut, sum_lists *out)
{
	uint32_t at = 0, n = p->n_stages, joint = p->contract.joint_w ? p->n_pipes : 1, pipes = p->n_pipes / joint;
	bool alike = true;

	CU_ASSERT_EQUAL_FATAL(n, cut->n_stages);
	*out = (sum_lists){
		.first = calloc(n + 1, sizeof(uint32_t)),
		.begin = calloc(n * pipes + 1, sizeof(uint32_t)),
		.micro = calloc((size_t)n * p->n_micro, sizeof(uint32_t)),
	};
	out->lists = (oracle_lists){n, pipes, out->first, out->begin, out->micro};
	CU_ASSERT_FATAL(out->first && out->begin && out->micro);
	memcpy(out->first, cut->first, (n + 1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < n * pipes; i++) {
		out->begin[i] = at;
		for (uint32_t k = 0; k < joint; k++) /* of all pipes one sum, pipe after pipe */
			at += put_list(p, (uint16_t)(i / pipes), (uint8_t)(joint > 1 ? k : i % pipes), out->micro + at);
	}
	out->begin[n * pipes] = at;
	CU_ASSERT_EQUAL_FATAL(at, n * p->n_micro);
	for (uint32_t s = 1; s < n; s++)
		alike = alike && same(out, 0, s);
	if (!alike)
		return;
	out->first[1] = cut->first[n];
	out->lists.n_parts = 1;
}

void sum_lists_fini(sum_lists *l)
{
	free(l->first);
	free(l->begin);
	free(l->micro);
	*l = (sum_lists){0};
}

bool sum_lists_equal(const sum_lists *a, const sum_lists *b)
{
	uint32_t parts = a->lists.n_parts, lists = parts * a->lists.n_pipes;

	return parts == b->lists.n_parts && a->lists.n_pipes == b->lists.n_pipes &&
	       !memcmp(a->first, b->first, (parts + 1) * sizeof(uint32_t)) &&
	       !memcmp(a->begin, b->begin, (lists + 1) * sizeof(uint32_t)) &&
	       !memcmp(a->micro, b->micro, a->begin[lists] * sizeof(uint32_t));
}
