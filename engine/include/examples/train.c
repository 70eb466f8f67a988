/*
 * train.c - define a job, train it on two pipeline workers, evaluate it and look at its weights, without the command
 * line.
 *
 *	cc train.c -o train $(pkg-config --cflags --libs millrace) && ./train
 */
#include <math.h>
#include <stdio.h>

#include <millrace/millrace.h>

static const char *const settings[][2] = {
	{"model.name", "mlp"},
	{"model.hidden", "[32, 32, 32]"},
	{"data.name", "synthetic"},
	{"data.features", "16"},
	{"data.classes", "4"},
	{"data.samples", "2000"},
	{"optimizer.name", "adamw"},
	{"optimizer.lr", "0.01"},
	{"system.name", "pipedream"},
};

static mr_status define(mr_job *job)
{
	MR_TRY(mr_job_init(job));
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		MR_TRY(mr_job_set(job, settings[i][0], settings[i][1]));
	job->train.steps = 400;
	job->train.batch = 32;
	job->machine.workers = 2;
	job->machine.threads = 1;
	return mr_job_check(job);
}

static bool show(void *arg, const mr_training_step *step)
{
	(void)arg;
	if (step->step % 100 == 0)
		printf("step %llu: loss %.4f\n", (unsigned long long)step->step, step->loss);
	return true;
}

static mr_status train(const mr_job *job, mr_training **t)
{
	double loss, accuracy;
	size_t n;

	MR_TRY(mr_training_open(job, t));
	MR_TRY(mr_training_run(*t, (uint64_t)job->train.steps, show, NULL));
	MR_TRY(mr_training_evaluate(*t, &loss, &accuracy));
	MR_TRY(mr_training_tensors(*t, &n));
	printf("validation loss %.4f, accuracy %.1f%%, %zu tensors\n", loss, 100 * accuracy, n);
	return isfinite(loss) ? MR_OK : MR_EDIVERGED;
}

int main(void)
{
	mr_training *t = NULL;
	mr_job job;
	mr_status st = define(&job);

	if (st == MR_OK)
		st = train(&job, &t);
	if (st != MR_OK)
		fprintf(stderr, "%s\n", mr_error_text());
	mr_training_close(t);
	mr_job_fini(&job);
	return mr_status_exit_code(st);
}
