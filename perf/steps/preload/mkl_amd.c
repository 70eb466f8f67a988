/*
 * mkl_amd.c - preloaded into a peer, it makes MKL take its code for AVX-512 on processors of AMD, as MKL does on those
 * of Intel by itself. MKL asks this function whether it runs on one of Intel's; any value but 0 is yes.
 */
int mkl_serv_intel_cpu_true(void);

int mkl_serv_intel_cpu_true(void)
{
	return 1;
}
