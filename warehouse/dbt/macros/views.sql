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
