/*
 * xpoll info: what its files share.
 */
#ifndef XPOLL_INFO_H
#define XPOLL_INFO_H

#include <stdint.h>

/*
 * Make a registration of a source and print what it took, as a line.  Returns
 * 0, or an errno and has printed nothing.
 */
int info_try(int filter, uint32_t fflags);

/* The line after the version. */
void info_print_system(void);
/* The setting of the system that refuses this, if it is known, in parentheses. */
void info_print_met(int filter, int error);
/* The last paragraph; nothing where there are no limits. */
void info_print_limits(void);

#endif
