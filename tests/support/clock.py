"""Time that tests turn on by hand."""


class Clock:
    """Stands at `now` seconds until a test moves it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
