/*
 * activity.h - what threads of this process do that can hang in the system, for a watchdog (host/watch.h).
 *
 * A thread names its work and, within it, each system call that may not return:
 *
 *	mr_activity_begin("saves a checkpoint");
 *	mr_activity_call("fsync", fd, "", bytes);
 *	... fsync(fd) ...
 *	mr_activity_done();
 *	mr_activity_end();
 *
 * A call outside of any work is its own work. Work within work belongs to the outer one. Each of these functions takes
 * a lock for an instant, so none of them stands on the path of a step; a call that hangs holds no lock.
 *
 * Thread: any.
 */
#ifndef MR_BASE_ACTIVITY_H
#define MR_BASE_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#define MR_ACTIVITIES 32 /* threads at once; work of further ones is not seen */

typedef struct mr_activity {
	int tid;          /* 0: nothing is under way in this place */
	uint64_t beat;    /* another one whenever anything begins or ends; never that of another thread or work */
	const char *what; /* "saves a checkpoint"; "" */
	const char *call; /* "fsync"; "": none */
	int fd;           /* file or folder of the call; -1: only the name counts */
	char name[112];   /* of the file in that folder; "": it is the file of fd */
	uint64_t bytes;   /* that the call moves */
} mr_activity;

/** This thread begins @what, a constant. */
void mr_activity_begin(const char *what);
/** It ends what it has begun last. */
void mr_activity_end(void);

/** It calls @call, a constant, on the file @name of the folder @fd (-1: on a path), or with "" on @fd itself; @bytes
 * are moved. */
void mr_activity_call(const char *call, int fd, const char *name, uint64_t bytes);
/** The call has returned. Keeps errno. */
void mr_activity_done(void);

/** What stands in place @i < MR_ACTIVITIES at this moment; false: nothing. */
bool mr_activity_at(unsigned i, mr_activity *out);

/** The file of the call of @a, as a path; "" if it has none. May ask the kernel, but no file system. */
void mr_activity_file(const mr_activity *a, char *path, int size);

#endif
