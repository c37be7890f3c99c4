"""What can go wrong between us and the platform, worded for the person who can put it right."""


class CampusError(Exception):
    """A request that failed for good: what happened (`message`) and what to do about it (`advice`).

    status: of a refusal, and what the platform `said` in it; 0 and empty where there was no answer."""

    def __init__(self, message: str, advice: str = "", *, status: int = 0, said: str = "") -> None:
        super().__init__(message, advice)
        self.message = message
        self.advice = advice
        self.status = status
        self.said = said

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


class Transient(CampusError):
    """The platform was out of reach or overloaded for longer than we wait; a later run may succeed."""


class Unauthorized(CampusError):
    """The platform does not accept the credentials, or no token that it issues for them."""


class Forbidden(CampusError):
    """The credentials are right, but do not cover this resource or this school."""


class NotFound(CampusError):
    """There is nothing at this path (404), which some resources use for a normal "none"."""


class Refused(CampusError):
    """The platform rejects this request as it stands (any other 4xx, or a redirect)."""


class Unconfirmed(CampusError):
    """No answer to a write that must not be repeated blindly came: it may have been carried out, or not."""


class UnexpectedAnswer(CampusError):
    """A valid answer of a shape that the interface does not describe; asking again would not help."""


class Halt(Exception):
    """Nothing more can be read of the platform, or of one school (`school_id`): it is out of reach, or takes
    no credentials of ours. No CampusError, so that no slice and no class takes it for a failure of its own:
    it ends the run, or the school's part of it. `outage`: it may end by itself."""

    def __init__(self, message: str, *, school_id: int | None = None, outage: bool = False) -> None:
        super().__init__(message)
        self.school_id = school_id
        self.outage = outage

    def concerns(self, school_id: int) -> bool:
        """Whether nothing more can be read of this school."""
        return self.school_id in (None, school_id)


class TornBody(Exception):
    """Raised by a parser for a body that is cut off or no JSON; the client asks again."""
