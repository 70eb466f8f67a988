# The kernel suites once more on AVX2: oneDNN and our vector kernels both obey this variable.
export ONEDNN_MAX_CPU_ISA=AVX2
for suite in kernels kernels_exact gemm chains attention bf16_elements winograd; do
	"$2/test_nn" $suite || exit 1
done
