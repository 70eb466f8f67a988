/* All systems side by side: what each row promises, whatever the machine, and pictures on one axis. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "choose/compare.h"
#include "job/job_help.h"

static mr_job job;

static void open_job(const char *topology, const char *sets)
{
	mr_test_job_of(&job,
		       "model.name=mlp model.hidden=[32,32,32,32,32,32,32] data.name=synthetic data.features=16 "
		       "data.classes=4 data.samples=512 optimizer.name=adamw optimizer.lr=0.01 system.name=1f1b "
		       "train.steps=2 train.batch=32 train.microbatches=8 machine.workers=4 machine.threads=1",
		       sets);
	job.machine.topology = topology;
}

static const mr_compare_row *row_of(const mr_compare *c, const char *label)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->row[i].label, label))
			return &c->row[i];
	CU_FAIL_FATAL("no such row");
	return NULL;
}

/* Every system has a row; those that run come first, by their times; the others say why not. */
static void check_rows(const mr_compare *c)
{
	for (size_t i = 0; mr_schedule_at(i); i++)
		CU_ASSERT_PTR_NOT_NULL(row_of(c, mr_schedule_at(i)->name));
	for (uint32_t i = 0; i < c->n; i++) {
		const mr_compare_row *r = &c->row[i];

		if (i)
			CU_ASSERT((*r[-1].why != 0) <= (*r->why != 0));
		if (*r->why)
			continue;
		CU_ASSERT(r->step_s > 0 && r->bubble >= 0 && r->bubble < 1);
		CU_ASSERT(i == 0 || (float)r->step_s >= (float)r[-1].step_s);
		CU_ASSERT(r->worker_bytes > 0 && r->worker_bytes <= r->bytes);
		CU_ASSERT(r->bytes <= r->worker_bytes * r->n_workers);
		CU_ASSERT(r->weight_copies >= 1);
		/* gradients are late in those alone that do not flush */
		CU_ASSERT(r->staleness == 0 || r->ops->asynchronous || r->ops->replicates);
		CU_ASSERT_EQUAL(r->n_micro, r->ops->workers == 1 || (r->ops->asynchronous && !r->ops->accumulates)
						    ? 1
						    : c->n_micro);
	}
}

static void rows_keep_their_promises(void)
{
	static const char *const on[] = {"core:4", "numa:2 core:4", "genoa9654"};

	for (size_t k = 0; k < sizeof(on) / sizeof(on[0]); k++) {
		const mr_compare_row *sequential;
		mr_compare c;

		open_job(on[k], "");
		MR_CHECK_OK(mr_compare_init(&c, &job, 0, false));
		check_rows(&c);
		sequential = row_of(&c, "sequential");
		CU_ASSERT(sequential->n_workers == 1 && sequential->weight_copies == 1 && !*sequential->why);
		CU_ASSERT(row_of(&c, "pipedream")->staleness > 0 && row_of(&c, "pipedream")->weight_copies > 1);
		CU_ASSERT(row_of(&c, "data_parallel")->bytes > row_of(&c, "1f1b")->bytes);
		CU_ASSERT(isnan(c.error) && !c.scaled && !c.rescaled);
		mr_compare_fini(&c);
		mr_job_fini(&job);
	}
}

/* Rows that need more than the cap do not run, and their figures stay; nothing else changes. */
static void a_cap_leaves_out_what_needs_more(void)
{
	mr_compare free_of, capped;
	uint64_t cap;
	uint32_t n_out = 0;

	open_job("core:4", "");
	MR_CHECK_OK(mr_compare_init(&free_of, &job, 0, false));
	cap = row_of(&free_of, "1f1b")->bytes;
	MR_CHECK_OK(mr_compare_init(&capped, &job, cap, false));
	CU_ASSERT_EQUAL(capped.cap, cap);
	for (uint32_t i = 0; i < capped.n; i++) {
		const mr_compare_row *r = &capped.row[i], *was = row_of(&free_of, r->label);

		if (*was->why || r->ops->judged) /* a search may find another order below a cap */
			continue;
		CU_ASSERT_EQUAL(*r->why != 0, was->bytes > cap);
		CU_ASSERT(r->bytes == was->bytes && r->step_s == was->step_s);
		if (*r->why)
			CU_ASSERT_PTR_NOT_NULL(strstr(r->why, "memory"));
		n_out += *r->why != 0;
	}
	CU_ASSERT(n_out > 3);
	CU_ASSERT_STRING_EQUAL(row_of(&capped, "1f1b")->why, "");
	mr_compare_fini(&free_of);
	mr_compare_fini(&capped);
	mr_job_fini(&job);
}

/* All pictures are as long as the slowest row's step, and a worker does one thing at a time. */
static void pictures_are_on_one_axis(void)
{
	mr_compare c;
	double horizon = 0;

	open_job("core:4", "");
	MR_CHECK_OK(mr_compare_init(&c, &job, 0, true));
	for (uint32_t i = 0; i < c.n && !*c.row[i].why; i++)
		horizon = fmax(horizon, c.row[i].step_s);
	for (uint32_t i = 0; i < c.n && !*c.row[i].why; i++) {
		const mr_compare_row *r = &c.row[i];
		uint64_t last = 0;

		CU_ASSERT(r->n_rec > 0);
		for (size_t k = 0; k < r->n_rec; k++) {
			CU_ASSERT(r->rec[k].worker < r->n_workers && r->rec[k].begin_ns <= r->rec[k].end_ns);
			CU_ASSERT(k == 0 || r->rec[k].worker != r->rec[k - 1].worker ||
				  r->rec[k].begin_ns >= r->rec[k - 1].end_ns);
			last = r->rec[k].end_ns > last ? r->rec[k].end_ns : last;
		}
		CU_ASSERT(last <= (uint64_t)llround(horizon * 1e9));
		CU_ASSERT((double)last > 0.5 * horizon * 1e9);
	}
	mr_compare_fini(&c);
	mr_job_fini(&job);
}

void mr_suite_compare_rows(void)
{
	MR_SUITE("compare_rows");
	MR_TEST(rows_keep_their_promises);
	MR_TEST(a_cap_leaves_out_what_needs_more);
	MR_TEST(pictures_are_on_one_axis);
}
