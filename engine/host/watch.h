/*
 * watch.h - a thread that notices when work with files (base/activity.h) hangs, such as a save on a network disk that
 * has gone away, whatever thread it is on.
 *
 * Work hangs when nothing of it has begun or ended for the limit, and beyond that for as long as its call takes at
 * MR_WATCH_BYTES_PER_S, which every disk makes. As with host/stall.h only time in which this process ran counts.
 *
 * The thread looks a few times within the limit. While work is under way and none hangs, it also tells the service
 * manager that the program is alive (host/service.h): the thread that does so otherwise may be waiting for that work.
 */
#ifndef MR_HOST_WATCH_H
#define MR_HOST_WATCH_H

#include "base/activity.h"
#include "base/status.h"

#define MR_WATCH_AUTOMATIC_S 60.0
#define MR_WATCH_BYTES_PER_S 10000000u

typedef struct mr_watch mr_watch;

/** Work of the threads called @thread hangs; @text says so in a sentence: "mr-save hangs where it saves a checkpoint:
 * fsync of r/checkpoints/.tmp-40/model.safetensors has not returned for 60.0 seconds". Called on the thread of the
 * watch, once for each work that hangs; it may end the process. */
typedef void mr_watch_hangs(void *arg, const char *thread, const char *text);

/** Watch from now on, with a limit of @seconds; 0: none, until a signal to end has come; 0 then, and below 0:
 * MR_WATCH_AUTOMATIC_S. Errors: MR_ERESOURCE. */
mr_status mr_watch_start(double seconds, mr_watch_hangs *hangs, void *arg, mr_watch **out) MR_MUST_USE;

/** Watch no more; accepts NULL. */
void mr_watch_stop(mr_watch *w);

#endif
