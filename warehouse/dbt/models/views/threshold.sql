-- Grain: school.
-- Rules: the thresholds in force that definitions name, as text. Those of chronic absence are of the default profile.
{%- set names = {
    'stg_attendance_thresholds': ['absent_day_percent', 'session_day_percent', 'trend_weeks'],
    'stg_grade_thresholds': [
        'pass_percent', 'excellent_percent', 'discrimination_group_percent', 'item_minimum_students', 'label_minimum_students'
    ]
} %}
with attendance as (
    select
        school_id
        {%- for name in names['stg_attendance_thresholds'] %},
        max({{ number_text('value') }}) filter (where threshold = '{{ name }}') as {{ name }}
        {%- endfor %}
    from {{ ref('stg_attendance_thresholds') }}
    group by school_id
),

grades as (
    select
        school_id
        {%- for name in names['stg_grade_thresholds'] %},
        max({{ number_text('value') }}) filter (where threshold = '{{ name }}') as {{ name }}
        {%- endfor %}
    from {{ ref('stg_grade_thresholds') }}
    group by school_id
),

profiles as (
    select
        school_id,
        {{ number_text('absence_percent') }} as chronic_absence_percent,
        cast(minimum_days as varchar) as chronic_minimum_days
    from {{ ref('stg_attendance_profiles') }}
    where is_default
)

select
    schools.school_id,
    {%- for name in names['stg_attendance_thresholds'] %}
    attendance.{{ name }},
    {%- endfor %}
    {%- for name in names['stg_grade_thresholds'] %}
    grades.{{ name }},
    {%- endfor %}
    profiles.chronic_absence_percent,
    profiles.chronic_minimum_days
from {{ ref('dim_school') }} as schools
left join attendance using (school_id)
left join grades using (school_id)
left join profiles using (school_id)
