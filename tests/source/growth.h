/* For the tests of growing files: a log file and its writer. */
#ifndef SOURCE_GROWTH_H
#define SOURCE_GROWTH_H

#include "xt.h"

static inline void append(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		xt_fail(__FILE__, __LINE__, "write: %s", xt_error_name(errno));
}

/* The file is opened twice, because reading must not move the writer's offset. */
struct log {
	int r;
	int w;
};

static inline struct log log_make(const char *name, const char *text)
{
	struct log log = {.w = xt_make(name, text)};

	log.r = xt_keep(open(xt_name(name), O_RDONLY | O_CLOEXEC));
	return log;
}

static inline void append_later(void *argument)
{
	append(*(int *)argument, "more");
}

#endif
