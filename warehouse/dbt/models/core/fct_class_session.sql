-- Grain: school, course class, date, lesson: a session that was scheduled, or that somebody recorded.
-- Rules: state is one of
--     recorded    somebody's attendance is known: there is a record, or the platform counts somebody
--     moved       scheduled and not recorded, but the class has a recorded session beyond its schedule in the
--                 same week: lessons are swapped, and the schedule tells only what holds now. One such session
--                 excuses one
--     no_school   not recorded, and nobody at the school recorded anything that day: a holiday
--     not_due     not recorded, on the day of the last load or later: the roll may still be taken
--     unrecorded  none of these: nobody has taken the roll. It is no absence, and stays out of every rate
--   Counts are of core.fct_attendance: present + absent = recorded; what the platform counts itself is in
--   platform_ columns. members is who belonged to the class on the day (bridge_class_student);
--   unrecorded_members are those beyond the records, where there are any.
-- Source: raw.attendance_sessions, raw.attendance_records, raw.class_members, raw.v1_class_students.
with sessions as (
    select * from {{ ref('stg_attendance_sessions') }}
),

records as (
    select * from {{ ref('stg_attendance_records') }}
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
        min(marked_at) as first_marked_at,
        max(marked_at) as last_marked_at
    from attendance
    group by school_id, course_class_id, date, lesson
),

-- Members: one more from the day of joining, one less from the day of leaving.
moves as (
    select
        school_id,
        course_class_id,
        unnest([coalesce(joined_on, date '1900-01-01'), left_on]) as date,
        unnest([1, -1]) as change
    from class_students
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
    select school_id, cast(max(synced_at) as date) as loaded_on
    from (
        select school_id, max(synced_at) as synced_at from sessions group by school_id
        union all
        select school_id, max(synced_at) as synced_at from records group by school_id
    )
    group by school_id
),

known as (
    select
        school_id,
        course_class_id,
        date,
        lesson,
        planned.* exclude (school_id, course_class_id, date, lesson)
            replace (coalesce(planned.is_scheduled, false) as is_scheduled),
        held.* exclude (school_id, course_class_id, date, lesson),
        coalesce(held.records > 0, false)
            or coalesce(planned.platform_normal + planned.platform_late + planned.platform_absent > 0, false)
            as is_recorded
    from planned
    full join held using (school_id, course_class_id, date, lesson)
),

school_days as (
    select distinct school_id, date from known where is_recorded
),

dated as (
    select
        known.*,
        classes.semester_id,
        {{ week_of('known.date', 'semesters') }} as week,
        case
            when known.is_recorded then 'recorded'
            when known.date >= loads.loaded_on then 'not_due'
            when school_days.date is null then 'no_school'
            else 'unrecorded'
        end as state
    from known
    inner join classes
        on classes.school_id = known.school_id
        and classes.course_class_id = known.course_class_id
    left join semesters
        on semesters.school_id = classes.school_id
        and semesters.semester_id = classes.semester_id
    left join loads
        on loads.school_id = known.school_id
    left join school_days
        on school_days.school_id = known.school_id
        and school_days.date = known.date
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
    cast(sizes.members as bigint) as members,
    coalesce(weighed.records, 0) as records,
    case
        when weighed.records > 0 then cast(greatest(sizes.members - weighed.records, 0) as bigint)
    end as unrecorded_members,
    coalesce(weighed.recorded, 0) as recorded,
    coalesce(weighed.present, 0) as present,
    coalesce(weighed.absent, 0) as absent,
    coalesce(weighed.late, 0) as late,
    coalesce(weighed.early_left, 0) as early_left,
    coalesce(weighed.on_leave, 0) as on_leave,
    weighed.first_marked_at,
    weighed.last_marked_at,
    weighed.platform_attendance_rate,
    weighed.platform_normal,
    weighed.platform_late,
    weighed.platform_absent
from weighed
asof left join sizes
    on sizes.school_id = weighed.school_id
    and sizes.course_class_id = weighed.course_class_id
    and sizes.date <= weighed.date
