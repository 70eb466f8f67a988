/*
 * futex.h - the two futex calls of the waits, in a file of their own so that the explorer can replace them by a model.
 *
 * The kernel promises: the comparison inside a wait and the search inside a wake are ordered by one lock per word. So
 * when a waker changes the word and then wakes, the waiter either saw the change and did not sleep, or was found and
 * is woken.
 */
#ifndef MR_HOST_FUTEX_H
#define MR_HOST_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/** Sleep while *@word == @expected, until woken. May return early for no reason (signals): the caller looks again. */
void mr_futex_wait(_Atomic uint32_t *word, uint32_t expected);

/** As mr_futex_wait, for at most @ns nanoseconds. */
void mr_futex_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t ns);

/** Wake the thread that sleeps on @word, if there is one. Async-signal-safe. */
void mr_futex_wake(_Atomic uint32_t *word);

#endif
