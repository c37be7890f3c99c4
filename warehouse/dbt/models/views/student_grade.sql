-- Grain: school, semester, student: as grade_student_semester.
-- Rules: the rates of class and cohort are of the sums, and empty where they have few students. So are the failed courses,
--   which are the mean of the students.
with sums as (
    {%- for key in ['admin_class_id', 'cohort_id'] %}
    select
        school_id,
        semester_id,
        '{{ key }}' as group_type,
        {{ key }} as group_id,
        count(*) as students,
        sum(score_sum) as score_sum,
        sum(full_score_sum) as full_score_sum,
        sum(failed_courses) as failed_sum,
        count(failed_courses) as judged
    from {{ ref('grade_student_semester') }}
    group by all
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

groups as (
    select
        school_id,
        semester_id,
        group_type,
        group_id,
        {{ percent('score_sum', 'full_score_sum', places=2) }} as score_rate,
        case
            when {{ hides_classmates('judged') }} then {{ ratio('failed_sum', 'judged', places=2) }}
        end as failed_courses
    from sums
    where {{ hides_classmates('students') }}
)

select
    students.school_id,
    students.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.first_day,
    students.student_id,
    {{ percent('students.score_sum', 'students.full_score_sum', places=2) }} as score_rate,
    of_class.score_rate as class_rate,
    of_cohort.score_rate as cohort_rate,
    students.scored_courses,
    students.failed_courses,
    of_class.failed_courses as class_failed_courses,
    of_cohort.failed_courses as cohort_failed_courses,
    students.credits,
    students.gained_credits,
    {{ ratio('students.grade_points_sum', 'students.gpa_credits', places=2) }} as gpa,
    students.rank_in_cohort,
    students.cohort_size
from {{ ref('grade_student_semester') }} as students
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
{%- for alias, key in [('of_class', 'admin_class_id'), ('of_cohort', 'cohort_id')] %}
left join groups as {{ alias }}
    on {{ alias }}.school_id = students.school_id
    and {{ alias }}.semester_id = students.semester_id
    and {{ alias }}.group_type = '{{ key }}'
    and {{ alias }}.group_id = students.{{ key }}
{%- endfor %}
