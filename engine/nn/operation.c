#include "nn/operation.h"

#include <string.h>

#include "nn/kernels/step_rules.h"

#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) MR_OPERATION_WHOLE(id, what)
#define MR_OPERATION_WHOLE(id, what) \
	uint32_t mr_operands_of_##id(const mr_kernels *k, const mr_##id##_args *o, mr_operand out[MR_OPERANDS]) \
	{ \
		uint32_t n = 0; \
\
		(void)k, (void)o, (void)out;
#define MR_OPERAND(pointer, id, class, used, count, read, written) \
	out[n++] = (mr_operand){#id, class, (void *)(uintptr_t)o->id, (void *)(uintptr_t)&o->id, count, (used) != 0, \
				read, written, NULL, 0};
#define MR_WITHIN(in, id, class, used, count, read, written) \
	out[n++] = (mr_operand){#id, class, (void *)(uintptr_t)((in) ? (in)->id : NULL), \
				(void *)(uintptr_t)((in) ? &(in)->id : NULL), count, (used) != 0, read, written, \
				NULL, 0};
#define MR_EACH(in, id, class, used, n_each, count, read, written) \
	out[n++] = (mr_operand){#id, class, (void *)(uintptr_t)(in)->id, (void *)(uintptr_t)&(in)->id, count, \
				(used) != 0, read, written, (const void *const *)(in)->id, (used) ? n_each : 0};
#define MR_END(id) \
		return n; \
	}
#include "nn/kernels.def"

/* Pointers to constant numbers and to others have one form, but not one type. */
void mr_operand_set(const mr_operand *x, void *tensor)
{
	memcpy(x->field, &tensor, sizeof(tensor));
}

void *mr_operand_get(const mr_operand *x)
{
	void *tensor;

	memcpy(&tensor, x->field, sizeof(tensor));
	return tensor;
}

mr_status mr_operands_check(const char *operation, const mr_operand *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bool there = x[i].tensor && x[i].count >= 0;

		for (uint32_t j = 0; there && j < x[i].n_each; j++)
			there = x[i].each[j] != NULL;
		if (x[i].used && !there)
			return mr_fail(MR_EINVAL, "operation %s: operand %s is missing, or has %lld elements",
				       operation, x[i].name, (long long)x[i].count);
	}
	return MR_OK;
}

const char *mr_kernel_name(mr_kernel_id id)
{
	static const char *const names[MR_N_KERNELS] = {
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) #id,
#define MR_OPERATION_WHOLE(id, what) #id,
#include "nn/kernels.def"
	};

	return names[id];
}
