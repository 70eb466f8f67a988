/* test_images_golden.c - small networks of images against PyTorch (images_golden.h). */
#include "check.h"
#include "images_golden.h"

#define F64_TOLERANCE 1e-10 /* both sides are f64 and differ by the order of sums */
#define F32_TOLERANCE 1e-5  /* six times PyTorch's own difference between f32 and f64 */

static void lenet_in_both_forms(void)
{
	static const char *const names[] = {"lenet5", "lenet_caffe"};

	for (int i = 0; i < 2; i++) {
		check_image_network(names[i], mr_kernels_find("reference", MR_F64), F64_TOLERANCE);
		check_image_network(names[i], mr_kernels_find("reference", MR_F32), F32_TOLERANCE);
		if (mr_kernels_find("fused", MR_F32))
			check_image_network(names[i], mr_kernels_find("fused", MR_F32), F32_TOLERANCE);
	}
}

/* f32 layer by layer: with batch normalisation it ends far from f64 if a ReLU's input changes its sign, in PyTorch,
 * too. */
static void small_networks_with_batch_normalisation(void)
{
	static const char *const names[] = {"resnet18_small", "resnet50_small", "inception_small"};

	for (int i = 0; i < 3; i++) {
		check_image_network(names[i], mr_kernels_find("reference", MR_F64), F64_TOLERANCE);
		check_image_layers(names[i], mr_kernels_find("reference", MR_F32), F32_TOLERANCE);
		if (mr_kernels_find("fused", MR_F32)) {
			check_image_layers(names[i], mr_kernels_find("fused", MR_F32), F32_TOLERANCE);
			check_image_layers(names[i], mr_kernels_find("onednn", MR_F32), F32_TOLERANCE);
		}
	}
}

/* Not with the reference backend, which takes seconds (models.images_golden, slow). By `fused` one number in front of a
 * ReLU of vgg16_torchvision has another sign: see the slow suite for its layers. */
static void larger_networks_in_f32(void)
{
	static const char *const names[] = {"vgg16_cifar", "vgg16_deep", "alexnet_cifar", "vgg16_torchvision"};

	for (int i = 0; i < 4 && mr_kernels_find("fused", MR_F32); i++) {
		if (i < 3)
			check_image_network(names[i], mr_kernels_find("fused", MR_F32), F32_TOLERANCE);
		check_image_network(names[i], mr_kernels_find("onednn", MR_F32), F32_TOLERANCE);
	}
}

void mr_suite_images_golden(void);

void mr_suite_images_golden(void)
{
	MR_SUITE("images_golden");
	MR_TEST(lenet_in_both_forms);
	MR_TEST(small_networks_with_batch_normalisation);
	MR_TEST(larger_networks_in_f32);
}
