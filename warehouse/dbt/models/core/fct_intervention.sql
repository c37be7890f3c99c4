-- Grain: school, student, day, kind: what the school did for a student, by its own log.
-- Rules: the semester is the one that has the day, and the week its teaching week; both null outside all semesters.
--   A student without a row was not written down, which is not known to be nothing.
-- Source: raw.interventions, which the school's own file fills, not the platform.
with interventions as (
    select * from {{ ref('stg_interventions') }}
),

-- Of semesters that overlap, the later one.
days as (
    select
        school_id,
        date,
        max_by(semester_id, (first_day, semester_id)) as semester_id,
        max_by(week, (first_day, semester_id)) as week
    from {{ ref('dim_date') }}
    inner join {{ ref('dim_semester') }} using (school_id, semester_id)
    where not is_deleted
    group by school_id, date
)

select
    interventions.school_id,
    interventions.student_id,
    interventions.date,
    interventions.kind,
    days.semester_id,
    days.week,
    interventions.done_by,
    interventions.result,
    interventions.note,
    interventions.again_on
from interventions
left join days
    on days.school_id = interventions.school_id
    and days.date = interventions.date
