-- Grain: school, semester.
-- Rules: names of the academic year and category come from their terms. Removed semesters stay (is_deleted).
--   Which semester of the v1 interface it is, bridge_v1_semester tells; one that v3 does not have is here with
--   what v1 shows. Days and teaching weekdays come from the v1 interface; the days, where it does not tell
--   them, from the v3 interface. A semester that ends before it begins has no weeks. Where week 1 begins is
--   what attendance was loaded by: as campus.yaml says, else as the platform's current_week shows. Teaching
--   weeks: macros/calendar.sql. A semester is over when its last day is before that of the last load of
--   attendance (core.last_load); where none was loaded, before the first day of the current one.
--   The school's name is here, too, since whoever asks for a semester asks for its school, and so are the resources of
--   which nothing was ever loaded of the semester (core.never_loaded): numbers that are made of them are null.
-- Source: raw.semesters, raw.v1_semesters, raw.terms, raw.schools, core.last_load, core.never_loaded,
--   quality.semester_calendars.
with v3_semesters as (
    select * from {{ ref('stg_semesters') }}
),

terms as (
    select * from {{ ref('dim_term') }}
),

v1_semesters as (
    select * from {{ ref('stg_v1_semesters') }}
),

loads as (
    select * from {{ ref('last_load') }}
),

calendars as (
    select * from {{ ref('stg_semester_calendars') }}
),

schools as (
    select * from {{ ref('stg_schools') }}
),

never_loaded as (
    select school_id, semester_id, list(resource order by resource) as resources
    from {{ ref('never_loaded') }}
    group by school_id, semester_id
),

semesters as (
    select * from v3_semesters
    union all by name
    select
        school_id, semester_id, semester_name, start_at, end_at, is_current, outer_id, is_deleted, deleted_at
    from v1_semesters
    anti join v3_semesters using (school_id, semester_id)
),

days as (
    select
        semesters.school_id,
        semesters.semester_id,
        coalesce(v1_semesters.first_day, cast(semesters.start_at as date)) as first_day,
        coalesce(v1_semesters.last_day, cast(semesters.end_at as date)) as last_day,
        v1_semesters.teaching_weekdays,
        semesters.is_current,
        calendars.week_1_on,
        calendars.weeks_begin,
        calendars.weeks_known_by
    from semesters
    left join v1_semesters
        on v1_semesters.school_id = semesters.school_id
        and v1_semesters.semester_id = semesters.semester_id
    left join calendars
        on calendars.school_id = semesters.school_id
        and calendars.semester_id = semesters.semester_id
),

weeks as (
    select
        *,
        max(first_day) filter (where is_current) over (partition by school_id) as current_since
    from days
)

select
    semesters.school_id,
    schools.school_name,
    semesters.semester_id,
    semesters.semester_name,
    semesters.academic_year_id,
    academic_year.term_caption as academic_year_name,
    semesters.category_id,
    category.term_caption as category_name,
    semesters.start_at,
    semesters.end_at,
    weeks.first_day,
    weeks.last_day,
    weeks.week_1_on,
    case
        when weeks.last_day >= weeks.first_day
            then cast(greatest((weeks.last_day - weeks.week_1_on) // 7 + 1, 1) as integer)
    end as week_count,
    weeks.weeks_begin,
    weeks.weeks_known_by,
    weeks.teaching_weekdays,
    semesters.is_current,
    loads.loaded_on,
    coalesce(weeks.last_day < coalesce(loads.loaded_on, weeks.current_since), false) as is_over,
    coalesce(never_loaded.resources, []) as never_loaded,
    semesters.outer_id,
    semesters.is_deleted,
    semesters.deleted_at
from semesters
inner join weeks
    on weeks.school_id = semesters.school_id
    and weeks.semester_id = semesters.semester_id
left join schools
    on schools.school_id = semesters.school_id
left join loads
    on loads.school_id = semesters.school_id
left join never_loaded
    on never_loaded.school_id = semesters.school_id
    and never_loaded.semester_id = semesters.semester_id
left join terms as academic_year
    on academic_year.school_id = semesters.school_id
    and academic_year.term_id = semesters.academic_year_id
left join terms as category
    on category.school_id = semesters.school_id
    and category.term_id = semesters.category_id
