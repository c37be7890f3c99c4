-- Grain: school, semester, room that a class of the semester meets in.
-- Rules: the weekly times of live classes as they are now (core.fct_timetable). A slot is a weekday and a lesson.
--   used_slots: slots with a class in the room, in any week.
--   slots: teaching weekdays times lessons of the semester. If more slots are used, such as on a Saturday, slots is
--     used_slots. Null: the school's week is not known.
--   use_rate = 100 * used_slots / slots. The interface does not say how many people a room holds.
--   clashing_slots: in the same week, two classes that are not taught together need the room (marts.timetable_clash).
--   largest_class: members, as of now, of the largest class in the room. Null if memberships were never loaded.
-- Source: core.fct_timetable, core.dim_room, core.bridge_class_student.
with semesters as (
    select * from {{ ref('dim_semester') }}
),

rooms as (
    select * from {{ ref('dim_room') }}
),

used as (
    select
        school_id,
        semester_id,
        unnest(location_ids) as room_id,
        course_class_id,
        weekday,
        lesson,
        week_type
    from {{ ref('fct_timetable') }}
    where semester_id is not null
),

weeks as (
    select
        lessons.school_id,
        lessons.semester_id,
        count(*) * any_value(coalesce(len(semesters.teaching_weekdays), timetable.weekdays)) as slots
    from {{ ref('dim_lesson') }} as lessons
    left join semesters
        on semesters.school_id = lessons.school_id
        and semesters.semester_id = lessons.semester_id
    left join (
        select school_id, semester_id, count(*) as weekdays
        from {{ ref('stg_timetable_days') }}
        group by school_id, semester_id
    ) as timetable
        on timetable.school_id = lessons.school_id
        and timetable.semester_id = lessons.semester_id
    group by lessons.school_id, lessons.semester_id
),

sizes as (
    select school_id, course_class_id, count(*) as members
    from {{ ref('bridge_class_student') }}
    where left_on is null
    group by school_id, course_class_id
),

clashes as (
    select school_id, semester_id, id as room_id, count(*) as clashing_slots
    from {{ ref('timetable_clash') }}
    where kind = 'room'
    group by school_id, semester_id, id
),

sums as (
    select
        used.school_id,
        used.semester_id,
        used.room_id,
        count(distinct used.course_class_id) as course_classes,
        count(distinct (used.weekday, used.lesson)) as used_slots,
        sum(if(used.week_type = 0, 2, 1)) as half_lessons,
        max(sizes.members) as largest_class
    from used
    left join sizes
        on sizes.school_id = used.school_id
        and sizes.course_class_id = used.course_class_id
    where used.room_id is not null
    group by used.school_id, used.semester_id, used.room_id
)

select
    sums.school_id,
    sums.semester_id,
    {{ semester_names() }},
    sums.room_id,
    rooms.room_name,
    sums.course_classes,
    {{ ratio('sums.half_lessons', '2', places=2) }} as weekly_lessons,
    sums.used_slots,
    cast(case when weeks.slots > 0 then greatest(weeks.slots, sums.used_slots) end as bigint) as slots,
    {{ rate('sums.used_slots', 'case when weeks.slots > 0 then greatest(weeks.slots, sums.used_slots) end') }} as use_rate,
    coalesce(clashes.clashing_slots, 0) as clashing_slots,
    {{ if_members_loaded('coalesce(sums.largest_class, 0)') }} as largest_class
from sums
left join weeks
    on weeks.school_id = sums.school_id
    and weeks.semester_id = sums.semester_id
left join clashes
    on clashes.school_id = sums.school_id
    and clashes.semester_id = sums.semester_id
    and clashes.room_id = sums.room_id
left join semesters
    on semesters.school_id = sums.school_id
    and semesters.semester_id = sums.semester_id
left join rooms
    on rooms.school_id = sums.school_id
    and rooms.room_id = sums.room_id
