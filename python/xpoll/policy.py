"""EventLoopPolicy, in a module of its own: importing asyncio takes long."""
from __future__ import annotations

import asyncio

from xpoll.selector import new_event_loop


class EventLoopPolicy(asyncio.DefaultEventLoopPolicy):
    """asyncio's own policy, but that its loops wait by xpoll.

    For programs that take no loop factory: asyncio.set_event_loop_policy(EventLoopPolicy()).
    Python 3.14 deprecates policies; there, asyncio.run has a loop_factory.
    """

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """A new event loop."""
        return new_event_loop()
