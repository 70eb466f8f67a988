/* train_cpus.c - CPUs of the workers that go offline during a training. */
#include "base/log.h"
#include "base/str.h"
#include "host/offline.h"
#include "training/train.h"

void mr_train_look_at_cpus(mr_train *t)
{
	const mr_place *p = &t->s.place;
	uint32_t n = 0, before = t->n_cpus_lost;
	mr_strbuf lost = {0};
	char list[4096];

	if (!p->bindable || (!*mr_offline_cpus(list, sizeof(list)) && !before))
		return;
	for (uint32_t w = 0; w < p->n_workers; w++)
		for (uint32_t i = 0; i < p->worker[w].n_threads; i++)
			if (mr_offline_has(list, p->worker[w].cpu[i]))
				mr_strbuf_printf(&lost, "%s%u of w%u", n++ ? ", " : "", p->worker[w].cpu[i], w);
	t->n_cpus_lost = n;
	if (n > before)
		mr_log(MR_LOG_WARN, "cpus",
		       "offline: CPU %s; the kernel has moved these threads to other CPUs. Bits stay, speed does "
		       "not: a run that is started again (--resume) is placed on what is left",
		       mr_strbuf_text(&lost));
	mr_strbuf_fini(&lost);
}
