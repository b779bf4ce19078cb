/*
 * <port.h> of illumos, as far as the library uses event ports: see the manual pages
 * port_create(3C), port_associate(3C), port_get(3C), port_send(3C) and port_alert(3C) of illumos.
 */
#ifndef MODEL_PORT_H
#define MODEL_PORT_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef unsigned short ushort_t;
typedef unsigned int uint_t;
typedef struct timespec timespec_t;

#define PORT_SOURCE_AIO   1
#define PORT_SOURCE_TIMER 2
#define PORT_SOURCE_USER  3
#define PORT_SOURCE_FD    4
#define PORT_SOURCE_ALERT 5
#define PORT_SOURCE_MQ    6
#define PORT_SOURCE_FILE  7

#define PORT_ALERT_SET    1
#define PORT_ALERT_UPDATE 2

/* Events of files; those from FILE_DELETE on are reported without a request. */
#define FILE_ACCESS      0x00000001
#define FILE_MODIFIED    0x00000002
#define FILE_ATTRIB      0x00000004
#define FILE_TRUNC       0x00100000
#define FILE_NOFOLLOW    0x10000000
#define FILE_DELETE      0x00000010
#define FILE_RENAME_TO   0x00000020
#define FILE_RENAME_FROM 0x00000040
#define UNMOUNTED        0x20000000
#define MOUNTEDOVER      0x40000000

typedef struct file_obj {
	struct timespec fo_atime;
	struct timespec fo_mtime;
	struct timespec fo_ctime;
	uintptr_t fo_pad[3];
	char *fo_name;
} file_obj_t;

typedef struct port_event {
	int portev_events;
	ushort_t portev_source;
	ushort_t portev_pad;
	uintptr_t portev_object;
	void *portev_user;
} port_event_t;

int port_create(void);
int port_associate(int port, int source, uintptr_t object, int events,
                   void *user);
int port_dissociate(int port, int source, uintptr_t object);
int port_getn(int port, port_event_t list[], uint_t max, uint_t *nget,
              const timespec_t *timeout);
int port_get(int port, port_event_t *event, const timespec_t *timeout);
int port_send(int port, int events, void *user);
int port_alert(int port, int flags, int events, void *user);

#endif
