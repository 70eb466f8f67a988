#include "mpi/mpi_times.h"

#include <stdlib.h>

#include "host/clock.h"
#include "mpi/mpi_world.h"

enum { MOST = 1 << 16 }; /* messages that are kept; the last ones */

static struct {
	mr_message_sum *to, *from; /* [n] */
	_Atomic int64_t ahead_ns;  /* rank 0's clock less this one's */
	mr_message_time *ring;     /* [MOST] by message modulo; NULL: not traced */
	uint64_t n;
} times;

mr_status mr_mpi_times_init(uint32_t n)
{
	times.to = calloc(n, sizeof(*times.to));
	times.from = calloc(n, sizeof(*times.from));
	return times.to && times.from ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u ranks", n);
}

void mr_mpi_times_fini(void)
{
	free(times.to);
	free(times.from);
	free(times.ring);
	times.to = times.from = NULL;
	times.ring = NULL;
	times.n = 0;
}

uint64_t mr_mpi_now(void)
{
	return mr_clock_ns() + (uint64_t)atomic_load_explicit(&times.ahead_ns, memory_order_relaxed);
}

void mr_mpi_align(int64_t ahead_ns)
{
	atomic_store_explicit(&times.ahead_ns, ahead_ns, memory_order_relaxed);
}

void mr_mpi_times_sent(uint32_t to, uint64_t bytes, uint64_t ns)
{
	times.to[to].n++;
	times.to[to].bytes += bytes;
	times.to[to].send_ns += ns;
}

void mr_mpi_times_came(uint32_t from, const mr_message_time *m)
{
	if (m->arrived_ns > m->sent_ns) /* clocks agree within some microseconds only */
		times.from[from].wire_ns += m->arrived_ns - m->sent_ns;
	times.from[from].wait_ns += mr_message_waited(m);
	if (times.ring)
		times.ring[times.n++ % MOST] = *m;
}

void mr_mpi_sum(uint32_t rank, mr_message_sum *to, mr_message_sum *from)
{
	pthread_mutex_lock(&mr_mpi.lock);
	to->n = times.to[rank].n;
	to->bytes = times.to[rank].bytes;
	to->send_ns = times.to[rank].send_ns;
	from->wire_ns = times.from[rank].wire_ns;
	from->wait_ns = times.from[rank].wait_ns;
	pthread_mutex_unlock(&mr_mpi.lock);
}

mr_status mr_mpi_trace(void)
{
	mr_message_time *ring = calloc(MOST, sizeof(*ring));

	if (!ring)
		return mr_fail(MR_ERESOURCE, "no memory for %d traced messages", MOST);
	pthread_mutex_lock(&mr_mpi.lock);
	free(times.ring);
	times.ring = ring;
	times.n = 0;
	pthread_mutex_unlock(&mr_mpi.lock);
	return MR_OK;
}

size_t mr_mpi_messages(const mr_message_time **out)
{
	*out = times.ring;
	return times.n < MOST ? times.n : MOST;
}
