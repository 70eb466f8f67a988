/*
 * tensor_files.h - the tensors of a published model: one safetensors file, or several with an index, as Hugging Face
 * has them.
 *
 * A path names a safetensors file, an index ("model.safetensors.index.json": {"weight_map": {tensor: file}}), or a
 * folder that has model.safetensors or that index. Symbolic links are followed, for the cache of the hub holds nothing
 * else. Every tensor of the index must be in the file that it names, which lies beside it, and no name may occur in two
 * files.
 *
 * Thread: as safetensors.h.
 */
#ifndef MR_STORE_TENSOR_FILES_H
#define MR_STORE_TENSOR_FILES_H

#include "store/safetensors.h"

typedef struct mr_tensor_files mr_tensor_files;

/** Errors: MR_ECKPT with a message that names the file; MR_ERESOURCE. */
mr_status mr_tensor_files_open(const char *path, mr_tensor_files **out) MR_MUST_USE;
/** Accepts NULL. */
void mr_tensor_files_close(mr_tensor_files *f);

/** The tensors of all files, numbered. Borrowed from @f. */
size_t mr_tensor_files_count(const mr_tensor_files *f);
const mr_saved_tensor *mr_tensor_files_at(const mr_tensor_files *f, size_t i);
/** SIZE_MAX: there is none of this name. */
size_t mr_tensor_files_find(const mr_tensor_files *f, const char *name);
/** As mr_safetensors_read. */
mr_status mr_tensor_files_read(const mr_tensor_files *f, size_t i, void *to) MR_MUST_USE;

/** The folder in which the files, or the links to them, lie. */
const char *mr_tensor_files_folder(const mr_tensor_files *f);
/** A text of the first file's metadata; NULL: it has none of this key. */
const char *mr_tensor_files_metadata(const mr_tensor_files *f, const char *key);

#endif
