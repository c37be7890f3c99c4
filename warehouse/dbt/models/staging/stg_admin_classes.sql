-- Grain: school, administrative class. Tombstones kept (is_deleted).
select
    _school_id as school_id,
    id as admin_class_id,
    name as admin_class_name,
    graduates_in_id,
    structure_ids,
    place_id,
    coalesce(teacher_ids, list_transform({{ each_once('teachers') }}, lambda teacher: teacher.id)) as teacher_ids,
    list_transform({{ each_once('students') }}, lambda student: student.id) as student_ids,
    student_nums as student_count,
    outer_id,
    status,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'admin_classes') }}
