-- Grain: school, semester, teacher of a course class or of an administrative class.
-- Rules: classes are live ones whose list of teachers has the teacher, or had until the semester was over
--   (core.bridge_class_teacher). weekly_lessons are by the timetable as it is now (core.fct_timetable): a lesson of odd
--   or even weeks counts half, one that several teach counts for each of them, and by their number in
--   shared_weekly_lessons, which adds up to the lessons of the school. Lessons at the same time count once for each
--   class; clashing_slots are times at which the teacher has classes that are not taught together
--   (marts.timetable_clash). Sessions are those of core.fct_class_session that are over: held are recorded ones.
--   Classes, lessons and students are counted whole, and no sample: such loads differ as they do, and have no interval. held_rate =
--   100 * held / due sessions tells of a habit by a sample of sessions: held_rate_low, held_rate_high: its 95% interval by Wilson,
--   with the session as the unit, since each has a roll of its own. shrunken_held_rate and verdict: beside the other teachers of
--   the semester, as in marts.attendance_class_week; too few: fewer than comparison_minimum_grades (seeds.grade_thresholds)
--   due sessions on a side.
--   students: members of these classes, each once. Administrative classes have no semester, so they are those of
--   now, and null in other semesters than the current one. Null is as well what was never loaded: lessons where the
--   classes of v1 were not, sessions where these were not, students without memberships.
-- Source: core.bridge_class_teacher, core.fct_timetable, core.fct_class_session, core.bridge_admin_class_teacher.
with semesters as (
    select * from {{ ref('dim_semester') }}
),

teachers as (
    select * from {{ ref('dim_teacher') }}
),

thresholds as (
    select school_id, value as minimum
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'comparison_minimum_grades'
),

{{ classes_with_names() }},

gone as (
    select school_id, course_class_id
    from {{ ref('dim_course_class') }}
    where is_deleted
),

teaching as (
    select
        school_id,
        course_class_id,
        class_teachers.teacher_id,
        class_teachers.semester_id,
        classes.course_name,
        classes.subject_name,
        count(*) over (partition by school_id, course_class_id) as teachers
    from {{ ref('bridge_class_teacher') }} as class_teachers
    left join classes using (school_id, course_class_id)
    anti join gone using (school_id, course_class_id)
    where
        class_teachers.is_current
        and class_teachers.semester_id is not null
),

taught as (
    select
        school_id,
        semester_id,
        teacher_id,
        count(*) as course_classes,
        count(distinct course_name) as courses,
        string_agg(distinct subject_name, ', ' order by subject_name) as subject_names
    from teaching
    group by school_id, semester_id, teacher_id
),

timed as (
    select
        teaching.school_id,
        teaching.semester_id,
        teaching.teacher_id,
        teaching.teachers,
        timetable.weekday,
        timetable.lesson,
        timetable.week_type
    from teaching
    inner join {{ ref('fct_timetable') }} as timetable
        on timetable.school_id = teaching.school_id
        and timetable.course_class_id = teaching.course_class_id
),

-- A lesson of odd or of even weeks is half a lesson a week, so that lessons are counted by halves.
lessons as (
    select
        school_id,
        semester_id,
        teacher_id,
        sum(if(week_type = 0, 2, 1)) as half_lessons,
        sum({{ ratio('if(week_type = 0, 2, 1)', '2 * teachers', places=6, digits=18) }}) as shared_lessons,
        count(distinct weekday) as weekdays
    from timed
    group by school_id, semester_id, teacher_id
),

days as (
    select school_id, semester_id, teacher_id, max(lessons) as most_lessons_a_day
    from (
        select school_id, semester_id, teacher_id, weekday, count(distinct lesson) as lessons
        from timed
        group by school_id, semester_id, teacher_id, weekday
    )
    group by school_id, semester_id, teacher_id
),

members as (
    select
        teaching.school_id,
        teaching.semester_id,
        teaching.teacher_id,
        count(distinct class_students.student_id) as students
    from teaching
    inner join {{ ref('bridge_class_student') }} as class_students
        on class_students.school_id = teaching.school_id
        and class_students.course_class_id = teaching.course_class_id
    left join semesters
        on semesters.school_id = teaching.school_id
        and semesters.semester_id = teaching.semester_id
    where
        class_students.left_on is null
        or (semesters.is_over and class_students.left_on > semesters.last_day)
    group by teaching.school_id, teaching.semester_id, teaching.teacher_id
),

class_sessions as (
    select
        school_id,
        course_class_id,
        count(*) as due_sessions,
        count(*) filter (where state = 'recorded') as held_sessions
    from {{ ref('fct_class_session') }}
    where state in ('recorded', 'unrecorded')
    group by school_id, course_class_id
),

session_sums as (
    select
        teaching.school_id,
        teaching.semester_id,
        teaching.teacher_id,
        cast(sum(class_sessions.due_sessions) as bigint) as due_sessions,
        cast(sum(class_sessions.held_sessions) as bigint) as held_sessions
    from teaching
    inner join class_sessions using (school_id, course_class_id)
    group by teaching.school_id, teaching.semester_id, teaching.teacher_id
),

beside_others as (
    select
        *,
        sum(held_sessions) over in_semester - held_sessions as others_held,
        sum(due_sessions) over in_semester - due_sessions as others_due,
        {{ rate_difference('held_sessions', 'due_sessions', 'others_held', 'others_due') }} as difference,
        {{ share_error('held_sessions', 'due_sessions', 'others_held', 'others_due') }} as error
    from session_sums
    window in_semester as (partition by school_id, semester_id)
),

sessions as (
    select
        *,
        {{ reliability('error', between_variance('difference', 'error', 'in_semester')) }} as reliability
    from beside_others
    window in_semester as (partition by school_id, semester_id)
),

clashes as (
    select school_id, semester_id, id as teacher_id, count(*) as clashing_slots
    from {{ ref('timetable_clash') }}
    where kind = 'teacher'
    group by school_id, semester_id, id
),

admin_classes as (
    select
        class_teachers.school_id,
        semesters.semester_id,
        class_teachers.teacher_id,
        count(*) filter (where class_teachers.role = 'head') as headed_classes,
        count(*) as admin_classes
    from {{ ref('bridge_admin_class_teacher') }} as class_teachers
    inner join semesters
        on semesters.school_id = class_teachers.school_id
        and semesters.is_current
    group by class_teachers.school_id, semesters.semester_id, class_teachers.teacher_id
),

loads as (
    select *
    from taught
    full join admin_classes using (school_id, semester_id, teacher_id)
)

select
    loads.school_id,
    loads.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    loads.teacher_id,
    teachers.staff_number,
    teachers.teacher_name,
    teachers.department_names,
    {{ if_any_loaded(['classes', 'v1_classes'], 'coalesce(loads.course_classes, 0)') }} as course_classes,
    {{ if_any_loaded(['classes', 'v1_classes'], 'coalesce(loads.courses, 0)') }} as courses,
    loads.subject_names,
    {{ if_loaded(['class_members', 'students'], 'coalesce(members.students, 0)') }} as students,
    {{ if_loaded(['v1_classes'], 'cast(coalesce(' ~ ratio('lessons.half_lessons', '2', places=2) ~ ', 0) as decimal(9, 2))') }} as weekly_lessons,
    {{ if_loaded(['v1_classes'], 'cast(coalesce(' ~ rounded('lessons.shared_lessons', places=2) ~ ', 0) as decimal(9, 2))') }} as shared_weekly_lessons,
    {{ if_loaded(['v1_classes'], 'coalesce(lessons.weekdays, 0)') }} as teaching_weekdays,
    {{ if_loaded(['v1_classes'], 'coalesce(days.most_lessons_a_day, 0)') }} as most_lessons_a_day,
    {{ if_loaded(['attendance_sessions'], 'coalesce(sessions.due_sessions, 0)') }} as due_sessions,
    {{ if_loaded(['attendance_sessions'], 'coalesce(sessions.held_sessions, 0)') }} as held_sessions,
    {{ rate('sessions.held_sessions', 'sessions.due_sessions') }} as held_rate,
    {%- for end in ('low', 'high') %}
    {{ wilson_limit('sessions.held_sessions', 'sessions.due_sessions', end) }} as held_rate_{{ end }},
    {%- endfor %}
    {{ shrunken_rate('sessions.others_held', 'sessions.others_due', 'sessions.difference', 'sessions.reliability') }} as shrunken_held_rate,
    {{ verdict(
        'sessions.difference', 'sessions.error', 'sessions.reliability', 'least(sessions.due_sessions, sessions.others_due)',
        'thresholds.minimum'
    ) }} as verdict,
    {{ in_words('verdict', 'verdict') }},
    {{ if_loaded(['v1_classes'], 'coalesce(clashes.clashing_slots, 0)') }} as clashing_slots,
    case
        when semesters.is_current
            then {{ if_loaded(['admin_classes', 'v1_admin_classes', 'v1_users'], 'coalesce(loads.headed_classes, 0)') }}
    end as headed_classes,
    case when semesters.is_current then {{ if_loaded(['admin_classes'], 'coalesce(loads.admin_classes, 0)') }} end as admin_classes
from loads
left join semesters
    on semesters.school_id = loads.school_id
    and semesters.semester_id = loads.semester_id
left join teachers
    on teachers.school_id = loads.school_id
    and teachers.teacher_id = loads.teacher_id
left join thresholds
    on thresholds.school_id = loads.school_id
{%- for part in ('lessons', 'days', 'members', 'sessions', 'clashes') %}
left join {{ part }}
    on {{ part }}.school_id = loads.school_id
    and {{ part }}.semester_id = loads.semester_id
    and {{ part }}.teacher_id = loads.teacher_id
{%- endfor %}
