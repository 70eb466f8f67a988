/*
 * link_costs.h - what messages between hosts take, measured or given, and over which hosts ranks are spread.
 *
 * A file of costs (costs.h) may end in a block about links, as `millrace-mpi probe-links` writes it; a file may also
 * have this block alone:
 *
 *	# links=2; ranks=0 1; hosts=a b; spread=0.04
 *	from,to,latency_s,bandwidth,message_s,both,send_s,send_byte_s,get_s,get_byte_s,look,watch,tell_s,hear_s
 *	0,0,2e-06,5.1e+09,1e-06,5.1e+09,0,0,0,0,0,0,0,0
 *	0,1,5.3e-05,1.17e+08,4e-06,1.1e+08,1e-05,3e-10,1.2e-05,5e-10,0.03,0.15,2e-05,3e-05
 *	...
 *
 * with a row for each host and each host, also itself: that is of two ranks of one host. links is the number of hosts,
 * ranks says on which each rank was. Bandwidth is bytes a second, and `both` that each way while messages go both ways;
 * the times are those of mr_link_cost. Older files end at message_s, or at look: nothing is known of the rest then.
 */
#ifndef MR_COSTS_LINK_COSTS_H
#define MR_COSTS_LINK_COSTS_H

#include "base/str.h"
#include "timing/hosts.h"

#define MR_LINKS_WORDS "# links="
enum { MR_LINKS_MOST = 1024 }; /* hosts, or ranks */

typedef struct mr_link_costs {
	uint16_t n_hosts, n_ranks;
	uint16_t *host;     /* [n_ranks]; owned, as all here */
	char *names;        /* "a b"; "": not known */
	mr_link_cost *link; /* [n_hosts * n_hosts] by sender, then receiver */
	double spread;      /* the largest distance of medians from minima; 0: given by hand */
} mr_link_costs;

/** Links of @n_ranks ranks on @n_hosts hosts, all zeros; ranks in equal stretches. Errors: MR_ERESOURCE. */
mr_status mr_link_costs_alloc(uint16_t n_hosts, uint16_t n_ranks, mr_link_costs *out) MR_MUST_USE;
void mr_link_costs_fini(mr_link_costs *l);

/** "LATENCY,BANDWIDTH" (s, bytes/s), then if known, each by a comma: s a message, bytes/s each way while messages go
 * both ways, s of a core a message, and a byte, at each end; of each two ranks of @out, which mr_link_costs_alloc has
 * made. Errors: MR_ECONFIG. */
mr_status mr_link_costs_given(const char *text, mr_link_costs *out) MR_MUST_USE;

/** Read the block of @path, a file of costs. *@found: it has one. Errors: MR_ECONFIG with the line; MR_ERESOURCE. */
mr_status mr_link_costs_read(const char *path, mr_link_costs *out, bool *found) MR_MUST_USE;

/** The block, behind @out. */
void mr_link_costs_print(const mr_link_costs *l, mr_strbuf *out);

/** Put the block of @l into @path: in place of one that is there, behind costs of layers, or as a new file. Errors:
 * MR_EUSAGE it is another sort of file; MR_EIO, MR_ERESOURCE. */
mr_status mr_link_costs_write(const char *path, const mr_link_costs *l) MR_MUST_USE;

#endif
