-- Grain: school, semester, kind (room, teacher), room or teacher, weekday, lesson at which two or more classes need it in
--   the same week.
-- Rules: pairs of core.fct_timetable_clash, without classes that are taught together (the same room and teacher). weeks:
--   the most weeks in which two of the classes clash. The timetable is as it is now.
-- Source: core.fct_timetable_clash and dimensions.
with clashes as (
    select * from {{ ref('fct_timetable_clash') }} where not is_joint
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

lessons as (
    select * from {{ ref('dim_lesson') }}
),

teachers as (
    select * from {{ ref('dim_teacher') }}
),

rooms as (
    select * from {{ ref('dim_room') }}
),

{{ classes_with_names() }},

slots as (
    select
        school_id,
        semester_id,
        kind,
        id,
        weekday,
        lesson,
        max(weeks) as weeks,
        list_sort(list_distinct(flatten(list([course_class_id, other_class_id])))) as course_class_ids
    from clashes
    group by school_id, semester_id, kind, id, weekday, lesson
),

named as (
    select
        slots.school_id,
        slots.semester_id,
        slots.kind,
        slots.id,
        slots.weekday,
        slots.lesson,
        string_agg({{ class_in_words() }}, ', ' order by classes.course_class_id) as class_names
    from (select *, unnest(course_class_ids) as course_class_id from slots) as slots
    left join classes using (school_id, course_class_id)
    group by slots.school_id, slots.semester_id, slots.kind, slots.id, slots.weekday, slots.lesson
)

select
    slots.school_id,
    slots.semester_id,
    {{ semester_names() }},
    slots.kind,
    slots.id,
    coalesce(rooms.room_name, teachers.teacher_name) as name,
    slots.weekday,
    {{ in_words('weekday', 'slots.weekday') }},
    slots.lesson,
    lessons.lesson_name,
    cast(len(slots.course_class_ids) as bigint) as classes,
    slots.course_class_ids,
    named.class_names,
    slots.weeks
from slots
inner join named using (school_id, semester_id, kind, id, weekday, lesson)
left join semesters
    on semesters.school_id = slots.school_id
    and semesters.semester_id = slots.semester_id
left join lessons
    on lessons.school_id = slots.school_id
    and lessons.semester_id = slots.semester_id
    and lessons.lesson = slots.lesson
left join rooms
    on slots.kind = 'room'
    and rooms.school_id = slots.school_id
    and rooms.room_id = slots.id
left join teachers
    on slots.kind = 'teacher'
    and teachers.school_id = slots.school_id
    and teachers.teacher_id = slots.id
