"""The transcript of a student."""

from simulator.http.platform import Platform
from simulator.http.routing import Route, V1Scope
from simulator.messages import Request, Response, json_response
from simulator.resources.v1.request_targets import user
from simulator.wire.transcripts import transcript


def show_transcript(platform: Platform, request: Request) -> Response:
    """The transcript of a student."""
    student = user(platform, request, 1)
    return json_response(transcript(platform.store, platform.wire.directory, request.school_id, student))


ROUTES = (
    Route(
        "GET",
        "/api/v1/students/{id}/transcripts",
        show_transcript,
        v1=V1Scope("class.read", twin=("student.read_all", "student.read_basic")),
        parameters=frozenset(),
    ),
)
