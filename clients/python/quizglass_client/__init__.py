"""Client of a quizglass server.

    from quizglass_client import Client

    with Client("127.0.0.1:50061") as client:
        answer = client.answer("How much does this cost?", "photo.jpg")
        print(answer.text, answer.done.citations)

`AsyncClient` has the same calls for asyncio. Durations are seconds, values are frozen, and every call that fails raises
a subclass of `ClientError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quizglass_client.public import *  # noqa: F403  # for type checkers
    from quizglass_client.public import __all__ as __all__
else:
    # gRPC and all else take a quarter of a second, which `quizglass --help` need not.
    def __getattr__(name: str) -> object:
        from importlib import import_module
        from importlib.util import find_spec

        if name == "__all__" or name[:1].isupper():
            public = import_module(f"{__name__}.public")
            globals().update({each: getattr(public, each) for each in public.__all__}, __all__=public.__all__)
        elif not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        try:
            return globals()[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
