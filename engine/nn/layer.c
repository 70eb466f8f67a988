#include "nn/layer.h"

#include <string.h>

#define MR_LAYER(id) extern const mr_layer_ops mr_layer_##id;
#include "nn/layers/layers.def"
#undef MR_LAYER

static const mr_layer_ops *const layers[] = {
#define MR_LAYER(id) &mr_layer_##id,
#include "nn/layers/layers.def"
#undef MR_LAYER
};

#define N_LAYERS (sizeof(layers) / sizeof(layers[0]))

const mr_layer_ops *mr_layer_at(uint32_t i)
{
	return i < N_LAYERS ? layers[i] : NULL;
}

const mr_layer_ops *mr_layer_find(const char *name)
{
	for (size_t i = 0; i < N_LAYERS; i++)
		if (!strcmp(layers[i]->name, name))
			return layers[i];
	return NULL;
}
