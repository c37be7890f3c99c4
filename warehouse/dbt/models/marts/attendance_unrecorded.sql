-- Grain: school, semester, teaching week, teacher with sessions due (week null: a semester without days; teacher null:
--   the class has no known teacher).
-- Rules: due sessions have a roll taken or due (states recorded and unrecorded of core.fct_class_session). A session of
--   two teachers counts for each, so the sum over teachers may exceed the sum over classes.
--   unrecorded_rate = 100 * unrecorded_sessions / due_sessions. marts.attendance_class_session lists the sessions (state
--   unrecorded).
-- Source: marts.attendance_class_session and dimensions.
with sessions as (
    select *
    from {{ ref('attendance_class_session') }}
    where state in ('recorded', 'unrecorded')
),

teachers as (
    select * from {{ ref('dim_teacher') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

due as (
    select
        * exclude (teacher_ids),
        if(contains(class_name, course_name), class_name, concat_ws(' ', course_name, class_name)) as full_name,
        unnest(coalesce(nullif(teacher_ids, []), [null])) as teacher_id
    from sessions
),

weeks as (
    select
        school_id,
        semester_id,
        week,
        teacher_id,
        count(*) as due_sessions,
        count(*) filter (where state = 'recorded') as recorded_sessions,
        count(*) filter (where state = 'unrecorded') as unrecorded_sessions,
        string_agg(distinct full_name, ', ' order by full_name)
            filter (where state = 'unrecorded') as unrecorded_classes,
        min(date) filter (where state = 'unrecorded') as first_unrecorded_on,
        max(date) filter (where state = 'unrecorded') as last_unrecorded_on
    from due
    group by school_id, semester_id, week, teacher_id
)

select
    weeks.school_id,
    weeks.semester_id,
    {{ semester_names() }},
    weeks.week,
    {{ is_complete(last_day_of('weeks.week', 'semesters'), 'semesters') }} as is_complete,
    weeks.teacher_id,
    teachers.staff_number,
    teachers.teacher_name,
    weeks.due_sessions,
    weeks.recorded_sessions,
    weeks.unrecorded_sessions,
    {{ rate('weeks.unrecorded_sessions', 'weeks.due_sessions') }} as unrecorded_rate,
    weeks.unrecorded_classes,
    weeks.first_unrecorded_on,
    weeks.last_unrecorded_on
from weeks
left join semesters
    on semesters.school_id = weeks.school_id
    and semesters.semester_id = weeks.semester_id
left join teachers
    on teachers.school_id = weeks.school_id
    and teachers.teacher_id = weeks.teacher_id
