/* slow_images_golden_f64.c - large networks of images in f64, and AlexNet in its whole size, against PyTorch. */
#include "check.h"
#include "images_golden.h"

static void larger_networks_in_f64(void)
{
	static const char *const names[] = {"vgg16_cifar", "vgg16_deep", "vgg16_torchvision", "vgg16_bn",
					    "alexnet_cifar", "alexnet_imagenet", "alexnet_paper", "resnet18"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_image_network(names[i], mr_kernels_find("reference", MR_F64), 1e-10);
}

static void alexnet_in_f32(void)
{
	static const char *const names[] = {"alexnet_imagenet", "alexnet_paper"};

	for (int i = 0; i < 2 && mr_kernels_find("fused", MR_F32); i++)
		check_image_network(names[i], mr_kernels_find("fused", MR_F32), 1e-5);
}

static void layers_in_f32(void)
{
	static const char *const names[] = {"vgg16_bn", "vgg16_torchvision"};

	for (int i = 0; i < 2 && mr_kernels_find("fused", MR_F32); i++)
		check_image_layers(names[i], mr_kernels_find("fused", MR_F32), 1e-5);
}

void mr_suite_images_golden_f64(void);

void mr_suite_images_golden_f64(void)
{
	MR_SUITE("images_golden_f64");
	MR_TEST(larger_networks_in_f64);
	MR_TEST(alexnet_in_f32);
	MR_TEST(layers_in_f32);
}
