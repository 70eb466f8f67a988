/*
 * planned_links.h - the kind of link between ranks that nobody has started: a run over such links is laid out as it
 * would be there, and carries nothing out (mr_run_config.only_layout).
 */
#ifndef MR_LINK_PLANNED_LINKS_H
#define MR_LINK_PLANNED_LINKS_H

#include "link/channel.h"

typedef struct mr_planned_links {
	mr_link_kind kind;
	const uint16_t *rank;         /* [n_workers] borrowed */
	uint32_t self;                /* whose copies of what is sent count; MR_PLANNED_ALL: those of all ranks */
	const mr_link_kind *kinds[3]; /* for mr_run_config.links */
} mr_planned_links;

#define MR_PLANNED_ALL UINT32_MAX

/** Links between the ranks @rank of workers. Points into itself, so it stays where it is. */
void mr_planned_links_init(mr_planned_links *l, const uint16_t *rank, uint32_t self);

#endif
