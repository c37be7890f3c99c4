"""The options of campus.yaml, section by section; docs/campus.yaml is the annotated sample."""

import datetime as dt
import re
from ipaddress import ip_address
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

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

from campus.attendance.calendar import WeekCondition, WeeksBegin
from campus.datasets.selection import FilterValue, Selection, TableSelection
from campus.reports.selection import DateRanges, ParameterValue, ReportSelection
from campus.selections import Scalar
from exports.names import BOARD, READY, SCHEMAS, Version
from exports.site.folders import Role
from exports.spreadsheet.sheets import Format, Language
from loading.pushes.names import PUSHABLE, PushSettings
from warehouse.privacy import CLASSES
from warehouse.stores import is_remote
from writeback.roster.fields import SECRET, STANDARD
from writeback.roster.rows import Reading

OWNER = re.compile(r"team:[\w-]+|[^@\s]+@[\w-]+(\.[\w-]+)+")
#: A host's name or IPv4 address.
HOST_NAME = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
#: A size of memory as DuckDB takes it.
MEMORY = r"^\d+(\.\d+)?[KMGT]B$"
OPERATOR, AUDIENCE, WEB_ADDRESS = r"^[a-z_]+$", r"^[a-z0-9][a-z0-9_-]*$", r"^https?://\S+$"
EXPORTED_TABLE = rf"^({'|'.join(SCHEMAS)})\..+$"
#: By pattern, what is expected.
FORMS = {
    MEMORY: "a size of memory, such as 1500MB or 4GB",
    OPERATOR: "lowercase letters and _",
    AUDIENCE: "a name of lowercase letters, digits, - and _",
    WEB_ADDRESS: "an address that starts with http:// or https://",
    EXPORTED_TABLE: f"a table as SCHEMA.TABLE, of the schemas {', '.join(SCHEMAS)}",
}


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        # A resolver may look up any other name in the network, even a name below localhost.
        return host == "localhost"


class Section(BaseModel):
    """A section of campus.yaml: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlatformOptions(Section):
    """How requests are sent to the platform."""

    concurrency: int = Field(16, ge=1, le=64, description="Requests in flight at a time")
    per_page: int = Field(1000, ge=1, description="Rows of a page; if the platform refuses, smaller pages")
    unpaged_limit: int = Field(50_000, ge=0, description="Rows up to which a list is read in one answer")
    max_attempts: int = Field(8, ge=1, le=20, description="Attempts of one request, the first included")
    retry_after_cap: float = Field(60, ge=0, description="Seconds: a longer Retry-After fails the slice")
    timeout: float = Field(60, gt=0, description="Seconds to wait for the next bytes of an answer")
    max_answer_mb: int = Field(256, ge=1, description="Megabytes of one answer; a larger one fails its slice")
    archived_statuses: tuple[str, ...] = Field((), description="Values of `status` for archived classes")
    one_token: bool = Field(False, description="All schools and workers share one token")
    extra_scopes: tuple[str, ...] = Field((), description="Further scopes to request tokens for")
    date_ranges: DateRanges = Field("array", description="Format of a report's date ranges")


class SafetyOptions(Section):
    """When a load fails rather than change the warehouse."""

    max_vanished_share: float = Field(0.2, ge=0, le=1, description="Share of a slice's rows that may vanish")
    vanished_handful: int = Field(5, ge=0, description="This many vanished rows never stop a sync")
    max_quarantined_share: float = Field(
        0.01, ge=0, le=1, description="Share of a slice's rows in quarantine above which the sync fails"
    )


class TermOptions(Section):
    """Which vocabularies are read."""

    extra_types: tuple[str, ...] = Field((), description="Term types besides those of the specification")


def _value(value: Any) -> FilterValue:
    """A filter's value: a scalar or several."""
    if isinstance(value, list | tuple):
        return tuple(_scalar(member) for member in value)
    return _scalar(value)


def _scalar(value: Any) -> Scalar:
    """A scalar. YAML parses text that looks like a date or time; the interface takes text."""
    if isinstance(value, dt.date):
        return str(value)
    if isinstance(value, Scalar):
        return value
    raise ValueError("expected text, a number, a date, true or false, or a list of such")


class TableOptions(Section):
    """The fields, relations and rows that are read from one dataset."""

    fields: tuple[str, ...] = Field((), description="Fields to read; empty: all")
    expand: tuple[str, ...] = Field((), description="Relations whose rows are embedded")
    filters: dict[str, Annotated[FilterValue, PlainValidator(_value)]] = Field(
        {}, description="Values by {field}_{operator}"
    )


class IncrementalOptions(Section):
    """How a night skips unchanged data."""

    overlap: float = Field(60, ge=0, description="Minutes before the last known change to read again")
    whole_days: int = Field(7, ge=1, description="Days after which a slice is read whole again")
    current_scores: Literal["every_night", "where_moved"] = Field(
        "every_night", description="Which scores of a current semester are read"
    )
    transcript_days: int = Field(0, ge=0, description="Days until transcripts are read again; 0: each night")


class DatasetOptions(Section):
    """Which datasets are read, and how."""

    include: tuple[str, ...] = Field(("*",), description="Names or patterns of the datasets to read")
    exclude: tuple[str, ...] = Field((), description="Names or patterns of the datasets not to read")
    segment_rows: int = Field(250_000, ge=1, description="Ids of a segment, which is one partition")
    max_segments: int = Field(500, ge=1, description="Segments of a dataset; a larger one has wider segments")
    segments_at_a_time: int = Field(4, ge=1, le=64, description="Segments of a school read side by side")
    limit: int = Field(10_000, ge=1, le=10_000, description="Rows of a request")
    overlap: float | None = Field(
        None, ge=0, description="As incremental.overlap, for datasets; null: the same"
    )
    tables: dict[str, TableOptions] = Field({}, description="What is read of a dataset, by name or pattern")
    extra_operators: tuple[Annotated[str, StringConstraints(pattern=OPERATOR)], ...] = Field(
        (), description="Operators of filters besides those of the specification"
    )

    @property
    def selection(self) -> Selection:
        """The same as `campus` takes it."""
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
    """A name, or an id, which YAML parses as a number."""
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return str(value).strip()
    raise ValueError("expected a name or an id")


Name = Annotated[str, PlainValidator(_name)]


class ReportOptions(Section):
    """A report to read: its queries and their parameters."""

    report: Name = Field(description="Name or id of the report")
    schools: tuple[int, ...] = Field((), description="Schools to read it for; empty: all")
    queries: tuple[Name, ...] = Field((), description="Ids or labels of its queries; empty: all")
    parameters: dict[str, Annotated[ParameterValue, PlainValidator(_value)]] = Field(
        {}, description="Values by the name of the parameter; for options, their keys"
    )
    matrix: dict[str, tuple[Annotated[Scalar, PlainValidator(_scalar)], ...]] = Field(
        {}, description="Lists of values; each combination is a partition of its own"
    )

    @property
    def selection(self) -> ReportSelection:
        """The same as `campus` takes it."""
        return ReportSelection(self.report, self.queries, self.parameters, self.matrix)

    def overlaps(self, other: "ReportOptions") -> bool:
        """Whether both are for the same report of the same school."""
        everywhere = not self.schools or not other.schools
        return self.report == other.report and (everywhere or bool({*self.schools} & {*other.schools}))


class AttendanceOptions(Section):
    """Which attendance a night reads again, and how teaching weeks are counted."""

    window_days: int = Field(14, ge=0, description="Days after a session for which a night reads late marks")
    weeks_begin: WeeksBegin = Field("auto", description="Where a teaching week begins")
    week_condition: WeekCondition = Field("within", description="When a class takes place in a week")


class LakeOptions(Section):
    """A lake in an object store (CAMPUS_LAKE)."""

    cache_gb: float = Field(20, gt=0, description="Gigabytes of its files that this machine caches")
    patience: float = Field(180, gt=0, description="Seconds for which a request to the store is retried")


#: The schemas that an audience may have. Not staging: its views read raw.
AudienceSchema = Literal["core", "marts", "quality", "seeds", "datasets", "reports", "raw"]
#: The classes of warehouse.privacy that an audience may exclude: those about one person.
PersonalClass = Literal[
    "name", "number", "phone", "email", "address", "photo", "guardian", "text", "mixed", "trait"
]


def _absolute_path(folder: Path | None) -> Path | None:
    # Commands and their programs run in different folders.
    if folder is not None and not folder.is_absolute():
        raise ValueError("expected the absolute path of a folder, from / on")
    return folder


class AudienceOptions(Section):
    """A file with a part of campus.duckdb for some readers."""

    group: Annotated[str, StringConstraints(min_length=1)] | None = Field(
        None,
        description="Group of this machine that may read the file; null: the group of the user who publishes",
    )
    schemas: tuple[AudienceSchema, ...] | None = Field(
        None, min_length=1, description="Schemas in the file; null: everything, as in campus.duckdb"
    )
    without: tuple[PersonalClass, ...] = Field((), description="Classes of columns to leave out")
    to: Path | None = Field(None, description="Folder of the file; null: $CAMPUS_HOME/audiences/NAME")

    _absolute = field_validator("to")(_absolute_path)

    @model_validator(mode="after")
    def _not_without_and_raw(self) -> Self:
        if self.without and (self.schemas is None or "raw" in self.schemas):
            raise ValueError(
                "raw has all data as they were sent, so nothing can be left out: name `schemas` without raw"
            )
        return self


class PublishOptions(Section):
    """How the warehouse file is built."""

    keep_generations: int = Field(3, ge=1, description="Earlier published files to keep for a rollback")
    memory_limit: str = Field("1500MB", pattern=MEMORY, description="Memory that DuckDB may use for a build")
    threads: int = Field(2, ge=1, description="Threads that DuckDB may use for a build")
    schools_per_shard: int | None = Field(
        None, ge=1, description="Schools of a shard; null: all schools are in one campus.duckdb"
    )
    freeze_after_days: int | None = Field(
        None,
        ge=0,
        description="Days after its end from which a semester has its own file in a shard; null: never",
    )
    to: str | None = Field(
        None, description="Folder or s3://... for shards; null: in the home or by the lake"
    )
    tables: Literal["delta"] | None = Field(
        None, description="Format of open tables of the models, beside shards; null: none"
    )
    audiences: dict[Annotated[str, StringConstraints(pattern=AUDIENCE)], AudienceOptions] = Field(
        {}, description="Files for some readers beside campus.duckdb, by name"
    )

    @field_validator("to")
    @classmethod
    def _folder_or_store(cls, root: str | None) -> str | None:
        if root is not None and not is_remote(root):
            _absolute_path(Path(root))
        return root

    @model_validator(mode="after")
    def _tables_of_shards(self) -> Self:
        if self.tables is not None and self.schools_per_shard is None:
            raise ValueError(
                "tables are published beside shards: set schools_per_shard too (16 suits a district)"
            )
        return self

    @model_validator(mode="after")
    def _audiences_of_one_file(self) -> Self:
        folders = [
            str(audience.to.resolve()) for audience in self.audiences.values() if audience.to is not None
        ]
        if len(folders) > len(set(folders)):
            raise ValueError("audiences: two have the same folder")
        if self.audiences and self.schools_per_shard is not None:
            raise ValueError(
                "audiences need one campus.duckdb, and schools_per_shard makes shards instead: leave out one "
                "of both (docs/how-to/district.md has a file without persons)"
            )
        return self


def _cron(expression: str) -> str:
    # Dagster decides which expressions are valid; it takes seconds to import.
    import dagster as dg

    try:
        dg.ScheduleDefinition(name="nightly", job_name="nightly", cron_schedule=expression)
    except dg.DagsterInvalidDefinitionError as error:
        raise ValueError("expected a cron expression of five fields, e.g. 0 2 * * *") from error
    return expression


Cron = Annotated[str, AfterValidator(_cron)]


class DeliverOptions(Section):
    """Mails to teachers, by the mail server of notify.mail."""

    send: Literal["link", "file"] = Field("link", description="Links to the pages, or the workbooks")
    address: Annotated[str, StringConstraints(pattern=WEB_ADDRESS)] | None = Field(
        None, description="Where a web server shows the exports folder"
    )
    max_mail_mb: float = Field(20, gt=0, description="Megabytes of a mail; a larger one is not sent")
    at: Cron = Field("0 7 * * 1", description="Cron expression of the mails, Asia/Shanghai")

    @model_validator(mode="after")
    def _has_address(self) -> Self:
        if self.send == "link" and self.address is None:
            raise ValueError("send: link needs the address of the web server that shows the exports folder")
        return self


def _version(version: Any) -> Version:
    # YAML parses 1.2 as a number.
    versions: tuple[Version, ...] = get_args(Version)
    for name in versions:
        if str(version) == name:
            return name
    raise ValueError(f"expected {' or '.join(versions)}")


def teacher_roles(roles: tuple[Role, ...]) -> tuple[Role, ...]:
    """The roles whose readers are single teachers."""
    return tuple(role for role in roles if role != "head")


class OneRosterOptions(Section):
    """The files for other school systems."""

    version: Annotated[Version, PlainValidator(_version)] = Field("1.2", description="Version of OneRoster")
    email: Literal["platform", "readers"] | None = Field(
        None, description="Source of the addresses in users.csv; null: no addresses"
    )


class ExportOptions(Section):
    """Which files are written for people, and when."""

    language: Language = Field("zh", description="Language of labels, sheets and definitions")
    format: Format = Field("xlsx", description="Format of the files")
    workbooks: tuple[str, ...] = Field((BOARD, *READY), description="The board and workbooks to write")
    board_names: bool = Field(True, description="Whether the board names students and teachers")
    oneroster_demographics: bool = Field(
        False, description="Whether the files of OneRoster have the gender of students"
    )
    oneroster: OneRosterOptions = Field(OneRosterOptions(), description="The files for other school systems")
    tables: tuple[Annotated[str, StringConstraints(pattern=EXPORTED_TABLE)], ...] = Field(
        (), description="Further tables to write, as schema.table"
    )
    site: tuple[Role, ...] = Field((), description="Roles whose pages to write each night")
    guardians: bool = Field(False, description="Whether pages of students show guardians and their phones")
    deliver: DeliverOptions | None = Field(None, description="Mails to the teachers of the site")
    after_publication: bool = Field(True, description="Write them after each publication")
    schedule: Cron | None = Field(None, description="Write them by this cron expression, Asia/Shanghai")
    keep: int = Field(7, ge=1, description="Dates of a file to keep in the home")

    @field_validator("workbooks")
    @classmethod
    def _ready(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in (BOARD, *READY):
                raise ValueError(f"there is no workbook {name!r}; there are: {', '.join((BOARD, *READY))}")
        return names

    @field_validator("site")
    @classmethod
    def _each_role_once(cls, roles: tuple[Role, ...]) -> tuple[Role, ...]:
        if len(set(roles)) < len(roles):
            raise ValueError("a role is there twice")
        return roles

    @model_validator(mode="after")
    def _delivers_to_teachers(self) -> Self:
        if self.deliver and not teacher_roles(self.site):
            raise ValueError("deliver needs class-teacher or teacher in site")
        return self


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
    """The tables that `campus extract` writes besides core and marts."""

    tables: Annotated[dict[str, dict[str, str]], AfterValidator(_classes)] = Field(
        {}, description="By table of a dataset or report: the privacy classes of its columns"
    )


class ScheduleOptions(Section):
    """When the nightly load runs."""

    nightly: Cron = Field("0 2 * * *", description="Cron expression of the nightly load, Asia/Shanghai")
    keep_runs_days: int = Field(60, ge=1, description="Days for which Dagster keeps runs and their events")
    keep_loads_days: int = Field(400, ge=60, description="Days for which loads without changes are logged")


class RetentionOptions(Section):
    """How long personal data stay after they were needed."""

    personal_days: int | None = Field(
        None, ge=1, description="Days for which a deleted row keeps its personal columns; null: for ever"
    )
    history_days: int | None = Field(
        None,
        ge=1,
        description="Days for which past rows, logged changes and published levels are kept; null: for ever",
    )


class RunOptions(Section):
    """How a night is split into Dagster's runs."""

    schools_per_run: int = Field(1, ge=1, le=25, description="Schools that one run loads in turn")


class DistrictOptions(Section):
    """How many runs workers, or jobs of Kubernetes, carry out at a time."""

    loads_at_a_time: int = Field(4, ge=1, description="Runs that load at a time, on all workers")
    builds_at_a_time: int = Field(1, ge=1, description="Builds and exports at a time, on all workers")


class UiOptions(Section):
    """The Dagster UI."""

    hosts: tuple[str, ...] = Field((), description="Host names besides localhost, as of a reverse proxy")

    owners: tuple[str, ...] = Field(
        ("team:campus",), description="Owners of the assets: mail addresses or team:NAME"
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
    """A semester of v1, and the same semester of v3."""

    school: int = Field(description="School")
    v1: int = Field(description="Its id in the v1 interface")
    v3: int | None = Field(description="Its id in the v3 interface; null: v3 does not have it")


class SemesterOptions(Section):
    """How semesters of the two interfaces match."""

    pairs: tuple[SemesterPair, ...] = Field((), description="Pairs that cannot be matched otherwise")

    @field_validator("pairs")
    @classmethod
    def _each_once(cls, pairs: tuple[SemesterPair, ...]) -> tuple[SemesterPair, ...]:
        for pair, other in combinations(pairs, 2):
            if pair.school == other.school and (pair.v1 == other.v1 or pair.v3 == other.v3 is not None):
                raise ValueError(
                    f"a semester of school {pair.school} is in two pairs: {pair.v1} and {other.v1}"
                )
        return pairs

    @property
    def v3_ids(self) -> dict[int, dict[int, int | None]]:
        """By school and id of v1: the id of v3."""
        return {
            school: {pair.v1: pair.v3 for pair in self.pairs if pair.school == school}
            for school in {pair.school for pair in self.pairs}
        }


class PushOptions(Section):
    """Which pushes are accepted, and what is read for them."""

    resources: dict[str, tuple[str, ...]] = Field(
        {}, description="Our resources by the platform's name in a push; empty: it is ignored"
    )
    max_bytes: int = Field(256_000, ge=1, description="Bytes of a push at most")
    max_age: float = Field(1440, gt=0, description="Minutes: an older push is refused")
    max_ahead: float = Field(5, gt=0, description="Minutes: a push further in the future is refused")
    max_waiting: int = Field(100_000, ge=1, description="Events that may wait; further events are refused")
    keep_days: float = Field(30, gt=0, description="Days for which drained events are kept")
    slice_pause: float = Field(10, ge=0, description="Minutes between two reads of a whole slice for pushes")

    @property
    def push_settings(self) -> PushSettings:
        """The same as the loader takes it."""
        return PushSettings(self.resources, 60 * self.slice_pause)

    @field_validator("resources")
    @classmethod
    def _are_pushable(cls, resources: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name in sorted({name for names in resources.values() for name in names}):
            if name not in PUSHABLE:
                raise ValueError(f"{name!r} cannot be read for a push; there are: {', '.join(PUSHABLE)}")
        return resources


class RosterOptions(Section):
    """How a roster is read and applied."""

    columns: dict[str, str] = Field({}, description="Our field by the header of the roster")
    values: dict[str, dict[str, str | int]] = Field({}, description="By field: our value by theirs")
    defaults: dict[str, str | int] = Field({}, description="Values of fields that no column has")
    empty: Literal["keep", "clear"] = Field("keep", description="What an empty cell does to a value")
    unusual_text: Literal["refuse", "send"] = Field(
        "refuse", description="Names that begin like formulas, run from right to left, or have emoji"
    )
    longest_text: int = Field(255, ge=1, description="Characters of a text at most")
    max_deleted_share: float = Field(0.05, ge=0, le=1, description="Share of users that a plan may delete")
    max_refused_share: float = Field(
        0.05, ge=0, le=1, description="Share of refused rows above which nothing is applied"
    )

    @property
    def reading(self) -> Reading:
        """The same as the loader takes it."""
        return Reading(**self.model_dump(exclude={"max_deleted_share", "max_refused_share"}))

    @field_validator("defaults")
    @classmethod
    def _may_be_shared(cls, defaults: dict[str, Any]) -> dict[str, Any]:
        for name in defaults:
            if name in SECRET or name not in STANDARD:
                raise ValueError(f"{name!r} is not a field that all rows may share")
        return defaults


class InboxOptions(Section):
    """A folder for arriving files that are written to the platform."""

    folder: Path | None = Field(
        None, description="Folder with <school id>/rosters, attendance or swipes; null: none"
    )
    apply: bool = Field(False, description="Whether plans within the limits are applied without a person")
    delete: bool = Field(False, description="Whether plans delete users who are not in the roster")
    link_by_usin: bool = Field(False, description="Whether users without outer_id get it by their usin")
    max_changed_share: float = Field(
        0.2,
        ge=0,
        le=1,
        description="Share of the users of a role that a plan may create or change without a person",
    )
    keep_days: float = Field(30, gt=0, description="Days for which finished files are kept in done")

    _absolute = field_validator("folder")(_absolute_path)


class WriteOptions(Section):
    """How data are written to the platform, where CAMPUS_ALLOW_WRITES allows it."""

    scopes: tuple[str, ...] = Field((), description="Further scopes for tokens that write")
    form_as_json: bool = Field(False, description="Send forms as JSON, as always after a 415")
    settling: float = Field(1, ge=0, description="Seconds before an unanswered write is checked")
    whole_lessons: bool = Field(False, description="Send all marks of a lesson, not only changes")
    roster: RosterOptions = Field(RosterOptions(), description="How a roster is read and applied")
    inbox: InboxOptions = Field(InboxOptions(), description="A folder for arriving files")
    keep_plans: int = Field(90, ge=1, description="Days for which plans and results of writes are kept")


class MailOptions(Section):
    """A mail server and the recipients. The password is CAMPUS_NOTIFY_PASSWORD."""

    host: str = Field(description="The SMTP server")
    port: int = Field(587, ge=1, le=65535, description="Its port")
    security: Literal["starttls", "tls", "none"] = Field("starttls", description="How it is encrypted")
    user: str | None = Field(None, description="User name of the login; null: no login")
    sender: str = Field(description="Address of the sender")
    to: tuple[str, ...] = Field(min_length=1, description="Addresses of the recipients")

    @model_validator(mode="after")
    def _encrypted_login(self) -> "MailOptions":
        if self.user and self.security == "none" and not is_loopback(self.host):
            raise ValueError("security: none allows no user: the password would be readable on the network")
        return self


#: The format of a webhook's messages.
Form = Literal["generic", "wecom", "dingtalk", "feishu"]


class NotifyOptions(Section):
    """The messages to a webhook when there is something to do. Its address is CAMPUS_NOTIFY_URL."""

    form: Form = Field("generic", description="Format of the webhook's messages")
    mail: MailOptions | None = Field(None, description="Mail, besides or instead of the webhook")
    at: Cron = Field("0 7 * * *", description="Cron expression of the daemon's message, Asia/Shanghai")


class AssistantOptions(Section):
    """What `campus mcp` shows to an assistant, and the limits of a query."""

    personal: bool = Field(False, description="Whether columns that name or describe a person are shown")
    rows: int = Field(200, ge=1, le=10_000, description="Rows of an answer")
    bytes: int = Field(
        100_000, ge=10_000, le=10_000_000, description="Bytes of an answer; what is beyond is cut"
    )
    seconds: int = Field(20, ge=1, le=600, description="Seconds that a query may take")
    memory_limit: str = Field("1GB", pattern=MEMORY, description="Memory that DuckDB may use, such as 1GB")


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
    mcp: AssistantOptions = AssistantOptions()

    @model_validator(mode="after")
    def _delivers_by_mail(self) -> Self:
        if self.exports.deliver and not self.notify.mail:
            raise ValueError("exports.deliver needs the mail server of notify.mail")
        return self

    @field_validator("reports")
    @classmethod
    def _each_once(cls, reports: tuple[ReportOptions, ...]) -> tuple[ReportOptions, ...]:
        for report, other in combinations(reports, 2):
            if report.overlaps(other):
                raise ValueError(
                    f"{report.report} is there twice for the same school: put its queries into one entry"
                )
        return reports
