"""Access tokens: one grant a school, refreshed by one request at a time, with the least scope that suffices.

Where the platform keeps one token a client, all schools share one grant, and each school is a scope. The
search for a token, `negotiate`, is a generator without I/O; `TokenAuth` decides what a refusal means."""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace

import msgspec

from campus.account import Tally
from campus.http.config import ClientConfig, SharedState, SharedToken
from campus.http.errors import (
    CampusError,
    Forbidden,
    PlatformUnavailable,
    TornBody,
    Unauthorized,
    UnexpectedAnswer,
    permission_advice,
    refusal,
    speaks_of_permission,
)
from campus.http.events import Event
from campus.http.exchange import Declined, Exchange, Sender
from campus.http.request import Request, Response

PATH = "/api/v3/oauth/tokens"
# The interface names this buffer: the smaller of 300 seconds and 5% of the lifetime.
BUFFER_SECONDS = 300.0
BUFFER_SHARE = 0.05
# Most tokens in a row that may be refused at their first use. Then the credentials count as refused. Where a
# token was accepted before, a token may also have been revoked before its first use.
REFUSALS_AT_FIRST = 2
REFUSALS_LATER = 3
WRONG_CREDENTIALS = re.compile(rb"invalid_client|unauthorized_client")
# The prefix of the scopes that open a school.
SCHOOL = "school."
WRONG_ADDRESS = frozenset({*range(300, 400), 404, 405})


class _TokenBody(msgspec.Struct):
    access_token: str
    expires_in: float


@dataclass(slots=True, eq=False)
class Token:
    """One token, its scopes, and whether the platform accepted it."""

    text: str = field(repr=False)
    scopes: frozenset[str]
    fresh_until: float
    accepted: bool = False
    refused: bool = False


class Scopes:
    """The permission scopes of one grant.

    alternatives: for each resource its scopes of which any one suffices, least first."""

    def __init__(self, alternatives: Iterable[tuple[str, ...]]) -> None:
        self._alternatives = list(dict.fromkeys(filter(None, alternatives)))
        #: By refused scope, the platform's reason.
        self.refused: dict[str, str] = {}

    def require(self, *names: str) -> None:
        """Request each of these scopes from now on."""
        self._alternatives += [(name,) for name in names if (name,) not in self._alternatives]

    def least(self) -> list[str]:
        """The least scope of each resource that the platform has not refused."""
        names = (
            next((name for name in alternatives if name not in self.refused), None)
            for alternatives in self._alternatives
        )
        return list(dict.fromkeys(filter(None, names)))

    def in_words(self, names: Iterable[str]) -> str:
        """Alternative scopes for a message, with what the platform said where it refused one."""
        return " or ".join(
            f"{name} (refused: {self.refused[name]})" if self.refused.get(name) else name for name in names
        )


def negotiate(scopes: Scopes, request: Request) -> Generator[list[str] | None, Token | Declined, Token]:
    """Find the token with the least scopes that the platform grants, and note the refused scopes.

    Yields the scopes to request a token with (None: without school and scope), and receives the token or its
    refusal. Raises Unauthorized where the platform refuses the credentials, Forbidden where the credentials
    are right but do not suffice, Refused or NotFound where another service answers. request: the token
    request, for messages."""
    least = scopes.least()
    answer = yield least
    if isinstance(answer, Token):
        return answer
    if answer.response.status in WRONG_ADDRESS:
        raise refusal(request, answer.response.status, answer.quote)
    if WRONG_CREDENTIALS.search(answer.response.body):
        raise _unauthorized(request, answer)
    if answer.response.status == 401 and isinstance((yield None), Declined):
        raise _unauthorized(request, answer)
    # No answer names the refused scopes, so each is requested alone.
    granted = set[str]()
    while untried := [name for name in scopes.least() if name not in granted]:
        for name in untried:
            alone = yield [name]
            if isinstance(alone, Token):
                granted.add(name)
            else:
                scopes.refused[name] = str(alone)
    remaining = scopes.least()
    if remaining and remaining != least:
        answer = yield remaining
        if isinstance(answer, Token):
            return answer
    if isinstance((yield None), Declined):
        raise _unauthorized(request, answer)
    advice = permission_advice(request.school_id, " and ".join(least))
    raise Forbidden(f"{request}: {answer}", f"The credentials are right. {advice}")


def _unauthorized(request: Request, declined: Declined) -> Unauthorized:
    return Unauthorized(
        f"{request}: {declined}",
        "The platform refuses the credentials: check CAMPUS_CLIENT_ID and CAMPUS_CLIENT_SECRET.",
    )


class Grant:
    """The scopes that the platform grants for one school (None: for no school), and the current token.

    scopes: for each resource its scopes of which any one suffices, least first. clock: monotonic seconds.
    """

    def __init__(
        self,
        config: ClientConfig,
        sender: Sender,
        scopes: Iterable[tuple[str, ...]],
        school_id: int | None,
        shared: SharedState,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self.token: Token | None = None
        schools = [(school_scope(id_),) for id_ in config.school_ids if config.one_token]
        self.scopes = Scopes([*schools, *scopes])
        #: Whether the platform ever accepted a token, and how many in a row it refused at their first use.
        self.has_accepted = False
        self.refusals = 0
        #: Scopes that were refused with 403 although their token was accepted elsewhere.
        self.forbidden: set[tuple[str, ...]] = set()
        self._sender = sender
        self._school_id = school_id
        self._shared = shared
        self._clock = clock
        self._request = Request("POST", PATH, school_id, content_type="application/json", for_token=True)
        self._lock = asyncio.Lock()
        self._failure: PlatformUnavailable | None = None

    async def current(self, school_id: int | None = None) -> Token:
        """A token to use now; requests a token where there is none, or it is about to expire.

        Raises PlatformUnavailable where the platform grants none, or none for this school."""
        token, refused = self.token, self.scopes.refused
        school = school_scope(school_id) if self.config.one_token and school_id is not None else ""
        if school and school not in refused:
            self.scopes.require(school)
            while token is not None and school not in token.scopes | refused.keys():
                token = await self.replace(token)
        if token is None or self._clock() >= token.fresh_until:
            token = await self._renew(token)
        if school in refused:
            message = f"{self._request}: {refused[school]}. {permission_advice(school_id, school)}"
            raise PlatformUnavailable(message, school_id=school_id)
        return token

    def accept(self, token: Token, scope: tuple[str, ...] = ()) -> None:
        """Note that the platform accepted this token, for a resource that needs one of these scopes."""
        self.forbidden.discard(scope)
        if not token.accepted or self.refusals:
            token.accepted = self.has_accepted = True
            self.refusals = 0

    async def replace(self, token: Token | None) -> Token:
        """Request a new token at once. Other requests wait for the new token meanwhile."""
        if token is not None:
            token.fresh_until = float("-inf")
        return await self._renew(token)

    def permission_scopes(self) -> tuple[list[str], list[str]]:
        """The scopes that the present token was requested for, and the refused ones, without schools."""
        both = (self.token.scopes if self.token else (), self.scopes.refused)
        granted, refused = (sorted(name for name in names if not name.startswith(SCHOOL)) for names in both)
        return granted, refused

    async def _renew(self, old: Token | None) -> Token:
        """A new token in place of the old one. One request at a time: all that wait share its outcome."""
        async with self._lock:
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            if self.token is not None and self.token is not old:
                return self.token
            try:
                self.token = await self._obtain(old)
            except CampusError as error:
                if isinstance(error, Forbidden) and self._school_id is not None:
                    self._failure = PlatformUnavailable(str(error), school_id=self._school_id)
                else:
                    self._failure = self._sender.give_up(str(error), outage=False)
                raise self._failure from None
            return self.token

    async def _obtain(self, old: Token | None) -> Token:
        """The token that another process has been given meanwhile, or else a new token for all processes."""
        async with self._shared.lock_token(self._shared_name()) as lock:
            shared = lock.token
            if shared is not None and self.config.one_token:
                # A new token ends the shared one, so it needs the scopes of the other processes too.
                self.scopes.require(*sorted(shared.scopes))
            now, wall_clock = self._clock(), time.time()
            if (
                shared is not None
                and (old is None or shared.text != old.text)
                and wall_clock < shared.fresh_until
                and shared.scopes.union(shared.refused).issuperset(self.scopes.least())
            ):
                self.scopes.refused |= shared.refused
                # Another process has used the token: a refusal says nothing about the credentials.
                self.has_accepted = True
                self._sender.keep_secret(shared.text)
                return Token(shared.text, shared.scopes, now + shared.fresh_until - wall_clock, accepted=True)
            token = await self._negotiate()
            fresh_until = time.time() + token.fresh_until - self._clock()
            await lock.store(SharedToken(token.text, token.scopes, dict(self.scopes.refused), fresh_until))
            return token

    def _shared_name(self) -> str:
        """The name of the token among the processes that may share it: those that request the same scopes."""
        names = "" if self.config.one_token else f"{self._school_id} {' '.join(sorted(self.scopes.least()))}"
        text = f"{self.config.base_url} {self.config.client_id} {names}"
        return f"token {hashlib.sha256(text.encode()).hexdigest()}"

    async def _negotiate(self) -> Token:
        negotiation = negotiate(self.scopes, self._request)
        names = next(negotiation)
        while True:
            answer = await self._request_token(names)
            try:
                names = negotiation.send(answer)
            except StopIteration as end:
                token: Token = end.value
                return token

    async def _request_token(self, names: list[str] | None) -> Token | Declined:
        """A token with these scopes, or its refusal. None: without school and scope."""
        is_for_school = names is not None and self._school_id is not None
        scope = " ".join([*([school_scope(self._school_id)] if is_for_school else []), *(names or [])])
        body = {
            "grant_type": "client_credentials",
            "client_id": self.config.client_id,
            "client_secret": self.config.client_secret,
            **({"scope": scope} if scope else {}),
        }
        began = self._clock()
        request = replace(self._request, content=msgspec.json.encode(body))
        try:
            answer = await Exchange(self._sender, request, Tally()).decoded(_parse_token)
        except Declined as declined:
            return declined
        token = answer.value
        self._sender.keep_secret(token.access_token)
        message = f"A token for {scope or 'no scope'}, valid {token.expires_in:.0f} s."
        self._sender.notify(Event(kind="token", message=message))
        lifetime = token.expires_in - min(BUFFER_SECONDS, BUFFER_SHARE * token.expires_in)
        return Token(token.access_token, frozenset(names or ()), began + lifetime)


class TokenAuth:
    """The tokens of one request, from one grant.

    scope: the scopes of which any one suffices, least first."""

    def __init__(self, grant: Grant, request: Request, scope: tuple[str, ...]) -> None:
        self._grant = grant
        self._request = request
        self._scope = scope
        # Besides the usual attempts, each of the scopes may need a token.
        self._replays = grant.config.max_attempts + len(scope)
        self._token: Token | None = None

    async def token(self) -> str:
        """A token for the next attempt that is fresh now."""
        self._token = await self._grant.current(self._request.school_id)
        return self._token.text

    def accept(self) -> None:
        """Note that the platform accepted the token of the last attempt."""
        if self._token is not None:
            self._grant.accept(self._token, self._scope)

    async def replaced(self, response: Response) -> bool:
        """After a refusal: whether there is now another token to replay the request with.

        The interface does not show the answers to a missing scope and to an expired token: 401 and 403 may
        mean either, and any refusal may name a scope in its words."""
        self._replays -= 1
        token = self._token
        if token is None or not self._replays:
            return False
        if response.status == 401:
            return await self._replace_refused(token) or await self._widen(token)
        if response.status == 403:
            return await self._widen(token) or await self._replace_expired(token)
        self._grant.accept(token)
        return speaks_of_permission(response.body) and await self._widen(token)

    def needed_scopes(self) -> str:
        """The scopes of the resource, in words; of a write, the further scopes of its token."""
        names = self._grant.config.extra_scopes if self._request.writes else self._scope
        return self._grant.scopes.in_words(names)

    async def _replace_refused(self, token: Token) -> bool:
        """After a 401: whether there is another token to replay the request with."""
        grant = self._grant
        if token is not grant.token:
            return True
        if not token.refused:
            token.refused = True
            grant.refusals += not token.accepted
        if grant.refusals >= (REFUSALS_LATER if grant.has_accepted else REFUSALS_AT_FIRST):
            return False
        await grant.replace(token)
        return True

    async def _replace_expired(self, token: Token) -> bool:
        """After a 403 that further scopes do not change: whether there is another token to replay with.

        Some platforms answer an expired token with 403. There is no other token where this one was never
        accepted, or where a new token was refused with the same scope before."""
        grant, scope = self._grant, self._scope
        if token is not grant.token:
            return True
        if not token.refused:
            is_refused = bool(scope) and all(name in grant.scopes.refused for name in scope)
            if is_refused or scope in grant.forbidden or not token.accepted:
                return False
            token.refused = True
            grant.forbidden.add(scope)
        await grant.replace(token)
        return True

    async def _widen(self, token: Token) -> bool:
        """After a 403: whether there is now a token with more of the scopes."""
        grant = self._grant
        while grant.token is None or not grant.token.scopes.intersection(self._scope) - token.scopes:
            tried = token.scopes | grant.scopes.refused.keys()
            untried = [name for name in self._scope if name not in tried]
            if not untried:
                return False
            grant.scopes.require(untried[0])
            await grant.replace(grant.token)
        return True


def school_scope(school_id: int | None) -> str:
    """The scope that opens a school."""
    return f"{SCHOOL}{school_id}"


def _parse_token(body: bytes) -> _TokenBody:
    try:
        answer = msgspec.json.decode(body, type=_TokenBody, strict=False)
    except msgspec.ValidationError as error:
        raise UnexpectedAnswer(f"no token in the answer: {error}.", "Check CAMPUS_BASE_URL.") from None
    except msgspec.DecodeError as error:
        raise TornBody(str(error)) from None
    if not re.fullmatch(r"[\x21-\x7e]+", answer.access_token):
        raise UnexpectedAnswer("the token has characters that no header can carry.", "Check CAMPUS_BASE_URL.")
    return answer
