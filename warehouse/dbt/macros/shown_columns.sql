{#- The columns of a raw table that are shown both as of now (staging) and as of a moment (as_of.sql). -#}
{% macro attendance_record_columns() -%}
    id as attendance_id,
    class_id as v1_class_id,
    student_id as v1_student_id,
    nullif(usin, '') as student_number,
    checked_at as date,
    cast(lesson as integer) as lesson,
    status,
    nullif(trim(absence_label), '') as absence_label,
    coalesce(created_date + try_cast(created_time as time), created_date) as marked_at
{%- endmacro %}

{% macro class_member_columns() -%}
    class_id as course_class_id,
    type as member_type,
    reflection_id as member_id,
    membership,
    class_together as is_class_together,
    created_at as joined_at,
    coalesce(deleted_at, _deleted_at) as left_at,
    updated_at
{%- endmacro %}
