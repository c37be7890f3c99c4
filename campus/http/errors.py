"""Errors of requests to the platform, worded for the person who can solve them."""

#: The message and the advice of JSON that no decoder follows to its end.
TOO_DEEP, ASK_OPERATOR = "the JSON is nested too deeply to be read.", "Ask the platform's operator."


class CampusError(Exception):
    """A request that failed for good: what happened (`message`) and what to do about it (`advice`).

    status, said: of a refusal, and the platform's own words in it; 0 and empty where no answer came."""

    def __init__(self, message: str, advice: str = "", *, status: int = 0, said: str = "") -> None:
        super().__init__(message, advice)
        self.message = message
        self.advice = advice
        self.status = status
        self.said = said

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


class Transient(CampusError):
    """The platform was out of reach or overloaded for longer than a run waits; a later run may succeed."""


class Unauthorized(CampusError):
    """The platform does not accept the credentials, or no token that it issues for them."""


class Forbidden(CampusError):
    """The credentials are right, but do not cover this resource or this school."""


class NotFound(CampusError):
    """There is nothing at this path (404), which some resources use for a normal "none"."""


class Refused(CampusError):
    """The platform rejects this request as it stands (any other 4xx, or a redirect)."""


class Unconfirmed(CampusError):
    """A write that must not be repeated got no answer: the platform may have carried it out or not."""


class UnexpectedAnswer(CampusError):
    """A valid answer of a shape that the interface does not describe; a retry would not help."""


class PlatformUnavailable(Exception):
    """The platform is out of reach or accepts no credentials of ours, as a whole or for one school.

    Not a CampusError, so no slice or class takes it for a failure of its own: it ends the run, or the part of
    one school. school_id: the school; None: the whole platform. outage: it may end by itself."""

    def __init__(self, message: str, *, school_id: int | None = None, outage: bool = False) -> None:
        super().__init__(message)
        self.school_id = school_id
        self.outage = outage

    def concerns(self, school_id: int) -> bool:
        """Whether this school cannot be read any more."""
        return self.school_id in (None, school_id)


class TornBody(Exception):
    """A decoder raises it for a body that is cut off or no JSON; the client retries."""
