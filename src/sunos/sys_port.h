/* Event ports: see sys.h for the conventions. */
#ifndef XP_SUNOS_SYS_PORT_H
#define XP_SUNOS_SYS_PORT_H

#include <port.h>
#include <stdbool.h>
#include <stdint.h>

/* Close-on-exec. */
int xp_sys_port_create(void);

/* Associate fd for one event, or change its association.  -EBADF; -ENOSPC: the process's limit. */
int xp_sys_port_associate(int port_fd, int fd, int events, uintptr_t cookie);
/* 0; -ENOENT: not associated, or the event was retrieved; -EBADF. */
int xp_sys_port_dissociate(int port_fd, int fd);

/* Send a user event; async-signal-safe.  -ENOSPC: there is no room for one. */
int xp_sys_port_send(int port_fd);
/* Turn an alert on or off: all threads return with it, before any event; it needs no room. */
void xp_sys_port_alert(int port_fd, bool on);

/* Returns a number of events; there may be more. */
int xp_sys_port_now(int port_fd, port_event_t *events, int cap);
/* The same, until a deadline; a cancellation point. */
int xp_sys_port_wait(int port_fd, port_event_t *events, int cap,
                     int64_t deadline_ns);

#endif
