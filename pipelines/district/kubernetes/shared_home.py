"""Whether the pods of a district share a home, and which settings pods cannot have.

Without a shared home each pod has an empty one, as each machine of a district has its own. What must survive
is then in Postgres and in the object store. docs/how-to/district.md has the table."""

from collections.abc import Iterator

from pipelines.district.kubernetes.pods import Storage
from pipelines.settings.settings import Settings, SettingsError
from warehouse.stores import is_remote

#: On the choice of empty homes: no setting shows whether a school has such files.
NO_HOME = (
    "Each pod has an empty home: no inputs/ and no thresholds/ of schools are read. If schools have such "
    "files, use --home shared."
)


def choose_storage(
    settings: Settings, home: str | None, size: str, storage_class: str | None, scratch: int
) -> Storage:
    """Where the pods of a district write.

    `home`: `shared`, `none`, or None: shared only if a setting needs a shared home. `size` and
    `storage_class`: of the shared home. `scratch`: GiB of a scratch volume. Raises SettingsError for settings
    that need a shared home where `home` is `none`, and for folders that pods do not have."""
    _check_folders(settings)
    reasons = list(_reasons(settings))
    if home == "none" and reasons:
        raise SettingsError([f"--home none: {reason}" for reason in reasons])
    is_shared = home == "shared" or bool(reasons)
    return Storage(size if is_shared else None, storage_class, scratch)


def _check_folders(settings: Settings) -> None:
    options = settings.options
    folders = {
        "CAMPUS_LAKE": settings.lake if settings.lake and not is_remote(settings.lake) else None,
        "publish.to": options.publish.to
        if options.publish.to and not is_remote(options.publish.to)
        else None,
        "writes.inbox.folder": options.writes.inbox.folder,
    } | {f"publish.audiences.{name}.to": audience.to for name, audience in options.publish.audiences.items()}
    problems = [
        f"{name} is {folder}, a folder of this machine, which pods do not have: leave {name} out, or "
        "name s3://..."
        for name, folder in folders.items()
        if folder is not None
    ]
    if problems:
        raise SettingsError(problems)


def _reasons(settings: Settings) -> Iterator[str]:
    options = settings.options
    exports = options.exports
    if not is_remote(settings.lake_root):
        yield "CAMPUS_LAKE is not set, so the lake is in the home: set CAMPUS_LAKE=s3://bucket/prefix"
    if options.publish.schools_per_shard is None:
        yield "publish.schools_per_shard is null, so campus.duckdb is in the home: set it, such as 16"
    if exports.workbooks or exports.tables or exports.site:
        yield (
            "exports writes files for people into the home: set exports.workbooks, tables and site to [], "
            "and export on another machine"
        )
    if settings.allow_writes:
        yield "CAMPUS_ALLOW_WRITES is true, and the home has the journal of writes: leave it out"
