/* picture_webp.c - WEBP by libwebp; of animated ones nothing. */
#include "formats/picture.h"

#ifdef MR_WEBP
#include <webp/decode.h>

mr_status mr_picture_webp_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
{
	WebPBitstreamFeatures f;
	VP8StatusCode code = WebPGetFeatures(bytes, n, &f);

	if (code == VP8_STATUS_NOT_ENOUGH_DATA) {
		*more = true;
		return MR_OK;
	}
	if (code != VP8_STATUS_OK)
		return mr_fail(MR_EDATA, "%s: damaged head of a WEBP file", name);
	if (f.has_animation)
		return mr_fail(MR_EDATA, "%s: an animated WEBP, expected one picture", name);
	out->cols = (uint32_t)f.width;
	out->rows = (uint32_t)f.height;
	/* Lossless pixels of 32 bits with their tables, and rows under way. */
	out->decoding = ((uint64_t)1 << 20) + 6 * (uint64_t)out->cols * out->rows;
	return MR_OK;
}

mr_status mr_picture_webp(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	if (WebPDecodeRGBInto(bytes, n, rgb, mr_picture_bytes(p), (int)(3 * p->cols)))
		return MR_OK;
	return mr_fail(MR_EDATA, "%s: damaged WEBP", name);
}

bool mr_picture_has_webp(void)
{
	return true;
}

#else

mr_status mr_picture_webp_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
{
	(void)bytes;
	(void)n;
	(void)out;
	(void)more;
	return mr_fail(MR_EDATA,
		       "%s: is a WEBP, and this build has no libwebp: install the package libwebp-dev and build again",
		       name);
}

mr_status mr_picture_webp(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	(void)rgb;
	return mr_picture_webp_look(name, bytes, n, &(mr_picture){.rows = p->rows}, &(bool){false});
}

bool mr_picture_has_webp(void)
{
	return false;
}
#endif
