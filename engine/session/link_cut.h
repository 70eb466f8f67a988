/*
 * link_cut.h - cuts the model of a session whose workers are on several hosts, so that what crosses the links between
 * these suits them.
 *
 * A link carries messages beside the workers, so how much a boundary over it costs depends on the order: with a flush
 * after few micro-batches a worker waits for it, with many under way it does not. So some cuts are made, from one as if
 * there were no links to one that counts their bytes eight times (partition.h), and the one with the shortest step in
 * virtual time is taken; of equals the one that counts less. Costs are those at hand: of the file in the configuration,
 * or nominal ones for the threads of a worker, never timings of this machine.
 */
#ifndef MR_SESSION_LINK_CUT_H
#define MR_SESSION_LINK_CUT_H

#include "session/session.h"

/** May the plan of @s have a boundary over a link? Its hosts are known. */
bool mr_session_crosses_links(const mr_session *s);

/**
 * Cut @s, whose plan is drafted, workers placed and costs taken, into @stages. Stage i counts @weight[i] times (NULL:
 * once each), and a second of a link as @second of these. A system that judges plans, and a plan of very many
 * instructions, has one cut, which counts bytes once. Errors: those of mr_partition_auto.
 */
mr_status mr_session_cut_links(mr_session *s, uint16_t stages, const uint32_t *weight, double second) MR_MUST_USE;

#endif
