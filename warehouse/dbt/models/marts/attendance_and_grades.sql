-- Grain: school, semester, tier of attendance, band of grades with at least one student.
-- Rules: every student with attendance or grades is in one cell.
--     tier  as in marts.attendance_student_semester; unrecorded: no attendance; unknown: attendance was never loaded
--     band  of the score rate by seeds.grade_bands; unscored: no score rate; unknown: grades were never loaded
--   percent_of_tier = 100 * students / students of the tier. So the bands of a tier add up to 100.
--   Rates come from sums.
--   correlation: Pearson's, of the attendance rate and the score rate, over the students of the semester with both. Null
--     for fewer than three students, or if either rate is the same for all.
--   Counts of attendance are null if attendance was never loaded, and counts of grades if grades were never loaded.
--   percent_of_tier is null in either case.
-- Source: marts.attendance_student_semester, marts.grade_student_semester.
with attendance as (
    select * from {{ ref('attendance_student_semester') }}
),

grades as (
    select * from {{ ref('grade_student_semester') }}
),

bands as (
    select * from {{ ref('stg_grade_bands') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

students as (
    select
        school_id,
        semester_id,
        coalesce(attendance.tier, 'unrecorded') as tier,
        attendance.recorded,
        attendance.present,
        attendance.present / nullif(attendance.recorded, 0) as attendance_share,
        grades.score_rate,
        grades.score_sum,
        grades.full_score_sum,
        grades.counted_courses,
        grades.failed_courses
    from attendance
    full join grades using (school_id, semester_id, student_id)
),

correlations as (
    select
        school_id,
        semester_id,
        case
            when count(*) >= 3 and min(attendance_share) < max(attendance_share) and min(score_rate) < max(score_rate)
                then {{ rounded('corr(attendance_share, score_rate)') }}
        end as correlation
    from students
    where
        attendance_share is not null
        and score_rate is not null
    group by school_id, semester_id
),

cells as (
    select
        students.school_id,
        students.semester_id,
        students.tier,
        coalesce(bands.band, 'unscored') as band,
        count(*) as students,
        coalesce(cast(sum(students.recorded) as bigint), 0) as recorded,
        coalesce(cast(sum(students.present) as bigint), 0) as present,
        sum(students.score_sum) as score_sum,
        sum(students.full_score_sum) as full_score_sum,
        coalesce(cast(sum(students.counted_courses) as bigint), 0) as counted_courses,
        coalesce(cast(sum(students.failed_courses) as bigint), 0) as failed_courses
    from students
    left join bands
        on bands.school_id = students.school_id
        and students.score_rate is not null
        and (students.score_rate >= bands.lower_percent or bands.lower_percent is null)
        and (students.score_rate < bands.upper_percent or bands.upper_percent is null)
    group by students.school_id, students.semester_id, students.tier, bands.band
),

totals as (
    select
        *,
        cast(sum(students) over (partition by school_id, semester_id, tier) as bigint) as students_of_tier
    from cells
)

select
    totals.school_id,
    totals.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    coalesce({{ if_loaded(['attendance_records'], 'totals.tier') }}, 'unknown') as tier,
    {{ in_words('tier', 'tier') }},
    coalesce({{ if_loaded(['grades'], 'totals.band') }}, 'unknown') as band,
    {{ in_words('band', 'band') }},
    'all' as population,
    totals.students,
    totals.students_of_tier,
    {{ if_loaded(['attendance_records', 'grades'], rate('totals.students', 'totals.students_of_tier')) }} as percent_of_tier,
    {{ if_loaded(['attendance_records'], 'totals.recorded') }} as recorded,
    {{ if_loaded(['attendance_records'], 'totals.present') }} as present,
    {{ rate('totals.present', 'totals.recorded') }} as attendance_rate,
    totals.score_sum,
    totals.full_score_sum,
    {{ percent('totals.score_sum', 'totals.full_score_sum', places=2) }} as score_rate,
    {{ if_loaded(['grades'], 'totals.counted_courses') }} as counted_courses,
    {{ if_loaded(['grades'], 'totals.failed_courses') }} as failed_courses,
    correlations.correlation
from totals
left join correlations
    on correlations.school_id = totals.school_id
    and correlations.semester_id = totals.semester_id
left join semesters
    on semesters.school_id = totals.school_id
    and semesters.semester_id = totals.semester_id
