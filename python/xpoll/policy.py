"""EventLoopPolicy; a module of its own, because importing asyncio takes long."""
from __future__ import annotations

import asyncio

from xpoll.selector import new_event_loop


class EventLoopPolicy(asyncio.DefaultEventLoopPolicy):
    """asyncio's own policy, with loops that use xpoll.

    For programs that cannot use a loop factory: asyncio.set_event_loop_policy(EventLoopPolicy()).
    Python 3.14 deprecates policies; there, asyncio.run has a loop_factory.
    """

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """A new event loop."""
        return new_event_loop()
