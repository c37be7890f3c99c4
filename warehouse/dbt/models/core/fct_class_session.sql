-- Grain: school, course class, date, lesson: a session that was scheduled, or that has records.
-- Rules: state is the first of these that applies:
--     recorded     A student has a record, or the platform counts a student as present or late. The platform may count
--                  students without a record as absent, so its count of absences proves nothing.
--     not_due      The session is on the day of the last load (core.last_load) or later. The roll may still be taken.
--     no_school    A holiday: less than school_day_percent of the day's sessions at the school are recorded. A longer
--                  gap than longest_holiday_days is no holiday: the school does not take the roll.
--     no_students  Nobody belonged to the class on the day. Students who are gone with all their records do not count
--                  (bridge_class_student.is_expected).
--     moved        The class has a recorded session outside its schedule in the same week. Lessons are swapped, and
--                  the schedule shows only the present times. Each such session excuses one session.
--     unrecorded   Nobody has taken the roll. This is no absence, and stays out of every rate.
--   Counts come from core.fct_attendance: present + absent = recorded.
--   marked_ columns count records by the platform's status, to be compared with the platform's own counts.
--   platform_ columns are the platform's own counts. They are null if the session is not recorded: a rate of 0 percent
--     would be no rate there.
--   members: students who belonged to the class on the day and are expected (is_expected). Null: no membership of the
--     semester is known, or v3's memberships were never loaded. Only v3's have days.
--   unrecorded_members: members - records, at least 0; null without records.
--   Thresholds are in seeds.attendance_thresholds.
-- Source: raw.attendance_sessions, raw.attendance_records, raw.class_members, raw.v1_class_students.
with sessions as (
    select * from {{ ref('stg_attendance_sessions') }}
),

attendance as (
    select * from {{ ref('fct_attendance') }}
),

classes as (
    select * from {{ ref('dim_teaching_class') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

class_students as (
    select * from {{ ref('bridge_class_student') }}
),

thresholds as (
    select
        school_id,
        max(value) filter (where threshold = 'school_day_percent') as school_day_percent,
        max(value) filter (where threshold = 'longest_holiday_days') as longest_holiday_days
    from {{ ref('stg_attendance_thresholds') }}
    group by school_id
),

planned as (
    select
        sessions.school_id,
        classes.course_class_id,
        sessions.date,
        sessions.lesson,
        bool_or(sessions.is_scheduled) as is_scheduled,
        max(sessions.attendance_rate) as platform_attendance_rate,
        max(sessions.normal_count) as platform_normal,
        max(sessions.late_count) as platform_late,
        max(sessions.absent_count) as platform_absent
    from sessions
    inner join classes
        on classes.school_id = sessions.school_id
        and classes.v1_class_id = sessions.v1_class_id
    group by sessions.school_id, classes.course_class_id, sessions.date, sessions.lesson
),

held as (
    select
        school_id,
        course_class_id,
        date,
        lesson,
        count(*) as records,
        {{ attendance_counts() }},
        count(*) filter (where status = 'normal') as marked_normal,
        count(*) filter (where status in ('lated', 'early_left')) as marked_late,
        count(*) filter (where status = 'absent') as marked_absent,
        count(*) filter (where status = 'absent_from_duty') as marked_off_duty,
        min(marked_at) as first_marked_at,
        max(marked_at) as last_marked_at
    from attendance
    group by school_id, course_class_id, date, lesson
),

-- Changes of the number of members: +1 on the day of joining, -1 on the day of leaving.
moves as (
    select
        school_id,
        course_class_id,
        unnest([coalesce(joined_on, date '1900-01-01'), left_on]) as date,
        unnest([1, -1]) as change
    from class_students
    where is_expected
),

sizes as (
    select
        school_id,
        course_class_id,
        date,
        sum(sum(change)) over (partition by school_id, course_class_id order by date) as members
    from moves
    where date is not null
    group by school_id, course_class_id, date
),

loads as (
    select * from {{ ref('last_load') }}
),

rosters as (
    select distinct school_id, semester_id from class_students
),

known as (
    select
        planned.* exclude (school_id, course_class_id, date, lesson)
            replace (coalesce(planned.is_scheduled, false) as is_scheduled),
        held.* exclude (school_id, course_class_id, date, lesson),
        school_id,
        course_class_id,
        classes.semester_id,
        date,
        lesson,
        coalesce(held.records > 0, false)
            or coalesce(planned.platform_normal, 0) + coalesce(planned.platform_late, 0) > 0
            as is_recorded,
        date >= loads.loaded_on as is_too_early
    from planned
    full join held using (school_id, course_class_id, date, lesson)
    inner join classes using (school_id, course_class_id)
    left join loads using (school_id)
),

-- A class without members has no roll, and does not count in a school day.
sized as (
    select
        known.*,
        case when rosters.school_id is not null then cast(coalesce(sizes.members, 0) as bigint) end as members,
        known.is_recorded or rosters.school_id is null or sizes.members > 0 as has_roll
    from known
    left join rosters
        on rosters.school_id = known.school_id
        and rosters.semester_id is not distinct from known.semester_id
    asof left join sizes
        on sizes.school_id = known.school_id
        and sizes.course_class_id = known.course_class_id
        and sizes.date <= known.date
),

days as (
    select
        sized.school_id,
        sized.semester_id,
        sized.date,
        bool_or(sized.is_recorded)
            and count(*) filter (where sized.is_recorded) * 100 >= any_value(thresholds.school_day_percent) * count(*)
            as is_school_day
    from sized
    left join thresholds
        on thresholds.school_id = sized.school_id
    where sized.has_roll and not sized.is_too_early
    group by sized.school_id, sized.semester_id, sized.date
),

-- Counts the days without school around each day: up to the school days before and after, or the first and last day due.
gaps as (
    select
        school_id,
        semester_id,
        date,
        is_school_day,
        coalesce(min(date) filter (where is_school_day) over from_here, max(date) over in_semester + 1)
            - coalesce(max(date) filter (where is_school_day) over up_to_here, min(date) over in_semester - 1)
            - 1 as days_without_school
    from days
    window
        in_semester as (partition by school_id, semester_id),
        up_to_here as (partition by school_id, semester_id order by date),
        from_here as (
            partition by school_id, semester_id order by date
            rows between current row and unbounded following
        )
),

holidays as (
    select
        gaps.school_id,
        gaps.semester_id,
        gaps.date
    from gaps
    inner join thresholds
        on thresholds.school_id = gaps.school_id
        and gaps.days_without_school <= thresholds.longest_holiday_days
    where not gaps.is_school_day
),

dated as (
    select
        sized.*,
        {{ week_of('sized.date', 'semesters') }} as week,
        case
            when sized.is_recorded then 'recorded'
            when sized.is_too_early then 'not_due'
            when holidays.date is not null then 'no_school'
            when sized.has_roll is not true then 'no_students'
            else 'unrecorded'
        end as state
    from sized
    left join semesters
        on semesters.school_id = sized.school_id
        and semesters.semester_id = sized.semester_id
    left join holidays
        on holidays.school_id = sized.school_id
        and holidays.semester_id is not distinct from sized.semester_id
        and holidays.date = sized.date
),

weighed as (
    select
        *,
        count(*) filter (where is_recorded and not is_scheduled) over in_week as sessions_beyond_schedule,
        count(*) filter (where state = 'unrecorded') over (in_week order by date, lesson) as unrecorded_so_far
    from dated
    window in_week as (partition by school_id, course_class_id, week)
)

select
    weighed.school_id,
    weighed.course_class_id,
    weighed.semester_id,
    weighed.date,
    weighed.week,
    cast(isodow(weighed.date) as integer) as weekday,
    weighed.lesson,
    weighed.is_scheduled,
    weighed.is_recorded,
    case
        when weighed.state = 'unrecorded' and weighed.unrecorded_so_far <= weighed.sessions_beyond_schedule
            then 'moved'
        else weighed.state
    end as state,
    {{ if_loaded(['class_members', 'students'], 'weighed.members') }} as members,
    coalesce(weighed.records, 0) as records,
    case
        when weighed.records > 0
            then {{ if_loaded(['class_members', 'students'], 'greatest(weighed.members - weighed.records, 0)') }}
    end as unrecorded_members,
    coalesce(weighed.recorded, 0) as recorded,
    coalesce(weighed.present, 0) as present,
    coalesce(weighed.absent, 0) as absent,
    coalesce(weighed.late, 0) as late,
    coalesce(weighed.early_left, 0) as early_left,
    coalesce(weighed.on_leave, 0) as on_leave,
    coalesce(weighed.unexcused, 0) as unexcused,
    coalesce(weighed.marked_normal, 0) as marked_normal,
    coalesce(weighed.marked_late, 0) as marked_late,
    coalesce(weighed.marked_absent, 0) as marked_absent,
    coalesce(weighed.marked_off_duty, 0) as marked_off_duty,
    weighed.first_marked_at,
    weighed.last_marked_at,
    case when weighed.is_recorded then weighed.platform_attendance_rate end as platform_attendance_rate,
    case when weighed.is_recorded then weighed.platform_normal end as platform_normal,
    case when weighed.is_recorded then weighed.platform_late end as platform_late,
    case when weighed.is_recorded then weighed.platform_absent end as platform_absent
from weighed
left join semesters
    on semesters.school_id = weighed.school_id
    and semesters.semester_id = weighed.semester_id
