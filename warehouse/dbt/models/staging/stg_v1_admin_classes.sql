-- Grain: school, administrative class of the v1 interface. Tombstones kept (is_deleted). The list of teachers may lack
--   the head teacher.
select
    _school_id as school_id,
    id as v1_admin_class_id,
    name as admin_class_name,
    graduates_in,
    grade_name,
    {{ user_id('director') }} as v1_director_id,
    list_transform({{ each_once('teachers', id=user_id) }}, lambda teacher: {{ user_id('teacher') }}) as v1_teacher_ids,
    list_transform({{ each_once('students', id=user_id) }}, lambda student: {{ user_id('student') }}) as v1_student_ids,
    list_transform({{ each_once('students', id=user_id) }}, lambda student: coalesce(student.usin, student.reflection.usin)) as student_numbers,
    list_transform({{ each_once('students', id=user_id) }}, lambda student: coalesce(student.name, student.reflection.name)) as student_names,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'v1_admin_classes') }}
