/*
 * xpoll info: what its files share.
 */
#ifndef XPOLL_INFO_H
#define XPOLL_INFO_H

#include <stddef.h>
#include <stdint.h>

#include <xpoll.h>

#define INFO_QUEUES 16

/* One queue on each back end that is usable here. */
struct info_queues {
	const char *names[INFO_QUEUES];
	struct xpoll *open[INFO_QUEUES];
	int errors[INFO_QUEUES]; /* why there is none; 0: it is open */
	int len;
	char chosen[32]; /* the name of the default */
};

/* A filter; or a note of the filter above it, then the name begins with two spaces. */
struct info_feature {
	const char *name;
	int filter;
	uint32_t fflags;
};

extern const struct info_feature info_features[]; /* ended by name NULL */
extern const struct info_feature info_sources[];

/* Some words, put together piece by piece; what has no room is left out. */
struct info_text {
	char text[512];
	size_t used;
};

void info_say(struct info_text *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Can the queue of this back end register it? */
int info_has(const struct info_queues *queues, int at, const struct info_feature *feature);

/* Before sources are tried: what they share with an open queue they do not take. */
void info_close(struct info_queues *queues);

/*
 * Say what one registration of a source takes, or why there is none.  Returns 1 if
 * it works here, else 0.
 */
int info_source(const struct info_feature *source, struct info_text *to);

/* The same by trying it: 0, or an errno and nothing has been said. */
int info_try(int filter, uint32_t fflags, struct info_text *to);

/* The name of the system. */
void info_system(struct info_text *to);
/* The setting of the system that refuses this, if it is known, in parentheses. */
void info_met(int filter, int error, struct info_text *to);
/* Each limit that this system has: its name for people, its own name, its value. */
void info_limits(void (*each)(const char *label, const char *name, const char *value));

/* All of it as one object. */
void info_print_json(struct info_queues *queues);

#endif
