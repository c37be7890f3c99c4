-- Grain: school, semester.
-- Rules: names of the academic year and the category come from their terms. Removed semesters stay (is_deleted).
--   A semester that only v1 has is here with v1's values. bridge_v1_semester pairs the semesters of both interfaces.
--   Days and teaching weekdays come from v1; days that v1 lacks come from v3. A semester that ends before it begins has
--     no weeks.
--   week_1_on: the day by which attendance was loaded, from campus.yaml, else from the platform's current_week.
--     macros/calendar.sql counts the teaching weeks.
--   is_over: the last day is before the day of the last load of attendance (core.last_load). Without such a load, it is
--     before the first day of the current semester.
--   school_name and never_loaded (core.never_loaded) are here for the marts: numbers made from resources that were never
--     loaded are null.
--   academic_year: the year in which the academic year begins. The name of the academic year begins with it; else the
--     first day tells: a semester that begins before August belongs to the year before.
--   last_year_semester_id: the semester of the same category in the academic year before; null if there is none, more
--     than one, or no category.
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
),

years as (
    select
        semesters.school_id,
        semesters.semester_id,
        semesters.category_id,
        semesters.is_deleted,
        coalesce(
            try_cast(regexp_extract(academic_year.term_caption, '^\s*(\d{4})', 1) as integer),
            cast(year(weeks.first_day - interval 7 months) as integer)
        ) as academic_year
    from semesters
    inner join weeks
        on weeks.school_id = semesters.school_id
        and weeks.semester_id = semesters.semester_id
    left join terms as academic_year
        on academic_year.school_id = semesters.school_id
        and academic_year.term_id = semesters.academic_year_id
),

last_years as (
    select
        years.school_id,
        years.semester_id,
        min(earlier.semester_id) as semester_id_before
    from years
    inner join years as earlier
        on earlier.school_id = years.school_id
        and earlier.category_id = years.category_id
        and earlier.academic_year = years.academic_year - 1
    where not earlier.is_deleted
    group by years.school_id, years.semester_id
    having count(*) = 1
)

select
    semesters.school_id,
    schools.school_name,
    semesters.semester_id,
    semesters.semester_name,
    semesters.academic_year_id,
    academic_year.term_caption as academic_year_name,
    years.academic_year,
    semesters.category_id,
    category.term_caption as category_name,
    last_years.semester_id_before as last_year_semester_id,
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
inner join years
    on years.school_id = semesters.school_id
    and years.semester_id = semesters.semester_id
left join last_years
    on last_years.school_id = semesters.school_id
    and last_years.semester_id = semesters.semester_id
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
