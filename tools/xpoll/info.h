/*
 * Declarations that the files of xpoll info share.
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
	int errors[INFO_QUEUES]; /* errno value with which opening a queue failed; 0: open */
	int len;
	char chosen[32]; /* the name of the default back end; "": no queue could be opened */
};

/* A filter; or a note, whose name begins with two spaces, of the filter before it in the list. */
struct info_feature {
	const char *name;
	int filter;
	uint32_t fflags;
};

extern const struct info_feature info_features[]; /* ended by name NULL */
extern const struct info_feature info_sources[];

/* A text that is built piece by piece; a piece that does not fit is cut. */
struct info_text {
	char text[512];
	size_t used;
};

/* Append a piece. */
void info_say(struct info_text *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns true if queue number `at` is open and supports the feature. */
int info_has(const struct info_queues *queues, int at, const struct info_feature *feature);

/*
 * Close the queues, before sources are tested: objects shared with an open queue would not be
 * counted.
 */
void info_close(struct info_queues *queues);

/*
 * Store as text which kernel objects one registration of a source needs, or why it fails.  Returns
 * 1 if the source works here, else 0.
 */
int info_source(const struct info_feature *source, struct info_text *to);

/* Make that registration and store its objects.  Returns 0; or an errno value, storing nothing. */
int info_try(int filter, uint32_t fflags, struct info_text *to);

/* Store the name of the system. */
void info_system(struct info_text *to);
/*
 * Store the setting of the system, in parentheses, that probably made a registration of the filter
 * fail with this error; nothing if none is known.
 */
void info_met(int filter, int error, struct info_text *to);
/* Call `each` for each limit of this system, with a label for people, a name and the value. */
void info_limits(void (*each)(const char *label, const char *name, const char *value));

/* Print everything as one JSON object. */
void info_print_json(struct info_queues *queues);

#endif
