-- Grain: as core.early_warning_week: school, closed semester, teaching week, student.
-- Rules: what happened to the student after the week, and only that. Null: not known, or not yet.
--   chronic_absence: of the days after the week the default profile of seeds.attendance_profiles applies; null with
--     fewer such days recorded than the profile asks for.
--   failed_courses: at least two failed courses in the semester whose grades were not published by the end of the week;
--     null without such courses that count.
--   mean_drop: the mean of the semester's grades fell against the cohort by at least one standard deviation since the
--     student's last semester with grades; null once one of the semester's grades is published.
--   failed_or_chronic: failed_courses or chronic_absence, as far as they are known.
--   has_left: left the school after the week, up to the end of the next semester. Null before the next semester begins;
--     of a cohort of which more than half have left by then, since it has graduated; and in weeks before
--     core.known_since, since the platform hides what is known of those who have left.
--   failed_next: at least one failed course in the next semester; null before that one is over.
-- Source: core.early_warning_week, core.early_warning_student, marts.attendance_student_day, core.fct_grade.
with weeks as (
    select school_id, semester_id, week, ends_on, student_id from {{ ref('early_warning_week') }}
),

profiles as (
    select * from {{ ref('stg_attendance_profiles') }} where is_default
),

attendance as (
    select
        weeks.school_id,
        weeks.semester_id,
        weeks.week,
        weeks.student_id,
        count(*) as days_recorded,
        sum(days.recorded) as recorded,
        sum(days.absent) as absent
    from weeks
    inner join {{ ref('attendance_student_day') }} as days
        on days.school_id = weeks.school_id
        and days.semester_id = weeks.semester_id
        and days.student_id = weeks.student_id
        and days.week > weeks.week
        and days.recorded > 0
    group by weeks.school_id, weeks.semester_id, weeks.week, weeks.student_id
),

chronic as (
    select
        attendance.school_id,
        attendance.semester_id,
        attendance.week,
        attendance.student_id,
        100 * attendance.absent >= profiles.absence_percent * attendance.recorded as chronic_absence
    from attendance
    inner join profiles
        on profiles.school_id = attendance.school_id
        and attendance.days_recorded >= profiles.minimum_days
),

courses as (
    select
        school_id,
        semester_id,
        student_id,
        not is_passed as is_failed,
        cast(published_at as date) as published_on
    from {{ ref('fct_grade') }}
    where
        source = 'class'
        and counts_in_statistics
        and is_passed is not null
),

failed as (
    select
        weeks.school_id,
        weeks.semester_id,
        weeks.week,
        weeks.student_id,
        case
            when count(*) filter (where coalesce(courses.published_on > weeks.ends_on, true)) > 0 then count_if(courses.is_failed and coalesce(courses.published_on > weeks.ends_on, true)) >= 2
        end as failed_courses,
        count(*) filter (where courses.published_on <= weeks.ends_on) > 0 as has_published
    from weeks
    inner join courses
        on courses.school_id = weeks.school_id
        and courses.semester_id = weeks.semester_id
        and courses.student_id = weeks.student_id
    group by weeks.school_id, weeks.semester_id, weeks.week, weeks.student_id
),

known_since as (
    select school_id, cast(max(known_since) as date) as known_since
    from {{ ref('known_since') }}
    group by school_id
)

select
    weeks.school_id,
    weeks.semester_id,
    weeks.week,
    weeks.student_id,
    chronic.chronic_absence,
    failed.failed_courses,
    case when not failed.has_published then students.mean_drop end as mean_drop,
    coalesce(failed.failed_courses or chronic.chronic_absence, failed.failed_courses, chronic.chronic_absence)
        as failed_or_chronic,
    case
        when students.is_leaving_known and known_since.known_since <= weeks.ends_on
            then coalesce(students.left_on > weeks.ends_on, false)
    end as has_left,
    students.failed_next
from weeks
left join chronic
    on chronic.school_id = weeks.school_id
    and chronic.semester_id = weeks.semester_id
    and chronic.week = weeks.week
    and chronic.student_id = weeks.student_id
left join failed
    on failed.school_id = weeks.school_id
    and failed.semester_id = weeks.semester_id
    and failed.week = weeks.week
    and failed.student_id = weeks.student_id
left join {{ ref('early_warning_student') }} as students
    on students.school_id = weeks.school_id
    and students.semester_id = weeks.semester_id
    and students.student_id = weeks.student_id
left join known_since
    on known_since.school_id = weeks.school_id
