/* The identity of the run in a checkpoint: numbers that existing checkpoints carry, and what must change them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "job/job_help.h"
#include "checkpoint/identity.h"

#define BASE                                                                                                           \
	"model.name=mlp model.hidden=[12,12] data.name=synthetic data.features=8 data.classes=4 data.samples=100 "     \
	"optimizer.name=momentum system.name=1f1b train.steps=8 train.batch=6 train.microbatches=2 optimizer.lr=0.01 " \
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

static uint64_t identity(const mr_session *s)
{
	uint64_t h;

	MR_CHECK_OK(mr_identity(s, mr_identity_isa(s), &h));
	return h;
}

/* The table of @group's plug-in with the option @more behind its own, and all its values. */
static mr_values *with_one_more(const mr_job *j, mr_job_group group, const mr_option *more, mr_option table[64])
{
	const mr_values *v = mr_job_plugin_of(j, group)->values;
	const mr_option *o = mr_values_table(v);
	mr_values *wider;
	size_t n = 0;

	for (; o[n].name; n++)
		table[n] = o[n];
	CU_ASSERT_FATAL(n < 62);
	table[n] = *more;
	table[n + 1] = (mr_option){0};
	MR_CHECK_OK(mr_values_create(table, &wider));
	for (o = mr_values_table(v); o->name; o++) {
		char *text = mr_values_text(v, o->name);

		if (mr_values_has(v, o->name))
			MR_CHECK_OK(mr_values_set_text(wider, o->name, text));
		free(text);
	}
	return wider;
}

/* A plug-in of any kind gets an option: at its default checkpoints go on, else they do not. Nothing here or in the
 * session says anything about that option. */
static void an_option_more_of_any_plugin_counts(void)
{
	static const mr_option more = {"leap", MR_OPT_FLOAT, "0", 0, 1, NULL, NULL, "an option that came later"};
	static const mr_job_group groups[] = {MR_JOB_MODEL, MR_JOB_DATA, MR_JOB_OPTIMIZER, MR_JOB_MITIGATION,
					      MR_JOB_SYSTEM};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		mr_option table[64];
		mr_values *own, *wider;
		mr_job_plugin *c;
		uint64_t before;
		mr_session s;
		mr_job j;

		survey(&j, &s, STALE "mitigation.name=gap_aware");
		before = identity(&s);
		c = mr_job_plugin_in(&j, groups[i]);
		own = c->values;
		c->values = wider = with_one_more(&j, groups[i], &more, table);
		CU_ASSERT_EQUAL(identity(&s), before);
		MR_CHECK_OK(mr_values_set_text(wider, "leap", "0.5"));
		CU_ASSERT_NOT_EQUAL(identity(&s), before);
		c->values = own;
		mr_values_destroy(wider);
		end(&j, &s);
	}
}

/* Of files the contents count. */
static void files_may_move(void)
{
	uint64_t before;
	mr_session s;
	mr_job j;

	write_text();
	survey(&j, &s, GPT);
	before = identity(&s);
	MR_CHECK_OK(mr_values_set_text(j.data.values, "path", "/elsewhere"));
	CU_ASSERT_EQUAL(identity(&s), before);
	s.data->fingerprint++;
	CU_ASSERT_NOT_EQUAL(identity(&s), before);
	end(&j, &s);
	unlink(text_path);
}

/* Options of a mitigation that has nothing to do change nothing. */
static void idle_mitigations_do_not_count(void)
{
	uint64_t before;
	mr_session s;
	mr_job j;

	survey(&j, &s, "mitigation.name=gap_aware");
	before = identity(&s);
	MR_CHECK_OK(mr_values_set_text(j.mitigation.values, "memory", "0.5"));
	CU_ASSERT_EQUAL(identity(&s), before);
	end(&j, &s);
}

static void every_field_of_a_layer_counts(void)
{
	uint64_t before;
	mr_session s;
	mr_job j;

	survey(&j, &s, "");
	before = identity(&s);
	for (const mr_field *f = mr_layer_cfg_fields; f->name; f++) {
		mr_node *n = &s.graph->nodes[1];
		mr_layer_cfg cfg = n->cfg;

		((char *)&n->cfg)[f->at] ^= 1;
		CU_ASSERT_NOT_EQUAL(identity(&s), before);
		n->cfg = cfg;
	}
	CU_ASSERT_EQUAL(identity(&s), before);
	end(&j, &s);
}

/* mr_layer_cfg with a field more, as a line more in its list makes it. */
#define WIDER(X) MR_LAYER_CFG(X) X(double, slope)

typedef struct wider_cfg {
	WIDER(MR_FIELD_MEMBER)
} wider_cfg;

#define ENTRY(type, name) MR_FIELD_ENTRY(wider_cfg, name)
static const mr_field wider_fields[] = {WIDER(ENTRY) {0}};

static void a_field_more_of_a_layer_counts(void)
{
	mr_layer_cfg cfg = {.out = 12, .act = MR_ACT_GELU, .std = 0.5};
	wider_cfg wider = {.out = 12, .act = MR_ACT_GELU, .std = 0.5};
	uint64_t before = mr_fields_hash(mr_layer_cfg_fields, &cfg, 1);

	CU_ASSERT_EQUAL(mr_fields_hash(wider_fields, &wider, 1), before);
	wider.slope = 0.1;
	CU_ASSERT_NOT_EQUAL(mr_fields_hash(wider_fields, &wider, 1), before);
}

static void every_field_of_a_parameter_counts(void)
{
	uint64_t before;
	mr_session s;
	mr_job j;

	survey(&j, &s, "");
	before = identity(&s);
	for (const mr_field *f = mr_param_fields; f->name; f++) {
		mr_param *p = &s.graph->params[2];
		mr_param whole = *p;

		((char *)p)[f->at] ^= 1;
		CU_ASSERT_NOT_EQUAL(identity(&s), before);
		*p = whole;
	}
	CU_ASSERT_EQUAL(identity(&s), before);
	end(&j, &s);
}

/* mr_param with a field more, and that field at the end of its list. */
typedef struct wider_param {
	mr_param usual;
	double scale;
} wider_param;

static void a_field_more_of_a_parameter_counts(void)
{
	wider_param wider = {.usual = {.name = "fc.weight", .rank = 1, .dim = {12}, .std = 0.5, .tied_to = -1}};
	const mr_param *p = &wider.usual;
	mr_field fields[32];
	uint64_t before = mr_identity_of_param(mr_param_fields, p, 1);
	size_t n = 0;

	for (; mr_param_fields[n].name; n++)
		fields[n] = mr_param_fields[n];
	CU_ASSERT_FATAL(n < 31);
	fields[n] = (mr_field){"scale", offsetof(wider_param, scale), sizeof(double)};
	fields[n + 1] = (mr_field){0};
	CU_ASSERT_EQUAL(mr_identity_of_param(fields, p, 1), before);
	wider.scale = 0.1;
	CU_ASSERT_NOT_EQUAL(mr_identity_of_param(fields, p, 1), before);
}

/* --- what changes the slots --- */

static const mr_kernels *usual;
static const char *second_piece;

static void attn_saved_more(const mr_attn *a, mr_saved *out)
{
	usual->attn_saved(a, out);
	mr_saved_add(out, second_piece, (size_t)(a->samples * a->heads * a->t) * sizeof(float));
}

/* The slots of a session whose attention saves @more too, or whose GELU leaves @gelu; NULL: as it does. */
static uint64_t slots(const char *more, const char *gelu)
{
	mr_kernels k;
	uint64_t h;
	mr_session s;
	mr_job j;

	write_text();
	survey(&j, &s, GPT "system.name=paci backend=reference");
	MR_CHECK_OK(mr_session_load(&s));
	usual = s.kernels;
	second_piece = more;
	k = *s.kernels;
	k.attn_saved = more ? attn_saved_more : k.attn_saved;
	k.gelu_aux = gelu ? gelu : k.gelu_aux;
	s.kernels = &k;
	MR_CHECK_OK(mr_session_start(&s, NULL));
	h = mr_identity_slots(&s);
	end(&j, &s);
	unlink(text_path);
	return h;
}

static void what_kernels_save_counts(void)
{
	uint64_t seen[4];

	seen[0] = slots(NULL, NULL);
	seen[1] = slots("sums of rows", NULL);
	seen[2] = slots("roots of sums of rows", NULL);
	seen[3] = slots(NULL, "GELU itself");
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < i; k++)
			CU_ASSERT_NOT_EQUAL(seen[i], seen[k]);
}

void mr_suite_identity(void);
void mr_suite_identity(void)
{
	MR_SUITE("identity");
	MR_TEST(an_option_more_of_any_plugin_counts);
	MR_TEST(files_may_move);
	MR_TEST(idle_mitigations_do_not_count);
	MR_TEST(every_field_of_a_layer_counts);
	MR_TEST(a_field_more_of_a_layer_counts);
	MR_TEST(every_field_of_a_parameter_counts);
	MR_TEST(a_field_more_of_a_parameter_counts);
	MR_TEST(what_kernels_save_counts);
}
