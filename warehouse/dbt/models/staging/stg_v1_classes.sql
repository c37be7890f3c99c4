-- Grain: school, teaching class of the v1 interface. Tombstones kept (is_deleted). Empty texts are null.
with {{ one_row_a_key(source('raw', 'v1_classes'), ['id']) }}

select
    _school_id as school_id,
    id as v1_class_id,
    {{ core_semester('one_row_a_key') }} as semester_id,
    nullif(csin, '') as class_code,
    name as course_name,
    class_name,
    {{ measure('credit') }} as credit,
    duration as hours,
    attribute.name as attribute_name,
    subject.name as subject_name,
    nullif(grade.name, '') as grade_names,
    cast(start_at as integer) as first_week,
    cast(end_in as integer) as last_week,
    cast(week_type as integer) as week_type,
    capacity,
    list_transform({{ each_once('teachers', id=user_id) }}, lambda teacher: {{ user_id('teacher') }}) as v1_teacher_ids,
    list_transform({{ each_once('teachers', id=user_id) }}, lambda teacher: coalesce(teacher.usin, teacher.reflection.usin)) as staff_numbers,
    list_transform({{ each_once('teachers', id=user_id) }}, lambda teacher: coalesce(teacher.name, teacher.reflection.name)) as teacher_names,
    admin_class_ids,
    list_transform(
        schedules,
        lambda entry: struct_pack(
            day := {{ weekday_of('entry.day') }}, lesson := entry.lesson, location_id := entry.location_id
        )
    ) as schedules,
    locations,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from one_row_a_key
{{ join_core_semester('one_row_a_key') }}
