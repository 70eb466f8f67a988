/*
 * background.h - threads that work beside workers, on their cores if need be.
 */
#ifndef MR_HOST_BACKGROUND_H
#define MR_HOST_BACKGROUND_H

/**
 * Give the calling thread, and threads that it starts, little of a core that a worker keeps busy, about a thirtieth,
 * but that little soon: after a request of the disk it has hardly anything to do before the next one, and would
 * otherwise wait longer for a core than for the disk (from Linux 6.12 on; earlier ones know no lengths of slices). What
 * the kernel refuses changes nothing.
 */
void mr_background(void);

#endif
