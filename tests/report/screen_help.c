#include "screen_help.h"

#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define END_OF_TEXT '\003'

mr_test_screen mr_test_screen_open(unsigned short columns)
{
	mr_test_screen s = {NULL, posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};

	CU_ASSERT_FATAL(s.master >= 0 && !grantpt(s.master) && !unlockpt(s.master));
	mr_test_screen_resize(&s, columns);
	s.out = fopen(ptsname(s.master), "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(s.out);
	return s;
}

void mr_test_screen_resize(const mr_test_screen *s, unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};

	CU_ASSERT_EQUAL_FATAL(ioctl(s->master, TIOCSWINSZ, &size), 0);
}

char *mr_test_screen_take(mr_test_screen *s)
{
	struct pollfd p = {.fd = s->master, .events = POLLIN};
	char *text = calloc(1, 65536);
	size_t n = 0, to = 0;
	ssize_t got;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	fputc(END_OF_TEXT, s->out); /* a terminal hands on what it is given when the kernel finds the time */
	fflush(s->out);
	while (n < 65535 && (!n || text[n - 1] != END_OF_TEXT) && poll(&p, 1, 60000) > 0 &&
	       (got = read(s->master, text + n, 65535 - n)) > 0)
		n += (size_t)got;
	CU_ASSERT_FATAL(n > 0 && text[n - 1] == END_OF_TEXT);
	n--;
	for (size_t i = 0; i < n; i++)
		if (text[i] != '\r' || text[i + 1] != '\n')
			text[to++] = text[i];
	text[to] = '\0';
	return text;
}

void mr_test_screen_close(mr_test_screen *s)
{
	fclose(s->out);
	close(s->master);
}

unsigned mr_test_widest(const char *text)
{
	unsigned column = 0, widest = 0;

	for (const char *s = text; *s; s++) {
		if (*s == '\033')
			s += strcspn(s, "mKJ"); /* the letters that end the escapes we write */
		else
			column = *s == '\n' || *s == '\r' ? 0 : column + 1;
		widest = column > widest ? column : widest;
		if (!*s)
			break;
	}
	return widest;
}
