{#- A reason in words: the rule's template with the value and the limit that it is beyond. -#}
{% macro reason(template) -%}
    replace(replace({{ template }}, '{value}', {{ _plain('value') }}), '{limit}', {{ _plain('beyond') }})
{%- endmacro %}

{#- A number without trailing zeros. -#}
{% macro _plain(number) -%}
    rtrim(rtrim(cast(cast({{ number }} as decimal(18, 2)) as varchar), '0'), '.')
{%- endmacro %}

{#- By how much something fell, 0 where it rose; null stays null, which greatest() would leave out. -#}
{% macro decline(amount) -%}
    cast(case when {{ amount }} is not null then greatest({{ amount }}, 0) end as decimal(9, 2))
{%- endmacro %}
