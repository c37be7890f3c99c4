"""Tokens: issue for client credentials, and checks of scopes and schools."""

import secrets
import time
from dataclasses import dataclass

from simulator.messages import Problem, Request
from simulator.settings import Settings

SCHOOL_SCOPE = "school."
CLASSES, KLASSES = "class.read", "klass.read"


@dataclass(frozen=True)
class Grant:
    """The scopes of a token, and its expiry on the monotonic clock."""

    scopes: frozenset[str]
    expires_at: float


class Tokens:
    """The tokens in use."""

    def __init__(self, settings: Settings, scopes: frozenset[str], school_ids: tuple[int, ...]) -> None:
        self._settings = settings
        access = settings.access
        self.school_ids = tuple(
            i for i in school_ids if i in access.allowed_schools or not access.allowed_schools
        )
        schools = {f"{SCHOOL_SCOPE}{school_id}" for school_id in self.school_ids}
        existing = scopes | {KLASSES}
        if settings.readings.class_scope == KLASSES:
            existing -= {CLASSES}
        self._grantable = frozenset(access.scopes or existing) & existing | schools
        self._grants: dict[str, Grant] = {}

    def issue(self, client_id: str, client_secret: str, scope: str) -> str:
        """A new token for these scopes; 401 for wrong credentials, 400 for a scope that is not allowed."""
        expected = f"{self._settings.client_id}\n{self._settings.client_secret}".encode()
        if not secrets.compare_digest(f"{client_id}\n{client_secret}".encode(), expected):
            raise Problem(401, "invalid_client: unknown client_id or wrong client_secret")
        wanted = frozenset(scope.split())
        refused = wanted - self._grantable
        if refused and self._settings.readings.refused_scopes == "refuse":
            raise Problem(400, f"invalid_scope: this client may not have {' '.join(sorted(refused))}")
        token = secrets.token_urlsafe(24)
        if self._settings.access.one_token:
            self._grants.clear()
        self._grants[token] = Grant(wanted - refused, time.monotonic() + self._settings.access.token_lifetime)
        return token

    def grant(self, request: Request) -> Grant:
        """The grant of the request's token; 401 without a valid token."""
        token = _bearer(request)
        if token is None:
            raise Problem(401, "no access token: send Authorization: Bearer <token>")
        grant = self._grants.get(token)
        if grant is None:
            raise Problem(401, "unknown or revoked access token")
        if grant.expires_at <= time.monotonic():
            raise Problem(401, "expired access token")
        return grant

    def revoke(self, request: Request) -> None:
        """Revoke the request's token."""
        self._grants.pop(_bearer(request) or "", None)


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return token if scheme.lower() == "bearer" and token else None


def check_scope(grant: Grant, alternatives: tuple[str, ...], people_scope: str) -> None:
    """403 unless the token has one of the path's scopes. `people_scope`: the reading of read_basic and
    read_all."""
    refused_ending = {"either": "-", "basic": ".read_all", "all": ".read_basic"}[people_scope]
    if len(alternatives) > 1:
        alternatives = tuple(scope for scope in alternatives if not scope.endswith(refused_ending))
    if alternatives and not grant.scopes.intersection(alternatives):
        raise Problem(403, f"the access token lacks the scope {' or '.join(alternatives)}")


def class_scopes(path: str, alternatives: tuple[str, ...], reading: str) -> tuple[str, ...]:
    """The scopes of a path, with this platform's name of the scope for classes."""
    if CLASSES not in alternatives:
        return alternatives
    if reading == "either":
        return (*alternatives, KLASSES)
    if reading == KLASSES or (reading == "split" and "/klass/" in path):
        return tuple(KLASSES if scope == CLASSES else scope for scope in alternatives)
    return alternatives


def check_school(grant: Grant, request: Request, *, required: bool) -> int:
    """The school in the header, or 0; 422 for an invalid header, 403 for a refused school."""
    text = request.headers.get(b"x-school-id", b"").decode("latin-1")
    if not text and not required:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise Problem(422, "the header X-School-Id must be a school id")
    if f"{SCHOOL_SCOPE}{int(text)}" not in grant.scopes:
        raise Problem(403, f"the access token lacks the scope {SCHOOL_SCOPE}{int(text)}")
    return int(text)
