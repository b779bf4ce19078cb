/*
 * An echo server for TLS, by OpenSSL with memory BIOs.
 *
 *     tls-echo CERTIFICATE KEY [PORT]     both files are PEM
 *
 * OpenSSL never sees the socket.  What read(2) brings goes into one BIO, and what OpenSSL has to
 * send comes out of the other.  A connection is read only when its whole answer is sent: READ or
 * WRITE is enabled, never both, so that an array of events has at most one of each connection.
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xpoll.h>
#include "loopback.h"

struct connection {
	SSL *tls;
	BIO *in, *out; /* from and to the peer; they belong to tls */
	int fd, waits, ended;
};

static struct xpoll *queue;
static SSL_CTX *context;
static char text[16384]; /* buffer for moving bytes between a socket and a BIO */

static int change(int ident, int filter, int flags, void *udata)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)ident, filter, flags, 0, 0, udata);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

static void connection_close(struct connection *it)
{
	xpoll_close_fd(it->fd);
	SSL_free(it->tls);
	free(it);
}

static void connection_open(int fd)
{
	struct connection *it = fd < 0 ? NULL : calloc(1, sizeof *it);

	if (it == NULL || (it->tls = SSL_new(context)) == NULL) {
		free(it);
		if (fd >= 0)
			close(fd);
		return;
	}
	it->fd = fd;
	it->in = BIO_new(BIO_s_mem());
	it->out = BIO_new(BIO_s_mem());
	SSL_set_bio(it->tls, it->in, it->out);
	SSL_set_accept_state(it->tls);
	if (change(fd, XPOLL_FILT_READ, XPOLL_ADD, it) < 0 ||
	    change(fd, XPOLL_FILT_WRITE, XPOLL_ADD | XPOLL_DISABLE, it) < 0)
		connection_close(it);
}

/*
 * Echo the decrypted text.  Returns 1 if the connection is to be closed: at its end, or after an
 * error.
 */
static int talk(SSL *tls)
{
	char plain[4096];
	int len;

	/* SSL_get_error reads the queue of errors, which all connections of the thread share. */
	ERR_clear_error();
	while ((len = SSL_read(tls, plain, sizeof plain)) > 0)
		if (SSL_write(tls, plain, len) != len)
			return 1;
	len = SSL_get_error(tls, len);
	if (len == SSL_ERROR_ZERO_RETURN)
		SSL_shutdown(tls); /* answer with close_notify */
	return len != SSL_ERROR_WANT_READ;
}

/*
 * Send what OpenSSL has to send.  Returns 1 if some of it waits until fd is writable; 0 if all was
 * sent; -1 on error.
 */
static int send_out(struct connection *it)
{
	char *all;
	long len;

	while ((len = BIO_get_mem_data(it->out, &all)) > 0) {
		size_t most = sizeof text;
		ssize_t sent = write(it->fd, all, (size_t)len < most ? (size_t)len : most);

		if (sent < 0)
			return errno == EAGAIN ? 1 : -1;
		BIO_read(it->out, text, (int)sent); /* remove what was sent */
	}
	return 0;
}

/* Serve one event.  Returns -1 if the connection is to be closed. */
static int connection_serve(struct connection *it)
{
	int waits = send_out(it);

	if (waits == 0 && !it->ended) {
		ssize_t len = read(it->fd, text, sizeof text);

		if (len == 0 || (len < 0 && errno != EAGAIN) ||
		    (len > 0 && BIO_write(it->in, text, (int)len) != len))
			return -1;
		it->ended = talk(it->tls);
		waits = send_out(it);
	}
	if (waits < 0 || (waits == 0 && it->ended))
		return -1;
	if (waits == it->waits)
		return 0;
	it->waits = waits;
	change(it->fd, waits ? XPOLL_FILT_READ : XPOLL_FILT_WRITE, XPOLL_DISABLE, NULL);
	return change(it->fd, waits ? XPOLL_FILT_WRITE : XPOLL_FILT_READ, XPOLL_ENABLE, NULL);
}

int main(int argc, char **argv)
{
	struct xpoll_event events[64];
	int listener, count;

	queue = xpoll_open(NULL);
	if (queue == NULL) {
		perror("tls-echo");
		return 1;
	}
	context = SSL_CTX_new(TLS_server_method());
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN); /* the queue delivers ignored signals, too */
	if (argc < 3 || SSL_CTX_use_certificate_chain_file(context, argv[1]) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) != 1) {
		fprintf(stderr, "usage: tls-echo CERTIFICATE KEY [PORT]\n");
		ERR_print_errors_fp(stderr);
		return 1;
	}
	if ((listener = loopback_listen(argc > 3 ? argv[3] : "0")) < 0 ||
	    change(listener, XPOLL_FILT_READ, XPOLL_ADD, NULL) < 0 ||
	    change(SIGTERM, XPOLL_FILT_SIGNAL, XPOLL_ADD, NULL) < 0)
		return 1;
	while ((count = xpoll_event(queue, NULL, 0, events, 64, -1)) >= 0 || errno == EINTR)
		for (int i = 0; i < count; i++)
			if (events[i].filter == XPOLL_FILT_SIGNAL)
				return 0;
			else if (events[i].udata == NULL)
				connection_open(loopback_accept(listener));
			else if (connection_serve(events[i].udata) < 0)
				connection_close(events[i].udata);
	return 1;
}
