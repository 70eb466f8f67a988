# The suites of bf16, attention among them, once more by what this CPU would not choose: the model of AMX tiles, which
# are a path of their own through packing and padding, and multiply-adds of widened numbers.
for engine in model f32; do
	export MR_BF16_ENGINE=$engine
	for suite in bf16 products_bf16 bf16_elements; do
		"$2/test_nn" $suite || exit 1
	done
done
