{#- The teaching week of a day, from 1; a day outside the semester counts as its nearest week. -#}
{% macro week_of(day, semester) -%}
    case
        when {{ semester }}.week_count is not null
            then cast(
                least(greatest(({{ day }} - {{ semester }}.week_1_on) // 7 + 1, 1), {{ semester }}.week_count)
                as integer
            )
    end
{%- endmacro %}

{#- The last day of a teaching week, within the semester. -#}
{% macro last_day_of(week, semester) -%}
    least({{ semester }}.week_1_on + 7 * {{ week }} - 1, {{ semester }}.last_day)
{%- endmacro %}

{#- True if a period that ends on a day was over at the school's last load; false if unknown. -#}
{% macro is_complete(last_day, semester) -%}
    coalesce({{ last_day }} < {{ semester }}.loaded_on, false)
{%- endmacro %}
