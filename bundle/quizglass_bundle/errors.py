"""What can go wrong with a bundle, and what every error that quizglass raises on purpose derives from."""

from __future__ import annotations


class QuizglassError(Exception):
    """Base of everything that is raised on purpose. The message is safe to show to a client."""

    code = "INTERNAL"
    retry_after_s: float | None = None
    """Seconds from now after which another try may succeed, where that is known."""

    def __init__(self, message: str, **metadata: str) -> None:
        super().__init__(message)
        self.message = message
        self.metadata = metadata


class BundleError(QuizglassError):
    """A bundle is damaged or incomplete; the message names the file or the manifest key."""

    code = "BUNDLE_INVALID"


class SettingsError(QuizglassError):
    """A setting is unknown or wrong; the message names it."""

    code = "SETTING_INVALID"
