-- Grain: school, closed semester, student with a membership of a course class or a mark of attendance in it, also a past one.
-- Rules: what the back-test of early warning uses of a student beside the semester itself.
--   earlier_z_score: of the student's last semester with one before this; earlier_failed_courses: the same.
--   earlier_changed_on: the last day on which a class grade of an earlier semester, of any student of the cohort, is known
--     to have changed, come or gone: by marts.grade_history, and before the first load by the platform's times.
--   mean_drop: the mean of the semester's grades fell against the cohort by at least one standard deviation since
--     then. failed_next: at least one failed course in the next semester; null before that is over.
--   left_on: the day on which the student left, up to the end of the next semester. is_leaving_known: false before the
--     next semester begins, and of a cohort of which more than half have left by its end, since it has graduated.
-- Source: core.dim_student, core.bridge_class_student, core.attendance_past,
--   marts.attendance_student_day, marts.grade_student_semester, marts.grade_history.
with semesters as (
    select * from {{ ref('dim_semester') }}
),

members as (
    select * from {{ ref('bridge_class_student') }}
),

closed as (
    select * from semesters where is_over
),

present as (
    select school_id, semester_id, student_id
    from members
    union
    select school_id, semester_id, student_id
    from {{ ref('attendance_student_day') }}
    union
    select school_id, semester_id, student_id
    from {{ ref('attendance_past') }}
),

grades as (
    select
        grades.school_id,
        grades.semester_id,
        grades.student_id,
        grades.failed_courses,
        grades.z_score_in_cohort,
        semesters.first_day
    from {{ ref('grade_student_semester') }} as grades
    inner join semesters
        on semesters.school_id = grades.school_id
        and semesters.semester_id = grades.semester_id
),

before as (
    select
        closed.school_id,
        closed.semester_id,
        earlier.student_id,
        arg_max(earlier.z_score_in_cohort, earlier.first_day) as z_score_in_cohort,
        arg_max(earlier.failed_courses, earlier.first_day) as failed_courses
    from closed
    inner join grades as earlier
        on earlier.school_id = closed.school_id
        and earlier.first_day < closed.first_day
    group by closed.school_id, closed.semester_id, earlier.student_id
),

-- least() and greatest() ignore null.
grade_changes as (
    select
        history.school_id,
        history.semester_id,
        history.student_id,
        history.grade_id,
        greatest(
            least(any_value(coalesce(live.updated_at, live.published_at)), min(history.known_from)),
            nullif(max(history.known_from), min(history.known_from)),
            max(history.known_to)
        ) as changed_at
    from {{ ref('grade_history') }} as history
    left join {{ ref('fct_grade') }} as live
        on live.school_id = history.school_id
        and live.grade_id = history.grade_id
    where history.source = 'class'
    group by history.school_id, history.semester_id, history.student_id, history.grade_id
),

earlier_changes as (
    select
        closed.school_id,
        closed.semester_id,
        students.cohort_id,
        cast(max(grade_changes.changed_at) as date) as changed_on
    from closed
    inner join semesters as earlier
        on earlier.school_id = closed.school_id
        and earlier.first_day < closed.first_day
    inner join grade_changes
        on grade_changes.school_id = earlier.school_id
        and grade_changes.semester_id = earlier.semester_id
    left join {{ ref('dim_student') }} as students
        on students.school_id = grade_changes.school_id
        and students.student_id = grade_changes.student_id
    group by closed.school_id, closed.semester_id, students.cohort_id
),

next_semesters as (
    select
        closed.school_id,
        closed.semester_id,
        arg_min(later.semester_id, later.first_day) as next_semester_id,
        arg_min(later.last_day, later.first_day) as last_day,
        arg_min(later.is_over, later.first_day) as is_over,
        min(later.first_day) <= max(closed.loaded_on) as has_begun
    from closed
    inner join semesters as later
        on later.school_id = closed.school_id
        and later.first_day > closed.last_day
        and not later.is_deleted
    group by closed.school_id, closed.semester_id
),

last_stays as (
    select school_id, student_id, max(left_on) as left_on
    from members
    group by school_id, student_id
),

known as (
    select
        present.school_id,
        present.semester_id,
        present.student_id,
        students.cohort_id,
        students.cohort_name,
        students.gender,
        students.is_boarding,
        coalesce(students.is_deleted, false) as is_deleted,
        before.z_score_in_cohort as earlier_z_score,
        before.failed_courses as earlier_failed_courses,
        earlier_changes.changed_on as earlier_changed_on,
        before.z_score_in_cohort - own.z_score_in_cohort >= 1 as mean_drop,
        case when next_semesters.is_over then next.failed_courses > 0 end as failed_next,
        case
            when
                students.is_deleted
                and coalesce(last_stays.left_on, cast(students.deleted_at as date)) <= next_semesters.last_day
                then coalesce(last_stays.left_on, cast(students.deleted_at as date))
        end as left_on,
        coalesce(next_semesters.has_begun, false)
            and {{ if_loaded(['students'], 'true', semesters='closed') }} is not null as is_after_known
    from present
    inner join closed
        on closed.school_id = present.school_id
        and closed.semester_id = present.semester_id
    left join {{ ref('dim_student') }} as students
        on students.school_id = present.school_id
        and students.student_id = present.student_id
    left join before
        on before.school_id = present.school_id
        and before.semester_id = present.semester_id
        and before.student_id = present.student_id
    left join earlier_changes
        on earlier_changes.school_id = present.school_id
        and earlier_changes.semester_id = present.semester_id
        and earlier_changes.cohort_id is not distinct from students.cohort_id
    left join grades as own
        on own.school_id = present.school_id
        and own.semester_id = present.semester_id
        and own.student_id = present.student_id
    left join next_semesters
        on next_semesters.school_id = present.school_id
        and next_semesters.semester_id = present.semester_id
    left join grades as next
        on next.school_id = present.school_id
        and next.semester_id = next_semesters.next_semester_id
        and next.student_id = present.student_id
    left join last_stays
        on last_stays.school_id = present.school_id
        and last_stays.student_id = present.student_id
)

select
    * exclude (is_after_known),
    is_after_known and 2 * count(left_on) over in_cohort <= count(*) over in_cohort as is_leaving_known
from known
window in_cohort as (partition by school_id, semester_id, cohort_id)
