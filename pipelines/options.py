"""What campus.yaml may say, section by section; docs/campus.yaml is its annotated sample."""

import datetime as dt
import re
from ipaddress import ip_address
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    field_validator,
    model_validator,
)

from campus.attendance.calendar import WeekCondition
from campus.attendance.week_rules import WeeksBegin
from campus.datasets.filters import FilterValue
from campus.datasets.selection import Selection, TableSelection
from campus.reports.selection import DateRanges, ParameterValue, ReportSelection
from campus.selections import Scalar
from exports.ready import BOARD, READY
from exports.sheets import Format, Language
from exports.tables import SCHEMAS
from loading.pushes.names import PUSHABLE, PushSettings
from warehouse.privacy import CLASSES
from warehouse.stores import is_remote
from writeback.roster.fields import SECRET, STANDARD
from writeback.roster.rows import Reading

#: A host's name or IPv4 address.
OWNER = re.compile(r"team:[\w-]+|[^@\s]+@[\w-]+(\.[\w-]+)+")
HOST_NAME = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


def is_loopback(host: str) -> bool:
    """Whether a host, a name or an address, is this machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        # A resolver may ask the network for other names, also for those below localhost.
        return host == "localhost"


class Section(BaseModel):
    """A part of campus.yaml: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlatformOptions(Section):
    """How the platform is asked."""

    concurrency: int = Field(16, ge=1, le=64, description="Requests in flight at a time")
    per_page: int = Field(
        1000, ge=1, description="Rows asked for a page; smaller sizes follow if it is refused"
    )
    unpaged_limit: int = Field(
        50_000,
        ge=0,
        description="Collections up to this many rows are read in one answer where it is allowed",
    )
    max_attempts: int = Field(8, ge=1, le=20, description="Attempts of one request, the first included")
    retry_after_cap: float = Field(
        60, ge=0, description="Seconds: a longer Retry-After fails the slice for now"
    )
    timeout: float = Field(60, gt=0, description="Seconds to wait for the next bytes of an answer")
    max_answer_mb: int = Field(
        256, ge=1, description="Megabytes of one answer, unpacked; a larger one fails its slice"
    )
    archived_statuses: tuple[str, ...] = Field(
        (), description="Values of the filter `status` that ask for archived administrative classes"
    )
    one_token: bool = Field(
        False,
        description="The platform keeps one token a client: one is asked for, for all schools and whatever "
        "any worker reads",
    )
    extra_scopes: tuple[str, ...] = Field(
        (), description="Scopes that tokens are asked for besides, where the platform has names of its own"
    )
    date_ranges: DateRanges = Field("array", description="How a report's ranges of dates are written")


class SafetyOptions(Section):
    """When to stop rather than change the warehouse."""

    max_vanished_share: float = Field(
        0.2, ge=0, le=1, description="Share of a slice's rows that may vanish in one sync"
    )
    vanished_handful: int = Field(5, ge=0, description="So many vanished rows never stop a sync")
    max_quarantined_share: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Share of a slice's rows in quarantine from which on the sync has failed, and of rows "
        "with a value that their column cannot hold from which on it warns",
    )


class TermOptions(Section):
    """Which vocabularies are read."""

    extra_types: tuple[str, ...] = Field((), description="Term types beside those the specification names")


def _value(value: Any) -> FilterValue:
    """What is sent as one value or several."""
    if isinstance(value, list | tuple):
        return tuple(_scalar(member) for member in value)
    return _scalar(value)


def _scalar(value: Any) -> Scalar:
    """One value. YAML makes dates and moments of what looks like them; the interface takes text."""
    if isinstance(value, dt.date):
        return str(value)
    if isinstance(value, Scalar):
        return value
    raise ValueError("expected text, a number, a date, true or false, or a list of such")


class TableOptions(Section):
    """What is asked of one dataset."""

    fields: tuple[str, ...] = Field((), description="Fields to read; none named: all")
    expand: tuple[str, ...] = Field((), description="Relations whose rows are embedded")
    filters: dict[str, Annotated[FilterValue, PlainValidator(_value)]] = Field(
        {}, description="Values by {field}_{operator}"
    )


class IncrementalOptions(Section):
    """How little a night reads of what has not changed."""

    overlap: float = Field(
        60, ge=0, description="Minutes before the last known change from which on is asked again"
    )
    whole_days: int = Field(
        7, ge=1, description="Days after which everything is read again, whatever has changed"
    )
    current_scores: Literal["every_night", "where_moved"] = Field(
        "every_night", description="Which scores of a semester that is not over are asked for"
    )
    transcript_days: int = Field(
        0, ge=0, description="Days after which transcripts are asked for again; 0: every night"
    )


class DatasetOptions(Section):
    """Which datasets are read, and how."""

    include: tuple[str, ...] = Field(("*",), description="Names or patterns of the datasets to read")
    exclude: tuple[str, ...] = Field((), description="Names or patterns of those not to read")
    segment_rows: int = Field(250_000, ge=1, description="Ids a segment, which is one partition")
    max_segments: int = Field(
        500, ge=1, description="Segments of one dataset, which are wider where more would be needed"
    )
    segments_at_a_time: int = Field(4, ge=1, le=64, description="Segments of a school read side by side")
    limit: int = Field(10_000, ge=1, le=10_000, description="Rows asked for a request")
    overlap: float | None = Field(
        None,
        ge=0,
        description="Minutes before the last known change from which on is asked again; null: as all else",
    )
    tables: dict[str, TableOptions] = Field({}, description="What is asked of a dataset, by name or pattern")
    extra_operators: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z_]+$")], ...] = Field(
        (), description="Operators of filters beside those the specification shows"
    )

    @property
    def selection(self) -> Selection:
        """What `campus` takes of it."""
        return Selection(
            include=self.include,
            exclude=self.exclude,
            tables={
                name: TableSelection(table.fields, table.expand, table.filters)
                for name, table in self.tables.items()
            },
            extra_operators=self.extra_operators,
        )


def _name(value: Any) -> str:
    """A name, or an id, which YAML makes a number of."""
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return str(value).strip()
    raise ValueError("expected a name or an id")


Name = Annotated[str, PlainValidator(_name)]


class ReportOptions(Section):
    """A report that is read: which of its queries, and with which parameters."""

    report: Name = Field(description="Name or id of the report")
    schools: tuple[int, ...] = Field((), description="Schools that it is read of; none named: all")
    queries: tuple[Name, ...] = Field((), description="Ids or labels of its queries; none named: all")
    parameters: dict[str, Annotated[ParameterValue, PlainValidator(_value)]] = Field(
        {}, description="Values by the name of the parameter; of options their keys"
    )
    matrix: dict[str, tuple[Annotated[Scalar, PlainValidator(_scalar)], ...]] = Field(
        {}, description="Lists of values, each combination of which is a partition of its own"
    )

    @property
    def selection(self) -> ReportSelection:
        """What `campus` takes of it."""
        return ReportSelection(self.report, self.queries, self.parameters, self.matrix)

    def overlaps(self, other: "ReportOptions") -> bool:
        """Whether both say how the same report of a school is read."""
        everywhere = not self.schools or not other.schools
        return self.report == other.report and (everywhere or bool({*self.schools} & {*other.schools}))


class AttendanceOptions(Section):
    """Which attendance a night reads again, and how teaching weeks are counted."""

    window_days: int = Field(
        14, ge=0, description="Days after a session within which a night finds what is marked late"
    )
    weeks_begin: WeeksBegin = Field("auto", description="Where a teaching week begins")
    week_condition: WeekCondition = Field("within", description="When a class takes place in a week")


class LakeOptions(Section):
    """A lake in an object store (CAMPUS_LAKE)."""

    cache_gb: float = Field(
        20,
        gt=0,
        description="Gigabytes of its files that stay on this machine's disk once they were read",
    )
    patience: float = Field(
        180, gt=0, description="Seconds for which a request is tried again while the store is away"
    )


#: The schemas that an audience may have. Views of staging read raw.
AudienceSchema = Literal["core", "marts", "quality", "seeds", "datasets", "reports", "raw"]
#: The classes of warehouse.privacy that an audience may be without: those that tell about one person.
PersonalClass = Literal[
    "name", "number", "phone", "email", "address", "photo", "guardian", "text", "mixed", "trait"
]


def _whole_path(folder: Path | None) -> Path | None:
    # Commands and the programs that they start run in folders of their own.
    if folder is not None and not folder.is_absolute():
        raise ValueError("expected the whole path of a folder, from / on")
    return folder


class AudienceOptions(Section):
    """A file for some readers, with a part of campus.duckdb."""

    group: Annotated[str, StringConstraints(min_length=1)] | None = Field(
        None, description="Group of this machine that may read the file; null: that of whoever publishes"
    )
    schemas: tuple[AudienceSchema, ...] | None = Field(
        None, min_length=1, description="Schemas in the file; null: everything, as in campus.duckdb"
    )
    without: tuple[PersonalClass, ...] = Field((), description="Classes of columns that are left out")
    to: Path | None = Field(None, description="Folder of the file; null: $CAMPUS_HOME/audiences/NAME")

    _absolute = field_validator("to")(_whole_path)

    @model_validator(mode="after")
    def _can_be_left_out(self) -> Self:
        if self.without and (self.schemas is None or "raw" in self.schemas):
            raise ValueError(
                "raw has everything as it was sent, so that nothing can be left out of it: name `schemas` "
                "without raw"
            )
        return self


class PublishOptions(Section):
    """How the warehouse file is built."""

    keep_generations: int = Field(3, ge=1, description="Published files kept for going back")
    memory_limit: str = Field(
        "1500MB", pattern=r"^\d+(\.\d+)?[KMGT]B$", description="Memory that DuckDB may use for a build"
    )
    threads: int = Field(2, ge=1, description="Threads that DuckDB may use for a build")
    schools_per_shard: int | None = Field(
        None, ge=1, description="Schools that are published together; null: all, in one campus.duckdb"
    )
    freeze_after_days: int | None = Field(
        None,
        ge=0,
        description="Days after its end from which a shard has a semester in a file of its own; null: never",
    )
    to: str | None = Field(
        None,
        description="Folder or s3://... where shards are published; null: in the home, or beside the lake",
    )
    audiences: dict[Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")], AudienceOptions] = (
        Field({}, description="Files for some readers beside campus.duckdb, by name")
    )

    @field_validator("to")
    @classmethod
    def _folder_or_store(cls, root: str | None) -> str | None:
        if root is not None and not is_remote(root):
            _whole_path(Path(root))
        return root

    @model_validator(mode="after")
    def _audiences_of_one_file(self) -> Self:
        folders = [str(one.to.resolve()) for one in self.audiences.values() if one.to is not None]
        if len(folders) > len(set(folders)):
            raise ValueError("audiences: two have the same folder")
        if self.audiences and self.schools_per_shard is not None:
            raise ValueError(
                "audiences are made of one campus.duckdb, and there is none with schools_per_shard: leave "
                "out one of both (docs/how-to/district.md has a file without persons)"
            )
        return self


def _cron(expression: str) -> str:
    # Dagster takes seconds to import, and is the judge of what it will be given.
    import dagster as dg

    try:
        dg.ScheduleDefinition(name="nightly", job_name="nightly", cron_schedule=expression)
    except dg.DagsterInvalidDefinitionError as error:
        raise ValueError("expected a cron expression of five fields, e.g. 0 2 * * *") from error
    return expression


Cron = Annotated[str, AfterValidator(_cron)]


class ExportOptions(Section):
    """Which files are written for people, and when."""

    language: Language = Field("zh", description="Language of labels, sheets and definitions")
    format: Format = Field("xlsx", description="Format of the files")
    workbooks: tuple[str, ...] = Field((BOARD, *READY), description="The board and workbooks to write")
    board_names: bool = Field(True, description="Whether the board names students and teachers")
    tables: tuple[Annotated[str, StringConstraints(pattern=rf"^({'|'.join(SCHEMAS)})\..+$")], ...] = Field(
        (), description="Tables to write besides, as schema.table"
    )
    after_publication: bool = Field(True, description="Write them whenever the warehouse was published")
    schedule: Cron | None = Field(None, description="Write them by this cron expression, Asia/Shanghai")
    keep: int = Field(7, ge=1, description="Dates of a file that are kept in the home")

    @field_validator("workbooks")
    @classmethod
    def _ready(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in (BOARD, *READY):
                raise ValueError(f"there is no workbook {name!r}; there are: {', '.join((BOARD, *READY))}")
        return names


def _classes(classes: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    for table, columns in classes.items():
        if table.partition(".")[0] not in ("datasets", "reports"):
            raise ValueError(f"{table}: only columns of datasets.… and reports.… are classified here")
        for column, name in columns.items():
            if name not in CLASSES:
                raise ValueError(
                    f"{table}.{column}: there is no class {name!r}; there are: {', '.join(CLASSES)}"
                )
    return classes


class ExtractOptions(Section):
    """What `campus extract` lets out beside core and marts."""

    tables: Annotated[dict[str, dict[str, str]], AfterValidator(_classes)] = Field(
        {}, description="By table of a dataset or report the privacy classes of its columns"
    )


class ScheduleOptions(Section):
    """When the nightly load runs."""

    nightly: Cron = Field("0 2 * * *", description="Cron expression of the nightly load, Asia/Shanghai")
    all_semesters_on: int = Field(
        6, ge=0, le=6, description="Weekday (0 is Monday) of the night that reads older semesters too"
    )
    keep_runs_days: int = Field(
        60, ge=1, description="Days for which Dagster remembers runs and their events"
    )
    keep_loads_days: int = Field(
        400, ge=60, description="Days for which the load log keeps loads that changed nothing"
    )


class RetentionOptions(Section):
    """How long personal data stay that nobody needs for what is going on."""

    personal_days: int | None = Field(
        None,
        ge=1,
        description="Days after its deletion for which a row keeps its personal columns; null: for ever",
    )
    history_days: int | None = Field(
        None, ge=1, description="Days for which past rows and logged changes are kept; null: for ever"
    )


class RunOptions(Section):
    """How much of a night is one run of Dagster."""

    schools_per_run: int = Field(1, ge=1, le=25, description="Schools that one run loads, one by one")


class DistrictOptions(Section):
    """How much goes on at a time where workers run (CAMPUS_BROKER_URL)."""

    loads_at_a_time: int = Field(4, ge=1, description="Runs that ask the platform at a time, on all workers")
    builds_at_a_time: int = Field(1, ge=1, description="Builds and exports at a time, on all workers")


class UiOptions(Section):
    """The Dagster UI."""

    hosts: tuple[str, ...] = Field(
        (), description="Names besides localhost under which browsers reach the UI, as behind a reverse proxy"
    )

    owners: tuple[str, ...] = Field(
        ("team:campus",),
        description="Who looks after the assets, as the UI shows: addresses of mail or team:NAME",
    )

    @field_validator("owners")
    @classmethod
    def _mail_or_team(cls, owners: tuple[str, ...]) -> tuple[str, ...]:
        for owner in owners:
            if not OWNER.fullmatch(owner):
                raise ValueError(
                    f"expected addresses such as data@school.example, or team:data, not {owner!r}"
                )
        return owners

    @field_validator("hosts")
    @classmethod
    def _names_alone(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not HOST_NAME.fullmatch(host):
                raise ValueError(
                    f"expected names such as campus.school.example, and nothing else, not {host!r}"
                )
        return hosts


class SemesterPair(Section):
    """A semester of v1, and which of v3 it is."""

    school: int = Field(description="School")
    v1: int = Field(description="Its id in the v1 interface")
    v3: int | None = Field(description="Its id in the v3 interface; null: v3 does not have it")


class SemesterOptions(Section):
    """How semesters of the two interfaces belong together."""

    pairs: tuple[SemesterPair, ...] = Field((), description="Pairs that nothing else tells")

    @field_validator("pairs")
    @classmethod
    def _each_once(cls, pairs: tuple[SemesterPair, ...]) -> tuple[SemesterPair, ...]:
        for one, other in combinations(pairs, 2):
            if one.school == other.school and (one.v1 == other.v1 or one.v3 == other.v3 is not None):
                raise ValueError(
                    f"a semester of school {one.school} is in two pairs: {one.v1} and {other.v1}"
                )
        return pairs

    @property
    def told(self) -> dict[int, dict[int, int | None]]:
        """By school and id of v1 the id of v3."""
        return {
            school: {pair.v1: pair.v3 for pair in self.pairs if pair.school == school}
            for school in {pair.school for pair in self.pairs}
        }


class PushOptions(Section):
    """Which pushes are taken, and what is read of them."""

    resources: dict[str, tuple[str, ...]] = Field(
        {}, description="Our resources by the platform's name in a push; none named: it is of no interest"
    )
    max_bytes: int = Field(256_000, ge=1, description="Greatest body of a push")
    max_age: float = Field(1440, gt=0, description="Minutes: a push that was made earlier is refused")
    max_ahead: float = Field(5, gt=0, description="Minutes: a push from so far in the future is refused")
    max_waiting: int = Field(100_000, ge=1, description="Events that may wait; more are refused for now")
    keep_days: float = Field(30, gt=0, description="Days for which drained events are kept")
    slice_pause: float = Field(
        10, ge=0, description="Minutes between two readings of a whole slice that pushes ask for"
    )

    @property
    def drained(self) -> PushSettings:
        """What `loading` takes of it."""
        return PushSettings(self.resources, 60 * self.slice_pause)

    @field_validator("resources")
    @classmethod
    def _known(cls, resources: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name in sorted({name for names in resources.values() for name in names}):
            if name not in PUSHABLE:
                raise ValueError(f"{name!r} cannot be read for a push; there are: {', '.join(PUSHABLE)}")
        return resources


class RosterOptions(Section):
    """How a roster is read and carried out."""

    columns: dict[str, str] = Field({}, description="Our field by their header")
    values: dict[str, dict[str, str | int]] = Field({}, description="By field: our value by their word")
    defaults: dict[str, str | int] = Field({}, description="Values of fields that no column has")
    empty: Literal["keep", "clear"] = Field("keep", description="What an empty cell does to a value")
    unusual_text: Literal["refuse", "send"] = Field(
        "refuse", description="Names that begin like formulas, run from right to left, or have emoji"
    )
    longest_text: int = Field(255, ge=1, description="Letters of a text at most")
    max_deleted_share: float = Field(
        0.05, ge=0, le=1, description="Share of the users in question that a plan may delete"
    )
    max_refused_share: float = Field(
        0.05, ge=0, le=1, description="Share of refused rows from which on the rest is left"
    )

    @property
    def reading(self) -> Reading:
        """What `loading` takes of it."""
        told = self.model_dump(exclude={"max_deleted_share", "max_refused_share"})
        return Reading(**told)

    @field_validator("defaults")
    @classmethod
    def _known(cls, defaults: dict[str, Any]) -> dict[str, Any]:
        for name in defaults:
            if name in SECRET or name not in STANDARD:
                raise ValueError(f"{name!r} is no field that all rows may share")
        return defaults


class InboxOptions(Section):
    """A folder in which files for the platform arrive."""

    folder: Path | None = Field(
        None,
        description="Where they arrive, in <school id>/rosters, attendance or swipes; null: nobody looks",
    )
    apply: bool = Field(False, description="Whether plans under the guards are carried out without a person")
    delete: bool = Field(False, description="Whether plans delete who is not in the roster")
    link_by_usin: bool = Field(
        False, description="Whether users without an outer_id get that of the row with their usin"
    )
    max_changed_share: float = Field(
        0.2,
        ge=0,
        le=1,
        description="Share of the users of a role that a plan may make or change without a person",
    )
    keep_days: float = Field(
        30, gt=0, description="Days for which files that need nothing more are kept in done"
    )

    _absolute = field_validator("folder")(_whole_path)


class WriteOptions(Section):
    """How the platform is written to, where CAMPUS_ALLOW_WRITES lets us."""

    scopes: tuple[str, ...] = Field(
        (), description="Scopes that tokens for writing are asked for besides; the interface names none"
    )
    form_as_json: bool = Field(
        False, description="Send as JSON what the interface names form fields; a 415 is heeded by itself"
    )
    settling: float = Field(
        1, ge=0, description="Seconds before a look at whether a write happened whose answer was lost"
    )
    whole_lessons: bool = Field(
        False,
        description="Send all marks of a lesson, as the platform forgets those that a request leaves out",
    )
    roster: RosterOptions = Field(RosterOptions(), description="How a roster is read and carried out")
    inbox: InboxOptions = Field(InboxOptions(), description="A folder in which files arrive")
    keep_plans: int = Field(90, ge=1, description="Days for which plans and results of writes are kept")


class MailOptions(Section):
    """A mail server, and who is written to. The password is CAMPUS_NOTIFY_PASSWORD."""

    host: str = Field(description="The SMTP server")
    port: int = Field(587, ge=1, le=65535, description="Its port")
    security: Literal["starttls", "tls", "none"] = Field("starttls", description="How it is encrypted")
    user: str | None = Field(None, description="Who logs in; null: nobody does")
    sender: str = Field(description="The address that mails come from")
    to: tuple[str, ...] = Field(min_length=1, description="The addresses that they go to")

    @model_validator(mode="after")
    def _encrypted_login(self) -> "MailOptions":
        if self.user and self.security == "none" and not is_loopback(self.host):
            raise ValueError("with security: none nobody logs in: the password would be readable on the way")
        return self


#: What a webhook takes.
Form = Literal["generic", "wecom", "dingtalk", "feishu"]


class NotifyOptions(Section):
    """Who is told where there is something to do; the webhook's address is CAMPUS_NOTIFY_URL."""

    form: Form = Field("generic", description="What the webhook takes")
    mail: MailOptions | None = Field(None, description="Mail besides or instead")
    at: Cron = Field(
        "0 7 * * *", description="When the daemon tells, Asia/Shanghai; campus sync tells at its end"
    )


class Options(Section):
    """campus.yaml as a whole."""

    platform: PlatformOptions = PlatformOptions()
    safety: SafetyOptions = SafetyOptions()
    terms: TermOptions = TermOptions()
    semesters: SemesterOptions = SemesterOptions()
    attendance: AttendanceOptions = AttendanceOptions()
    incremental: IncrementalOptions = IncrementalOptions()
    datasets: DatasetOptions = DatasetOptions()
    reports: tuple[ReportOptions, ...] = Field((), description="Reports to read, since nothing lists them")
    lake: LakeOptions = LakeOptions()
    publish: PublishOptions = PublishOptions()
    exports: ExportOptions = ExportOptions()
    extracts: ExtractOptions = ExtractOptions()
    schedule: ScheduleOptions = ScheduleOptions()
    retention: RetentionOptions = RetentionOptions()
    runs: RunOptions = RunOptions()
    district: DistrictOptions = DistrictOptions()
    ui: UiOptions = UiOptions()
    pushes: PushOptions = PushOptions()
    writes: WriteOptions = WriteOptions()
    notify: NotifyOptions = NotifyOptions()

    @field_validator("reports")
    @classmethod
    def _each_once(cls, reports: tuple[ReportOptions, ...]) -> tuple[ReportOptions, ...]:
        for one, other in combinations(reports, 2):
            if one.overlaps(other):
                raise ValueError(
                    f"{one.report} is there twice for the same school: say in one entry what is read of it"
                )
        return reports
