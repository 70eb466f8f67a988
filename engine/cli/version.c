/* The text of --version. */
#include <hwloc.h>
#include <jansson.h>
#include <libconfig.h>
#include <string.h>
#include <zlib.h>

#include "cli/args.h"
#include "base/usdt.h"
#include "formats/picture.h"
#include "nn/kernels.h"
#include "token/normal_form.h"
#include "token/regex.h"

#ifdef __aarch64__
#define VECTORS "NEON"
#else
#define VECTORS "AVX2 and AVX-512"
#endif

void mr_version_print(FILE *out)
{
	unsigned hw = hwloc_get_api_version();

	fprintf(out, "millrace %s\n", MR_VERSION);
	fprintf(out, "compiler   %s %s\n",
#ifdef __clang__
		"clang",
#else
		"gcc",
#endif
		__VERSION__);
	if (strcmp(mr_kernels_library(), "none") != 0)
		fprintf(out, "kernels    " VECTORS " of our own; for products that they leave out %s\n",
			mr_kernels_library());
	else
		fprintf(out, "kernels    portable C; built without oneDNN\n");
	fprintf(out, "libconfig  %d.%d.%d\n", LIBCONFIG_VER_MAJOR, LIBCONFIG_VER_MINOR, LIBCONFIG_VER_REVISION);
	fprintf(out, "hwloc      %u.%u.%u\n", hw >> 16, hw >> 8 & 0xFF, hw & 0xFF);
	fprintf(out, "jansson    %s\n", jansson_version_str());
	fprintf(out, "zlib       %s\n", zlibVersion());
	fprintf(out, "tokens     bytes; tokenizers by PCRE2: %s; normal forms by utf8proc: %s\n", mr_regex_version(),
		mr_normal_form_version());
	fprintf(out, "probes     %s\n", mr_usdt_built() ? "USDT, provider millrace" : "none; built without sys/sdt.h");
	fprintf(out, "pictures   PPM, PGM; PNG by libpng: %s; JPEG by libjpeg: %s; WEBP: %s; GIF: %s\n",
		mr_picture_png_version(), mr_picture_jpeg_version(), mr_picture_has_webp() ? "yes" : "no",
		mr_picture_has_gif() ? "yes" : "no");
}
