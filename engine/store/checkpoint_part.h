/* checkpoint_part.h - shared by the files that implement checkpoint_io.h: manifests, listings, temporary names. */
#ifndef MR_STORE_CHECKPOINT_PART_H
#define MR_STORE_CHECKPOINT_PART_H

#include "store/checkpoint_io.h"

#define MR_MANIFEST MR_CHECKPOINT_MANIFEST
#define MR_MANIFEST_FORMAT "millrace-checkpoint"
#define MR_CKPT_NAME 64
#define MR_CKPT_MAX_STEP UINT64_C(1000000000000000) /* more than any run makes */

/* A file in the manifest. */
typedef struct mr_manifest_file {
	char *name;
	uint64_t size;
	uint32_t *crcs;
	size_t n_crcs;
} mr_manifest_file;

/** Write MANIFEST.json to the open directory @dir. */
mr_status mr_manifest_write(int dir, const mr_checkpoint_content *c, const mr_manifest_file *files) MR_MUST_USE;

/** mr_checkpoint_verify by at most @n_threads threads; @direct: past the page cache, if the file system has that. */
mr_status mr_manifest_verify(const mr_checkpoint *c, uint32_t n_threads, bool direct) MR_MUST_USE;

/** May a file of a checkpoint be called @name? Not "..", no '/', nothing hidden, not the manifest. */
bool mr_checkpoint_name_ok(const char *name);

typedef struct mr_ckpt_entry {
	char name[MR_CKPT_NAME];
	uint64_t step;
	uint32_t version; /* 0: no suffix */
} mr_ckpt_entry;

/** The checkpoints in the open directory @dir by their names, newest first. The caller frees *@list. */
mr_status mr_ckpt_list(int dir, const char *dir_path, mr_ckpt_entry **list, size_t *n) MR_MUST_USE;
/** "step-00001000" or "step-00001000.2". */
void mr_ckpt_name(uint64_t step, uint32_t version, char name[MR_CKPT_NAME]);
/** Read such a name back. False: it is no such name. */
bool mr_ckpt_parse_name(const char *name, mr_ckpt_entry *e);
/** A name for a temporary entry that no other process and no other call uses. @what without '-'. */
void mr_ckpt_temp_name(const char *what, char name[MR_CKPT_NAME]);

/** The checkpoint that LATEST or BEST (@link) names; "" when it names none. */
void mr_ckpt_read_link(int dir, const char *link, char name[MR_CKPT_NAME]);
/** Write @name into @link, by writing a temporary file and renaming it. */
mr_status mr_ckpt_write_link(int dir, const char *link, const char *name) MR_MUST_USE;

/** Remove the temporary file or folder @name with its contents. False: something remains; errno. */
bool mr_ckpt_discard(int dir, const char *name);
/** Remove checkpoints that @c has made superfluous, @newest being its own. Failures are logged. */
void mr_ckpt_rotate(int dir, const char *dir_path, const mr_checkpoint_content *c, const char *newest);

#endif
