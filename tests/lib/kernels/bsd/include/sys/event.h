/*
 * Replaces the drop-in's <sys/event.h>: hides the filters that the modelled
 * system's header does not declare.
 */
#ifndef MODEL_BSD_EVENT_H
#define MODEL_BSD_EVENT_H
#pragma GCC system_header
#include_next <sys/event.h>

#ifdef MODEL_NO_EXCEPT
#undef EVFILT_EXCEPT
#endif
#ifdef MODEL_NO_USER
#undef EVFILT_USER
#endif
#endif
