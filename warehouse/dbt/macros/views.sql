{#- The name of a band of grades in both languages, by its limits. -#}
{% macro band_name(bands) -%}
    case
        when {{ bands }}.lower_percent is null then '< ' || {{ number_text(bands ~ '.upper_percent') }}
        when {{ bands }}.upper_percent is null then '≥ ' || {{ number_text(bands ~ '.lower_percent') }}
        else {{ number_text(bands ~ '.lower_percent') }} || '–' || {{ number_text(bands ~ '.upper_percent') }}
    end
{%- endmacro %}

{#- The place of a student's class among the classes of the school: those of a class stand together, those without one last.
    `students` are joined with class_head as `heads`. -#}
{% macro class_order(students) -%}
    dense_rank() over (
        partition by {{ students }}.school_id
        order by
            {{ students }}.admin_class_id is null,
            heads.class_cohort,
            heads.class_name,
            {{ students }}.admin_class_id,
            {{ students }}.cohort_name
    )
{%- endmacro %}

{#- Why a week is marked in a list of weeks: it is not over. -#}
{% macro so_far(weeks) -%}
    case when not {{ weeks }}.is_complete then 'so far' end
{%- endmacro %}

{#- Students by level of early warning. Null where an input of the levels was never loaded, since the counts would be too
    small. -#}
{% macro level_counts() -%}
    case when bool_and(inputs_loaded) then count(*) end as students
    {%- for level in warning_levels() + ['unknown'] %},
        case when bool_and(inputs_loaded) then count(*) filter (where level = '{{ level }}') end as {{ level_column(level) }}
    {%- endfor %}
{%- endmacro %}

{#- The column with the students of a level; a column named none reads as nothing. -#}
{% macro level_column(level) -%}
    {{ 'well' if level == 'none' else level }}
{%- endmacro %}

{#- The columns of `level_counts`, and the shares of the students whose level is known. -#}
{% macro level_columns(counts) -%}
    {{ counts }}.students,
    {%- for level in warning_levels() + ['unknown'] %}
    {{ counts }}.{{ level_column(level) }},
    {%- endfor %}
    {{ rate(counts ~ '.at_risk', '(' ~ counts ~ '.students - ' ~ counts ~ '.unknown)') }} as at_risk_rate,
    {{ rate(counts ~ '.warning', '(' ~ counts ~ '.students - ' ~ counts ~ '.unknown)') }} as warning_rate
{%- endmacro %}

{#- The rank of a level among all: who needs attention first. -#}
{% macro level_order(level) -%}
    list_position({{ warning_levels() + ['unknown'] }}, {{ level }})
{%- endmacro %}

{#- The latest talk or measure by school and student, also by semester if the columns name it, as a struct: of the newest
    day, the row that the log of a student's page (exports/library/site.yml) lists first. -#}
{% macro latest_interventions(columns) -%}
    select
        {{ columns | join(', ') }},
        first(
            struct_pack(date := date, kind := kind, done_by := done_by, result := result, note := note, again_on := again_on)
            order by date desc, again_on desc nulls last, kind
        ) as latest
    from {{ ref('fct_intervention') }}
    group by all
{%- endmacro %}

{#- Whether a grade is passed, as pages show it; of a grade that counts in no statistic its status. -#}
{% macro passed(grades) -%}
    case
        when not {{ grades }}.counts_in_statistics then {{ grades }}.status
        when {{ grades }}.is_passed then '✓'
        when not {{ grades }}.is_passed then '✗'
    end
{%- endmacro %}

{#- Whether a group has enough students that its mean, beside a student, does not name the classmates. -#}
{% macro hides_classmates(students) -%}
    {{ students }} >= {{ var('small_group') }}
{%- endmacro %}

{#- The kind of group of a row that `by_group` makes: the school, a cohort or an administrative class. -#}
{% macro set_group_type() -%}
    case
        when grouping(admin_class_id) = 0 then 'admin_class'
        when grouping(cohort_id) = 0 then 'cohort'
        else 'school'
    end
{%- endmacro %}

{#- The id of the group as text; empty: the school. -#}
{% macro set_group_key() -%}
    coalesce(cast(coalesce(admin_class_id, cohort_id) as varchar), '')
{%- endmacro %}

{#- Groups rows by these columns, for the school, each cohort and each administrative class. A row without a class or a
    cohort counts in the larger groups. -#}
{% macro by_group(columns) -%}
    group by grouping sets (({{ columns }}), ({{ columns }}, cohort_id), ({{ columns }}, admin_class_id))
    having coalesce(admin_class_id, cohort_id) is not null or grouping(admin_class_id) + grouping(cohort_id) = 2
{%- endmacro %}

{#- The name of a class with its grade, as a Chinese school writes it: 高三(1)班 for (1)班. A name that says more than a
    number keeps what it says. -#}
{% macro class_title(name, level) -%}
    case
        when {{ level }} between 1 and 12 and regexp_full_match({{ name }}, '[(（]?[0-9]+[)）]?班?')
            then {{ grade_name(level) }} || {{ name }}
        else {{ name }}
    end
{%- endmacro %}

{#- A grade from 1 to 12 in Chinese: the list of `words`, in its order. -#}
{% macro grade_name(level) -%}
    {{ words()['grade'].values() | map('last') | list }}[{{ level }}]
{%- endmacro %}

{#- The reason for a missed lesson: the kind of leave that the platform names, leave where it names none, else unexcused. -#}
{% macro absence_reason(attendance) -%}
    case when {{ attendance }}.is_leave then coalesce({{ attendance }}.absence_label, 'leave') else 'unexcused' end
{%- endmacro %}

{#- The place of a reason among all: the kinds of leave with a name, then those of `words` in its order. -#}
{% macro absence_reason_order(reason) -%}
    coalesce(list_position({{ words()['absence_reason'].keys() | list }}, {{ reason }}), 0)
{%- endmacro %}
