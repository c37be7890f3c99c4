"""The warehouse's own tables: logs in the lake, and tables made with each published file."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from warehouse.age import RETIRED as RETIRED
from warehouse.lake.tables import TIMESTAMP, Column


@dataclass(frozen=True)
class Log:
    """A table of the warehouse's own rows."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    #: The lake's partition columns. One that is not in `columns` is text, and not published.
    slice_columns: tuple[str, ...] = ()
    #: The folder's name, if it differs from the table's.
    stored_as: str = ""
    label_zh: str = ""

    @property
    def folder(self) -> str:
        """The table's folder below the lake's root."""
        return self.stored_as or self.name

    @property
    def row_schema(self) -> pa.Schema:
        """The published columns."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])

    @property
    def lake_schema(self) -> pa.Schema:
        """The published columns, and partition columns that are not published."""
        published = self.row_schema
        return pa.schema(
            [*published, *(pa.field(n, pa.string()) for n in self.slice_columns if n not in published.names)]
        )


_RESOURCE = (
    Column("resource", pa.string(), "Table of the lake, named as in raw", label_zh="资源"),
    Column("_school_id", pa.int64(), "School that was read", label_zh="学校ID"),
)
_SLICE = (
    *_RESOURCE,
    Column("slice", pa.string(), "Slice of the table, such as school:semester", label_zh="数据分片"),
)
_SEEN = (
    Column("first_seen", TIMESTAMP, "Start of the sync that saw it first", label_zh="首次发现时间"),
    Column("last_seen", TIMESTAMP, "Start of the sync that saw it last", label_zh="最近发现时间"),
)
#: The month by which rows of the load log are partitioned, such as 2026-03, so that readers skip old months.
MONTH = "_month"
_TRAFFIC = (
    Column("requests", pa.int64(), "HTTP requests of the reading", label_zh="请求数", unit="requests"),
    Column("pages", pa.int64(), "HTTP pages of the reading", label_zh="页数", unit="pages"),
    Column("retries", pa.int64(), "HTTP retries of the reading", label_zh="重试次数", unit="requests"),
    Column("bytes", pa.int64(), "HTTP bytes of the reading", label_zh="字节数", unit="bytes"),
)

#: The counters of a reading, beside rows.
TRAFFIC = tuple(column.name for column in _TRAFFIC)

LOAD_LOG = Log(
    name="load_log",
    comment="Loads: one row per slice and sync, with the rows read and changed",
    label_zh="加载日志",
    columns=(
        *_SLICE,
        Column(
            "sync_id",
            pa.string(),
            "Sync, named by its cause: a night, a command or a backfill",
            label_zh="同步ID",
        ),
        Column("run_id", pa.string(), "Dagster run that loaded the slice", label_zh="运行ID"),
        Column("started_at", TIMESTAMP, "Start of the reading", label_zh="开始时间"),
        Column("finished_at", TIMESTAMP, "When the load of the slice was recorded", label_zh="完成时间"),
        Column(
            "status",
            pa.string(),
            "ok, warning (loaded, but see the message), failed or retired",
            label_zh="状态",
        ),
        Column("message", pa.string(), "The problem and what to do; empty: none", label_zh="说明"),
        Column("complete", pa.bool_(), "Whether the reading provably missed no row", label_zh="是否完整"),
        Column(
            "whole",
            pa.bool_(),
            "Whether the whole slice was read; false: changes only",
            label_zh="是否全量",
        ),
        Column(
            "received",
            pa.int64(),
            "Rows sent: loaded + quarantined + duplicates",
            label_zh="收到行数",
            unit="rows",
        ),
        Column(
            "loaded",
            pa.int64(),
            "Rows loaded: new + changed + unchanged + returned + deleted",
            label_zh="入库行数",
            unit="rows",
        ),
        Column("quarantined", pa.int64(), "Rows without a readable key", label_zh="隔离行数", unit="rows"),
        Column(
            "duplicates",
            pa.int64(),
            "Rows dropped: a better row has the same key, or the platform sent the row again",
            label_zh="重复行数",
            unit="rows",
        ),
        Column("new", pa.int64(), "Rows that were not stored before", label_zh="新增行数", unit="rows"),
        Column(
            "changed", pa.int64(), "Rows that differ from the stored row", label_zh="变更行数", unit="rows"
        ),
        Column(
            "unchanged",
            pa.int64(),
            "Rows equal to the stored row, also with the first value of a column that not every reading "
            "requests",
            label_zh="未变行数",
            unit="rows",
        ),
        Column(
            "returned",
            pa.int64(),
            "Rows that the platform has again after their deletion",
            label_zh="恢复行数",
            unit="rows",
        ),
        Column(
            "deleted",
            pa.int64(),
            "Rows that the platform now shows as deleted",
            label_zh="删除行数",
            unit="rows",
        ),
        Column(
            "vanished",
            pa.int64(),
            "Rows that a complete reading no longer had: tombstones now",
            label_zh="消失行数",
            unit="rows",
        ),
        Column(
            "carried",
            pa.int64(),
            "Stored rows that an incomplete reading lacked: unchanged",
            label_zh="沿用行数",
            unit="rows",
        ),
        Column(
            "server_total",
            pa.int64(),
            "The platform's own count; null: it gave none",
            label_zh="平台总数",
            unit="rows",
        ),
        *_TRAFFIC,
        Column(
            "slice_version",
            pa.int64(),
            "Commits of the slice so far; 0: none",
            label_zh="分片版本",
        ),
        Column(
            "platform_day",
            pa.date32(),
            "The platform's date, if the reading depended on it",
            label_zh="平台日期",
        ),
    ),
    slice_columns=(MONTH,),
)
QUARANTINE = Log(
    name="quarantine",
    comment="Rows without a readable key, as the platform sent them",
    label_zh="隔离数据",
    columns=(
        *_SLICE,
        Column("key", pa.string(), "Primary key as a JSON array; null: unreadable", label_zh="主键"),
        Column("reason", pa.string(), "Field and the rule that it breaks", label_zh="原因"),
        Column("raw", pa.string(), "The row's JSON as sent", label_zh="原文"),
        Column("unit", pa.string(), "Request, or part of it, that sent the row", label_zh="读取单元"),
        *_SEEN,
        Column("sync_id", pa.string(), "Sync that saw it last", label_zh="同步ID"),
    ),
    slice_columns=("_school_id",),
)
_DIFFERENCE = (
    Column("kind", pa.string(), "unknown_field, absent_field, unknown_value and others", label_zh="类别"),
    Column("field", pa.string(), "Field; inside a nested object: its path", label_zh="字段"),
    Column("value", pa.string(), "A sample value", label_zh="值"),
    Column("rows", pa.int64(), "Rows with this difference", label_zh="行数", unit="rows"),
)
DIFFERENCES = Log(
    name="differences",
    comment="Present differences between the platform and the contract that break no rule, by slice",
    label_zh="接口差异现状",
    columns=(*_SLICE, *_DIFFERENCE, *_SEEN),
    slice_columns=("_school_id",),
    # The folder's name from the time when it was the only table of drift.
    stored_as="drift",
)
#: Whether a difference began or ended.
BEGAN, ENDED = "began", "ended"
DRIFT = Log(
    name="drift",
    comment="Differences between the platform and the contract that began or ended: one row per difference "
    "of a school's resource; append-only",
    label_zh="接口偏差",
    columns=(
        *_RESOURCE,
        *_DIFFERENCE,
        Column(
            "change",
            pa.string(),
            "began: no slice had it before; ended: no slice has it any more",
            label_zh="变化",
        ),
        Column("seen_at", TIMESTAMP, "Start of the run that saw the change", label_zh="发现时间"),
        Column(
            "sync_id",
            pa.string(),
            "Sync of the run",
            label_zh="同步ID",
        ),
    ),
    stored_as="drift_changes",
)
RECONCILIATION = Log(
    name="stated_counts",
    comment="Numbers that the platform stated, beside the numbers of the load, by slice; reconciliation has "
    "the outcome",
    label_zh="平台声明数",
    columns=(
        *_SLICE,
        Column("measure", pa.string(), "What is compared, in words", label_zh="对账项目"),
        Column("expected", pa.int64(), "The platform's number", label_zh="应有数"),
        Column("actual", pa.int64(), "The load's number", label_zh="实有数"),
        Column("agrees", pa.bool_(), "Whether both are equal", label_zh="是否一致"),
        Column("seen_at", TIMESTAMP, "Start of the sync", label_zh="发现时间"),
    ),
    slice_columns=("_school_id",),
    # The folder's name from the time before the model of this name.
    stored_as="reconciliation",
)
CHANGES = Log(
    name="changes",
    comment="Changes of scores and grades between syncs; append-only",
    label_zh="成绩与得分变更日志",
    columns=(
        *_SLICE,
        Column(
            "key",
            pa.string(),
            "Primary key: the id, or a JSON array of a composite key; null: the slice",
            label_zh="主键",
        ),
        Column(
            "op",
            pa.string(),
            "loaded (first load of the slice), created, updated, deleted or returned",
            label_zh="操作",
        ),
        Column("field", pa.string(), "Field that changed; null: the row as a whole", label_zh="字段"),
        Column("before", pa.string(), "Value before, as text; lists and objects as JSON", label_zh="变更前"),
        Column("after", pa.string(), "Value after, as text", label_zh="变更后"),
        Column(
            "seen_at",
            TIMESTAMP,
            "Start of the sync that saw the change, as in load_log.started_at",
            label_zh="发现时间",
        ),
        Column(
            "slice_version", pa.int64(), "First version of the slice with the change", label_zh="分片版本"
        ),
    ),
    slice_columns=("resource", "_school_id"),
)

PAST_ROWS = Log(
    name="past_rows",
    comment="Earlier versions of rows of raw, from which core.grades_as_of and similar macros read; "
    "append-only",
    label_zh="历史行",
    columns=(
        *_RESOURCE,
        Column("slice", pa.string(), "Slice of the row; null: the whole school", label_zh="数据分片"),
        Column(
            "row",
            pa.string(),
            "JSON object of its columns, each as text; null: a mark, before which the past is unknown "
            "(personal)",
            label_zh="行内容",
        ),
        Column(
            "known_from",
            TIMESTAMP,
            "Start of the sync that first saw this version: its _synced_at",
            label_zh="首次读到时间",
        ),
        Column(
            "known_to", TIMESTAMP, "Start of the sync that saw the next version", label_zh="被新版本替代时间"
        ),
    ),
    slice_columns=("resource", "_school_id"),
)

#: Derived from the load log, so that nobody has to read all of it; not published.
STANDINGS = Log(
    name="standings",
    comment="State of each slice by the load log: its last attempt, and its last complete load",
    columns=(
        *_SLICE,
        Column("sync_id", pa.string(), "Sync of the last attempt"),
        Column("status", pa.string(), "Status of the last attempt"),
        Column("finished_at", TIMESTAMP, "When the last attempt was recorded"),
        Column("complete_at", TIMESTAMP, "Start of the last complete load; null: none was complete"),
        Column("whole_at", TIMESTAMP, "Start of the last complete load that read the whole slice"),
        Column("retired", pa.bool_(), "Whether the slice was emptied since, as its source is gone"),
        Column("state", pa.string(), "Version of the last whole load's input and of the files it left"),
        Column("requests", pa.int64(), "HTTP requests of the last attempt; null: it failed, or unknown"),
        Column(
            "followed_at",
            TIMESTAMP,
            "Start of the last load that read rows again because other tables had changed",
        ),
    ),
    slice_columns=("_school_id",),
)

#: Counted as each published file is filled.
SLICES = Log(
    name="slices",
    comment="Number of rows in this file, by slice",
    label_zh="分片行数",
    columns=(
        *_SLICE,
        Column("alive", pa.int64(), "Rows that the platform has", label_zh="现存行数", unit="rows"),
        Column(
            "gone",
            pa.int64(),
            "Rows that the platform no longer has: tombstones",
            label_zh="已删除行数",
            unit="rows",
        ),
    ),
)

#: Made from the lake with each published file, so that models and loads use the same calendar.
SEMESTER_CALENDARS = Log(
    name="semester_calendars",
    comment="The v1 and v3 ids of each semester, and the first day of its teaching weeks; one row per "
    "semester",
    label_zh="学期对照与周次",
    columns=(
        Column("_school_id", pa.int64(), "School", label_zh="学校ID"),
        Column(
            "semester_id",
            pa.int64(),
            "Semester in core: the v3 id; without one, the v1 id, negative if it is "
            "another semester's id in v3",
            label_zh="学期ID",
        ),
        Column(
            "v1_semester_id",
            pa.int64(),
            "The same semester in the v1 interface; null: v1 does not have it",
            label_zh="v1学期ID",
        ),
        Column(
            "matched_by",
            pa.string(),
            "How both were matched: setting, outer_id, dates, overlap, name or "
            "id; null: only one interface has it",
            label_zh="匹配依据",
        ),
        Column(
            "week_1_on",
            pa.date32(),
            "First day of teaching week 1; null: the semester's days are not known",
            label_zh="第1周首日",
        ),
        Column(
            "weeks_begin",
            pa.string(),
            "Rule for the first day: monday, first_day, next_monday or sunday",
            label_zh="教学周起算规则",
        ),
        Column(
            "weeks_known_by",
            pa.string(),
            "Source of the rule: setting (campus.yaml), current_week (of the platform) or default",
            label_zh="规则来源",
        ),
        Column(
            "day_1_is",
            pa.int64(),
            "Weekday (1 is Monday) of day 1 in schedules, lesson_days and timetables, by their labels",
            label_zh="第1天为星期几",
        ),
    ),
)

#: Made from the inbox of pushes with each published file.
PUSH_MISSES = Log(
    name="push_misses",
    comment="Changed rows that no push announced, by day; empty if no pushes are received",
    label_zh="推送遗漏",
    columns=(
        *_RESOURCE,
        Column("day", pa.date32(), "Day of the loads, by the platform's calendar", label_zh="日期"),
        Column(
            "changed",
            pa.int64(),
            "Rows that changed since the previous load, seen by the load or by pushes",
            label_zh="变更行数",
            unit="rows",
        ),
        Column("missed", pa.int64(), "Changed rows that no push named", label_zh="遗漏行数", unit="rows"),
        Column("miss_rate", pa.float64(), "100 * missed / changed", label_zh="遗漏率", unit="percent"),
    ),
)

#: Made from the standings with each published file.
FRESHNESS = Log(
    name="freshness",
    comment="Age of each slice, one row per slice: a night reads some slices in part, and some not at all",
    label_zh="数据时效",
    columns=(
        *_SLICE,
        Column(
            "as_of",
            TIMESTAMP,
            "Start of the last load that was complete, whole or changes only; null: none",
            label_zh="数据截至",
        ),
        Column(
            "whole_as_of",
            TIMESTAMP,
            "Start of the last complete load of the whole slice; null: none",
            label_zh="全量读取截至",
        ),
        Column(
            "unseen",
            pa.string(),
            "Content that may be as old as whole_as_of; null: the last load read the whole slice",
            label_zh="可能未更新的内容",
        ),
    ),
)

WRITES = Log(
    name="writes",
    comment="Writes to the platform: one row per write, with the platform's answer; append-only",
    label_zh="写入记录",
    columns=(
        Column("write_id", pa.string(), "The warehouse's id of the write", label_zh="写入ID"),
        Column("_school_id", pa.int64(), "School that was written to", label_zh="学校ID"),
        Column("operation", pa.string(), "create_user, change_user, mark_lesson and others", label_zh="操作"),
        Column(
            "target", pa.string(), "Id on the platform, and parameters of the request", label_zh="写入对象"
        ),
        Column("source", pa.string(), "Plan or file that requested the write", label_zh="来源"),
        Column("row", pa.string(), "Row of the source: its line, or its key", label_zh="来源行"),
        Column(
            "sent",
            pa.string(),
            "JSON that was sent, without the values of passwords and national id numbers; null: nothing",
            label_zh="发送内容",
        ),
        Column(
            "asked_by",
            pa.string(),
            "User, host and process of a command; schedule or sensor of a run, or a person in the UI",
            label_zh="发起方",
        ),
        Column("asked_at", TIMESTAMP, "When it was first sent, China time", label_zh="发起时间"),
        Column(
            "outcome",
            pa.string(),
            "done; found (the answer was lost, but a check showed that the write happened); refused; unsent "
            "(it did not happen); unconfirmed (not known); interrupted (the process ended before the "
            "answer; not known)",
            label_zh="结果",
        ),
        Column("status", pa.int64(), "HTTP status of the answer; 0 or null: no answer", label_zh="状态码"),
        Column("answer", pa.string(), "JSON of the answer, or its text", label_zh="平台答复"),
        Column("answered_at", TIMESTAMP, "When the outcome was known, China time", label_zh="答复时间"),
    ),
    slice_columns=(MONTH,),
)

#: Kept for marts.early_warning_history, since models know only what the lake says now.
PUBLISHED_LEVELS = Log(
    name="published_levels",
    comment="Levels of early warning as they were published: one row per student, semester and change, "
    "written after the publication that changed it; append-only",
    label_zh="已发布预警等级",
    columns=(
        Column("_school_id", pa.int64(), "School", label_zh="学校ID"),
        Column("semester_id", pa.int64(), "Semester, as in core", label_zh="学期ID"),
        Column("student_id", pa.int64(), "Student, as in core", label_zh="学生ID"),
        Column("published_at", TIMESTAMP, "Time after the publication", label_zh="发布时间"),
        Column(
            "as_of", pa.date32(), "Last whole day of the data that were published", label_zh="数据截至日期"
        ),
        Column(
            "level",
            pa.string(),
            "Level of marts.early_warning; left: the student had left the school",
            label_zh="预警等级",
        ),
        Column("indicators", pa.string(), "Indicators beyond a limit; null: none", label_zh="触发预警的指标"),
        Column(
            "missing_inputs",
            pa.string(),
            "Resources that the levels need and that were never loaded; null: none",
            label_zh="尚未加载的资源",
        ),
        Column("thresholds", pa.string(), "Version of the thresholds in force", label_zh="阈值版本"),
    ),
    slice_columns=("_school_id",),
)

#: Stored in the lake, and copied to each published file.
MAINTENANCE_RUNS = Log(
    name="maintenance",
    comment="Maintenance of the lake after each night: one row per run, with what it removed; append-only",
    label_zh="维护记录",
    columns=(
        Column("started_at", TIMESTAMP, "Start of the maintenance", label_zh="开始时间"),
        Column("finished_at", TIMESTAMP, "End of the maintenance", label_zh="完成时间"),
        Column("run_id", pa.string(), "Dagster run of the maintenance", label_zh="运行ID"),
        Column(
            "files", pa.int64(), "Files deleted that no version needs", label_zh="删除文件数", unit="files"
        ),
        Column("bytes", pa.int64(), "Size of these files", label_zh="删除字节数", unit="bytes"),
        Column(
            "loads",
            pa.int64(),
            "Rows deleted from load_log: old loads without changes",
            label_zh="删除加载日志行数",
            unit="rows",
        ),
        Column(
            "personal_rows",
            pa.int64(),
            "Deleted rows that lost their personal columns; null: retention.personal_days is not set",
            label_zh="清除个人信息行数",
            unit="rows",
        ),
        Column(
            "history_rows",
            pa.int64(),
            "Rows deleted from past_rows, changes and published_levels; null: retention.history_days is not "
            "set",
            label_zh="删除历史行数",
            unit="rows",
        ),
    ),
)

#: Published tables that are made with each file.
MADE = (SEMESTER_CALENDARS, SLICES, PUSH_MISSES, FRESHNESS, MAINTENANCE_RUNS)

#: Published tables that are stored in the lake, beside the platform's own.
LOGS = (
    LOAD_LOG,
    QUARANTINE,
    DIFFERENCES,
    DRIFT,
    RECONCILIATION,
    CHANGES,
    PAST_ROWS,
    WRITES,
    PUBLISHED_LEVELS,
)
