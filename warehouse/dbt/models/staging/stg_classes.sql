-- Grain: school, course class. Tombstones kept (is_deleted).
with {{ one_row_a_key(source('raw', 'classes'), ['id']) }}

select
    _school_id as school_id,
    id as course_class_id,
    semester_id,
    csin as class_code,
    name as course_name,
    class_name,
    coalesce(grade_ids, list_transform(grades, lambda grade: grade.id)) as grade_ids,
    subject_id,
    domain_id,
    structure_ids,
    admin_class_ids,
    list_transform({{ each_once('teachers') }}, lambda teacher: teacher.id) as teacher_ids,
    list_transform({{ each_once('teachers') }}, lambda teacher: teacher.name) as teacher_names,
    list_transform(students, lambda student: student.id) as student_ids,
    created_at,
    updated_at,
    coalesce(deleted_at, _deleted_at) is not null as is_deleted,
    coalesce(deleted_at, _deleted_at) as deleted_at,
    _synced_at as synced_at
from one_row_a_key
