{#- The flags of an attendance record in facts: columns of seeds.attendance_status_rules. -#}
{% macro attendance_flags() -%}
    {{ return(['is_present', 'is_absent', 'is_late', 'is_early_left', 'is_leave', 'counts_in_denominator']) }}
{%- endmacro %}

{#- The counts of attendance in session facts and in every mart: present + absent = recorded. -#}
{% macro attendance_measures() -%}
    {{ return(['recorded', 'present', 'absent', 'late', 'early_left', 'on_leave', 'unexcused']) }}
{%- endmacro %}

{#- The measures of a group of records. -#}
{% macro attendance_counts() -%}
    count(*) filter (where counts_in_denominator) as recorded,
    count(*) filter (where is_present) as present,
    count(*) filter (where is_absent) as absent,
    count(*) filter (where is_late) as late,
    count(*) filter (where is_early_left) as early_left,
    count(*) filter (where is_leave) as on_leave,
    count(*) filter (where is_absent and is_leave is not true) as unexcused
{%- endmacro %}

{#- The measures of a group of rows that already have the measures. -#}
{% macro attendance_sums() -%}
    {%- for measure in attendance_measures() -%}
    cast(sum({{ measure }}) as bigint) as {{ measure }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}

{#- The condition that joins sums to their tier of the CTE `tiers`, by the exact rate: (lower_percent, upper_percent]. -#}
{% macro is_in_tier(sums) -%}
    tiers.school_id = {{ sums }}.school_id
    and {{ sums }}.recorded > 0
    and (100 * {{ sums }}.present > tiers.lower_percent * {{ sums }}.recorded or tiers.lower_percent is null)
    and 100 * {{ sums }}.present <= tiers.upper_percent * {{ sums }}.recorded
{%- endmacro %}

{#- The measures as columns of a table. -#}
{% macro attendance_columns(table) -%}
    {%- for measure in attendance_measures() -%}
    {{ table }}.{{ measure }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}

{#-
    The lessons of a student's day as text, one sign a lesson in their order: x absent without leave, l absent with leave,
    . present. Each lesson is a bit of a whole number, since sorting the records takes ten times as long. If a lesson has
    several records, present goes before leave, and leave before absent without leave.
-#}
{% macro lesson_bits(condition) -%}
    coalesce(
        bit_or(cast(1 as bigint) << greatest(least(lesson, 62), 0)) filter (where counts_in_denominator and {{ condition }}),
        0
    )
{%- endmacro %}

{% macro lesson_marks() -%}
    case
        when present_bits | leave_bits | unexcused_bits = 0 then null
        when leave_bits | unexcused_bits = 0 then repeat('.', bit_count(present_bits))
        else array_to_string(
            list_transform(
                list_filter(range(63), lambda lesson: (present_bits | leave_bits | unexcused_bits) >> lesson & 1 = 1),
                lambda lesson: case
                    when present_bits >> lesson & 1 = 1 then '.'
                    when leave_bits >> lesson & 1 = 1 then 'l'
                    else 'x'
                end
            ),
            ''
        )
    end
{%- endmacro %}

{#- The lengths of the streaks of absence in such signs, in order; 0 between two neighbouring present lessons. The last
    length is the current streak. with_leave: leave continues a streak; otherwise it ends the streak. -#}
{% macro streak_lengths(signs, with_leave) -%}
    list_transform(
        string_split(translate({{ signs }}, 'l', '{{ 'x' if with_leave else '.' }}'), '.'), lambda streak: len(streak)
    )
{%- endmacro %}

{#- The number of sessions of a group, and its three parts by the state of the roll. -#}
{% macro session_counts() -%}
    count(*) as sessions,
    count(*) filter (where state = 'recorded') as recorded_sessions,
    count(*) filter (where state = 'unrecorded') as unrecorded_sessions,
    count(*) filter (where state not in ('recorded', 'unrecorded')) as other_sessions
{%- endmacro %}

{#- The CTE `classes`: names and teachers of each course class, from v3, else from v1. -#}
{% macro classes_with_names() -%}
    classes as (
        select
            school_id,
            course_class_id,
            coalesce(course_classes.class_code, teaching_classes.class_code) as class_code,
            coalesce(course_classes.course_name, teaching_classes.course_name) as course_name,
            coalesce(course_classes.class_name, teaching_classes.class_name) as class_name,
            coalesce(course_classes.subject_name, teaching_classes.subject_name) as subject_name,
            coalesce(nullif(course_classes.teacher_ids, []), teaching_classes.teacher_ids) as teacher_ids,
            coalesce(course_classes.teacher_names, teaching_classes.teacher_names) as teacher_names
        from {{ ref('dim_teaching_class') }} as teaching_classes
        full join {{ ref('dim_course_class') }} as course_classes using (school_id, course_class_id)
    )
{%- endmacro %}

{#- The CTE `decided`: the rule of each status and label of the CTE `statuses`, of the CTE `rules`. -#}
{% macro decided_statuses() -%}
    decided as (
        select
            statuses.school_id,
            statuses.status,
            statuses.absence_label,
            arg_max(
                rules,
                (rules.school_id is not null, rules.absence_label is not distinct from statuses.absence_label)
            ) as rule
        from statuses
        inner join rules
            on coalesce(rules.school_id, statuses.school_id) = statuses.school_id
            and rules.status = statuses.status
            and (rules.absence_label = '*' or rules.absence_label is not distinct from statuses.absence_label)
        group by statuses.school_id, statuses.status, statuses.absence_label
    )
{%- endmacro %}
