-- Grain: school, semester, student: as attendance_student_semester.
-- Rules: the rates of class and cohort are of the sums, and empty where they have few students.
with sums as (
    {%- for key in ['admin_class_id', 'cohort_id'] %}
    select
        school_id,
        semester_id,
        '{{ key }}' as group_type,
        {{ key }} as group_id,
        count(*) as students,
        sum(recorded) as recorded,
        sum(present) as present
    from {{ ref('attendance_student_semester') }}
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
        {{ rate('present', 'recorded') }} as attendance_rate
    from sums
    where {{ hides_classmates('students') }}
)

select
    students.school_id,
    students.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.newest_first,
    students.student_id,
    students.recorded,
    students.attendance_rate,
    of_class.attendance_rate as class_rate,
    of_cohort.attendance_rate as cohort_rate,
    students.absences_left,
    students.lateness_rate,
    students.unexcused,
    students.on_leave,
    students.days_absent,
    students.longest_absence_streak,
    students.tier
from {{ ref('attendance_student_semester') }} as students
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
{%- for alias, key in [('of_class', 'admin_class_id'), ('of_cohort', 'cohort_id')] %}
left join groups as {{ alias }}
    on {{ alias }}.school_id = students.school_id
    and {{ alias }}.semester_id = students.semester_id
    and {{ alias }}.group_type = '{{ key }}'
    and {{ alias }}.group_id = students.{{ key }}
{%- endfor %}
