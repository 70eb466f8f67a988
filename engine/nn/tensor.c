#include "nn/tensor.h"

const char *mr_dtype_name(mr_dtype t)
{
	switch (t) {
	case MR_F32:
		return "f32";
	case MR_F64:
		return "f64";
	case MR_I32:
		return "i32";
	}
	return "?";
}
