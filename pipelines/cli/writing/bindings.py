"""`campus cards|devices bind|unbind|list` and `campus fields`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from campus.contracts.v1_people import UserField
from campus.http.errors import PlatformUnavailable
from campus.registry import RESOURCES
from loading.bound_ids import bound_ids
from loading.commit import Loaded
from loading.load_school import load_school
from loading.load_slice import Loader
from loading.writes.bindings import CARDS, KINDS, Binder, Binding, Kind, bindings_of, sound
from loading.writes.fields import FieldWriter
from loading.writes.outcomes import INTERRUPTED, RowOutcome
from loading.writes.reread import cause_of_writing, reread_bindings
from loading.writes.side_by_side import side_by_side
from loading.writes.table_file import read_table
from pipelines.cli.display import console, show
from pipelines.cli.writing.bench import run_writing
from pipelines.settings import Settings
from pipelines.writes.bench import Bench, Done, results_path


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
        asked = [*bindings, *(bindings_of(read_table(file), kind, str(file)) if file else [])]
        good, refused = sound(kind, asked)
        return await _carry_out(bench, kind, good, _binder(bench, kind).bind, refused)

    return _run(settings, kind, "bind", file, school, work, dry=dry, build=build)


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
        asked = [Binding(0, each) for each in dict.fromkeys(ids)]
        if file:
            asked += bindings_of(read_table(file), kind, str(file), unbind=True)
        good, refused = sound(kind, asked, unbind=True)
        return await _carry_out(bench, kind, good, _binder(bench, kind).unbind, refused)

    return _run(settings, kind, "unbind", file, school, work, dry=dry, build=build)


def _run(
    settings: Settings,
    kind: Kind,
    verb: str,
    file: Path | None,
    school: int | None,
    work: Callable[[Bench], Awaitable[Done]],
    *,
    dry: bool,
    build: bool,
) -> int:
    command = f"campus {kind.resource} {verb}"
    return run_writing(
        settings,
        command,
        str(file) if file else "the command",
        school,
        work,
        dry=dry,
        build=build,
        results=results_path(settings, f"{kind.resource}-{verb}") if file else None,
        again=(kind.resource, f"{command} --file {file.absolute()}") if file else None,
    )


def run_list(settings: Settings, resource: str, school: int | None, *, personal: bool) -> int:
    """Show what the platform has of the cards or devices that we know. The exit status."""
    kind = KINDS[resource]
    named = settings.card_ids if kind is CARDS else settings.device_ids

    async def work(bench: Bench) -> Done:
        ids = dict.fromkeys((*named, *bound_ids(bench.runtime.lake, kind.resource, bench.school_id)))
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

        async def reread() -> list[Loaded]:
            loader = Loader(bench.runtime, bench.desk.client, cause_of_writing(), {})
            specs = [RESOURCES["user_fields"], RESOURCES["v1_users"]]
            return [one async for one in load_school(loader, bench.school_id, [], specs)]

        return Done([outcome], reread=reread)

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


async def _carry_out(
    bench: Bench,
    kind: Kind,
    bindings: Sequence[Binding],
    one: Callable[[Binding], Awaitable[RowOutcome]],
    refused: Sequence[RowOutcome],
) -> Done:
    """Bind or unbind them side by side, and read again what may have been written."""
    stopped: list[str] = []

    async def unless_stopped(binding: Binding) -> RowOutcome:
        if not stopped:
            try:
                return await one(binding)
            except PlatformUnavailable as halt:
                stopped.append(str(halt))
            except asyncio.CancelledError:
                stopped.append(INTERRUPTED)
                words = "interrupted before the answer"
                return RowOutcome(binding.line, binding.id, "unconfirmed", words)
        return RowOutcome(binding.line, binding.id, "waiting", "nothing was written")

    outcomes = [*refused, *await side_by_side(map(unless_stopped, bindings))]
    ids = {each.key for each in outcomes if each.outcome in ("written", "unconfirmed")}

    async def reread() -> list[Loaded]:
        runtime, client = bench.runtime, bench.desk.client
        return await reread_bindings(runtime, client, cause_of_writing(), bench.school_id, kind.resource, ids)

    if stopped:
        return Done(outcomes, problem=stopped[0])
    return Done(outcomes, reread=reread if ids else None)
