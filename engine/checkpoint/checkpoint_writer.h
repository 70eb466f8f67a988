/*
 * checkpoint_writer.h - writes checkpoints while the training goes on.
 *
 * At a pause point all cores copy the state into memory that was taken before the first step (state_copy.h), or each
 * worker copies its part as it passes that point (exec/snapshot.h). Then the workers go on, and threads of low priority
 * write the copy, sum and sync it and delete old checkpoints, as a save in the foreground would
 * (store/checkpoint_io.h). They run on the cores that no worker has; if there is none, on all. A checkpoint is on the
 * disk, and LATEST names it, some time after its step; a kill before that loses nothing that was there before.
 *
 * There is one copy: a save waits until the previous one is written, and so does the end of the training.
 *
 * Thread: one caller's. The writing thread has the draft and the copy between mr_checkpoint_writer_begin and
 * mr_checkpoint_writer_wait, which starts and joins it.
 */
#ifndef MR_CHECKPOINT_CHECKPOINT_WRITER_H
#define MR_CHECKPOINT_CHECKPOINT_WRITER_H

#include "checkpoint/checkpoint_draft.h"

/* Name of the threads that write. */
#define MR_CHECKPOINT_WRITER_THREAD "mr-save"

typedef struct mr_checkpoint_writer mr_checkpoint_writer;

/* Called before a checkpoint is written, by the thread that writes it: what must be on the disk before it. */
typedef mr_status mr_checkpoint_writer_before(void *arg);

/**
 * A writer to the folder @dir for @s, which is started and paused; it copies the present state once, so that the memory
 * is there. *@out is NULL where checkpoints are written in the foreground: none is due before the end, or memory has no
 * room for a copy (s->copy_bytes). Errors: MR_ERESOURCE.
 */
mr_status mr_checkpoint_writer_open(mr_session *s, const char *dir, mr_checkpoint_writer_before *before, void *arg,
				    mr_checkpoint_writer **out) MR_MUST_USE;

/** Wait for the write under way, and free all. Accepts NULL. */
void mr_checkpoint_writer_close(mr_checkpoint_writer *w);

/** The draft to fill in while no write is under way, and the memory for the copy of its state. */
mr_checkpoint_draft *mr_checkpoint_writer_draft(mr_checkpoint_writer *w);
void *mr_checkpoint_writer_room(mr_checkpoint_writer *w, uint64_t *bytes);

/** Begin to write the draft, whose state is the copy. Errors: MR_ERESOURCE: no thread; nothing was begun. */
mr_status mr_checkpoint_writer_begin(mr_checkpoint_writer *w) MR_MUST_USE;

/** Write the draft, on the calling thread. Errors: those of `before` and of mr_checkpoint_save. */
mr_status mr_checkpoint_writer_write(mr_checkpoint_writer *w) MR_MUST_USE;

/** Is a write under way, or over and not waited for? Accepts NULL. */
bool mr_checkpoint_writer_busy(const mr_checkpoint_writer *w);

/** Is a write over, and not waited for? */
bool mr_checkpoint_writer_over(mr_checkpoint_writer *w);

/** Has the write under way failed already? mr_checkpoint_writer_wait returns its error. Thread: any. */
bool mr_checkpoint_writer_failed(const mr_checkpoint_writer *w);

/** The write under way hangs (host/watch.h): nobody waits for it from now on. Thread: any. */
void mr_checkpoint_writer_give_up(mr_checkpoint_writer *w);

/** Was the write under way given up, and has it not come back? Accepts NULL. */
bool mr_checkpoint_writer_hangs(mr_checkpoint_writer *w);

/** Wait for the write under way. *@written: one was, and has succeeded. Errors, once each: those of mr_checkpoint_save
 * and of `before`. MR_ESTALLED, as often as asked: it was given up, and is still under way. */
mr_status mr_checkpoint_writer_wait(mr_checkpoint_writer *w, bool *written) MR_MUST_USE;

#endif
