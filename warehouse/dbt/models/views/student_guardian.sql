-- Grain: school, student, guardian account linked to the student.
-- Source: raw.v1_users.
select
    guardians._school_id as school_id,
    wards.person_id as student_id,
    guardians.id as guardian_id,
    guardians.name as guardian_name,
    cast(guardians.guardian_role as varchar) as guardian_role,
    nullif(trim(guardians.phone), '') as phone
from {{ source('raw', 'v1_users') }} as guardians
inner join {{ ref('bridge_v1_person') }} as wards
    on wards.school_id = guardians._school_id
    and wards.v1_person_id = guardians.student_id
where guardians.role = 8 and guardians._deleted_at is null
