-- Grain: school, teacher.
-- Rules: teachers who have left stay (is_deleted). Phone numbers are only in raw.
-- Source: raw.teachers.
select
    school_id,
    teacher_id,
    staff_number,
    teacher_name,
    department_names,
    structure_ids,
    outer_id,
    role,
    status,
    is_deleted,
    deleted_at
from {{ ref('stg_teachers') }}
