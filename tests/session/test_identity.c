/* Which run a checkpoint is of: numbers that checkpoints on people's disks carry, and what must change them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "job/job_help.h"
#include "session/session.h"

#define BASE                                                                                                           \
	"model.name=mlp model.hidden=[12,12] data.name=synthetic data.features=8 data.classes=4 data.samples=100 "     \
	"optimizer.name=momentum system.name=1f1b train.steps=8 train.batch=6 train.microbatches=2 train.lr=0.01 "     \
	"machine.workers=2 machine.threads=1 backend=reference"
#define GPT "model.name=gpt model.layers=2 model.width=8 model.heads=2 model.context=8 data.name=text data.path=%s "
#define STALE "system.name=pipedream train.microbatches=1 "

static char text_path[64];

static void write_text(void)
{
	FILE *f;
	int fd;

	strcpy(text_path, "/tmp/mr-identity-XXXXXX");
	fd = mkstemp(text_path);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (int i = 0; i < 40; i++)
		fputs("abcdefghijk", f);
	CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
}

/* The session of BASE changed by @sets, up to where it has a plan. */
static void survey(mr_job *j, mr_session *s, const char *sets)
{
	char text[512];

	snprintf(text, sizeof(text), sets, text_path);
	mr_test_job_of(j, BASE, text);
	MR_CHECK_OK(mr_session_survey(j, s));
	s->data->fingerprint = 0x0123456789abcdef; /* samples that are drawn depend on the C library's logarithm */
}

static void end(mr_job *j, mr_session *s)
{
	mr_session_close(s);
	mr_job_fini(j);
}

/* What manifests say, by jobs. No line ever changes. */
static const struct {
	const char *sets;
	uint64_t run_hash;
} recorded[] = {
	{"", 0xe9be0a57011f2f51},
	{"system.name=sequential", 0xcef958b95d14719f},
#ifdef MR_DNNL
	{"backend=auto model.activation=gelu", 0xa63f3e091f656da8},
#endif
	{"dtype=f64 train.clip=1 train.seed=7", 0x92353ff1c25c8431},
	{"model.activation=gelu model.depth=3 model.width=9 model.hidden=[] optimizer.name=adamw optimizer.beta1=0.8 "
	 "optimizer.weight_decay=0.1", 0x12cd1884d81f16f0},
	{"optimizer.name=sgd", 0x86dddc77e547f21e},
	{"optimizer.name=momentum optimizer.mu=0.8 optimizer.nesterov=true", 0xec9a559d52a22b6d},
	{"optimizer.name=adam optimizer.eps=1e-6", 0x92f58f6890d464b3},
	{"optimizer.name=nadam", 0x0839102c3e6216cf},
	{"optimizer.name=nadamw", 0xb5c177fa258f7433},
	{"optimizer.name=muon optimizer.ns_steps=4", 0x138b90ed0f55bb38},
	{"optimizer.name=ema", 0x4ab1a958ddac70c9},
	{"optimizer.name=lion optimizer.beta2=0.98", 0xde7e134073dd5dae},
	{GPT, 0x392bfe33a43f0d97},
	{GPT "model.dropout=0.1 model.tied=true optimizer.name=adamw", 0xadb020b837db67fa},
	{GPT "system.name=pipedream train.microbatches=1 optimizer.name=adamw partition=h.1", 0x0105bf3e9dbec4d3},
	{STALE, 0xfadc6a5f8625e7b1},
	{STALE "mitigation.name=gap_aware", 0x7e3c3bc6e79fb626},
	{STALE "mitigation.name=dc_asgd mitigation.lambda=0.5 mitigation.adaptive=true", 0xee9c249849124264},
	{STALE "mitigation.name=delayed_nesterov optimizer.nesterov=true", 0xa960640d3db2be5f},
	{STALE "mitigation.name=weight_prediction", 0x27f44acad3593ddc},
	{"system.name=interleaved system.chunks=2 model.depth=5 model.width=9 model.hidden=[]", 0xba69f8c73e165c46},
	{"system.name=pipemare", 0x2ef4af70284989c8},
	{"model.name=chain model.depth=4 data.name=numbers data.x=[1,2] data.y=[2,1] optimizer.name=sgd", 0xbbc0beb1bb10c4db},
	{"model.name=quadratic data.name=formula optimizer.name=sgd", 0x5a1a0221d5a1ecd3},
	{"model.name=logistic model.l2=0.01 data.name=formula data.target=classes optimizer.name=sgd", 0x718234de2197b99b},
};

static void recorded_numbers_stand(void)
{
	write_text();
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		mr_session s;
		uint64_t got;
		mr_job j;

		survey(&j, &s, recorded[i].sets);
		got = mr_session_hash(&s);
		if (got != recorded[i].run_hash)
			fprintf(stderr, "\n%s: 0x%016" PRIx64 "\n", recorded[i].sets, got);
		CU_ASSERT_EQUAL(got, recorded[i].run_hash);
		end(&j, &s);
	}
	unlink(text_path);
}

void mr_suite_identity(void);
void mr_suite_identity(void)
{
	MR_SUITE("identity");
	MR_TEST(recorded_numbers_stand);
}
