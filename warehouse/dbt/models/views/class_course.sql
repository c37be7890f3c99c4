-- Grain: school, administrative class, course class that its students attend or have grades in, of the semesters that are
--   shown.
-- Rules: the figures are those of the students of the administrative class.
with students as (
    select
        school_id,
        semester_id,
        student_id,
        admin_class_id
    from {{ ref('student_standing') }}
    where is_shown and admin_class_id is not null
),

attended as (
    select
        school_id,
        admin_class_id,
        course_class_id,
        count(*) as recorded,
        count_if(is_present) as present
    from {{ ref('fct_attendance') }}
    inner join students using (school_id, semester_id, student_id)
    where counts_in_denominator
    group by all
),

graded as (
    select
        school_id,
        admin_class_id,
        course_class_id,
        count(score_percent) as scored,
        sum(score_percent) as percent_sum
    from {{ ref('fct_grade') }}
    inner join students using (school_id, semester_id, student_id)
    where source = 'class' and counts_in_statistics
    group by all
)

select
    school_id,
    admin_class_id,
    course_class_id,
    classes.course_name,
    classes.class_name,
    classes.teacher_names,
    {{ rate('attended.present', 'attended.recorded') }} as attendance_rate,
    graded.scored,
    {{ ratio('graded.percent_sum', 'graded.scored', places=2) }} as mean
from attended
full join graded using (school_id, admin_class_id, course_class_id)
inner join {{ ref('dim_course_class') }} as classes using (school_id, course_class_id)
