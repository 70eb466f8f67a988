#include "host/spin.h"

void mr_spin_init(mr_spin *s)
{
	atomic_init(&s->busy_ns, 0);
}

void mr_spin_delayed(mr_spin *s, mr_spin_interval *i, uint64_t now, uint64_t delay_ns)
{
	i->begin_ns = i->begin_ns ? i->begin_ns : now;
	i->lost_ns += delay_ns;
	if (now - i->begin_ns < MR_SPIN_INTERVAL_NS)
		return;
	if (i->lost_ns > (now - i->begin_ns) / MR_SPIN_LOST_PART)
		atomic_store_explicit(&s->busy_ns, now, memory_order_relaxed);
	*i = (mr_spin_interval){.begin_ns = now};
}

uint64_t mr_spin_ns(const mr_spin *s, uint64_t now, uint64_t most_ns)
{
	uint64_t busy = atomic_load_explicit(&s->busy_ns, memory_order_relaxed);
	uint64_t ns = now > busy ? (now - busy) / MR_SPIN_GROWS_BY : 0;

	ns = ns > MR_SPIN_LEAST_NS ? ns : MR_SPIN_LEAST_NS;
	return busy && ns < most_ns ? ns : most_ns;
}
