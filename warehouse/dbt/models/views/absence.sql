-- Grain: school, day, student who missed a recorded lesson of the day, or came late.
-- Rules: the last school day (views.last_school_day) and later days of the semesters that are shown: of a day on which few
--   rolls were taken yet, what is known so far. Who missed all recorded lessons of the last school day was away.
--   leave_label is the kind of leave that the platform names. last_intervention_on and the columns after it are the latest
--   talk or measure, of whichever semester. is_spoken_to: it was on the day or since. The lessons of a day are those of all
--   semesters that are shown, and the level is that of the semester with the greatest id.
with judged as (
    select * from {{ ref('student_standing') }}
    where is_shown
),

days as (
    select school_id, date as last_day from {{ ref('last_school_day') }}
    where period = 'last'
),

lessons as (
    select
        attendance.school_id,
        max(attendance.semester_id) as semester_id,
        attendance.student_id,
        attendance.date,
        count(*) as recorded,
        count(*) filter (where attendance.is_absent) as absent,
        count(*) filter (where attendance.is_leave) as on_leave,
        count(*) filter (where attendance.is_late) as late,
        array_to_string(
            list_sort(list(distinct attendance.lesson) filter (where attendance.is_absent)), ', '
        ) as lessons,
        string_agg(distinct attendance.absence_label, ', ' order by attendance.absence_label)
            filter (where attendance.is_absent and attendance.is_leave) as leave_label,
        any_value(days.last_day) as last_day
    from {{ ref('fct_attendance') }} as attendance
    inner join days
        on days.school_id = attendance.school_id
        and attendance.date >= days.last_day
    semi join {{ ref('shown_semester') }} as shown
        on shown.school_id = attendance.school_id
        and shown.semester_id = attendance.semester_id
    where attendance.counts_in_denominator
    group by all
),

guardians as (
    select
        school_id,
        student_id,
        string_agg(distinct concat_ws(' ', guardian_name, phone), ', ' order by concat_ws(' ', guardian_name, phone)) as phones
    from {{ ref('student_guardian') }}
    where phone is not null
    group by all
),

interventions as (
    {{ latest_interventions(['school_id', 'student_id']) }}
)

select
    judged.school_id,
    judged.semester_id,
    judged.semester_name,
    judged.is_shown,
    lessons.date,
    lessons.date = lessons.last_day as is_last_school_day,
    judged.cohort_id,
    judged.cohort_name,
    judged.admin_class_id,
    judged.admin_class_name,
    judged.class_title,
    judged.student_id,
    judged.student_number,
    judged.student_name,
    judged.student,
    judged.level,
    lessons.recorded,
    lessons.absent,
    lessons.on_leave,
    lessons.late,
    lessons.lessons,
    lessons.absent = lessons.recorded and lessons.date = lessons.last_day as is_away,
    case
        when lessons.absent = 0 then 'late'
        when lessons.on_leave = lessons.absent then 'leave'
        when lessons.on_leave = 0 then 'unexcused'
        else 'both'
    end as reason,
    lessons.leave_label,
    guardians.phones,
    interventions.latest.date as last_intervention_on,
    interventions.latest.kind as last_intervention,
    interventions.latest.done_by as last_intervention_by,
    interventions.latest.result as last_intervention_result,
    coalesce(interventions.latest.date >= lessons.date, false) as is_spoken_to
from lessons
inner join judged
    on judged.school_id = lessons.school_id
    and judged.semester_id = lessons.semester_id
    and judged.student_id = lessons.student_id
left join guardians
    on guardians.school_id = lessons.school_id
    and guardians.student_id = lessons.student_id
left join interventions
    on interventions.school_id = lessons.school_id
    and interventions.student_id = lessons.student_id
where lessons.absent > 0 or lessons.late > 0
