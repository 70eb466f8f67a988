/* The trace file: strict JSON, tracks with names, instructions, waits by cause, and arrows that bind to slices. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/chrome.h"

static mr_json *written(const mr_chrome *c)
{
	char *text = NULL;
	mr_json *root = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	MR_CHECK_OK(mr_chrome_write(c, f));
	fclose(f);
	MR_CHECK_OK(mr_json_read_text(text, len, &root));
	free(text);
	return root;
}

static const char *string(const mr_json *event, const char *key)
{
	const char *s = mr_json_string(mr_json_get(event, key));

	return s ? s : "";
}

static double number(const mr_json *event, const char *key)
{
	return mr_json_double(mr_json_get(event, key));
}

/* Event number @k of phase @phase, and of name @name where that is not NULL. */
static const mr_json *find(const mr_json *root, const char *phase, const char *name, unsigned k)
{
	const mr_json *events = mr_json_get(root, "traceEvents");

	for (size_t i = 0; i < mr_json_size(events); i++) {
		const mr_json *e = mr_json_at(events, i);

		if (!strcmp(string(e, "ph"), phase) && (!name || !strcmp(string(e, "name"), name)) && !k--)
			return e;
	}
	return NULL;
}

/* Does a complete event on the track of @arrow enclose its time, begin included, end excluded? */
static const mr_json *slice_of(const mr_json *root, const mr_json *arrow)
{
	for (unsigned k = 0;; k++) {
		const mr_json *e = find(root, "X", NULL, k);

		if (!e)
			return NULL;
		if (number(e, "tid") == number(arrow, "tid") && strcmp(string(e, "cat"), "wait") != 0 &&
		    number(arrow, "ts") >= number(e, "ts") && number(arrow, "ts") < number(e, "ts") + number(e, "dur"))
			return e;
	}
}

static mr_trace_rec rec(uint8_t op, uint32_t micro, uint16_t stage, uint64_t begin, uint64_t end)
{
	return (mr_trace_rec){.begin_ns = begin, .end_ns = end, .micro = micro, .version = micro + 5, .stage = stage,
			      .worker = stage, .op = op};
}

static void tracks_and_instructions(void)
{
	static const char *const tracks[] = {"w0 stage 0 cpus 0-3", "w1 \"stage\" 1"};
	mr_trace_rec r[2] = {rec(MR_OP_F, 3, 0, 1001, 2500), rec(MR_OP_U, 3, 1, 2500, 2500)};
	mr_chrome c = {.rec = r, .n_rec = 2, .n_workers = 2, .tracks = tracks, .title = NULL};
	const mr_json *e, *args;
	mr_json *root;

	r[0].wait_ns[MR_WAIT_DATA] = 500;
	root = written(&c);
	CU_ASSERT_STRING_EQUAL(string(mr_json_get(find(root, "M", "thread_name", 0), "args"), "name"), tracks[0]);
	CU_ASSERT_STRING_EQUAL(string(mr_json_get(find(root, "M", "thread_name", 1), "args"), "name"), tracks[1]);
	CU_ASSERT_STRING_EQUAL(string(mr_json_get(find(root, "M", "process_name", 0), "args"), "name"), "millrace");
	e = find(root, "X", "F m3", 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_EQUAL(number(e, "ts"), 1.001);
	CU_ASSERT_EQUAL(number(e, "dur"), 1.499);
	CU_ASSERT_EQUAL(number(e, "tid"), 0);
	args = mr_json_get(e, "args");
	CU_ASSERT_EQUAL(number(args, "micro"), 3);
	CU_ASSERT_EQUAL(number(args, "version"), 8);
	CU_ASSERT_EQUAL(number(args, "wait_data_us"), 0.5);
	CU_ASSERT_PTR_NULL(mr_json_get(args, "wait_upstream_us"));
	CU_ASSERT_PTR_NOT_NULL(find(root, "X", "U m3", 0));
	CU_ASSERT_PTR_NULL(find(root, "s", NULL, 0));
	mr_json_destroy(root);
}

static void waits_by_cause(void)
{
	mr_trace_rec r[3] = {rec(MR_OP_F, 0, 0, 1000, 2000), rec(MR_OP_B, 0, 0, 5000, 6000),
			     rec(MR_OP_F, 1, 0, 6100, 6200)};
	mr_chrome c = {.rec = r, .n_rec = 3, .n_workers = 1, .tracks = NULL, .title = "run"};
	mr_json *root;

	r[1].wait_ns[MR_WAIT_UPSTREAM] = 2000;
	r[1].wait_ns[MR_WAIT_DOWNSTREAM] = 500;
	r[2].wait_ns[MR_WAIT_DATA] = 5000; /* more than there is room for: cut at the instruction before */
	root = written(&c);
	CU_ASSERT_EQUAL(number(find(root, "X", "wait upstream", 0), "ts"), 2.5);
	CU_ASSERT_EQUAL(number(find(root, "X", "wait upstream", 0), "dur"), 2);
	CU_ASSERT_EQUAL(number(find(root, "X", "wait downstream", 0), "ts"), 4.5);
	CU_ASSERT_EQUAL(number(find(root, "X", "wait downstream", 0), "dur"), 0.5);
	CU_ASSERT_EQUAL(number(find(root, "X", "wait data", 0), "ts"), 6);
	CU_ASSERT_EQUAL(number(find(root, "X", "wait data", 0), "dur"), 0.1);
	CU_ASSERT_PTR_NULL(find(root, "X", "wait upstream", 1));
	mr_json_destroy(root);
}

/* One arrow: ids pair, it leaves the slice of its producer and enters that of its consumer. */
static void check_arrow(const mr_json *root, unsigned k, const char *name, const char *slice, double from, double to)
{
	const mr_json *s = find(root, "s", NULL, k), *f = find(root, "f", NULL, k);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(number(s, "id"), number(f, "id"));
	CU_ASSERT_STRING_EQUAL(string(s, "name"), name);
	CU_ASSERT_STRING_EQUAL(string(f, "name"), name);
	CU_ASSERT_STRING_EQUAL(string(s, "cat"), string(f, "cat"));
	CU_ASSERT_STRING_EQUAL(string(f, "bp"), "e");
	CU_ASSERT_TRUE(number(s, "ts") <= number(f, "ts"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(slice_of(root, s));
	CU_ASSERT_PTR_NOT_NULL_FATAL(slice_of(root, f));
	CU_ASSERT_STRING_EQUAL(string(slice_of(root, s), "name"), slice);
	CU_ASSERT_STRING_EQUAL(string(slice_of(root, f), "name"), slice);
	CU_ASSERT_EQUAL(number(mr_json_get(slice_of(root, s), "args"), "stage"), from);
	CU_ASSERT_EQUAL(number(mr_json_get(slice_of(root, f), "args"), "stage"), to);
	for (unsigned i = 0; i < k; i++)
		CU_ASSERT_NOT_EQUAL(number(find(root, "s", NULL, i), "id"), number(s, "id"));
}

/* Two micro-batches through three stages, back to back, handed over in no order of time; I counts as B does. */
static void arrows_bind(void)
{
	mr_trace_rec r[] = {
		rec(MR_OP_B, 0, 0, 7000, 8000), rec(MR_OP_F, 0, 2, 3000, 4000), rec(MR_OP_F, 0, 0, 1000, 2000),
		rec(MR_OP_I, 0, 1, 6000, 7000), rec(MR_OP_W, 0, 1, 7000, 8000), rec(MR_OP_F, 0, 1, 2000, 3000),
		rec(MR_OP_B, 0, 2, 4000, 6000), rec(MR_OP_F, 1, 0, 2000, 3000), rec(MR_OP_F, 1, 2, 8000, 9000),
	};
	mr_chrome c = {.rec = r, .n_rec = sizeof(r) / sizeof(r[0]), .n_workers = 3, .tracks = NULL, .title = NULL};
	mr_json *root = written(&c);

	check_arrow(root, 0, "activation", "F m0", 0, 1);
	check_arrow(root, 1, "activation", "F m0", 1, 2);
	CU_ASSERT_STRING_EQUAL(string(find(root, "s", NULL, 2), "name"), "gradient");
	CU_ASSERT_STRING_EQUAL(string(slice_of(root, find(root, "s", NULL, 2)), "name"), "I m0");
	CU_ASSERT_STRING_EQUAL(string(slice_of(root, find(root, "f", NULL, 2)), "name"), "B m0");
	CU_ASSERT_STRING_EQUAL(string(slice_of(root, find(root, "s", NULL, 3)), "name"), "B m0");
	CU_ASSERT_STRING_EQUAL(string(slice_of(root, find(root, "f", NULL, 3)), "name"), "I m0");
	/* micro-batch 1 skips stage 1 (its record was lost): no arrow over the gap */
	CU_ASSERT_PTR_NULL(find(root, "s", NULL, 4));
	mr_json_destroy(root);
}

static void a_number_that_returns(void)
{
	mr_trace_rec r[] = {
		rec(MR_OP_F, 0, 0, 0, 10),
		rec(MR_OP_F, 0, 1, 10, 20),
		rec(MR_OP_F, 0, 0, 100, 110),
		rec(MR_OP_F, 0, 1, 110, 120),
	};
	mr_chrome c = {.rec = r, .n_rec = 4, .n_workers = 2, .tracks = NULL, .title = NULL};
	mr_json *root = written(&c);

	check_arrow(root, 0, "activation", "F m0", 0, 1);
	check_arrow(root, 1, "activation", "F m0", 0, 1);
	CU_ASSERT_EQUAL(number(find(root, "f", NULL, 1), "ts"), 0.11);
	mr_json_destroy(root);
}

/* A message is an event from sending to arrival that ends on its receiver's track; one that arrives before it was sent,
 * by clocks that differ a little, takes no time. */
static void messages_between_ranks(void)
{
	mr_trace_rec r[1] = {rec(MR_OP_F, 0, 0, 1000, 2000)};
	const mr_message_time x[2] = {{.sent_ns = 1500, .arrived_ns = 4000, .wanted_ns = 3000, .number = 7, .bytes = 96,
				       .from = 0, .to = 1, .stage = 1},
				      {.sent_ns = 5000, .arrived_ns = 4990, .from = 1, .to = 0, .stage = 1}};
	const mr_message_time *at[2] = {&x[0], &x[1]};
	mr_chrome c = {.rec = r, .n_rec = 1, .n_workers = 2, .messages = at, .n_messages = 2};
	mr_json *root = written(&c);
	const mr_json *b = find(root, "b", "w0 to w1: activation", 0), *e = find(root, "e", "w0 to w1: activation", 0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_EQUAL(number(b, "ts"), 1.5);
	CU_ASSERT_EQUAL(number(e, "ts"), 4);
	CU_ASSERT_EQUAL(number(e, "tid"), 1);
	CU_ASSERT_EQUAL(number(mr_json_get(b, "args"), "waited_us"), 1);
	CU_ASSERT_EQUAL(number(mr_json_get(b, "args"), "bytes"), 96);
	e = find(root, "e", "w1 to w0: free buffer", 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_EQUAL(number(e, "ts"), 5);
	mr_json_destroy(root);
}

/* Worker w's share q is track 2 w + q; arrows stay within a share, and messages name both ends. */
static void shares_have_tracks(void)
{
	mr_trace_rec r[4] = {rec(MR_OP_F, 0, 0, 1000, 2000), rec(MR_OP_F, 0, 0, 1100, 2100),
			     rec(MR_OP_F, 0, 1, 3000, 4000), rec(MR_OP_F, 0, 1, 3100, 4100)};
	const mr_message_time m = {.sent_ns = 1500, .arrived_ns = 4000, .bytes = 96, .from = 2, .to = 3, .stage = 1};
	const mr_message_time *at[1] = {&m};
	mr_chrome c = {.rec = r, .n_rec = 4, .n_workers = 4, .n_shares = 2, .messages = at, .n_messages = 1};
	mr_json *root;

	for (uint16_t i = 0; i < 4; i++) {
		r[i].worker = i;
		r[i].share = i % 2;
	}
	root = written(&c);
	CU_ASSERT_STRING_EQUAL(string(mr_json_get(find(root, "M", "thread_name", 1), "args"), "name"), "w0.1");
	CU_ASSERT_STRING_EQUAL(string(mr_json_get(find(root, "M", "thread_name", 2), "args"), "name"), "w1.0");
	for (unsigned q = 0; q < 2; q++) {
		CU_ASSERT_EQUAL(number(find(root, "s", "activation", q), "tid"), q);
		CU_ASSERT_EQUAL(number(find(root, "f", "activation", q), "tid"), 2 + q);
	}
	CU_ASSERT_EQUAL(number(find(root, "b", "w0.1 to w1.1: activation", 0), "tid"), 1);
	CU_ASSERT_EQUAL(number(find(root, "e", "w0.1 to w1.1: activation", 0), "tid"), 3);
	mr_json_destroy(root);
}

static void bad_records(void)
{
	mr_trace_rec r[1] = {rec(MR_OP_F, 0, 2, 5, 6)};
	mr_chrome c = {.rec = r, .n_rec = 1, .n_workers = 2, .tracks = NULL, .title = NULL};
	mr_json *root;

	MR_CHECK_FAIL(mr_chrome_write(&c, stderr), MR_EINVAL, "worker 2 of 2");
	r[0] = rec(MR_OP_F, 0, 1, 6, 5);
	MR_CHECK_FAIL(mr_chrome_write(&c, stderr), MR_EINVAL, "6 to 5 ns");
	c.n_rec = 0;
	root = written(&c);
	CU_ASSERT_EQUAL(mr_json_size(mr_json_get(root, "traceEvents")), 5);
	mr_json_destroy(root);
}

void mr_suite_chrome(void);
void mr_suite_chrome(void)
{
	MR_SUITE("chrome");
	MR_TEST(tracks_and_instructions);
	MR_TEST(waits_by_cause);
	MR_TEST(arrows_bind);
	MR_TEST(a_number_that_returns);
	MR_TEST(messages_between_ranks);
	MR_TEST(shares_have_tracks);
	MR_TEST(bad_records);
}
