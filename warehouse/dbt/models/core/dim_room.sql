-- Grain: school, room that a class meets in.
-- Rules: the interface has no list of rooms. So the rooms are the locations of live classes in all semesters. If a room
--   has several names, the name in the semester with the greatest id is used.
-- Source: raw.v1_classes.
with places as (
    select
        school_id,
        semester_id,
        unnest(locations) as place
    from {{ ref('stg_v1_classes') }}
    where not is_deleted
)

select
    school_id,
    place.id as room_id,
    arg_max(place.name, semester_id) as room_name,
    arg_max(place.type, semester_id) as room_type
from places
where place.id is not null
group by school_id, place.id
