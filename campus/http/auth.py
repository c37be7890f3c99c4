"""Access tokens: one grant a school, refreshed by one request at a time, with the least scope that suffices.

Where the platform keeps one token a client, all schools share one grant, and each school is a scope."""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import msgspec

from campus.http.config import ClientConfig, SharedInProcess, SharedState, SharedToken
from campus.http.errors import (
    CampusError,
    Forbidden,
    PlatformUnavailable,
    TornBody,
    Unauthorized,
    UnexpectedAnswer,
    answered,
    permission_advice,
    refusal,
    speaks_of_permission,
)
from campus.http.events import Event, Tally
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
        shared: SharedState | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.token: Token | None = None
        self.config = config
        self._sender = sender
        schools = [(school_scope(id_),) for id_ in config.school_ids if config.one_token]
        self._alternatives = list(dict.fromkeys(filter(None, [*schools, *scopes])))
        self._school_id = school_id
        self._shared = shared or SharedInProcess(config.base_url)
        self._clock = clock
        self._request = Request("POST", PATH, school_id, content_type="application/json", for_token=True)
        self._refused: dict[str, str] = {}
        self._lock = asyncio.Lock()
        self._rounds = 0
        self._failure: PlatformUnavailable | None = None
        self._ever_accepted = False
        self._refusals = 0
        # Scopes that were refused with 403 although a token was accepted elsewhere; see _replace_expired.
        self._forbidden: set[tuple[str, ...]] = set()

    async def current(self, school_id: int | None = None) -> Token:
        """A token to use now; requests a token where there is none, or it is about to expire.

        Raises PlatformUnavailable where the platform grants none, or none for this school."""
        token, school = self.token, school_scope(school_id)
        if self.config.one_token and school_id is not None and school not in self._refused:
            if (school,) not in self._alternatives:
                self._alternatives.append((school,))
            while token is not None and school not in token.scopes | self._refused.keys():
                token = await self._replace(token)
        if token is None or self._clock() >= token.fresh_until:
            token = await self._renew(token)
        if self.config.one_token and school in self._refused:
            said = f"{self._request}: {self._refused[school]}. {permission_advice(school_id, school)}"
            raise PlatformUnavailable(said, school_id=school_id)
        return token

    def accept(self, token: Token, scope: tuple[str, ...] = ()) -> None:
        """Note that the platform accepted this token, for a resource that needs one of these scopes."""
        self._forbidden.discard(scope)
        if not token.accepted or self._refusals:
            token.accepted = self._ever_accepted = True
            self._refusals = 0

    async def has_better(self, token: Token, response: Response, scope: tuple[str, ...]) -> bool:
        """After a refusal: whether there is now another token to replay the request with.

        The interface does not show the answers to a missing scope and to an expired token: 401 and 403 may
        mean either, and any refusal may name a scope in its words."""
        if response.status == 401:
            return await self._replace_refused(token) or await self._widen(token, scope)
        if response.status == 403:
            return await self._widen(token, scope) or await self._replace_expired(token, scope)
        self.accept(token)
        return speaks_of_permission(response.body) and await self._widen(token, scope)

    async def _replace_refused(self, token: Token) -> bool:
        """After a 401: whether there is another token to replay the request with."""
        if token is not self.token:
            return True
        if not token.refused:
            token.refused = True
            self._refusals += not token.accepted
        if self._refusals >= (REFUSALS_LATER if self._ever_accepted else REFUSALS_AT_FIRST):
            return False
        await self._replace(token)
        return True

    async def _replace_expired(self, token: Token, scope: tuple[str, ...]) -> bool:
        """After a 403 that further scopes do not change: whether there is another token to replay with.

        Some platforms answer an expired token with 403. There is no other token where this one was never
        accepted, or where a new token was refused with the same scope before."""
        if token is not self.token:
            return True
        if not token.refused:
            refused = bool(scope) and all(name in self._refused for name in scope)
            if refused or scope in self._forbidden or not token.accepted:
                return False
            token.refused = True
            self._forbidden.add(scope)
        await self._replace(token)
        return True

    async def _widen(self, token: Token, scope: tuple[str, ...]) -> bool:
        """After a 403: whether there is now a token with more of these scopes."""
        while self.token is None or not self.token.scopes.intersection(scope) - token.scopes:
            untried = [name for name in scope if name not in token.scopes and name not in self._refused]
            if not untried:
                return False
            if (untried[0],) not in self._alternatives:
                self._alternatives.append((untried[0],))
            await self._replace(self.token)
        return True

    def in_words(self, scope: tuple[str, ...]) -> str:
        """The scopes of a resource for a message, with what the platform said where it refused one."""
        return " or ".join(
            f"{name} (refused: {self._refused[name]})" if self._refused.get(name) else name for name in scope
        )

    @property
    def scopes(self) -> tuple[list[str], list[str]]:
        """The permission scopes that the present token was requested for, and the refused ones."""
        both = (self.token.scopes if self.token else (), self._refused)
        granted, refused = ([name for name in sorted(part) if not name.startswith(SCHOOL)] for part in both)
        return granted, refused

    async def _replace(self, token: Token | None) -> Token:
        if token is not None:
            # Requests that need a token meanwhile wait for the new one.
            token.fresh_until = float("-inf")
        return await self._renew(token)

    async def _renew(self, old: Token | None) -> Token:
        """A new token in place of the old one. One request at a time: all that wait share its outcome."""
        round_ = self._rounds
        async with self._lock:
            waited = self._rounds != round_
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            if self.token is not None and (waited or self.token is not old):
                return self.token
            try:
                token = await self._obtain(old)
            except CampusError as error:
                self._failure, self._rounds = self._unavailable(error), self._rounds + 1
                raise self._failure from None
            self.token, self._rounds = token, self._rounds + 1
            return token

    async def _obtain(self, old: Token | None) -> Token:
        """The token that another process has been given meanwhile, or else a new token for all processes."""
        async with self._shared.lock_token(self._name()) as lock:
            shared = lock.token
            if shared is not None:
                if self.config.one_token:
                    # A new token ends the shared one, so it needs the scopes of the other processes too.
                    others = [(name,) for name in sorted(shared.scopes)]
                    self._alternatives = list(dict.fromkeys([*self._alternatives, *others]))
                if self._suffices(shared, old):
                    return self._adopt(shared)
            token = await self._issue()
            await lock.store(
                SharedToken(
                    token.text,
                    token.scopes,
                    dict(self._refused),
                    time.time() + token.fresh_until - self._clock(),
                )
            )
            return token

    def _name(self) -> str:
        """The name of the token among the processes that may share it: those that request the same scopes."""
        wanted = "" if self.config.one_token else f"{self._school_id} {' '.join(sorted(self._wanted()))}"
        text = f"{self.config.base_url} {self.config.client_id} {wanted}"
        return f"token {hashlib.sha256(text.encode()).hexdigest()}"

    def _suffices(self, shared: SharedToken, old: Token | None) -> bool:
        """Whether a shared token is fresh, has the scopes, and is not the old token."""
        return (
            (old is None or shared.text != old.text)
            and time.time() < shared.fresh_until
            and shared.scopes.union(shared.refused).issuperset(self._wanted())
        )

    def _adopt(self, shared: SharedToken) -> Token:
        self._refused |= shared.refused
        fresh_until = self._clock() + shared.fresh_until - time.time()
        # Another process has used it: a refusal says nothing about the credentials.
        self._ever_accepted = True
        self._sender.keep_secret(shared.text)
        return Token(shared.text, shared.scopes, fresh_until, accepted=True)

    def _unavailable(self, error: CampusError) -> PlatformUnavailable:
        """The error without a token: of this school where the credentials are right, else of the platform."""
        if isinstance(error, Forbidden) and self._school_id is not None:
            return PlatformUnavailable(str(error), school_id=self._school_id)
        return self._sender.give_up(str(error), outage=False)

    async def _issue(self) -> Token:
        wanted = self._wanted()
        try:
            return await self._token_for(wanted)
        except Declined as declined:
            response = declined.response
        if response.status in WRONG_ADDRESS:
            raise refusal(self._request, response.status, self._sender.quote(response))
        if WRONG_CREDENTIALS.search(response.body) or (response.status == 401 and not await self._is_known()):
            raise self._unauthorized(response)
        await self._find_refused()
        granted = self._wanted()
        if granted and granted != wanted:
            try:
                return await self._token_for(granted)
            except Declined as declined:
                response = declined.response
        if await self._is_known():
            said = answered(response.status, self._sender.quote(response))
            advice = permission_advice(self._school_id, " and ".join(wanted))
            raise Forbidden(f"{self._request}: {said}", f"The credentials are right. {advice}")
        raise self._unauthorized(response)

    def _wanted(self) -> list[str]:
        """The least scope of each resource that the platform has not refused."""
        names = (
            next((name for name in alternatives if name not in self._refused), None)
            for alternatives in self._alternatives
        )
        return list(dict.fromkeys(filter(None, names)))

    async def _find_refused(self) -> None:
        """Find the refused scopes by requesting each alone: no answer names them."""
        granted: set[str] = set()
        while untried := [name for name in self._wanted() if name not in granted]:
            for name in untried:
                try:
                    await self._token_for([name])
                    granted.add(name)
                except Declined as declined:
                    self._refused[name] = answered(
                        declined.response.status, self._sender.quote(declined.response)
                    )

    async def _is_known(self) -> bool:
        """Whether the platform grants these credentials a token without school and scope."""
        try:
            await self._token_for([], school=False)
        except Declined:
            return False
        return True

    async def _token_for(self, scopes: list[str], school: bool = True) -> Token:
        schools = [school_scope(self._school_id)] if school and self._school_id is not None else []
        scope = " ".join([*schools, *scopes])
        body = {
            "grant_type": "client_credentials",
            "client_id": self.config.client_id,
            "client_secret": self.config.client_secret,
            **({"scope": scope} if scope else {}),
        }
        began = self._clock()
        request = replace(self._request, content=msgspec.json.encode(body))
        _, answer = await Exchange(self._sender, request, Tally()).decoded(_parse_token)
        self._sender.keep_secret(answer.access_token)
        self._sender.notify(
            Event(
                kind="token",
                message=f"A token for {scope or 'no scope'}, valid {answer.expires_in:.0f} s.",
            )
        )
        lifetime = answer.expires_in - min(BUFFER_SECONDS, BUFFER_SHARE * answer.expires_in)
        return Token(
            text=answer.access_token,
            scopes=frozenset(scopes),
            fresh_until=began + lifetime,
        )

    def _unauthorized(self, response: Response) -> Unauthorized:
        return Unauthorized(
            f"{self._request}: {answered(response.status, self._sender.quote(response))}",
            "The platform refuses the credentials: check CAMPUS_CLIENT_ID and CAMPUS_CLIENT_SECRET.",
        )


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
        """After a refusal: whether there is now another token to replay the request with."""
        self._replays -= 1
        if self._token is None or not self._replays:
            return False
        return await self._grant.has_better(self._token, response, self._scope)

    def needed_scopes(self) -> str:
        """The scopes of the resource; of a write, the further scopes of its token."""
        scopes = self._grant.config.extra_scopes if self._request.writes else self._scope
        return self._grant.in_words(scopes)


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
