-- Grain: school, semester, student, source of grades other than a course class: moral, dorm and others.
-- Rules: live grades that count in statistics (seeds.grade_status_rules). score_rate = 100 * points / full points of the
--   scored grades. levels: the platform's levels, each once. cohort_students: students of the cohort with grades of the
--   source; cohort_score_rate: their score rate, from sums. Both are null if students were never loaded, since their
--   cohorts are then unknown.
-- Source: core.fct_grade and dimensions.
with grades as (
    select *
    from {{ ref('fct_grade') }}
    where
        source <> 'class'
        and semester_id is not null
        and counts_in_statistics
),

students as (
    select * from {{ ref('dim_student') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

leavers as (
    select * from {{ ref('semester_leaver') }}
),

sums as (
    select
        school_id,
        semester_id,
        student_id,
        source,
        count(*) as grades,
        count(score_percent) as scored,
        sum(real_score) filter (where score_percent is not null) as score_sum,
        sum(full_score) filter (where score_percent is not null) as full_score_sum,
        string_agg(distinct level, ', ' order by level) as levels,
        count(*) filter (where not is_passed) as failed,
        max(published_at) as last_published_at
    from grades
    group by school_id, semester_id, student_id, source
),

placed as (
    select
        sums.*,
        students.student_number,
        students.student_name,
        students.cohort_id,
        students.cohort_name
    from sums
    left join students
        on students.school_id = sums.school_id
        and students.student_id = sums.student_id
),

compared as (
    select
        *,
        count(*) over in_cohort as cohort_students,
        sum(score_sum) over in_cohort as cohort_score_sum,
        sum(full_score_sum) over in_cohort as cohort_full_score_sum
    from placed
    window in_cohort as (partition by school_id, semester_id, source, cohort_id)
)

select
    compared.school_id,
    compared.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    compared.student_id,
    compared.student_number,
    compared.student_name,
    {{ has_left() }} as has_left,
    compared.cohort_id,
    compared.cohort_name,
    compared.source,
    {{ in_words('source', 'compared.source') }},
    compared.grades,
    compared.scored,
    cast(compared.score_sum as decimal(38, 6)) as score_sum,
    cast(compared.full_score_sum as decimal(38, 6)) as full_score_sum,
    {{ percent('compared.score_sum', 'compared.full_score_sum', places=2) }} as score_rate,
    compared.levels,
    compared.failed,
    compared.last_published_at,
    {{ if_loaded(['students'], 'compared.cohort_students') }} as cohort_students,
    {{ if_loaded(['students'], percent('compared.cohort_score_sum', 'compared.cohort_full_score_sum', places=2)) }} as cohort_score_rate
from compared
left join students
    on students.school_id = compared.school_id
    and students.student_id = compared.student_id
left join semesters
    on semesters.school_id = compared.school_id
    and semesters.semester_id = compared.semester_id
left join leavers
    on leavers.school_id = compared.school_id
    and leavers.semester_id = compared.semester_id
    and leavers.student_id = compared.student_id
