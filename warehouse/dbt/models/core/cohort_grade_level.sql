-- Grain: school, semester, cohort: cohorts whose grade in the semester is known, until they graduate.
-- Rules: a cohort moves up a grade each academic year, and graduates from its last grade:
--     grade_level = last grade - (graduates_in - academic_year - 1).
--   graduates_in: the name or label of the cohort's term (2027, 2027届). A cohort with another name has no grade.
--   The names of grades (seeds.grade_names) tell the last grade: by the same formula, each gives the last grade of the
--     cohort that the platform has in this grade. Names without a semester count for the current academic year.
--   grade_level_known_by: the first source that tells. setting (seeds.last_grades), grade_maps of the v1 semesters,
--     structure (of type grade, with a cohort), admin_class (grade_name of v1), school (nothing names the cohort, and all
--     other cohorts have this last grade).
--   A source is left out if it gives a cohort two last grades, or one from which nobody graduates (is_last of
--     seeds.grade_names). Years of schooling are not used: three of them may end with grade 9 or 12.
-- Source: raw.terms, raw.v1_semesters, raw.structures, raw.v1_admin_classes, core.dim_semester and seeds.
with terms as (
    select * from {{ ref('dim_term') }} where term_type = 'system.graduates_in'
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

v1_semesters as (
    select * from {{ ref('stg_v1_semesters') }} where not is_deleted
),

structures as (
    select * from {{ ref('stg_structures') }}
    where structure_type = 'grade' and not is_deleted and not {{ is_archived('status') }}
),

v1_admin_classes as (
    select * from {{ ref('stg_v1_admin_classes') }} where not is_deleted
),

grade_names as (
    select * from {{ ref('stg_grade_names') }}
),

settings as (
    select * from {{ ref('stg_last_grades') }}
),

cohorts as (
    select
        school_id,
        term_id as cohort_id,
        coalesce(
            {%- for column in ('term_name', 'term_label') %}
            try_cast(regexp_extract({{ column }}, '^\s*(\d{4})\s*届?\s*$', 1) as integer){{ ',' if not loop.last }}
            {%- endfor %}
        ) as graduates_in
    from terms
),

current_years as (
    select school_id, max(academic_year) as academic_year
    from semesters
    where is_current and not is_deleted
    group by school_id
),

named as (
    select
        v1_semesters.school_id,
        cohorts.cohort_id,
        cohorts.graduates_in,
        semesters.academic_year,
        entries.entry.key as grade_name,
        1 as place,
        'grade_maps' as known_by
    from v1_semesters
    cross join unnest(map_entries(v1_semesters.grade_maps)) as entries (entry)
    inner join semesters
        on semesters.school_id = v1_semesters.school_id
        and semesters.semester_id = v1_semesters.semester_id
    inner join cohorts
        on cohorts.school_id = v1_semesters.school_id
        and cohorts.graduates_in = entries.entry.value

    union all

    select
        structures.school_id,
        cohorts.cohort_id,
        cohorts.graduates_in,
        current_years.academic_year,
        structures.structure_name,
        2,
        'structure'
    from structures
    inner join current_years
        on current_years.school_id = structures.school_id
    inner join cohorts
        on cohorts.school_id = structures.school_id
        and cohorts.cohort_id = structures.graduates_in_id

    union all

    select
        v1_admin_classes.school_id,
        cohorts.cohort_id,
        cohorts.graduates_in,
        current_years.academic_year,
        v1_admin_classes.grade_name,
        3,
        'admin_class'
    from v1_admin_classes
    inner join current_years
        on current_years.school_id = v1_admin_classes.school_id
    inner join cohorts
        on cohorts.school_id = v1_admin_classes.school_id
        and cohorts.graduates_in = v1_admin_classes.graduates_in
),

last_grades as (
    select
        named.school_id,
        named.cohort_id,
        named.place,
        any_value(named.known_by) as known_by,
        min(last_names.grade_level) as last_grade
    from named
    inner join grade_names
        on grade_names.school_id = named.school_id
        and grade_names.grade_name = trim(named.grade_name)
    inner join grade_names as last_names
        on last_names.school_id = named.school_id
        and last_names.is_last
        and last_names.grade_level = grade_names.grade_level + named.graduates_in - named.academic_year - 1
    where named.academic_year < named.graduates_in
    group by named.school_id, named.cohort_id, named.place
    having count(distinct last_names.grade_level) = 1
),

of_cohorts as (
    select
        school_id,
        cohort_id,
        arg_min(last_grade, place) as last_grade,
        arg_min(known_by, place) as known_by
    from last_grades
    group by school_id, cohort_id
),

of_schools as (
    select school_id, min(last_grade) as last_grade
    from of_cohorts
    group by school_id
    having count(distinct last_grade) = 1
),

known as (
    select
        cohorts.*,
        coalesce(settings.last_grade, of_cohorts.last_grade, of_schools.last_grade) as last_grade,
        case
            when settings.last_grade is not null then 'setting'
            else coalesce(of_cohorts.known_by, 'school')
        end as known_by
    from cohorts
    left join settings
        on settings.school_id = cohorts.school_id
    left join of_cohorts
        on of_cohorts.school_id = cohorts.school_id
        and of_cohorts.cohort_id = cohorts.cohort_id
    left join of_schools
        on of_schools.school_id = cohorts.school_id
)

select
    semesters.school_id,
    semesters.semester_id,
    known.cohort_id,
    semesters.academic_year,
    known.graduates_in,
    known.last_grade - (known.graduates_in - semesters.academic_year - 1) as grade_level,
    known.known_by as grade_level_known_by
from semesters
inner join known
    on known.school_id = semesters.school_id
where
    semesters.academic_year < known.graduates_in
    and known.last_grade - (known.graduates_in - semesters.academic_year - 1) >= 1
