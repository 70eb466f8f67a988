/* test_image_models.c - the graphs of networks of images: their sizes, and what they refuse. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model_build.h"
#include "models/registry.h"
#include "planner/partition.h"

static const mr_model_data classes = {
	.input = {.rows = 1, .cols = 6}, .target = {.rows = 1, .cols = 1, .tokens = true}, .classes = 4};

static mr_model_data photos(int64_t side, int64_t n_classes)
{
	return data_images(side, 3, n_classes);
}

static void networks_of_images_have_their_sizes(void)
{
	static const struct {
		const char *model, *settings[3];
		int64_t side, channels, classes, params;
		double mega_mac; /* of an image, forward */
	} known[] = {
		{"lenet", {"form=lenet5"}, 28, 1, 10, 61706, 0.41652},
		{"lenet", {"form=caffe"}, 28, 1, 10, 431080, 2.293},
		{"alexnet", {"form=imagenet"}, 224, 3, 1000, 61100840, 714.188},
		{"alexnet", {"form=paper"}, 227, 3, 1000, 60965224, 724.406},
		{"alexnet", {"form=cifar"}, 32, 3, 10, 7506762, 172.17},
		{"vgg16", {"form=imagenet"}, 224, 3, 1000, 138357544, 15470.3},
		{"vgg16", {"form=cifar"}, 32, 3, 10, 14719818, 313.2},
		{"vgg16", {"form=cifar_deep"}, 32, 3, 10, 15245130, 313.7},
		{"vgg16", {"form=torchvision"}, 32, 3, 10, 134301514, 432.8},
		{"vgg16", {"form=torchvision"}, 224, 3, 1000, 138357544, 15470.3},
		{"vgg16", {"form=cifar", "batch_norm=true"}, 32, 3, 10, 14728266, 313.2},
		{"vgg16", {"form=imagenet", "batch_norm=true"}, 224, 3, 1000, 138365992, 15470.3},
		{"inception_v3", {0}, 299, 3, 1000, 23834568, 5713.2},
		{"resnet18", {"form=imagenet"}, 224, 3, 1000, 11689512, 1814.1},
		{"resnet18", {"form=cifar"}, 32, 3, 10, 11173962, 555.42},
		{"resnet50", {"form=imagenet"}, 224, 3, 1000, 25557032, 4089.2},
		{"resnet50", {"form=cifar"}, 32, 3, 10, 23520842, 1297.8},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const mr_model_data data = data_images(known[i].side, known[i].channels, known[i].classes);
		double flops = 0;
		mr_graph *g;

		MR_CHECK_OK(build(known[i].model, known[i].settings, &data, &g));
		CU_ASSERT_EQUAL(mr_graph_n_params(g), known[i].params); /* as published, or counted by PyTorch */
		for (uint32_t n = 0; n < g->n_nodes; n++) {
			mr_layer_needs needs;

			g->nodes[n].ops->needs(&g->nodes[n].cfg, g->nodes[n].in_shape, 1, NULL, &needs);
			flops += needs.flops_f;
		}
		CU_ASSERT_DOUBLE_EQUAL(flops / 2e6, known[i].mega_mac, 2e-4 * known[i].mega_mac);
		mr_graph_destroy(g);
	}
}

/* --- vit --- */

/* As torchvision and the literature count them. */
static void vits_have_their_sizes(void)
{
	static const struct {
		int64_t side, classes, n;
		const char *settings[9];
	} cases[] = {
		{224, 1000, 86567656, {"layers=12", "width=768", "heads=12", "patch=16"}},
		{32, 10, 5362762, {"layers=12"}},
		{32, 10, 2697610, {"layers=9", "hidden=384"}},
		{32, 10, 3195146, {"layers=6", "width=256", "heads=4", "hidden=512"}},
	};
	mr_graph *g;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const mr_model_data data = photos(cases[i].side, cases[i].classes);

		MR_CHECK_OK(build("vit", cases[i].settings, &data, &g));
		CU_ASSERT_EQUAL(mr_graph_n_params(g), cases[i].n);
		mr_graph_destroy(g);
	}
}

static void wrong_images_are_refused(void)
{
	const mr_model_data small = data_images(11, 1, 10), text_data = data_text(8, 4);
	mr_model_data no_classes = data_images(28, 1, 0);
	mr_graph *g;

	no_classes.target = (mr_shape){.rows = 1, .cols = 1};
	MR_CHECK_FAIL(build("lenet", DEFAULTS, &classes, &g), MR_ECONFIG,
		      "lenet: takes images, the data has 1 x 6 numbers");
	MR_CHECK_FAIL(build("vgg16", DEFAULTS, &text_data, &g), MR_ECONFIG,
		      "vgg16: takes images, the data has 8 x 1 tokens");
	MR_CHECK_FAIL(build("lenet", DEFAULTS, &no_classes, &g), MR_ECONFIG, "takes classes");
	MR_CHECK_FAIL(build("lenet", SETTINGS("form=caffe"), &small, &g), MR_ECONFIG,
		      "conv2: conv: a window over 5 x 5 pixels is larger than the padded image of 3 x 3");
	CU_ASSERT_PTR_NULL(g);
}

static void an_mlp_takes_whole_images(void)
{
	const mr_model_data data = data_images(5, 3, 4);
	mr_model_data as_image = data;
	mr_graph *g, *h;

	as_image.input = data.image;
	MR_CHECK_OK(build("mlp", SETTINGS("hidden=[7]"), &data, &g));
	MR_CHECK_OK(build("mlp", SETTINGS("hidden=[7]"), &as_image, &h));
	CU_ASSERT(g->params[0].dim[0] == 75 && h->params[0].dim[0] == 75);
	CU_ASSERT_EQUAL(mr_graph_n_params(g), mr_graph_n_params(h));
	mr_graph_destroy(g);
	mr_graph_destroy(h);
}

static void a_wrong_vit_is_refused(void)
{
	const mr_model_data data = photos(32, 10), words = data_text(8, 20);
	mr_graph *g;

	MR_CHECK_FAIL(build("vit", DEFAULTS, &words, &g), MR_ECONFIG, "takes images");
	MR_CHECK_FAIL(build("vit", DEFAULTS, &classes, &g), MR_ECONFIG, "takes images");
	MR_CHECK_FAIL(build("vit", SETTINGS("patch=5"), &data, &g), MR_ECONFIG, "cannot be cut into squares of 5");
	MR_CHECK_FAIL(build("vit", SETTINGS("heads=5"), &data, &g), MR_ECONFIG, "5 heads cannot share");
}

void mr_suite_image_models(void); /* the runner declares it too */

void mr_suite_image_models(void)
{
	MR_SUITE("image_models");
	MR_TEST(networks_of_images_have_their_sizes);
	MR_TEST(vits_have_their_sizes);
	MR_TEST(wrong_images_are_refused);
	MR_TEST(an_mlp_takes_whole_images);
	MR_TEST(a_wrong_vit_is_refused);
}
