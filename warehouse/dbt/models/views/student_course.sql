-- Grain: school, student, course class in which the student has a grade.
-- Rules: class_mean is the mean of the grades that count in the course class, and empty where these are few.
with sums as (
    select
        school_id,
        course_class_id,
        sum(score_percent) as percent_sum,
        count(score_percent) as scored
    from {{ ref('fct_grade') }}
    where source = 'class' and counts_in_statistics
    group by all
)

select
    grades.school_id,
    grades.grade_id,
    grades.semester_id,
    semesters.semester_name,
    coalesce(semesters.is_shown, false) as is_shown,
    semesters.newest_first,
    grades.student_id,
    grades.course_name,
    grades.course_class_id,
    grades.real_score,
    grades.score_text,
    grades.full_score,
    {{ percent('grades.real_score', 'grades.full_score', places=2) }} as grade_percent,
    case
        when {{ hides_classmates('sums.scored') }} then {{ ratio('sums.percent_sum', 'sums.scored', places=2) }}
    end as class_mean,
    grades.level,
    {{ passed('grades') }} as passed,
    grades.credit,
    grades.grade_points,
    cast(grades.published_at as date) as published_on
from {{ ref('fct_grade') }} as grades
left join {{ ref('semester') }} as semesters using (school_id, semester_id)
left join sums using (school_id, course_class_id)
where grades.source = 'class'
