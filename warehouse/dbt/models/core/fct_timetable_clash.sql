-- Grain: school, semester, kind (room, teacher), id of the room or teacher, weekday, lesson, pair of classes that need it
--   at once.
-- Rules: live classes only, by their weekly times as they are now (fct_timetable). Two classes meet at once if they have
--   a week in common, odd and even weeks included; weeks counts these weeks. is_joint: the classes share both room and
--   teacher, so they are taught together, which is no clash.
-- Source: core.fct_timetable, core.bridge_class_teacher, core.dim_semester.
with times as (
    select
        timetable.*,
        coalesce(timetable.last_week, semesters.week_count, 60) as until_week
    from {{ ref('fct_timetable') }} as timetable
    left join {{ ref('dim_semester') }} as semesters
        on semesters.school_id = timetable.school_id
        and semesters.semester_id = timetable.semester_id
),

-- The rooms and teachers of each class at each of its times.
held as (
    select school_id, semester_id, weekday, lesson, course_class_id, 'room' as kind, unnest(location_ids) as id
    from times
    union all
    select times.school_id, times.semester_id, times.weekday, times.lesson, times.course_class_id, 'teacher', teachers.teacher_id
    from times
    inner join {{ ref('bridge_class_teacher') }} as teachers
        on teachers.school_id = times.school_id
        and teachers.course_class_id = times.course_class_id
        and teachers.is_current
),

pairs as (
    select distinct
        one.school_id,
        one.semester_id,
        one.kind,
        one.id,
        one.weekday,
        one.lesson,
        one.course_class_id,
        other.course_class_id as other_class_id
    from held as one
    inner join held as other
        on other.school_id = one.school_id
        and other.semester_id = one.semester_id
        and other.kind = one.kind
        and other.id = one.id
        and other.weekday = one.weekday
        and other.lesson = one.lesson
        and other.course_class_id > one.course_class_id
    where one.id is not null
),

overlapping as (
    select
        pairs.*,
        cast(
            len(list_filter(
                range(greatest(one.first_week, other.first_week), least(one.until_week, other.until_week) + 1),
                lambda week: (one.week_type = 0 or week % 2 = one.week_type % 2)
                    and (other.week_type = 0 or week % 2 = other.week_type % 2)
            )) as integer
        ) as weeks
    from pairs
    inner join times as one
        on one.school_id = pairs.school_id
        and one.course_class_id = pairs.course_class_id
        and one.weekday = pairs.weekday
        and one.lesson = pairs.lesson
    inner join times as other
        on other.school_id = pairs.school_id
        and other.course_class_id = pairs.other_class_id
        and other.weekday = pairs.weekday
        and other.lesson = pairs.lesson
)

select
    school_id,
    semester_id,
    kind,
    id,
    weekday,
    lesson,
    course_class_id,
    other_class_id,
    weeks,
    count(*) filter (where kind = 'room') over of_pair > 0
        and count(*) filter (where kind = 'teacher') over of_pair > 0 as is_joint
from overlapping
where weeks > 0
window of_pair as (partition by school_id, weekday, lesson, course_class_id, other_class_id)
