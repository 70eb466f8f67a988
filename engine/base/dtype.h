/* dtype.h - the types of elements: their sizes and names, by the rows of base/types.def. */
#ifndef MR_BASE_DTYPE_H
#define MR_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MR_F32, MR_F64, ... */
typedef enum mr_dtype {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) MR_##id,
#define MR_DTYPE_SAVED(id, weights, stored, widen) MR_##id,
#include "base/types.def"
	MR_N_DTYPES
} mr_dtype;

static inline size_t mr_dtype_bytes(mr_dtype t)
{
	static const size_t bytes[] = {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) sizeof(stored),
#define MR_DTYPE_SAVED(id, weights, stored, widen) sizeof(stored),
#include "base/types.def"
	};

	return bytes[t];
}

/** "f32", "f64", "i32" or "bf16"; of a type of files alone the name there. */
const char *mr_dtype_name(mr_dtype t);
/** In files of tensors: "F32", "F64", "I32", "BF16", "I64", "U8", "I16", ... */
const char *mr_dtype_saved_name(mr_dtype t);

/** The type of this name, in configurations or in files of tensors; false: there is none. */
bool mr_dtype_find(const char *name, mr_dtype *out);
bool mr_dtype_find_saved(const char *name, mr_dtype *out);

/** May weights be of it? */
bool mr_dtype_is_weight(mr_dtype t);
/** The type in which numbers of @t, which may be weights, are computed with. */
mr_dtype mr_dtype_wide(mr_dtype t);

/* Is it stored in fewer bytes than it is computed with? */
static inline bool mr_dtype_is_narrow(mr_dtype t)
{
	return mr_dtype_wide(t) != t;
}

#endif
