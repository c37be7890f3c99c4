-- Grain: school, course class, weekday, lesson: the weekly times of a class, as they are now.
-- Rules: live classes only. A time with day 0 or lesson 0 is left out. A class that meets in two places at once has both
--   places. A class meets in the weeks from first_week to last_week; week_type may limit them to odd or even weeks.
-- Source: raw.v1_classes.
with v1_classes as (
    select * from {{ ref('stg_v1_classes') }} where not is_deleted
),

classes as (
    select * from {{ ref('dim_teaching_class') }}
),

times as (
    select
        school_id,
        v1_class_id,
        unnest(schedules) as time,
        locations
    from v1_classes
),

places as (
    select
        school_id,
        v1_class_id,
        cast(time.day as integer) as weekday,
        cast(time.lesson as integer) as lesson,
        time.location_id,
        list_filter(locations, lambda location: location.id = time.location_id)[1].name as location_name
    from times
    where
        time.day between 1 and 7
        and time.lesson >= 1
),

meetings as (
    select
        school_id,
        v1_class_id,
        weekday,
        lesson,
        list(distinct location_id order by location_id) as location_ids,
        string_agg(distinct location_name, ', ' order by location_name) as location_names
    from places
    group by school_id, v1_class_id, weekday, lesson
)

select
    meetings.school_id,
    classes.course_class_id,
    classes.semester_id,
    meetings.weekday,
    meetings.lesson,
    meetings.location_ids,
    meetings.location_names,
    coalesce(classes.first_week, 1) as first_week,
    classes.last_week,
    coalesce(classes.week_type, 0) as week_type
from meetings
inner join classes
    on classes.school_id = meetings.school_id
    and classes.v1_class_id = meetings.v1_class_id
