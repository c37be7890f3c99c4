{#- What a record of attendance counts as: the columns of seeds.attendance_status_rules that facts carry. -#}
{% macro attendance_flags() -%}
    {{ return(['is_present', 'is_absent', 'is_late', 'is_early_left', 'is_leave', 'counts_in_denominator']) }}
{%- endmacro %}
