/*
 * safetensors.h - named tensors in one file that other tools can open.
 *
 * The format (huggingface/safetensors, format.md): a little-endian u64 N; N bytes of JSON; the data. The JSON maps each
 * name to {"dtype", "shape", "data_offsets": [begin, end)} with offsets from the start of the data, and "__metadata__"
 * to an object of strings. Data have no gaps. We pad the JSON with blanks, as the format allows, so that the data begin
 * at a multiple of 4 KiB and can be read into aligned memory straight from the disk.
 *
 * The reader is strict, since files may be damaged: a header of at most 100 MB, known dtypes, no name twice,
 * offsets equal to shape times dtype, no gap, no overlap, nothing after the last tensor. It reads with pread, never
 * through a mapping, which a truncation would turn into SIGBUS.
 *
 * Thread: a reader may be shared by threads that only look up and read.
 */
#ifndef MR_STORE_SAFETENSORS_H
#define MR_STORE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "store/crc_file.h"

#define MR_SAVED_MAX_DIMS 8

typedef struct mr_saved_tensor {
	const char *name; /* UTF-8; not "__metadata__" */
	mr_dtype dtype;
	uint32_t n_dims;  /* 0: one number */
	int64_t shape[MR_SAVED_MAX_DIMS];
	void *data;       /* source of a write (not changed), or target of a read; NULL in a reader's list */
	uint64_t bytes;   /* shape times dtype; checked */
	uint64_t offset;  /* from the start of the file; set by a reader only */
} mr_saved_tensor;

/* A pair of strings: of "__metadata__", or of a checkpoint's manifest. */
typedef struct mr_saved_text {
	const char *key, *value;
} mr_saved_text;

/** The header of the list, as it stands at the beginning of the file, including the u64 and the padding, and its bytes
 * in *@len; the caller frees it. NULL: no memory. */
char *mr_safetensors_header(const mr_saved_tensor *tensors, size_t n, const mr_saved_text *metadata, size_t n_metadata,
			    size_t *len);

/** Bytes of the header of the list, including the u64 and the padding: the data begin there. 0: no memory. */
uint64_t mr_safetensors_header_bytes(const mr_saved_tensor *tensors, size_t n, const mr_saved_text *metadata,
				     size_t n_metadata);

/**
 * Write @n tensors in their order, and @metadata (NULL when @n_metadata is 0), to @f, which is new and empty. The
 * caller finishes @f.
 * Errors: MR_EINVAL when a tensor's bytes are not shape times dtype; those of mr_crc_blocks_write.
 */
mr_status mr_safetensors_write(mr_crc_file *f, const mr_saved_tensor *tensors, size_t n, const mr_saved_text *metadata,
			       size_t n_metadata) MR_MUST_USE;

typedef struct mr_safetensors mr_safetensors;

/**
 * Open the file @name in the directory @dir (AT_FDCWD: the current one) and check its header. Symbolic links are
 * refused.
 * @label begins messages; NULL: @name. Errors: MR_ECKPT with file, tensor, offset, expected and found; MR_ERESOURCE.
 */
mr_status mr_safetensors_open(int dir, const char *name, const char *label, mr_safetensors **out) MR_MUST_USE;
/** The same of the file @path, which may be a symbolic link. */
mr_status mr_safetensors_open_path(const char *path, mr_safetensors **out) MR_MUST_USE;
/** Accepts NULL. */
void mr_safetensors_close(mr_safetensors *s);

size_t mr_safetensors_count(const mr_safetensors *s);
/** Tensor @i in the order of the data. Borrowed from @s. */
const mr_saved_tensor *mr_safetensors_at(const mr_safetensors *s, size_t i);
/** The text of @key in the metadata; NULL: there is none. Borrowed from @s. */
const char *mr_safetensors_metadata(const mr_safetensors *s, const char *key);
/** NULL: no such tensor. */
const mr_saved_tensor *mr_safetensors_find(const mr_safetensors *s, const char *name);

/** Read the whole tensor @t of @s to @to, which has room for @t->bytes bytes. Errors: MR_ECKPT the file became shorter;
 * MR_EIO. */
mr_status mr_safetensors_read(const mr_safetensors *s, const mr_saved_tensor *t, void *to) MR_MUST_USE;

/** Find @want->name, check that dtype and shape are @want's, and read it to @want->data. Errors: also MR_ECKPT. */
mr_status mr_safetensors_load(const mr_safetensors *s, const mr_saved_tensor *want) MR_MUST_USE;

#endif
