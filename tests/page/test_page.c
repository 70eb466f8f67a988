/* The report of runs: its parts, of a folder with all files and of one with metrics alone. */
#include "page/page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char folder[64];

static void put_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/mr-page-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	put_file("metrics.jsonl",
		 "{\"step\":1,\"loss\":2.5,\"samples\":8,\"seconds\":1,\"gflops\":10,"
		 "\"bubble\":0.25,\"wait_data\":0.1}\n"
		 "{\"step\":2,\"loss\":1.5,\"samples\":16,\"seconds\":2,\"gflops\":30,"
		 "\"bubble\":0.35,\"wait_data\":0.2}\n"
		 "{\"step\":2,\"val_loss\":1.75,\"seconds\":2.5}\n");
}

static void remove_folder(void)
{
	static const char *const names[] = {"metrics.jsonl", "run.json", "memory.json", "resolved.cfg", "roofline.svg",
					     "errors.json"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove_file(names[i]);
	rmdir(folder);
}

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static char *page_of(size_t n)
{
	mr_run_folder runs[3];
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < n; i++)
		MR_CHECK_OK(mr_run_folder_read_all(folder, &runs[i]));
	MR_CHECK_OK(mr_page_write(runs, n, NULL, f));
	fclose(f);
	for (size_t i = 0; i < n; i++)
		mr_run_folder_fini(&runs[i]);
	/* It asks nobody for anything, and is one page of well-nested pictures. */
	CU_ASSERT_EQUAL(count(text, "http"), count(text, "xmlns=\"http://www.w3.org/2000/svg\""));
	CU_ASSERT_EQUAL(count(text, "<script") + count(text, "<link") + count(text, "@import"), 0);
	CU_ASSERT_EQUAL(count(text, "<svg"), count(text, "</svg>"));
	CU_ASSERT_EQUAL(count(text, "<figure"), count(text, "</figure>"));
	CU_ASSERT_EQUAL(count(text, "<table"), count(text, "</table>"));
	CU_ASSERT_EQUAL(count(text, "<style>"), 1);
	CU_ASSERT_PTR_NULL(strstr(text, "nan"));
	return text;
}

static const char run_json[] =
	"{\"about\":{\"model\":\"mlp <b>\"},\"environment\":{\"host\":\"here\"},"
	"\"nodes\":[{\"node\":0,\"bytes\":1048576,\"caches\":[{\"bytes\":4096,\"cpus\":[0,1,2]}]}],"
	"\"workers\":[{\"worker\":0,\"cpus\":[0],\"text\":\"w0: stage 0\",\"elapsed\":10,\"busy\":6,"
	"\"waits\":{\"data\":3}},{\"worker\":1,\"cpus\":[2],\"text\":\"w1: stage 1\",\"elapsed\":10,\"busy\":8,"
	"\"waits\":{}}],"
	"\"stages\":[{\"stage\":0,\"worker\":0,\"layers\":\"a .. b\",\"parameters\":1200}],"
	"\"sessions\":[{\"begun\":\"monday\",\"host\":\"here\",\"from\":0},"
	"{\"begun\":\"tuesday\",\"host\":\"here\",\"from\":1,\"to\":2,\"seconds\":61,\"busy\":0.7}],"
	"\"roofline\":{\"cores\":2,\"peak\":2e11,\"levels\":[{\"level\":\"L2\",\"rate\":0},"
	"{\"level\":\"L3\",\"rate\":0},{\"level\":\"memory\",\"rate\":1e10}],"
	"\"points\":[{\"name\":\"w0 F\",\"flop\":1e9,\"bytes\":1e8,"
	"\"seconds\":0.02,\"least\":0.01},{\"name\":\"w1 F\",\"flop\":1e9,\"bytes\":1e8,\"seconds\":0.01,"
	"\"least\":null}],\"note\":\"the machine was busy\"},"
	"\"staleness\":[{\"gradients\":[1,3]},{\"gradients\":[4]}],"
	"\"figures\":{\"step\":2,\"predicted_bytes\":2097152,\"peak_bytes\":1048576},"
	"\"timeline\":{\"what\":\"Steps 1 and 2.\",\"versions\":true,\"records\":[[0,0,0,0,0,0,0,1000000],"
	"[1,0,1,0,0,0,1000000,2000000]]}}";

static void damaged(void)
{
	mr_run_folder run;

	MR_CHECK_FAIL(mr_run_folder_read_all(folder, &run), MR_EDATA, "run.json");
	mr_run_folder_fini(&run);
}

static void whole_folder(void)
{
	char *text;

	make_folder();
	put_file("run.json", run_json);
	put_file("memory.json", "{\"step\":2,\"stages\":[{\"stage\":0,\"pipe\":0,"
				"\"weight_bytes\":{\"measured\":1048576,\"predicted\":2097152}}]}");
	put_file("resolved.cfg", "train = {\n\tsteps = 2; # a < b\n};\n");
	put_file("roofline.svg", "<svg/>");
	text = page_of(1);
	CU_ASSERT_EQUAL(count(text, ">mlp &lt;b&gt;<"), 1);
	CU_ASSERT_EQUAL(count(text, ">Steps 1 and 2.<"), 1);
	CU_ASSERT_EQUAL(count(text, "<title>F m0"), 2);
	CU_ASSERT_EQUAL(count(text, ">busy 60.0 %<") + count(text, ">busy 80.0 %<"), 2);
	CU_ASSERT_EQUAL(count(text, ">1 behind<"), 1);
	CU_ASSERT_EQUAL(count(text, ">0.75 behind on average<"), 1);
	CU_ASSERT_EQUAL(count(text, "it has 2 sessions."), 1);
	CU_ASSERT_EQUAL(count(text, ">1 to an end by force<") + count(text, ">2 to 2<") + count(text, ">1:01<"), 3);
	CU_ASSERT_EQUAL(count(text, ">memory, 10 GB/s<") + count(text, ">w0 F: 50% of its roof<"), 2);
	CU_ASSERT_EQUAL(count(text, ">w1 F: 50% of the peak<"), 1);
	CU_ASSERT_EQUAL(count(text, "<p>Of the lines: the machine was busy.</p>"), 1);
	CU_ASSERT_EQUAL(count(text, "<title>1 behind: 75</title>"), 1);
	CU_ASSERT_EQUAL(count(text, "2.0 MiB at its peak, and needed 1.0 MiB."), 1);
	CU_ASSERT_EQUAL(count(text, "<title>planned: 2</title>") + count(text, "<title>measured: 1</title>"), 2);
	CU_ASSERT_EQUAL(count(text, ">L3, 4.0 KiB<") + count(text, ">w1: stage 1<"), 2);
	CU_ASSERT_EQUAL(count(text, "\tsteps = 2; # a &lt; b\n"), 1);
	CU_ASSERT_EQUAL(count(text, "base64,PHN2Zy8+\""), 1);
	CU_ASSERT_EQUAL(count(text, "<td class=\"r\">15.0</td>"), 1); /* 2 steps at 10 and at 30 GFLOP/s */
	CU_ASSERT_EQUAL(count(text, "<td class=\"r\">30.0%</td>"), 1);
	CU_ASSERT(count(text, ">What was learned<") == 1 && count(text, ">What to try next<") == 1);
	CU_ASSERT_EQUAL(count(text, "The best and last evaluation, that of step 2: validation loss 1.7500."), 1);
	free(text);
	/* one worker has no pipeline, and nothing is said of one */
	put_file("run.json", "{\"workers\":[{\"worker\":0,\"elapsed\":10,\"busy\":6,\"waits\":{}}]}");
	text = page_of(1);
	CU_ASSERT_EQUAL(count(text, ">Timeline<") + count(text, ">Staleness<") + count(text, "ubble"), 0);
	CU_ASSERT(count(text, ">What was learned<") == 1 && count(text, ">Memory<") == 1);
	free(text);
	put_file("run.json", "{");
	damaged();
	remove_folder();
}

/* A run of an older program, or the folder of one that was killed: sentences in place of pictures. */
static void metrics_alone(void)
{
	char *text;

	make_folder();
	text = page_of(3);
	CU_ASSERT_EQUAL(count(text, "<h2>"), 3);
	CU_ASSERT_EQUAL(count(text, "There is no timeline"), 3);
	CU_ASSERT_EQUAL(count(text, "The folder has no memory.json"), 3);
	CU_ASSERT_EQUAL(count(text, "The folder has no resolved.cfg"), 3);
	CU_ASSERT_EQUAL(count(text, "There is none: no training has ended here in order"), 3);
	CU_ASSERT_EQUAL(count(text, "<svg"), 2 + 3); /* losses, wide and narrow; waits of each */
	free(text);
	remove_folder();
}

/* The page of a run whose errors are @errors. */
static char *page_with(const char *errors)
{
	make_folder();
	put_file("errors.json", errors);
	return page_of(1);
}

static void errors_of_classes(void)
{
	char *text = page_with(
		"{\"step\":40,\"checkpoint\":\"step-00000040\",\"trains_only\":false,\"kind\":\"classes\","
		"\"samples\":20,\"of_samples\":50,\"loss\":0.5,\"accuracy\":0.8,"
		"\"classes\":[{\"class\":\"<a>\",\"samples\":16,"
		"\"predictions\":18,\"right\":15},{\"class\":\"b\",\"samples\":4,\"predictions\":2,\"right\":1}],"
		"\"confusion\":[[15,1],[3,1]],\"confused\":[],\"columns\":[\"x & y\",\"kind\"],"
		"\"worst\":[{\"sample\":7,\"target\":\"b\",\"prediction\":\"<a>\",\"probability\":0.015,"
		"\"confidence\":0.9,\"loss\":4.2,\"file\":\"/d/rows.csv\",\"line\":12,\"values\":[\"1,5\",\"b\"]}]}");

	CU_ASSERT_EQUAL(count(text, "model of step 40 makes of 20 of the 50 validation samples"), 1);
	CU_ASSERT_EQUAL(count(text, "80.00 % of the targets"), 1);
	CU_ASSERT_EQUAL(count(text, "<title>&lt;a&gt;, found: 15 of 16</title>"), 1);
	CU_ASSERT_EQUAL(count(text, "<title>b, predicted as &lt;a&gt;: 3 of 4</title>"), 1);
	CU_ASSERT_EQUAL(count(text, "<td>b</td><td class=\"r\">4</td><td class=\"r\">25.0 %</td><td class=\"r\">2</td>"
				    "<td class=\"r\">50.0 %</td>"), 1);
	CU_ASSERT_EQUAL(count(text, "<th>x &amp; y</th>"), 1);
	CU_ASSERT_EQUAL(count(text, "<td>line 12 of rows.csv</td><td>1,5</td><td>b</td>"), 1);
	/* four times as many of one class as of the other, of which few are found */
	CU_ASSERT_EQUAL(count(text, "The classes are unbalanced: 80.0 % of the samples are &quot;&lt;a&gt;&quot;"), 1);
	free(text);
	remove_folder();
}

static void errors_of_numbers(void)
{
	char *text = page_with(
		"{\"step\":9,\"trains_only\":true,\"kind\":\"numbers\",\"samples\":3,\"of_samples\":3,\"rmse\":2500,"
		"\"mae\":0.25,\"bias\":-1000,\"r2\":0.5,\"residuals\":{\"low\":-2,\"high\":2,\"beyond\":true,"
		"\"samples\":[2,0,1]},\"points\":[[3,4],[1,2],[2,2.5]],\"worst\":[{\"sample\":1,\"target\":1,"
		"\"prediction\":2.5}]}");

	CU_ASSERT_EQUAL(count(text, "makes of all 3 training samples"), 1);
	CU_ASSERT_EQUAL(count(text, "No rows were held out, so these are rows"), 1);
	CU_ASSERT_EQUAL(count(text, "off by 0.25 on the average (MAE); the root of the mean square is 2500 (RMSE)"), 1);
	CU_ASSERT_EQUAL(count(text, "They explain 50 % of the variance"), 1);
	CU_ASSERT_EQUAL(count(text, "They are too low on the average, by 1000."), 1);
	CU_ASSERT_EQUAL(count(text, ">predicted over true<") + count(text, ">residuals<"), 2);
	CU_ASSERT_EQUAL(count(text, "<title>2</title>") + count(text, "<title>1</title>"), 2);
	CU_ASSERT_EQUAL(count(text, "four times the RMSE"), 1);
	CU_ASSERT_EQUAL(count(text, "<td class=\"r\">+1.5</td><td>sample 1</td>"), 1);
	free(text);
	remove_folder();
}

static void errors_of_tokens(void)
{
	char *text = page_with(
		"{\"step\":9,\"trains_only\":false,\"kind\":\"tokens\",\"samples\":8,\"of_samples\":8,\"loss\":1,"
		"\"perplexity\":2.72,\"accuracy\":0.25,\"confused\":[{\"target\":\" \",\"prediction\":\"\\n\","
		"\"samples\":3}],\"worst\":[{\"sample\":2,\"loss\":3,\"tokens\":[\"a\",\"<\",\"\\n\",\"c\"],"
		"\"probabilities\":[null,0.5,0.05,0.001]}],\"prompt\":\"\",\"texts\":[{\"step\":4,"
		"\"text\":\"ab\\ncd\"},{\"step\":9,\"text\":\"be & so\"}]}");

	CU_ASSERT_EQUAL(count(text, "25.00 % of the tokens are the most probable ones; loss 1, perplexity 2.72."), 1);
	CU_ASSERT_EQUAL(count(text, "<td>&quot; &quot;</td><td>&quot;\\n&quot;</td><td class=\"r\">3</td>"), 1);
	CU_ASSERT_EQUAL(count(text, ">a&lt;<span class=\"m2\" title=\"0.05\">\n</span>"
				    "<span class=\"m3\" title=\"0.001\">c</span></pre>"), 1);
	CU_ASSERT_EQUAL(count(text, "What it writes, and how that changed"), 1);
	CU_ASSERT_EQUAL(count(text, "The model of step 4:") + count(text, ">ab\ncd</pre>") +
			count(text, ">be &amp; so</pre>"), 3);
	free(text);
	remove_folder();
}

/* Pictures come as they are; without errors.json a sentence says so; what is not of the kind that is expected draws
 * nothing. */
static void errors_of_pictures(void)
{
	char *text = page_with("{\"kind\":\"classes\",\"worst\":[{\"target\":\"cat\",\"prediction\":\"dog\","
			       "\"confidence\":0.75,\"file\":\"cat/7.png\","
			       "\"picture\":\"data:image/png;base64,AAAA\"}]}");

	CU_ASSERT_EQUAL(count(text, "<img alt=\"cat/7.png\" src=\"data:image/png;base64,AAAA\">"), 1);
	CU_ASSERT_EQUAL(count(text, "<b>cat</b>, predicted dog (75 %)"), 1);
	free(text);
	remove_folder();
	text = page_with("{\"kind\":7,\"worst\":5,\"confusion\":{}}");
	CU_ASSERT_EQUAL(count(text, ">Where it errs<"), 1);
	free(text);
	remove_folder();
	make_folder();
	text = page_of(1);
	CU_ASSERT_EQUAL(count(text, "Nobody has looked: millrace report does"), 1);
	free(text);
	remove_folder();
}

void mr_suite_page(void);
void mr_suite_page(void)
{
	MR_SUITE("page");
	MR_TEST(whole_folder);
	MR_TEST(metrics_alone);
	MR_TEST(errors_of_classes);
	MR_TEST(errors_of_numbers);
	MR_TEST(errors_of_tokens);
	MR_TEST(errors_of_pictures);
}
