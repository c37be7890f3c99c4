-- Grain: school, user of the v1 interface (students, teachers, guardians). Tombstones kept (is_deleted).
--   Personal details other than name and number stay in raw: has_phone and has_email only say that there is a value.
--   custom_fields has the fields of the school and the user's role that are filled in, by name.
with custom as (
    select
        _school_id,
        role,
        list(name order by name) as names
    from {{ source('raw', 'user_fields') }}
    where _deleted_at is null
    group by _school_id, role
),

-- The whole row as JSON, since no model can name the columns of every school's custom fields.
whole_rows as (
    select
        _school_id,
        id,
        to_json(rows) as whole_row
    from {{ source('raw', 'v1_users') }} as rows
)

select
    users._school_id as school_id,
    users.id as v1_person_id,
    users.name as person_name,
    nullif(users.usin, '') as user_number,
    users.role,
    users.status,
    users.outer_id,
    nullif(users.gender, '') as gender,
    users.student_id as ward_v1_id,
    nullif(trim(users.phone), '') is not null as has_phone,
    nullif(trim(users.email), '') is not null as has_email,
    to_json(map_from_entries(
        list_filter(
            list_transform(
                custom.names,
                lambda field: struct_pack(
                    k := field, v := nullif(trim(json_extract_string(whole_rows.whole_row, '$."' || field || '"')), '')
                )
            ),
            lambda entry: entry.v is not null
        )
    )) as custom_fields,
    users._deleted_at is not null as is_deleted,
    users._deleted_at as deleted_at
from {{ source('raw', 'v1_users') }} as users
left join custom
    on custom._school_id = users._school_id
    and custom.role = users.role
left join whole_rows
    on whole_rows._school_id = users._school_id
    and whole_rows.id = users.id
