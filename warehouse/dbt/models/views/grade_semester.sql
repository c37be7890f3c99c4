-- Grain: school, semester with grades.
-- Rules: scores of assessments that nobody has begun to score are not expected yet.
with grades as (
    select
        school_id,
        semester_id,
        sum(grade_points_sum) as grade_points_sum,
        sum(gpa_credits) as gpa_credits,
        cast(sum(pending_courses) as bigint) as pending_courses
    from {{ ref('grade_student_semester') }}
    group by all
),

scores as (
    select
        school_id,
        semester_id,
        sum(expected - missing) as entered,
        sum(expected) as expected
    from {{ ref('score_completeness') }}
    where state <> 'not_started'
    group by all
)

select
    school_id,
    semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.first_day,
    semesters.newest_first,
    groups.is_complete,
    groups.students,
    groups.grades,
    groups.scored,
    {{ ratio('groups.percent_sum', 'groups.scored', places=2) }} as mean,
    groups.median,
    groups.sd,
    groups.pass_rate,
    groups.excellent_rate,
    groups.failed,
    {{ ratio('grades.grade_points_sum', 'grades.gpa_credits', places=2) }} as gpa,
    grades.pending_courses,
    {{ percent('scores.entered', 'scores.expected', places=2) }} as completeness_rate
from {{ ref('grade_distribution') }} as groups
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
left join grades using (school_id, semester_id)
left join scores using (school_id, semester_id)
where groups.group_type = 'school'
