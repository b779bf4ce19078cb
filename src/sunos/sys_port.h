/* Event ports: see sys.h for the conventions. */
#ifndef XP_SUNOS_SYS_PORT_H
#define XP_SUNOS_SYS_PORT_H

#include <port.h>
#include <stdbool.h>
#include <stdint.h>

/* Open a port, which is close-on-exec. */
int xp_sys_port_create(void);

/*
 * Associate fd for one event, which will have this cookie, or change the association of fd.
 * Returns 0; -EBADF; -ENOSPC: the limit of associations of the process.
 */
int xp_sys_port_associate(int port_fd, int fd, int events, uintptr_t cookie);
/* End an association.  Returns 0; -ENOENT: there is none, or its event was taken; -EBADF. */
int xp_sys_port_dissociate(int port_fd, int fd);

/* Send a user event to the port; async-signal-safe.  -ENOSPC: the port has no room for one. */
int xp_sys_port_send(int port_fd);
/*
 * Turn an alert on or off.  While the alert is on, every wait returns the alert instead of events.
 * Unlike an event of xp_sys_port_send, the alert needs no room in the port.  Async-signal-safe.
 */
void xp_sys_port_alert(int port_fd, bool on);

/* Take up to cap events without waiting.  Returns their number; the port may have more. */
int xp_sys_port_now(int port_fd, port_event_t *events, int cap);
/* Wait for events until a deadline; a cancellation point.  Returns their number, or -EINTR. */
int xp_sys_port_wait(int port_fd, port_event_t *events, int cap,
                     int64_t deadline_ns);

#endif
