/* sync_networks.h - settings of networks that several suites of synchronous runs train. */
#ifndef MR_TESTS_SYNC_NETWORKS_H
#define MR_TESTS_SYNC_NETWORKS_H

/* Two heads of queries share their keys and values; with four workers stages begin inside blocks too. */
#define LLAMA \
	"model.name=llama model.layers=2 model.width=8 model.heads=2 model.kv_heads=1 model.context=4 train.batch=8 " \
	"train.microbatches=8 "

/* Tables of which a step meets few rows: whatever makes the sum, the same rows are stepped. Stages begin among tables,
 * rows are longer than a cache line, and ranges of pipes would cut them. */
#define DLRM \
	"model.name=dlrm model.rows=[41,7,19,300,5,23,11,90,13] model.width=18 model.bottom=[8,6,6] " \
	"model.top=[9,8,7,6] data.name=clicks data.numbers=3 data.categories=9 data.values=400 train.batch=16 " \
	"train.microbatches=8 "

#endif
