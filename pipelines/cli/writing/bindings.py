"""`campus cards|devices bind|unbind|list` and `campus fields`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from campus.contracts.v1_people import UserField
from campus.http.errors import CampusError
from campus.registry import RESOURCES
from loading.chain import load_school
from loading.slice_loader import Loader
from loading.writes.bindings import CARDS, KINDS, Binder, Binding, Kind, bound_here, problem_of
from loading.writes.fields import FieldWriter
from loading.writes.headers import needs, renamed
from loading.writes.outcomes import RowOutcome
from loading.writes.reread import cause_of_writing, reread_bindings
from loading.writes.table_file import read_table
from pipelines.cli.display import console, show
from pipelines.cli.writing.bench import Bench, Done, run_writing
from pipelines.settings import Settings
from warehouse.load.log_writer import batched


def run_bind(
    settings: Settings,
    resource: str,
    bindings: Sequence[Binding],
    file: Path | None,
    school: int | None,
    *,
    dry: bool,
    build: bool,
) -> int:
    """Bind cards or devices, those of the command or those of a file. The exit status."""
    kind = KINDS[resource]

    async def work(bench: Bench) -> Done:
        asked = [*bindings, *(_of_file(file, kind) if file else [])]
        problems = {one: problem_of(kind, one) for one in asked}
        refused = [RowOutcome(one.line, one.id, "refused", why) for one, why in problems.items() if why]
        binder = _binder(bench, kind)
        good = [one for one in asked if not problems[one]]
        outcomes = await asyncio.gather(*(binder.bind(one) for one in good))
        return await _reread(bench, kind, [*refused, *outcomes])

    source = str(file) if file else "the command"
    return run_writing(settings, f"campus {resource} bind", source, school, work, dry=dry, build=build)


def run_unbind(
    settings: Settings,
    resource: str,
    ids: Sequence[str],
    file: Path | None,
    school: int | None,
    *,
    dry: bool,
    build: bool,
) -> int:
    """Unbind cards or devices. The exit status."""
    kind = KINDS[resource]

    async def work(bench: Bench) -> Done:
        asked = [(0, each) for each in ids]
        if file:
            rows = renamed(read_table(file), _fields(kind), str(file))
            asked += [(row.line, row.cells.get(f"{kind.word}_id", "")) for row in rows]
        binder = _binder(bench, kind)
        outcomes = await asyncio.gather(*(binder.unbind(line, id) for line, id in asked if id))
        return await _reread(bench, kind, list(outcomes))

    source = str(file) if file else "the command"
    return run_writing(settings, f"campus {resource} unbind", source, school, work, dry=dry, build=build)


def run_list(settings: Settings, resource: str, school: int | None, *, personal: bool) -> int:
    """Show what the platform has of the cards or devices that we know. The exit status."""
    kind = KINDS[resource]
    named = settings.card_ids if kind is CARDS else settings.device_ids

    async def work(bench: Bench) -> Done:
        ids = dict.fromkeys((*named, *bound_here(bench.runtime.lake, kind, bench.school_id)))
        if not ids:
            console.print(
                f"No {resource} are known, as nothing lists them. CAMPUS_{kind.word.upper()}_IDS names some; "
                f"those that were bound here are known too.",
                soft_wrap=True,
            )
            return Done(())
        binder = _binder(bench, kind)
        found = await asyncio.gather(*(binder.look(each) for each in ids))
        held = ["unbound" if each is None else "bound" for each in found]
        to = [kind.holder(each) if each else "" for each in found]
        shown = ("to",) if personal or kind is not CARDS else ()
        rows = [(id, state, *([one] if shown else [])) for id, state, one in zip(ids, held, to, strict=True)]
        show(f"{resource} of school {bench.school_id}", (f"{kind.word}_id", "state", *shown), rows)
        return Done(())

    return run_writing(
        settings, f"campus {resource} list", "", school, work, dry=True, build=False, quiet=True
    )


def run_field(
    settings: Settings, field: UserField | None, removed: str, school: int | None, *, dry: bool, build: bool
) -> int:
    """Make or change a custom field of users, or remove one. The exit status."""

    async def work(bench: Bench) -> Done:
        writer = FieldWriter(bench.desk.client, bench.desk.write, bench.school_id, dry)
        outcome = await (writer.put(field) if field else writer.remove(removed))
        if outcome.outcome not in ("written", "unconfirmed"):
            return Done([outcome])
        runtime = bench.runtime
        loader = Loader(runtime, bench.desk.client, cause_of_writing(), {})
        specs = [RESOURCES["user_fields"], RESOURCES["v1_users"]]
        with batched(runtime.lake):
            return Done([outcome], [one async for one in load_school(loader, bench.school_id, [], specs)])

    command = "campus fields set" if field else "campus fields remove"
    return run_writing(settings, command, "the command", school, work, dry=dry, build=build)


def run_fields(settings: Settings, school: int | None) -> int:
    """Show the custom fields of a school's users. The exit status."""

    async def work(bench: Bench) -> Done:
        writer = FieldWriter(bench.desk.client, bench.desk.write, bench.school_id)
        rows = [
            (
                one.name,
                "student" if one.role == 1 else "teacher",
                one.label or "",
                ", ".join(one.options or ()),
            )
            for one in (await writer.fields()).values()
        ]
        show(f"custom fields of school {bench.school_id}", ("name", "role", "label", "options"), rows)
        return Done(())

    return run_writing(settings, "campus fields list", "", school, work, dry=True, build=False, quiet=True)


def _binder(bench: Bench, kind: Kind) -> Binder:
    return Binder(bench.desk.client, bench.desk.write, kind, bench.school_id, bench.dry)


async def _reread(bench: Bench, kind: Kind, outcomes: Sequence[RowOutcome]) -> Done:
    ids = {one.key for one in outcomes if one.outcome in ("written", "unconfirmed")}
    if not ids:
        return Done(outcomes)
    runtime = bench.runtime
    try:
        with batched(runtime.lake):
            loaded = await reread_bindings(
                runtime, bench.desk.client, cause_of_writing(), bench.school_id, kind.resource, ids
            )
    except CampusError as error:
        return Done(outcomes, problem=f"what was written could not be read again: {error}")
    return Done(outcomes, loaded)


def _fields(kind: Kind) -> tuple[str, ...]:
    return (f"{kind.word}_id", kind.to, *(("password",) if kind is CARDS else ()))


def _of_file(file: Path, kind: Kind) -> list[Binding]:
    rows = renamed(read_table(file), _fields(kind), str(file))
    columns = rows[0].cells if rows else dict.fromkeys(_fields(kind), "")
    needs(columns, *((each,) for each in _fields(kind)), name=str(file))
    return [
        Binding(
            row.line,
            row.cells[f"{kind.word}_id"],
            row.cells[kind.to],
            row.cells["password"] if kind is CARDS else None,
        )
        for row in rows
    ]
