#include "report/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

unsigned mr_screen_rows(FILE *out)
{
	struct winsize size;
	int fd = fileno(out);

	return fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}

unsigned mr_screen_columns(FILE *out)
{
	struct winsize size;
	int fd = fileno(out);

	if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || size.ws_col < 2)
		return 0;
	return size.ws_col;
}
