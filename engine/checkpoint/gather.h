/*
 * gather.h - a whole checkpoint out of the parts that the ranks of a training have written, each into its own folder
 * (rank_parts.h): in every byte the one that one process writes.
 *
 * Parts belong together if their manifests name the same save. They are compared with their checksums, must cover each
 * file without gaps, and are copied piece by piece, so that no more memory is needed than for a few MiB.
 */
#ifndef MR_CHECKPOINT_GATHER_H
#define MR_CHECKPOINT_GATHER_H

#include <stddef.h>

#include "store/checkpoint_io.h"

/* The parts of one save. */
typedef struct mr_part_set {
	mr_checkpoint **part; /* [n] by rank; NULL: not found yet */
	char **path;          /* [n] */
	uint32_t n;
	uint64_t step;
	const char *save;     /* what they have in common; of part[0] */
	const char *hosts;
} mr_part_set;

/** Open the parts of the save whose part of rank 0 is @path; those of other ranks are looked for in the folders of
 * checkpoints @dirs [n]. What is not found is NULL. Free by mr_part_set_close, also after an error. Errors: MR_ECKPT
 * @path is no part of rank 0, or is damaged; MR_ERESOURCE. */
mr_status mr_part_set_open(const char *path, const char *const *dirs, size_t n, mr_part_set *out) MR_MUST_USE;
void mr_part_set_close(mr_part_set *set);

/** MR_ECKPT with a sentence that names the ranks whose parts are missing, and their hosts. */
mr_status mr_part_set_check(const mr_part_set *set) MR_MUST_USE;

/** Write the whole to the folder of checkpoints @dir, where none is deleted; @best: mark it. Errors: those of
 * mr_part_set_check and of mr_checkpoint_save; MR_ECKPT a part is damaged, or bytes are in none. */
mr_status mr_part_set_write(const mr_part_set *set, const char *dir, bool best) MR_MUST_USE;

/** The part of @rank of the save @save of step @step in the folder of checkpoints @dir: its path, which the caller
 * frees; NULL: there is none. */
char *mr_part_find(const char *dir, uint32_t rank, uint64_t step, const char *save);

/** The folder of @rank's parts in the folder of checkpoints @dir, which the caller frees; NULL: no memory. */
char *mr_part_folder(const char *dir, uint32_t rank);

#endif
