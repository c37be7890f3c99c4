-- Grain: school, student, semester of the transcript.
-- Rules: gpa = sum(grade points * credit) / sum(credit) over the semester's courses that have both. Grade points are the
--     transcript's own, else by the scale in force (seeds.gpa_scale) from the total score, of 100.
--   cumulative columns: over all semesters up to this semester, in the order of their first days.
--   platform_gpa: the platform's figure for the semester. platform_cumulative_gpa: its figure over all semesters, so only
--     in the row of the student's last semester.
--   Figures agree if they differ by no more than gpa_tolerance (seeds.grade_thresholds), since the platform rounds. Null:
--     nothing to compare.
-- Source: core.fct_transcript_course, raw.transcript_semesters, raw.transcripts.
with courses as (
    select
        courses.*,
        coalesce(courses.grade_points, scale.grade_points) as points,
        scale.grade_points is not null as is_by_scale
    from {{ ref('fct_transcript_course') }} as courses
    left join {{ ref('stg_gpa_scale') }} as scale
        -- In the join key, so that a course with points of its own is not compared with the whole scale.
        on scale.school_id = case when courses.grade_points is null then courses.school_id end
        and courses.score >= scale.lower_percent
        and (courses.score < scale.upper_percent or scale.upper_percent is null)
    where
        courses.student_id is not null
        and courses.semester_id is not null
),

people as (
    select * from {{ ref('bridge_v1_person') }}
),

tolerances as (
    select school_id, value as tolerance
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'gpa_tolerance'
),

platform_semesters as (
    select
        semesters.school_id,
        people.person_id as student_id,
        semesters.semester_id,
        any_value(semesters.platform_gpa) as platform_gpa
    from {{ ref('stg_transcript_semesters') }} as semesters
    inner join people
        on people.school_id = semesters.school_id
        and people.v1_person_id = semesters.v1_student_id
    group by semesters.school_id, people.person_id, semesters.semester_id
),

platform_totals as (
    select
        transcripts.school_id,
        people.person_id as student_id,
        any_value(transcripts.platform_gpa) as platform_gpa
    from {{ ref('stg_transcripts') }} as transcripts
    inner join people
        on people.school_id = transcripts.school_id
        and people.v1_person_id = transcripts.v1_student_id
    group by transcripts.school_id, people.person_id
),

sums as (
    select
        school_id,
        student_id,
        semester_id,
        count(*) as courses,
        count(*) filter (where is_published) as published_courses,
        count(*) filter (where is_by_scale and credit > 0) as courses_by_scale,
        sum(credit) as credits,
        {{ gained_credits() }} as gained_credits,
        coalesce(sum(credit) filter (where points is not null), 0) as gpa_credits,
        coalesce(sum(points * credit), 0) as grade_points_sum
    from courses
    group by school_id, student_id, semester_id
),

cumulated as (
    select
        sums.*,
        {{ semester_names() }},
        coalesce(semesters.is_over, false) as is_complete,
        row_number() over so_far as semester_number,
        count(*) over (partition by sums.school_id, sums.student_id) as semesters,
        sum(credits) over so_far as cumulative_credits,
        sum(gained_credits) over so_far as cumulative_gained_credits,
        sum(gpa_credits) over so_far as cumulative_gpa_credits,
        sum(grade_points_sum) over so_far as cumulative_grade_points_sum
    from sums
    left join {{ ref('dim_semester') }} as semesters
        on semesters.school_id = sums.school_id
        and semesters.semester_id = sums.semester_id
    window so_far as (
        partition by sums.school_id, sums.student_id
        order by semesters.first_day nulls first, sums.semester_id
        rows unbounded preceding
    )
),

compared as (
    select
        cumulated.* exclude (semesters),
        cumulated.semester_number = cumulated.semesters as is_last,
        platform_semesters.platform_gpa,
        case
            when cumulated.semester_number = cumulated.semesters then platform_totals.platform_gpa
        end as platform_cumulative_gpa,
        tolerances.tolerance
    from cumulated
    left join tolerances
        on tolerances.school_id = cumulated.school_id
    left join platform_semesters
        on platform_semesters.school_id = cumulated.school_id
        and platform_semesters.student_id = cumulated.student_id
        and platform_semesters.semester_id = cumulated.semester_id
    left join platform_totals
        on platform_totals.school_id = cumulated.school_id
        and platform_totals.student_id = cumulated.student_id
)

select
    compared.school_id,
    compared.student_id,
    students.student_number,
    students.student_name,
    students.cohort_id,
    students.cohort_name,
    compared.semester_id,
    compared.school_name,
    compared.semester_name,
    compared.is_current,
    compared.is_complete,
    compared.semester_number,
    compared.is_last,
    compared.courses,
    compared.published_courses,
    compared.courses_by_scale,
    compared.credits,
    compared.gained_credits,
    compared.gpa_credits,
    compared.grade_points_sum,
    {{ ratio('compared.grade_points_sum', 'compared.gpa_credits') }} as gpa,
    compared.platform_gpa,
    {{ is_within('compared.tolerance', 'compared.platform_gpa', 'compared.grade_points_sum', 'compared.gpa_credits') }}
        as gpa_agrees,
    compared.cumulative_credits,
    compared.cumulative_gained_credits,
    compared.cumulative_gpa_credits,
    compared.cumulative_grade_points_sum,
    {{ ratio('compared.cumulative_grade_points_sum', 'compared.cumulative_gpa_credits') }} as cumulative_gpa,
    compared.platform_cumulative_gpa,
    {{ is_within(
        'compared.tolerance', 'compared.platform_cumulative_gpa',
        'compared.cumulative_grade_points_sum', 'compared.cumulative_gpa_credits'
    ) }} as cumulative_gpa_agrees
from compared
left join {{ ref('dim_student') }} as students
    on students.school_id = compared.school_id
    and students.student_id = compared.student_id
