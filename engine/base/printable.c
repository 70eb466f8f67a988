#include "base/printable.h"

char *mr_printable(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f)
			*c = '?';
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
			c[0] = c[1] = '?';
	return text;
}
