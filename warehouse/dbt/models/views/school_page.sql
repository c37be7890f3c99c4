-- Grain: school.
-- Rules: semester_name names the semesters that are shown.
with shown as (
    select
        school_id,
        string_agg(distinct semester_name, ' · ' order by semester_name) as semester_name
    from {{ ref('shown_semester') }}
    group by all
),

guardians as (
    select
        school_id,
        max(guardians) > 0 as has_guardians
    from {{ ref('dim_student') }}
    group by all
)

select
    schools.school_id,
    coalesce(schools.school_name, cast(schools.school_id as varchar)) as school,
    shown.semester_name,
    coalesce(guardians.has_guardians, false) as has_guardians
from {{ ref('dim_school') }} as schools
left join shown using (school_id)
left join guardians using (school_id)
