/* message_time.h - when a message between two workers that share no memory was sent, came, and was waited for. */
#ifndef MR_BASE_MESSAGE_TIME_H
#define MR_BASE_MESSAGE_TIME_H

#include <stdint.h>

/* Bytes of a message that the system's buffers may not hold until somebody looks for it: while such may come, the
 * thread that moves messages looks as often as while others are under way. */
#define MR_MESSAGE_LARGE (1 << 20)

/* Nanoseconds, all by one clock. */
typedef struct mr_message_time {
	uint64_t sent_ns, arrived_ns;
	uint64_t wanted_ns; /* since when its receiver had looked for it; 0: it had not yet */
	uint64_t number, bytes;
	uint16_t from, to;  /* workers */
	uint16_t stage;
	uint8_t pipe, kind; /* link/channel.h, mr_edge_kind */
} mr_message_time;

/* All messages from one process to another so far: what their sender did, and how they came to their receiver. */
typedef struct mr_message_sum {
	uint64_t n, bytes;
	uint64_t send_ns; /* the sender's workers handed them over */
	uint64_t wire_ns; /* they were on the way */
	uint64_t wait_ns; /* of it, the receiver's workers waited for them */
} mr_message_sum;

/* Nanoseconds of its way in which the receiver waited for it. */
static inline uint64_t mr_message_waited(const mr_message_time *m)
{
	uint64_t since = m->wanted_ns > m->sent_ns ? m->wanted_ns : m->sent_ns;

	return m->wanted_ns && m->arrived_ns > since ? m->arrived_ns - since : 0;
}

#endif
