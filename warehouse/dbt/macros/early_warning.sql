{#- 1 where a value is beyond a limit of its rule, 0 where it is not; null where either is unknown. -#}
{% macro is_beyond(value, rule, limit) -%}
    cast(
        case {{ rule }}.worse
            when 'below' then {{ value }} < {{ rule }}.{{ limit }}
            when 'at_least' then {{ value }} >= {{ rule }}.{{ limit }}
        end as integer
    )
{%- endmacro %}

{#-
    The reasons in words, of those at risk before those of a warning: the rule's template with the value and the
    limit that it is beyond. Null where there is none.
-#}
{% macro reasons(indicators, template, separator) -%}
    nullif(
        concat_ws(
            '{{ separator }}'
            {%- for level, limit in [(2, 'at_risk'), (1, 'warning')] %}
            {%- for name in indicators %},
            case
                when {{ name }}_level = {{ level }}
                    then replace(
                        replace(rules.{{ name }}.{{ template }}, '{value}', {{ _plain(name) }}),
                        '{limit}',
                        {{ _plain('rules.' ~ name ~ '.' ~ limit) }}
                    )
            end
            {%- endfor %}
            {%- endfor %}
        ),
        ''
    )
{%- endmacro %}

{#- A number without trailing zeros. -#}
{% macro _plain(number) -%}
    rtrim(rtrim(cast(cast({{ number }} as decimal(18, 2)) as varchar), '0'), '.')
{%- endmacro %}

{#- By how much something fell, 0 where it rose; null stays null, which greatest() would leave out. -#}
{% macro decline(amount) -%}
    cast(case when {{ amount }} is not null then greatest({{ amount }}, 0) end as decimal(9, 2))
{%- endmacro %}
