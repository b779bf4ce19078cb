"""The reference of the Python package as Markdown, by the package itself, for site.py."""
import inspect

import xpoll
import xpoll.aio

HEAD = """# The Python package

This is what `help(xpoll)` prints. [The guide](../guide/python.md) has explanations and examples;
the types are in [_xpoll.pyi](../../python/xpoll/_xpoll.pyi.md). The constants have the names of
`xpoll.h` without `XPOLL_`.
"""


def shown(thing):
    text = inspect.cleandoc(thing.__doc__ or "")
    return f"```{{ .text .docstring }}\n{text}\n```\n" if text else ""


def call(name, thing):
    try:
        words = inspect.signature(thing)
        words = words.replace(parameters=[p.replace(annotation=p.empty)
                                          for p in words.parameters.values()
                                          if p.name not in ("self", "cls")],
                              return_annotation=words.empty)
    except (TypeError, ValueError):
        # A default that Python cannot evaluate.
        words = (thing.__text_signature__ or "(...)").replace("$self, /, ", "")
    return f"### `{name}()`\n\n```python\n{name}{words}\n```\n"


def members(cls):
    """Public methods and properties, in the order of their definition."""
    for name, value in vars(cls).items():
        if name.startswith("_") or not value.__doc__:
            continue
        yield call(name, getattr(cls, name)) if callable(value) else f"### `{name}`\n"
        yield shown(value)


def classes():
    for cls in xpoll.Queue, xpoll.Event, xpoll.Aio, xpoll.XpollSelector:
        yield f"## `xpoll.{cls.__name__}`\n"
        yield shown(cls)
        yield from members(cls)


def functions(module, names):
    for name in names:
        yield call(f"{module.__name__}.{name}", getattr(module, name))
        yield shown(getattr(module, name))


def page():
    plain = [name for name in ("run", "new_event_loop", "backends", "supports", "close_fd",
                               "forget_fd") if hasattr(xpoll, name)]
    return "\n".join([HEAD, *classes(), "## Functions\n", *functions(xpoll, plain),
                      "## `xpoll.aio`\n", shown(xpoll.aio),
                      *functions(xpoll.aio, xpoll.aio.__all__)]) + "\n"
