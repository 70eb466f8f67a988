# The kernel suites once more on AVX2: oneDNN and our vector kernels both obey this variable.
export ONEDNN_MAX_CPU_ISA=AVX2
"$2/test_nn" kernels && "$2/test_nn" kernels_exact && "$2/test_nn" gemm
