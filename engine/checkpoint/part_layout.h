/*
 * part_layout.h - where the bytes of a checkpoint's files lie, and which rank writes them.
 *
 * All ranks make the same layout: of each file the header, which is rank 0's, and the tensors of the lists of the run
 * (exec/state.h) one behind the other. What another rank has is its own in whole pages of the file; what is left at
 * both ends of a stretch comes to rank 0, which writes it.
 */
#ifndef MR_CHECKPOINT_PART_LAYOUT_H
#define MR_CHECKPOINT_PART_LAYOUT_H

#include "checkpoint/checkpoint_draft.h"

typedef struct mr_part_file {
	const char *name;
	mr_crc_piece *piece;  /* one behind the other; holes are others' */
	size_t n, room;
	uint64_t bytes;
	char *header;         /* rank 0's */
	size_t header_bytes;
} mr_part_file;

typedef struct mr_part_layout {
	const mr_run *run;
	uint32_t self;
	const mr_state_list *list[3]; /* of each file */
	mr_part_file file[3];
	size_t n_files;       /* that have tensors */
	mr_part_file *at;     /* that is being made */
} mr_part_layout;

/** Begin with the lists @st of @s, which the layout borrows. Free by mr_part_layout_fini, also after an error. */
mr_status mr_part_layout_begin(mr_part_layout *l, const mr_session *s, const mr_state *st) MR_MUST_USE;
void mr_part_layout_fini(mr_part_layout *l);

/** Rank 0: make the headers with @metadata [2], of which the second is the first file's alone; their bytes to @bytes.
 * Errors: MR_ERESOURCE. */
mr_status mr_part_layout_headers(mr_part_layout *l, const mr_saved_text *metadata, uint64_t bytes[3]) MR_MUST_USE;

/** All ranks call it, with the bytes of the headers: make the pieces, and bring what rank 0 writes of other ranks'
 * there. Errors: MR_ERESOURCE; the transport's. */
mr_status mr_part_layout_make(mr_part_layout *l, const uint64_t bytes[3]) MR_MUST_USE;

/** The files as pieces, to @file; returns how many. */
size_t mr_part_layout_files(const mr_part_layout *l, mr_checkpoint_shard file[3]);

/** This rank's pieces as tensors "file:offset" of bytes. Errors: MR_ERESOURCE. */
mr_status mr_part_layout_stretches(const mr_part_layout *l, mr_state_list *out) MR_MUST_USE;

#endif
