"""POST /api/v3/oauth/tokens."""

import msgspec

from simulator.http.platform import Platform
from simulator.http.routing import Route
from simulator.messages import Problem, Request, Response, json_response


class TokenRequest(msgspec.Struct):
    """The body of a token request."""

    grant_type: str
    client_id: str
    client_secret: str
    scope: str = ""


def issue(platform: Platform, request: Request) -> Response:
    """A token for client credentials; 400 for an invalid body."""
    if not request.headers.get(b"content-type", b"").startswith(b"application/json"):
        raise Problem(400, "invalid_request: the body must be JSON, with content-type application/json")
    try:
        body = msgspec.json.decode(request.body, type=TokenRequest)
    except msgspec.DecodeError as error:
        raise Problem(400, f"invalid_request: {error}") from error
    if body.grant_type != "client_credentials":
        raise Problem(400, "unsupported_grant_type: grant_type must be client_credentials")
    token = platform.tokens.issue(body.client_id, body.client_secret, body.scope)
    lifetime = platform.settings.access.token_lifetime
    return json_response({"token_type": "Bearer", "expires_in": lifetime, "access_token": token})


ROUTES = (Route("POST", "/api/v3/oauth/tokens", issue, anonymous=True),)
