/*
 * operation.h - what the rows of nn/kernels.def say about a call of an operation: its size for those who choose or
 * estimate (mr_kernel_call), and the tensors that it reads and writes (mr_operand).
 */
#ifndef MR_NN_OPERATION_H
#define MR_NN_OPERATION_H

#include "nn/kernels.h"

typedef enum mr_kernel_id {
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) MR_KERNEL_##id,
#define MR_OPERATION_WHOLE(id, what) MR_KERNEL_##id,
#include "nn/kernels.def"
	MR_N_KERNELS
} mr_kernel_id;

typedef struct mr_kernel_call {
	mr_kernel_id id;
	bool is_gemm, steps; /* a product, whose result goes into an optimizer's step */
	mr_gemm gemm;        /* of a product; its pointers have no meaning */
	bool is_conv;        /* a convolution or one of its gradients, */
	mr_conv conv;        /* and which */
	double flops;        /* of a product, convolution, attention or recurrence, a multiply-add is 2; else 0 */
	uint64_t library;    /* bytes that a context allocates for a recurrence */
	int64_t rows, cols;  /* of anything else: rows 1 where it goes element by element */
	mr_act act;          /* act_backward */
	bool no_mean;        /* norms: rows are not shifted */
	bool no_primitive;   /* pools and lrn: oneDNN has none for this kind or size */
} mr_kernel_call;

/* mr_call_of_<id>: what the recorder notes of a call with these arguments. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) MR_OPERATION_WHOLE(id, what)
#define MR_OPERATION_WHOLE(operation, what) \
	static inline mr_kernel_call mr_call_of_##operation(const mr_##operation##_args *o) \
	{ \
		const mr_kernel_id name = MR_KERNEL_##operation;
#define MR_NOTED(...) return (mr_kernel_call){.id = name, __VA_ARGS__};
#define MR_END(id) }
#include "nn/kernels.def"

/* The most operands of an operation. */
enum { MR_OPERANDS = 20 };

typedef struct mr_operand {
	const char *name;
	mr_class class;
	void *tensor;       /* as the arguments name it */
	void *field;        /* the member of the arguments, or of a parameter, that names it; NULL: there is none */
	int64_t count;      /* elements, or bytes of classes without a type */
	bool used;          /* false: the call does not look at @tensor */
	bool read, written;
	const void *const *each; /* [n_each] tensors of that size; NULL: @tensor is the only one */
	uint32_t n_each;
} mr_operand;

/** mr_operands_of_<id>: fill @out from the arguments of a call, in the order of the row, and return how many
 * there are. The parameters that @o points to are read, tensors are not. @k: for what attention saves. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) MR_OPERATION_WHOLE(id, what)
#define MR_OPERATION_WHOLE(id, what) \
	uint32_t mr_operands_of_##id(const mr_kernels *k, const mr_##id##_args *o, mr_operand out[MR_OPERANDS]);
#include "nn/kernels.def"

/** Let the arguments of @x name @tensor in its place. */
void mr_operand_set(const mr_operand *x, void *tensor);
/** The tensor that they name now. */
void *mr_operand_get(const mr_operand *x);

/** MR_EINVAL with a sentence when an operand that @operation uses is missing or has a negative size. */
mr_status mr_operands_check(const char *operation, const mr_operand *x, uint32_t n) MR_MUST_USE;

/** "gemm", "norm_backward", ... */
const char *mr_kernel_name(mr_kernel_id id);

#endif
