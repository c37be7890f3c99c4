"""Reading a week of attendance session by session: records, and the platform's statistics of each session."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from campus.attendance.asking import ask_session, ask_student, records_in, row_of
from campus.attendance.calendar import Session
from campus.attendance.checks import Agreement, Check, both_routes, session_of
from campus.attendance.semester import Semester
from campus.attendance.wire import SESSIONS
from campus.client import Client
from campus.collect import Collector
from campus.contracts_v1_attendance import AttendanceRecord
from campus.errors import CampusError
from campus.questions import Unit
from campus.read import read_all


async def read_by_sessions(
    client: Client,
    semester: Semester,
    week: int,
    sessions: Collector,
    records: Collector,
    compared: Iterable[int] = (),
) -> list[Check]:
    """Read the sessions of a week into the two collectors, class by class: a class whose reading fails keeps
    its last good rows. `compared`: students who are asked for by the other route too.

    A session that nobody has marked has a row: not marked is not absent. One of today has none yet."""
    scheduled = semester.scheduled(week)
    by_class: dict[int, list[Session]] = defaultdict(list)
    for session in sorted(semester.asked(week)):
        by_class[session.class_id].append(session)
    agreement = Agreement()
    sampled: dict[int, list[AttendanceRecord]] = {student: [] for student in compared}

    async def read_class(unit: Unit) -> None:
        asked = by_class[int(unit.ids[0])]
        details = [await ask_session(client, semester, one, records.account.tally) for one in asked]
        for session, detail in zip(asked, details, strict=True):
            found = records_in(semester, session, detail)
            records.add(found)
            for record in found.rows:
                if record.student_id in sampled:
                    sampled[record.student_id].append(record)
            marked = bool(found.rows or found.bad)
            if not marked and (session not in scheduled or session.day >= semester.today):
                continue
            statistics = detail.statistics if detail else None
            own = row_of(semester, session, statistics, scheduled=session in scheduled)
            if own.rows and not found.bad:
                agreement.compare(own.rows[0], Counter(record.status for record in found.rows))
            sessions.add(own)

    units = [Unit(SESSIONS.path, ids=(class_id,)) for class_id in by_class]
    await read_all(client, units, read_class, [sessions, records])
    asked = {session for session in semester.asked(week) if session.class_id not in records.account.failed}
    others = await _compare(client, semester, asked, sampled, records)
    return [*agreement.checks, *others]


async def _compare(
    client: Client,
    semester: Semester,
    asked: set[Session],
    sampled: dict[int, list[AttendanceRecord]],
    records: Collector,
) -> list[Check]:
    """What the student route says of some students in the same sessions. One who cannot be asked for tells
    nothing."""
    ours: list[AttendanceRecord] = []
    theirs: list[AttendanceRecord] = []
    for student_id, own in sampled.items():
        try:
            found = await ask_student(client, semester, student_id, records.account.tally)
        except CampusError:
            continue
        ours += own
        theirs += [record for record in found.rows if session_of(record) in asked]
    return [both_routes(ours, theirs)] if theirs or ours else []
