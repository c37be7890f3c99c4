-- Grain: school, semester.
-- Rules: names of the academic year and category come from their terms. Removed semesters stay (is_deleted).
-- Source: raw.semesters, raw.terms.
with semesters as (
    select * from {{ ref('stg_semesters') }}
),

terms as (
    select * from {{ ref('dim_term') }}
)

select
    semesters.school_id,
    semesters.semester_id,
    semesters.semester_name,
    semesters.academic_year_id,
    academic_year.term_caption as academic_year_name,
    semesters.category_id,
    category.term_caption as category_name,
    semesters.start_at,
    semesters.end_at,
    semesters.is_current,
    semesters.outer_id,
    semesters.is_deleted,
    semesters.deleted_at
from semesters
left join terms as academic_year
    on academic_year.school_id = semesters.school_id
    and academic_year.term_id = semesters.academic_year_id
left join terms as category
    on category.school_id = semesters.school_id
    and category.term_id = semesters.category_id
