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
	int errors[INFO_QUEUES]; /* error of opening it; 0: it is open */
	int len;
	char chosen[32]; /* the name of the default */
};

/* A filter, or a note of the filter before it, whose name begins with two spaces. */
struct info_feature {
	const char *name;
	int filter;
	uint32_t fflags;
};

extern const struct info_feature info_features[]; /* ended by name NULL */
extern const struct info_feature info_sources[];

/* A text that is built piece by piece; pieces without room are left out. */
struct info_text {
	char text[512];
	size_t used;
};

void info_say(struct info_text *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns true if the queue of this back end supports the feature. */
int info_has(const struct info_queues *queues, int at, const struct info_feature *feature);

/*
 * Close the queues, before sources are tested: objects shared with an open queue would not be
 * counted.
 */
void info_close(struct info_queues *queues);

/*
 * Store which objects one registration of a source needs, or why it fails.  Returns 1 if the source
 * works here, else 0.
 */
int info_source(const struct info_feature *source, struct info_text *to);

/* The same, by a registration.  Returns 0, or an errno value and stores nothing. */
int info_try(int filter, uint32_t fflags, struct info_text *to);

/* Store the name of the system. */
void info_system(struct info_text *to);
/* Store the setting of the system that refuses this, if it is known, in parentheses. */
void info_met(int filter, int error, struct info_text *to);
/* Call `each` for each limit of this system: a label, its name, its value. */
void info_limits(void (*each)(const char *label, const char *name, const char *value));

/* Print everything as one JSON object. */
void info_print_json(struct info_queues *queues);

#endif
