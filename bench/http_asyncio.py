#!/usr/bin/env python3
"""http_asyncio.py epoll|xpoll|uvloop: a keep-alive web server on this event loop of
asyncio, which prints its port on 127.0.0.1.  Exit code 77: that loop is not installed."""

import asyncio
import sys

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nHello, xpoll!\n"


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.part = b""

    def data_received(self, data):
        *requests, self.part = (self.part + data).split(b"\r\n\r\n")
        if requests:
            self.transport.write(PAGE * len(requests))
        if any(b"HTTP/1.0" in request for request in requests):
            self.transport.close()


async def serve():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main():
    try:
        if sys.argv[1] == "xpoll":
            import xpoll
            xpoll.run(serve())
        elif sys.argv[1] == "uvloop":
            import uvloop
            uvloop.run(serve())
        else:
            asyncio.run(serve())
    except ImportError:
        sys.exit(77)


if __name__ == "__main__":
    main()
