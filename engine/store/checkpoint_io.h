/*
 * checkpoint_io.h - checkpoints on the disk, written so that after a kill or a power cut at any instant one can be
 * loaded.
 *
 * A checkpoint is a folder; its name is its step.
 *
 *	DIR/step-00001000/model.safetensors ...   tensors, as the caller lists them
 *	                 /MANIFEST.json           step, facts, and of every file the size and the CRC32C of each MiB
 *	DIR/step-00001000.1                       the same step saved again; the higher number is the newer
 *	DIR/LATEST                                name of the last announced checkpoint
 *	DIR/BEST                                  name of the best one, if the caller marked any
 *	DIR/.tmp-WHAT-PID-NONCE                   being written, or being deleted; never looked at
 *
 * Nothing is overwritten. A save writes a new folder .tmp-..., fsyncs every file and the folder, reads all of it back
 * against the checksums, renames it to its final name, fsyncs DIR, and then replaces LATEST by rename: that is the
 * moment from which the new checkpoint counts. Only after it are older ones deleted: first renamed to .tmp-..., so that
 * no half of a checkpoint ever bears a final name. A failure before the rename removes the temporary folder and leaves
 * all else as it was; a failure between the rename and LATEST leaves the new folder, whole but not announced; a failure
 * to delete is a warning in the log.
 *
 * Saving the step of an existing checkpoint (a resumed run reaches it again) takes the next free suffix. Checkpoints of
 * a higher step than the one saved belong to a training that was abandoned by resuming an earlier one; they are
 * removed with the old ones.
 *
 * The manifest guards itself: its last line is the CRC32C of everything before it. Reading back past the
 * page cache finds mistakes of this program, of the memory and of the way to the disk and back; it cannot find those of
 * a disk that answers from its own cache, nor, on file systems without O_DIRECT, what is in the page cache alone.
 *
 * Thread: one at a time for a DIR. Processes: hold mr_run_lock.
 */
#ifndef MR_STORE_CHECKPOINT_IO_H
#define MR_STORE_CHECKPOINT_IO_H

#include <stdbool.h>

#include "store/safetensors.h"

#define MR_CHECKPOINT_MANIFEST "MANIFEST.json"
#define MR_CHECKPOINT_PARTS "rank-" /* and a number: a folder of parts of checkpoints, which that rank has written */

/* One file of a checkpoint. */
typedef struct mr_checkpoint_shard {
	const char *name; /* "model.safetensors": no '/', no leading '.', not MANIFEST.json */
	const mr_saved_tensor *tensors;
	size_t n_tensors;
	const mr_saved_text *metadata;
	size_t n_metadata;
	const mr_crc_piece *pieces; /* what the file consists of, in place of tensors; NULL: tensors */
	size_t n_pieces;
} mr_checkpoint_shard;

/* Other processes write the holes of pieces. */
typedef struct mr_checkpoint_others {
	void *arg;
	/** The files are in the folder @temp of the checkpoints': others may begin. */
	mr_status (*begin)(void *arg, const char *temp) MR_MUST_USE;
	/** Wait for the others; then, for each file @i in turn, add their checksums to @crcs (mr_crc_blocks_add). */
	mr_status (*end)(void *arg, size_t i, uint32_t *crcs, size_t n, uint64_t bytes) MR_MUST_USE;
} mr_checkpoint_others;

typedef struct mr_checkpoint_content {
	uint64_t step;
	const mr_checkpoint_shard *parts;
	size_t n_parts;
	const mr_saved_text *facts; /* config hash, plan hash, seed, ISA, ...: kept in the manifest; no key twice */
	size_t n_facts;
	uint32_t n_threads;         /* that may write and compare it; 0: 1 */
	bool best;                  /* mark it as the best so far */
	uint32_t keep;              /* newest checkpoints to keep, this one included; 0: 2. The best stays, too */
	uint64_t keep_every;        /* beside these all of earlier steps that this number divides; 0: none */
	bool keep_all;              /* delete none */
	const mr_checkpoint_others *others; /* that write parts of it, too; NULL: none */
} mr_checkpoint_content;

/**
 * Save to @dir, which is made if its parent exists. *@path becomes the checkpoint's path, which the caller
 * frees; @path may be NULL.
 * Errors: MR_ERESOURCE (the disk is too small, with both figures, before anything is written; or full on the way),
 * MR_EIO, MR_EINVAL (a bad name or tensor). After an error the earlier checkpoints are untouched, and LATEST is
 * unchanged, or names the new one if only its last fsync failed.
 */
mr_status mr_checkpoint_save(const char *dir, const mr_checkpoint_content *c, char **path) MR_MUST_USE;

/** One of the others: write the pieces of the files of @c, which has nothing else, in the folder @temp of @dir, and
 * make them durable. crcs[i] is the list of checksums of file i, with zeros for holes; the caller frees each. Errors:
 * those of mr_crc_blocks_write. */
mr_status mr_checkpoint_write_pieces(const char *dir, const char *temp, const mr_checkpoint_content *c,
				     uint32_t **crcs) MR_MUST_USE;

/** The checkpoint @c was saved to @dir with keep_all, as its newest: mark it if it is the best, and delete what it has
 * made superfluous. Errors: those of writing BEST. */
mr_status mr_checkpoint_keep(const char *dir, const mr_checkpoint_content *c) MR_MUST_USE;

/** Bytes that saving @c takes on the disk; a slight overestimate. */
uint64_t mr_checkpoint_bytes(const mr_checkpoint_content *c);

/** Check that the disk of @dir (if it does not exist yet: of its future parent) has room for @n checkpoints of @bytes
 * each. Those that @dir already holds count towards @n, but there must be room for at least one more. Errors:
 * MR_ERESOURCE with both figures; MR_EIO. */
mr_status mr_checkpoint_preflight(const char *dir, uint64_t bytes, uint64_t n) MR_MUST_USE;

/**
 * The checkpoint to resume: the one that LATEST names if all its checksums are right, else the newest one with right
 * checksums (with a warning in the log). The caller frees *@path. Errors: MR_ECKPT when there is none, with the reason
 * of the first that failed; MR_ERESOURCE when there is no memory to look at the one that LATEST names.
 */
mr_status mr_checkpoint_latest(const char *dir, char **path) MR_MUST_USE;

/** The steps of the checkpoints in @dir, newest first; they are not looked at. The caller frees *@step. Errors:
 * MR_ECKPT when there is no such folder; MR_ERESOURCE. */
mr_status mr_checkpoint_steps(const char *dir, uint64_t **step, size_t *n) MR_MUST_USE;

/* Name of a checkpoint, and its step. */
typedef struct mr_checkpoint_name {
	char name[64];
	uint64_t step;
} mr_checkpoint_name;

/** The checkpoints in @dir, newest first; they are not looked at. The caller frees *@list. Errors: as
 * mr_checkpoint_steps. */
mr_status mr_checkpoint_names(const char *dir, mr_checkpoint_name **list, size_t *n) MR_MUST_USE;

/** Remove the checkpoint @name of @dir. Failures are logged. */
void mr_checkpoint_remove(const char *dir, const char *name);

/** Check that @dir/@name is whole: compares every checksum, and the step in its name with the manifest's. Errors:
 * MR_ECKPT, MR_EIO, MR_ERESOURCE. */
mr_status mr_checkpoint_check(const char *dir, const char *name) MR_MUST_USE;

/** Remove entries that dead processes, or earlier ones with this one's number, left half written or half deleted. Call
 * it before the first save, under the lock. Failures are logged. */
void mr_checkpoint_sweep(const char *dir);

/* --- one checkpoint --- */

typedef struct mr_checkpoint mr_checkpoint;

/** Read the manifest of the checkpoint at @path and compare the sizes of its files. MR_ECKPT, MR_EIO, MR_ERESOURCE. */
mr_status mr_checkpoint_open(const char *path, mr_checkpoint **out) MR_MUST_USE;
/** Accepts NULL. */
void mr_checkpoint_close(mr_checkpoint *c);
/** Read every file and compare every checksum. MR_ECKPT with file, offset, checksum found and expected. */
mr_status mr_checkpoint_verify(const mr_checkpoint *c) MR_MUST_USE;

uint64_t mr_checkpoint_step(const mr_checkpoint *c);
/** NULL: the manifest has no such fact. Borrowed from @c. */
const char *mr_checkpoint_fact(const mr_checkpoint *c, const char *key);
/** Fact @i as a pair, in the order in which they were given; key NULL after the last. */
mr_saved_text mr_checkpoint_fact_at(const mr_checkpoint *c, size_t i);
/** Name of file @i, and its size in *@bytes (may be NULL); NULL after the last. */
const char *mr_checkpoint_file_at(const mr_checkpoint *c, size_t i, uint64_t *bytes);
/** Open the tensors of file @name. MR_ECKPT when the manifest does not list it. */
mr_status mr_checkpoint_tensors(const mr_checkpoint *c, const char *name, mr_safetensors **out) MR_MUST_USE;

/* --- the lock of a run --- */

/**
 * Take the folder @dir for this process, by flock on @dir/LOCK, until mr_run_unlock or the end of the process. *@lock
 * is the handle. Errors: MR_ERESOURCE, naming the process that holds it; MR_EIO.
 */
mr_status mr_run_lock(const char *dir, int *lock) MR_MUST_USE;
/** Remove @dir/LOCK, which this process holds and which was made for a run that has not begun; call it before
 * unlocking. May be called in a signal handler. */
void mr_run_lock_remove(const char *dir, int lock);
/** Does nothing for a negative @lock. */
void mr_run_unlock(int lock);

#endif
