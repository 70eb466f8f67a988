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
 * Between two ranks of one host the port is the host's own. An event waits for no port, since it has no bytes. Where
 * bandwidth is less while messages go both ways, one that leaves while another comes is slowed for as long as both do;
 * the one that was there first keeps its time, so the later takes what both lose.
 *
 * Messages also take time of cores, at both ends. Where the workers of a rank leave it no core, that is taken from the
 * one that sends or receives: evenly while the message is in its port, as a theft (mr_theft) that the walk of workers
 * that share takes note of. So is looking for messages, which goes on all the time, and the record of each step, which
 * ranks that have the last stage tell to rank 0.
 */
#ifndef MR_TIMING_HOSTS_H
#define MR_TIMING_HOSTS_H

#include "ir/unroll.h"

/* Of messages from one host to another. */
typedef struct mr_link_cost {
	double latency; /* s from the departure of a message without bytes until a worker that waits goes on */
	double byte_s;  /* s a byte beyond that */
	double message; /* s that each message takes of the port, whatever its bytes */
	double both_s;  /* s a byte each way while messages go both ways; 0, or at most byte_s: as byte_s */
	double send, send_s; /* s of a core that a message, and each of its bytes, take at the sender */
	double get, get_s;   /* and at the receiver */
	double look;         /* the part of a core that looking for messages takes */
	double watch;        /* the same where large ones may come (MR_MESSAGE_LARGE) */
	double tell, hear;   /* s of a core that a step's loss takes at the rank that sends it, and at rank 0 */
} mr_link_cost;

/* Bytes of the messages of one stage. */
typedef struct mr_stage_sends {
	double forward;   /* the activation that enters the stage */
	double backward;  /* the gradient that leaves it for the stage before */
	double gradients; /* of stages of several parts: from one part to the owner of a range; of replicas what the
	                     average reads of it */
	double weights;   /* the range that its owner stepped, to one part, as often as it gets it in a step; of sharded
	                     weights all that a part keeps, to one of its group */
	double copies;    /* of those in groups: the range, to a part that keeps it too */
	double tied;      /* of stage 0: parameters that the last stage uses too, and their gradients */
} mr_stage_sends;

typedef struct mr_hosts {
	uint16_t n_ranks, n_hosts;
	const uint16_t *rank;        /* [n_workers] borrowed, as all here */
	const uint16_t *host;        /* [n_ranks] */
	const mr_link_cost *link;    /* [n_hosts * n_hosts] by sender, then receiver; of ranks of one host: [h][h] */
	const mr_stage_sends *sends; /* [n_stages] */
	bool crowded;                /* ranks have no core but those of their workers */
} mr_hosts;

/* From @from to @to, messages take @part of the core of @worker. */
typedef struct mr_theft {
	double from, to, part;
	uint16_t worker;
} mr_theft;

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

/** @node, an instruction, has ended @now: where it makes a step that its rank tells to rank 0, that takes of cores. */
void mr_message_tell(mr_messages *m, uint32_t node, double now);

/** The next theft by messages that were asked for; false: there is none yet. */
bool mr_message_theft(mr_messages *m, mr_theft *out);

/** The part of the core of worker @w that looking for messages takes, in @plan: that of its rank, evenly over its
 * workers. */
double mr_message_look(const mr_hosts *hosts, const mr_plan *plan, uint16_t w);

/** The graph moves on: its iteration n + @by becomes iteration n. */
void mr_messages_move(mr_messages *m, uint32_t by);

#endif
