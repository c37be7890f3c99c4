"""The work of `campus cards|devices bind|unbind|list` and `campus fields`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from campus.contracts.v1_people import UserField
from campus.files.table_file import named_file, table_in
from campus.http.errors import PlatformUnavailable
from campus.registry import RESOURCES
from loading.load_school import load_school
from loading.slices.commit import Loaded
from loading.slices.loader import Loader
from pipelines.cli.terminal.display import print_line, show
from pipelines.cli.writing.command import run_writing
from pipelines.settings.settings import Settings
from pipelines.writes.context import Done, WriteContext, results_path
from pipelines.writes.reread import cause_of_writing, reread_bindings
from warehouse.load.logs.write_log import bound_ids
from writeback.bindings import CARDS, KINDS, Binder, Binding, Kind, bindings_of, sound
from writeback.outcomes import INTERRUPTED, RowOutcome
from writeback.send.side_by_side import side_by_side
from writeback.user_fields import FieldWriter


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
    """Bind cards or devices: those of the command and those of a file. Returns the exit status."""
    kind = KINDS[resource]

    async def work(context: WriteContext) -> Done:
        requested = [*bindings, *(bindings_of(table_in(named_file(file)), kind, str(file)) if file else [])]
        good, refused = sound(kind, requested)
        return await _carry_out(context, kind, good, _binder(context, kind).bind, refused)

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
    """Unbind cards or devices. Returns the exit status."""
    kind = KINDS[resource]

    async def work(context: WriteContext) -> Done:
        requested = [Binding(0, id) for id in dict.fromkeys(ids)]
        if file:
            requested += bindings_of(table_in(named_file(file)), kind, str(file), unbind=True)
        good, refused = sound(kind, requested, unbind=True)
        return await _carry_out(context, kind, good, _binder(context, kind).unbind, refused)

    return _run(settings, kind, "unbind", file, school, work, dry=dry, build=build)


def _run(
    settings: Settings,
    kind: Kind,
    verb: str,
    file: Path | None,
    school: int | None,
    work: Callable[[WriteContext], Awaitable[Done]],
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
    """Show whether the known cards or devices are bound. Returns the exit status."""
    kind = KINDS[resource]
    configured = settings.card_ids if kind is CARDS else settings.device_ids

    async def work(context: WriteContext) -> Done:
        ids = dict.fromkeys((*configured, *bound_ids(context.runtime.lake, kind.resource, context.school_id)))
        if not ids:
            print_line(
                f"No {resource} are known here, and the platform lists none. Name them in "
                f"CAMPUS_{kind.word.upper()}_IDS; {resource} that were bound here are known, too."
            )
            return Done(())
        binder = _binder(context, kind)
        profiles = await asyncio.gather(*(binder.look(id) for id in ids))
        states = ["unbound" if profile is None else "bound" for profile in profiles]
        holders = [kind.holder(profile) if profile else "" for profile in profiles]
        shown = ("to",) if personal or kind is not CARDS else ()
        rows = [
            (id, state, *([holder] if shown else []))
            for id, state, holder in zip(ids, states, holders, strict=True)
        ]
        show(f"{resource} of school {context.school_id}", (f"{kind.word}_id", "state", *shown), rows)
        return Done(())

    return run_writing(
        settings, f"campus {resource} list", "", school, work, dry=True, build=False, quiet=True
    )


def run_field(
    settings: Settings, field: UserField | None, removed: str, school: int | None, *, dry: bool, build: bool
) -> int:
    """Make, change or remove a custom field of users. Returns the exit status."""

    async def work(context: WriteContext) -> Done:
        writer = FieldWriter(context.session.client, context.session.write, context.school_id, dry)
        outcome = await (writer.put(field) if field else writer.remove(removed))
        if outcome.outcome not in ("written", "unconfirmed"):
            return Done([outcome])

        async def reread() -> list[Loaded]:
            loader = Loader(context.runtime, context.session.client, cause_of_writing(), {})
            specs = [RESOURCES["user_fields"], RESOURCES["v1_users"]]
            return await load_school(loader, context.school_id, specs)

        return Done([outcome], reread=reread)

    command = "campus fields set" if field else "campus fields remove"
    return run_writing(settings, command, "the command", school, work, dry=dry, build=build)


def run_fields(settings: Settings, school: int | None) -> int:
    """Show the custom fields of a school's users. Returns the exit status."""

    async def work(context: WriteContext) -> Done:
        writer = FieldWriter(context.session.client, context.session.write, context.school_id)
        rows = [
            (
                field.name,
                "student" if field.role == 1 else "teacher",
                field.label or "",
                ", ".join(field.options or ()),
            )
            for field in (await writer.fields()).values()
        ]
        show(f"custom fields of school {context.school_id}", ("name", "role", "label", "options"), rows)
        return Done(())

    return run_writing(settings, "campus fields list", "", school, work, dry=True, build=False, quiet=True)


def _binder(context: WriteContext, kind: Kind) -> Binder:
    return Binder(context.session.client, context.session.write, kind, context.school_id, context.dry)


async def _carry_out(
    context: WriteContext,
    kind: Kind,
    bindings: Sequence[Binding],
    carry_out: Callable[[Binding], Awaitable[RowOutcome]],
    refused: Sequence[RowOutcome],
) -> Done:
    """Bind or unbind side by side, and read again what may have been written."""
    stopped: list[str] = []

    async def unless_stopped(binding: Binding) -> RowOutcome:
        if not stopped:
            try:
                return await carry_out(binding)
            except PlatformUnavailable as halt:
                stopped.append(str(halt))
            except asyncio.CancelledError:
                stopped.append(INTERRUPTED)
                return RowOutcome(binding.line, binding.id, "unconfirmed", "interrupted before the answer")
        return RowOutcome(binding.line, binding.id, "waiting", "nothing was written")

    outcomes = [*refused, *await side_by_side(map(unless_stopped, bindings))]
    ids = {row.key for row in outcomes if row.outcome in ("written", "unconfirmed")}

    async def reread() -> list[Loaded]:
        runtime, client = context.runtime, context.session.client
        return await reread_bindings(
            runtime, client, cause_of_writing(), context.school_id, kind.resource, ids
        )

    if stopped:
        return Done(outcomes, problem=stopped[0])
    return Done(outcomes, reread=reread if ids else None)
