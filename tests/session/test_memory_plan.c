/* The memory of the whole process is judged before samples are read: against machine.memory_limit and what the machine
 * allows. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "job/job_help.h"
#include "host/memory.h"
#include "session/memory_plan.h"

#define MIB ((uint64_t)1 << 20)

#define BASE                                                                                                           \
	"model.name=mlp model.hidden=[12,12] data.name=synthetic data.features=1024 data.classes=4 "                   \
	"data.samples=81920 optimizer.name=momentum system.name=1f1b train.steps=2 train.batch=6 "                     \
	"train.microbatches=2 optimizer.lr=0.01 machine.workers=2 machine.threads=1 backend=reference"

/* 320 MiB of data are in the sum, and nothing of them in memory. */
static void counts_everything(void)
{
	mr_job job;
	uint64_t before = mr_memory_resident_bytes(), sum = 0;
	mr_memory_plan m;
	mr_session s;

	mr_test_job_of(&job, BASE, "");
	MR_CHECK_OK(mr_session_survey(&job, &s));
	MR_CHECK_OK(mr_memory_plan_of(&s, NULL, &m));
	CU_ASSERT_EQUAL(m.bytes[MR_MEMORY_DATA], 320 * MIB);
	CU_ASSERT(m.bytes[MR_MEMORY_PROGRAM] > MIB && m.bytes[MR_MEMORY_PLAN] > 0 && m.bytes[MR_MEMORY_WORKERS] > 0);
	CU_ASSERT(m.bytes[MR_MEMORY_CHECKPOINT] > 0 && m.bytes[MR_MEMORY_EVALUATION] > 0);
	for (int i = 0; i < MR_N_MEMORY_USES; i++)
		sum += m.bytes[i];
	CU_ASSERT_EQUAL(m.total, sum);
	CU_ASSERT(mr_memory_resident_bytes() < before + 64 * MIB);
	/* A cgroup's limit, as the machine's description has it. */
	s.topo.memory_bytes = s.topo.memory_available_bytes = 200 * MIB;
	strcpy(s.topo.memory_limit, "cgroup memory.max");
	MR_CHECK_FAIL(mr_memory_plan_fits(&m, &s), MR_ERESOURCE, "and 200 MiB is the limit (cgroup memory.max):\n");
	MR_CHECK_FAIL(mr_memory_plan_fits(&m, &s), MR_ERESOURCE, "  data                        320 MiB\n");
	s.topo.memory_bytes = m.total;
	MR_CHECK_FAIL(mr_memory_plan_fits(&m, &s), MR_ERESOURCE, "200 MiB is the limit (what is free now)");
	s.topo.memory_available_bytes = m.total - m.resident;
	MR_CHECK_OK(mr_memory_plan_fits(&m, &s));
	s.topo.memory_bytes--;
	MR_CHECK_FAIL(mr_memory_plan_fits(&m, &s), MR_ERESOURCE, "(cgroup memory.max)");
	mr_session_close(&s);
	mr_job_fini(&job);
}

/* The whole of it, and not the workers alone, for every executor; nothing is read before. */
static void set_limit(void)
{
	mr_job job;
	mr_session s;

	mr_test_job_of(&job, BASE, "machine.memory_limit=100000000");
	MR_CHECK_FAIL(mr_session_open(&job, &s), MR_ERESOURCE,
		      "95 MiB is the limit (machine.memory_limit):\n");
	CU_ASSERT(mr_memory_peak_bytes() < 300 * MIB);
	/* Measurements of the machine take a part of what is available: of the limit, if that is less. */
	MR_CHECK_OK(mr_session_survey(&job, &s));
	CU_ASSERT_EQUAL(s.topo.memory_available_bytes, 100000000);
	mr_session_close(&s);
	mr_job_fini(&job);
}

/* What data take only while they are made is no sum with what the workers take afterwards. */
static void passing_bytes(void)
{
	mr_job job;
	mr_memory_plan m;
	mr_session s;

	mr_test_job_of(&job, BASE, "");
	MR_CHECK_OK(mr_session_survey(&job, &s));
	s.data->bytes = (mr_data_bytes){.kept = 10 * MIB, .passing = 500 * MIB, .on_disk = 7};
	MR_CHECK_OK(mr_memory_plan_of(&s, NULL, &m));
	CU_ASSERT_EQUAL(m.total, m.bytes[MR_MEMORY_PROGRAM] + m.bytes[MR_MEMORY_PLAN] + 510 * MIB);
	CU_ASSERT_EQUAL(m.on_disk, 7);
	mr_session_close(&s);
	mr_job_fini(&job);
}

void mr_suite_memory_plan(void);
void mr_suite_memory_plan(void)
{
	MR_SUITE("memory_plan");
	MR_TEST(counts_everything);
	MR_TEST(set_limit);
	MR_TEST(passing_bytes);
}
