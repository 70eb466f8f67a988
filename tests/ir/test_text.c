/* The text form of a plan: the exact text, exact reading back, messages for mistakes, and no crash on damaged text. */
#include "ir/text.h"

#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "ir/contract_field.h"

static uint64_t seed_state;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(mr_mix64(seed_state++) % below);
}

static const char small[] =
	"plan hand-made\n"
	"stages 2 workers 2 pipes 1 micro 2 commits 1\n"
	"contract train flush=barrier read=batch sum=ascending need=2 staleness=0 same_version_b\n"
	"place p0 0 1\n"
	"storage stored\n"
	"slots p0 2 1\n"
	"buffers p0 0/0 2/1\n"
	"versions 1 1\n"
	"[body x N micro+2 ver+1]\n"
	"w0 F m+0 s0 p0 v+0 a0 o0\n"
	"w0 F m+1 s0 p0 v+0 a1 o1\n"
	"w0 B m+0 s0 p0 v+0 a0 i0 first\n"
	"w0 B m+1 s0 p0 v+0 a1 i0\n"
	"w0 U m+1 s0 p0 v+1\n"
	"w1 F m+0 s1 p0 v+0 a0 i0\n"
	"w1 B m+0 s1 p0 v+0 a0 o0 first\n"
	"w1 F m+1 s1 p0 v+0 a0 i1\n"
	"w1 B m+1 s1 p0 v+0 t+1 a0 o0 update\n";

static mr_plan *read_ok(const char *text)
{
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_text_read(text, strlen(text), &plan));
	return plan;
}

static void text_small_plan(void)
{
	mr_plan *plan = read_ok(small);
	const mr_instr *last = &mr_plan_list(plan, 1, MR_BODY)->at[3];
	mr_strbuf out = {0};

	CU_ASSERT_STRING_EQUAL(plan->system, "hand-made");
	CU_ASSERT_EQUAL(plan->contract.need, 2);
	CU_ASSERT_EQUAL(plan->n_bwd[1], 1);
	CU_ASSERT_EQUAL(last->target, 1);
	CU_ASSERT_EQUAL(last->flags, MR_INSTR_UPDATE);
	MR_CHECK_OK(mr_text_print(plan, &out));
	CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&out), small);
	mr_strbuf_fini(&out);
	mr_plan_destroy(plan);
}

static void text_spaces_comments_and_order(void)
{
	/* Workers may take turns, blanks and comments may stand anywhere, the last newline may be missing. */
	mr_plan *plan = read_ok(
		"# by hand\n\nplan x # name\r\n stages 1 workers 2 pipes 2 micro 1 commits 1\n"
		"contract forward\tflush=none read=tag sum=listed need=1 staleness=3 clip tied private_weights racing\n"
		"place p1 1\nplace p0 -\n[epilogue]\nw1 F m+0 s0 p1 v-2\nw0 F m+4 s0 p0\nw1 B m+0 s0 p1 x2\n"
		"[prologue]\nw0 F m4 s0 p0 v-1");

	CU_ASSERT_EQUAL(plan->worker_of[0], MR_WORKER_ANY);
	CU_ASSERT_EQUAL(plan->worker_of[1], 1);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 1, MR_EPILOGUE)->n, 2);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 1, MR_EPILOGUE)->at[0].read, -2);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 1, MR_EPILOGUE)->at[1].span, 2);
	CU_ASSERT_EQUAL(mr_plan_list(plan, 0, MR_PROLOGUE)->at[0].read, -1);
	CU_ASSERT_TRUE(plan->contract.clip && plan->contract.tied && plan->contract.private_weights &&
		       plan->contract.racing);
	CU_ASSERT_FALSE(plan->contract.same_version_b);
	CU_ASSERT_EQUAL(plan->contract.coverage, MR_COVER_FORWARD);
	mr_plan_destroy(plan);
}

/* Any plan whatever, sense or not: every field somewhere takes every kind of value. */
static mr_plan *random_plan(void)
{
	uint16_t stages = (uint16_t)(1 + draw(6)), workers = (uint16_t)(1 + draw(5));
	uint8_t pipes = (uint8_t)(1 + draw(3));
	mr_plan *p = NULL;

	MR_CHECK_OK(mr_plan_create(stages, workers, pipes, &p));
	snprintf(p->system, sizeof(p->system), "sys%u", draw(100));
	p->n_micro = draw(2) ? draw(10) : UINT32_MAX;
	p->commits = draw(10);
	p->lowered = draw(2);
	p->storage = p->lowered && draw(2) ? MR_MODULO : MR_STORED;
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		const mr_contract_field *f = &mr_contract_fields[i];

		if (f->kind == MR_FIELD_REAL)
			mr_contract_set_real(&p->contract, f, draw(9) / 7.0);
		else
			mr_contract_set(&p->contract, f,
					draw(f->kind == MR_FIELD_FLAG ? 2 : f->kind == MR_FIELD_WORD ? f->n_words : 9));
	}
	for (size_t i = 0; i < (size_t)pipes * stages; i++) {
		p->worker_of[i] = draw(5) ? (uint16_t)draw(workers) : MR_WORKER_ANY;
		if (!p->lowered)
			continue;
		p->n_slots[i] = (uint16_t)draw(65536);
		p->n_fwd[i] = (uint16_t)draw(9);
		p->n_bwd[i] = (uint16_t)draw(9);
		p->n_versions[i % stages] = (uint16_t)draw(9);
	}
	for (unsigned i = 0; i < 40; i++) {
		mr_instr in = {(uint8_t)draw(MR_N_OPS),
			       (uint8_t)draw(4),
			       (uint8_t)draw(pipes),
			       (uint8_t)(draw(4) ? 1 : draw(256)),
			       (uint16_t)draw(stages),
			       0,
			       draw(3) ? draw(20) : UINT32_MAX,
			       0,
			       0,
			       0,
			       0};

		if (draw(2)) {
			in.slot = (uint16_t)draw(65536);
			in.read = draw(8) ? (int32_t)draw(40) - 20 : INT32_MIN;
			in.target = draw(8) ? (int32_t)draw(40) - 20 : INT32_MAX;
			in.in = (uint16_t)draw(3);
			in.out = (uint16_t)draw(3);
		}
		MR_CHECK_OK(mr_plan_append(p, (uint16_t)draw(workers), (mr_section)draw(MR_N_SECTIONS), in));
	}
	return p;
}

static void text_random_plans_come_back(void)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		mr_strbuf one = {0}, two = {0};
		mr_plan *p, *q;

		seed_state = seed * 1000003;
		p = random_plan();
		MR_CHECK_OK(mr_text_print(p, &one));
		q = read_ok(mr_strbuf_text(&one));
		MR_CHECK_OK(mr_text_print(q, &two));
		if (strcmp(mr_strbuf_text(&one), mr_strbuf_text(&two)) || mr_plan_hash(p) != mr_plan_hash(q))
			fprintf(stderr, "\nseed %llu:\n%s\n-- came back as --\n%s\n", (unsigned long long)seed,
				mr_strbuf_text(&one), mr_strbuf_text(&two));
		CU_ASSERT_STRING_EQUAL_FATAL(mr_strbuf_text(&one), mr_strbuf_text(&two));
		CU_ASSERT_EQUAL_FATAL(mr_plan_hash(p), mr_plan_hash(q));
		mr_strbuf_fini(&one);
		mr_strbuf_fini(&two);
		mr_plan_destroy(p);
		mr_plan_destroy(q);
	}
}

/* mr_plan_create_like: everything but the lists; what the lowering fills in only where that is asked for. */
static void text_header_of_a_like_plan(void)
{
	for (seed_state = 0; seed_state < 1000;) {
		mr_plan *p = random_plan(), *q = NULL, *emitted = NULL;
		mr_strbuf one = {0}, two = {0};

		MR_CHECK_OK(mr_plan_create_like(p, true, &q));
		MR_CHECK_OK(mr_plan_create_like(p, false, &emitted));
		for (size_t i = 0; i < (size_t)p->n_workers * MR_N_SECTIONS; i++)
			p->lists[i].n = 0;
		MR_CHECK_OK(mr_text_print(p, &one));
		MR_CHECK_OK(mr_text_print(q, &two));
		CU_ASSERT_STRING_EQUAL(mr_strbuf_text(&one), mr_strbuf_text(&two));
		CU_ASSERT_EQUAL(mr_plan_hash(p), mr_plan_hash(q));
		CU_ASSERT(!emitted->lowered && emitted->n_slots[0] == 0 && emitted->n_versions[0] == 0);
		CU_ASSERT_EQUAL(emitted->worker_of[0], p->worker_of[0]);
		mr_strbuf_fini(&one);
		mr_strbuf_fini(&two);
		mr_plan_destroy(p);
		mr_plan_destroy(q);
		mr_plan_destroy(emitted);
	}
}

#define HEAD \
	"plan x\nstages 2 workers 2 pipes 1 micro 2 commits 1\ncontract train flush=local read=batch sum=listed " \
	"need=2\nplace p0 0 1\n"

static void text_errors(void)
{
	static const struct {
		const char *text, *part;
	} bad[] = {
		{"", "line 1: the counts"},
		{"plot x\n", "line 1: a plan begins with"},
		{"plan\n", "line 1: the system's name"},
		{"plan a b\n", "line 1: \"b\" is one word too many"},
		{"plan x\nplace p0 0\n", "line 2: expected the counts"},
		{"plan x\nstages 0 workers 1 pipes 1 micro 1 commits 1\n", "line 2: "},
		{"plan x\nstages 65535 workers 65535 pipes 255 micro 1 commits 1\n", "line 2: "},
		{"plan x\nstages 65536 workers 1 pipes 1 micro 1 commits 1\n", "line 2: \"65536\" is not a stages"},
		{"plan x\nstages 2 worker 2\n", "line 2: expected \"workers\""},
		{HEAD "stages 2 workers 2 pipes 1 micro 2 commits 1\n", "line 5: the counts stand here a second time"},
		{HEAD "contract train flush=sometimes\n", "line 5: \"flush=sometimes\" is not a known word"},
		{HEAD "contract test\n", "line 5: \"test\" is not a known word"},
		{HEAD "contract train warp=9\n", "line 5: \"warp=9\" is not a key of a contract"},
		{HEAD "place p1 0 1\n", "line 5: \"p1\" is not a pipe"},
		{HEAD "place p0 0 2\n", "line 5: \"2\" is not a worker"},
		{HEAD "place p0 0\n", "line 5: \"\" is not a worker"},
		{HEAD "slots p0 1 1\n", "line 5: \"slots\" needs a line \"storage\""},
		{HEAD "storage stored\nbuffers p0 1/1 2-2\n", "line 6: \"2-2\" is not a pair"},
		{HEAD "storage stored\nversions 1 65536\n", "line 6: \"65536\" is not a number of versions"},
		{HEAD "[middle]\n", "line 5: \"[middle]\" is no section"},
		{HEAD "[body x N micro+3 ver+1]\n", "line 5: \"micro+3\" must be micro+2"},
		{HEAD "[body x N micro+2 ver+1\n", "line 5: \"ver+1\" must be ver+1]"},
		{HEAD "[prologue]\n[prologue]\n", "line 6: this section stands here a second time"},
		{HEAD "[prologue]\nF m0\n", "line 6: expected an instruction"},
		{HEAD "[prologue]\nw2 F m0 s0 p0\n", "line 6: \"w2\" is not a worker"},
		{HEAD "[prologue]\nw0 G m0 s0 p0\n", "line 6: there is no op called \"G\""},
		{HEAD "[prologue]\nw0 F m+0 s0 p0\n", "line 6: expected a micro-batch such as m3"},
		{HEAD "[epilogue]\nw0 F m0 s0 p0\n", "line 6: expected a micro-batch such as m+3"},
		{HEAD "[prologue]\nw0 F m4294967296 s0 p0\n", "line 6: \"m4294967296\" is not a micro-batch"},
		{HEAD "[prologue]\nw0 F m0 s2 p0\n", "line 6: \"s2\" is not a stage"},
		{HEAD "[prologue]\nw0 F m0 s0 p1\n", "line 6: \"p1\" is not a pipe"},
		{HEAD "[prologue]\nw0 F m0 s0\n", "line 6: expected a pipe"},
		{HEAD "[prologue]\nw0 F m0 s0 p0 v+1\n", "line 6: \"v+1\": a version is a number"},
		{HEAD "[epilogue]\nw0 F m+0 s0 p0 v1\n", "line 6: \"v1\": a version is an offset"},
		{HEAD "[prologue]\nw0 F m0 s0 p0 v2147483648\n", "line 6: \"v2147483648\" is not a version"},
		{HEAD "[prologue]\nw0 F m0 s0 p0 r1\n", "line 6: \"r1\" is not a word of the instruction F"},
		{HEAD "[prologue]\nw0 U m0 s0 p0 t1\n", "line 6: \"t1\" is not a word of the instruction U"},
		{HEAD "[prologue]\nw0 F m0 s0 p0 x256\n", "line 6: \"x256\" is not a span"},
		{HEAD "[prologue]\nw0 F m0 s0 p0 \001\n", "line 6: the byte 0x01"},
		{HEAD "[prologue]\nw0 F m0 s0 p0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
		 "line 6: a word is longer"},
		{"plan x\nstages 1 workers 1 pipes 2 micro 1 commits 1\n[prologue]\n",
		 "line 3: the contract is missing"},
		{"plan x\nstages 1 workers 1 pipes 2 micro 1 commits 1\ncontract train\nplace p1 0\n",
		 "line \"place p0\" is missing"},
	};
	mr_plan *plan = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		MR_CHECK_FAIL(mr_text_read(bad[i].text, strlen(bad[i].text), &plan), MR_ECONFIG, bad[i].part);
	MR_CHECK_FAIL(mr_text_read("plan x\n\0", 8, &plan), MR_ECONFIG, "line 2: the byte 0x00");
	CU_ASSERT_PTR_NULL(plan);
}

static void text_no_word_for_it(void)
{
	mr_plan *plan = read_ok(small);
	mr_strbuf out = {0};

	mr_plan_list(plan, 0, MR_BODY)->at[0].op = MR_N_OPS;
	MR_CHECK_FAIL(mr_text_print(plan, &out), MR_EINVAL, "has no words");
	mr_plan_list(plan, 0, MR_BODY)->at[0].op = MR_OP_F;
	mr_plan_list(plan, 0, MR_BODY)->at[0].flags = 0x80;
	MR_CHECK_FAIL(mr_text_print(plan, &out), MR_EINVAL, "has no words");
	mr_strbuf_fini(&out);
	mr_plan_destroy(plan);
}

/* Damage a text in one or two places; reading it must end in a plan or in a message with a line number. */
static void text_survives_damage(void)
{
	static const char letters[] = "0123456789+-/[]wmspvtraiox FBUN\n\t#=\"";
	unsigned read = 0, refused = 0;

	for (uint64_t seed = 0; seed < 4000; seed++) {
		char text[sizeof(small)];
		mr_plan *plan = NULL;
		size_t len = sizeof(small) - 1;

		seed_state = seed * 7919 + 1;
		memcpy(text, small, sizeof(small));
		for (unsigned k = 1 + draw(2); k; k--)
			text[draw((uint32_t)len)] = draw(8) ? letters[draw(sizeof(letters) - 1)] : (char)draw(256);
		if (draw(10) == 0)
			len = draw((uint32_t)len);
		if (mr_text_read(text, len, &plan) == MR_OK) {
			read++;
		} else {
			refused++;
			CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(mr_error_text(), "line "));
		}
		mr_plan_destroy(plan);
	}
	CU_ASSERT(read > 100 && refused > 1000);
}

void mr_suite_text(void); /* the runner declares it too */

void mr_suite_text(void)
{
	MR_SUITE("text");
	MR_TEST(text_small_plan);
	MR_TEST(text_spaces_comments_and_order);
	MR_TEST(text_random_plans_come_back);
	MR_TEST(text_header_of_a_like_plan);
	MR_TEST(text_errors);
	MR_TEST(text_no_word_for_it);
	MR_TEST(text_survives_damage);
}
