-- Grain: school, semester, administrative class with students in the semester.
-- Rules: the class is the student's class in that semester. Levels are not counted where an input of them was never loaded.
with numbers as (
    select
        school_id,
        semester_id,
        admin_class_id,
        any_value(admin_class) as admin_class,
        count(*) as students,
        bool_and(inputs_loaded) as inputs_loaded,
        count(*) filter (where level = 'at_risk') as at_risk,
        count(*) filter (where level = 'warning') as warning,
        cast(sum(present) as bigint) as present,
        cast(sum(recorded) as bigint) as recorded,
        sum(score_sum) as score_sum,
        sum(full_score_sum) as full_score_sum
    from {{ ref('student_standing') }}
    where admin_class_id is not null
    group by all
)

select
    school_id,
    semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.newest_first,
    numbers.admin_class_id,
    numbers.admin_class,
    numbers.students,
    case when numbers.inputs_loaded then numbers.at_risk end as at_risk,
    case when numbers.inputs_loaded then numbers.warning end as warning,
    {{ rate('numbers.present', 'numbers.recorded') }} as attendance_rate,
    {{ percent('numbers.score_sum', 'numbers.full_score_sum', places=2) }} as score_rate
from numbers
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
