/*
 * hosts.h - messages between workers of different ranks: what they take, beside what instructions take.
 *
 * Where an instruction waits for one of another rank, a message lies between: a boundary, a range of gradients or of
 * weights, or an event, which has no bytes. Messages leave in the order in which instructions end. Each port, one a
 * host and direction, moves one at a time; workers compute meanwhile:
 *
 *	leaves   when the port out of the sender's host is free; it is busy for message + bytes * byte_s
 *	arrives  latency later, when the port into the receiver's host is free; that one is busy for bytes * byte_s
 *
 * Between two ranks of one host the port is the host's own. An event waits for no port, since it has no bytes.
 */
#ifndef MR_TIMING_HOSTS_H
#define MR_TIMING_HOSTS_H

#include "ir/unroll.h"

/* Of messages from one host to another. */
typedef struct mr_link_cost {
	double latency; /* s from the departure of a message without bytes until a worker that waits goes on */
	double byte_s;  /* s a byte beyond that */
	double message; /* s that each message takes of the port, whatever its bytes */
} mr_link_cost;

/* Bytes of the messages of one stage. */
typedef struct mr_stage_sends {
	double forward;   /* the activation that enters the stage */
	double backward;  /* the gradient that leaves it for the stage before */
	double gradients; /* of stages of several parts: from one part to the owner of a range */
	double weights;   /* the range that its owner stepped, to one part */
	double tied;      /* of stage 0: parameters that the last stage uses too, and their gradients */
} mr_stage_sends;

typedef struct mr_hosts {
	uint16_t n_ranks, n_hosts;
	const uint16_t *rank;        /* [n_workers] borrowed, as all here */
	const uint16_t *host;        /* [n_ranks] */
	const mr_link_cost *link;    /* [n_hosts * n_hosts] by sender, then receiver; of ranks of one host: [h][h] */
	const mr_stage_sends *sends; /* [n_stages] */
} mr_hosts;

/* The messages of one walk. */
typedef struct mr_messages mr_messages;

/** Nothing has been sent yet. Borrows both. Errors: MR_ERESOURCE. */
mr_status mr_messages_create(const mr_unroll *g, const mr_hosts *hosts, mr_messages **out) MR_MUST_USE;
void mr_messages_destroy(mr_messages *m);

/** Is @to, an instruction, on another rank than @from, or a join? Its time is then that of mr_message_arrival. */
bool mr_message_goes(const mr_messages *m, uint32_t from, uint32_t to);

/** When what @to needs of @from, which ends at @now, is there; @now does not go back from call to call. Of a join: when
 * the last worker has it. */
double mr_message_arrival(mr_messages *m, uint32_t from, uint32_t to, double now);

/** The same of a message that meets no other: in any order of calls, and a join that each worker waits for as long as
 * the last. */
double mr_message_alone(const mr_messages *m, uint32_t from, uint32_t to, double now);

#endif
