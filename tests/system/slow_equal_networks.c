/* slow_equal_networks.c - networks of the synchronous runs against sequential training; with sanitizers run those of
 * test_equal_sync.c alone. */
#include "check.h"
#include "rig.h"
#include "sync_cases.h"
#include "sync_networks.h"

/* Sentences of different lengths; tokens, encoded sentence, context and residuals cross boundaries. */
#define GNMT \
	"model.name=gnmt model.layers=3 model.width=6 data.name=reversal data.letters=5 data.shortest=1 " \
	"data.longest=4 train.batch=8 train.microbatches=8 "

static void llama(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f64", true, LLAMA "model.tied=true train.clip=0.5", 2,
				     1 << 2, true});
	if (sync_dnnl())
		sync_case_check(&(sync_case){sync_dnnl(), true, LLAMA, 2, 1 << 2 | 1 << 3, true});
}

static void llama_bf16(void)
{
	if (mr_kernels_find("fused", MR_BF16))
		sync_case_check(&(sync_case){"backend=fused precision=bf16", true, LLAMA "model.tied=true", 2,
					     1 << 2, true});
}

static void llama_cut_inside_blocks(void)
{
	const sync_case c = {"backend=reference precision=f32", true, LLAMA "model.tied=true train.clip=0.5 ", 2, 0,
		false};

	sync_case_system(&c,
			 "system.name=1f1b partition=model.layers.0.self_attn.v_proj,model.layers.0.mlp.swiglu,"
			 "model.layers.1.self_attn.core",
			 4);
	sync_case_system(&c,
			 "system.name=gpipe system.recompute=always partition=model.layers.0.self_attn.rope,"
			 "model.layers.0.mlp.up_proj,model.layers.1.self_attn.k_proj",
			 4);
}

static void gnmt(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f64", false, GNMT "train.clip=0.5", 2, 1 << 2, true});
	if (sync_dnnl())
		sync_case_check(&(sync_case){sync_dnnl(), false, GNMT "model.attention=general", 2, 1 << 3, true});
	if (mr_kernels_find("fused", MR_BF16))
		sync_case_check(&(sync_case){"backend=fused precision=bf16", false, GNMT, 2, 1 << 2, true});
}

/* Through the encoder's first layer, right after attention, and within residual layers. */
static void gnmt_cut_anywhere(void)
{
	const sync_case c = {"backend=reference precision=f32", false, GNMT "train.clip=0.5 ", 2, 0, false};

	sync_case_system(&c,
			 "system.name=1f1b partition=encoder.forwards,encoder.add.2,decoder.drop.0", 4);
	sync_case_system(&c,
			 "system.name=gpipe system.recompute=always partition=encoder.rnn_layers.1,"
			 "decoder.att_rnn.attn,decoder.add.1",
			 4);
	sync_case_system(&c,
			 "system.name=zb_h1 partition=encoder.rnn_layers.0_reverse,decoder.embedder,"
			 "decoder.rnn_layers.1",
			 4);
}

/* The input, bits and words, crosses to the second layer. */
static void s2vt(void)
{
	const sync_case c = {"backend=reference precision=f64", false,
			     "model.name=s2vt model.projection=4 model.embed=3 model.width=5 model.dropout=0.2 "
			     "data.name=captions data.frames=4 data.features=3 data.words=5 data.longest=3 "
			     "train.batch=8 train.microbatches=8 train.clip=0.5 ", 2, 1 << 2, true};

	sync_case_check(&c);
	sync_case_system(&c, "system.name=1f1b partition=lstm1,last,caption", 4);
}

static void dlrm(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f64", false, DLRM "optimizer.name=momentum", 3,
				     1 << 2 | 1 << 3, false});
	sync_case_check(&(sync_case){"backend=reference precision=f32", false,
				     DLRM "train.clip=0.1 optimizer.weight_decay=0.1", 2, 1 << 2, false});
	if (sync_dnnl())
		sync_case_check(&(sync_case){sync_dnnl(), false, DLRM "optimizer.name=adam", 3, 1 << 2, false});
}

static void dlrm_bf16(void)
{
	if (!mr_kernels_find("fused", MR_BF16))
		return;
	sync_case_check(&(sync_case){"backend=fused precision=bf16", false, DLRM, 2, 1 << 2, false});
	sync_case_check(&(sync_case){"backend=fused precision=bf16_pure", false, DLRM, 2, 1 << 2, false});
}

static void dlrm_cut_among_tables(void)
{
	const sync_case c = {"backend=reference precision=f32", false, DLRM "train.clip=0.5 ", 2, 0, false};

	sync_case_system(&c, "system.name=1f1b partition=emb_l.0,emb_l.4,interaction", 4);
	sync_case_system(&c, "system.name=gpipe system.recompute=always partition=bot_l.4,emb_l.7,join.0", 4);
}

/* Positions and the class token belong to the first stage, which begins at the images. */
static void vit(void)
{
	sync_case_check(&(sync_case){"backend=reference precision=f32", false,
				     "model.patch=16 model.layers=2 train.batch=8 train.microbatches=8", 2, 1 << 2,
				     true});
	if (sync_dnnl())
		sync_case_check(&(sync_case){sync_dnnl(), false,
					     "model.patch=16 model.layers=2 train.batch=8 train.microbatches=8", 2,
					     1 << 3, true});
}

void mr_suite_equal_networks(void); /* the runner declares it too */

void mr_suite_equal_networks(void)
{
	MR_SUITE("equal_networks");
	MR_TEST(llama);
	MR_TEST(llama_bf16);
	MR_TEST(llama_cut_inside_blocks);
	MR_TEST(gnmt);
	MR_TEST(gnmt_cut_anywhere);
	MR_TEST(s2vt);
	MR_TEST(dlrm);
	MR_TEST(dlrm_bf16);
	MR_TEST(dlrm_cut_among_tables);
	MR_TEST(vit);
}
