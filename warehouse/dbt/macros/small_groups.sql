{#- Whether the numbers of a row tell about few people: one of the `counts` of students behind them is below `smallest`. Nobody
    is not few. Null: not known. warehouse/small_groups.py has the same rule for other doors. -#}
{% macro is_few(counts, smallest) -%}
    ({% for count in counts %}{{ ' or ' if not loop.first }}{{ count }} between 1 and {{ smallest }} - 1{% endfor %})
{%- endmacro %}

{#- Whether the rows of the window before this row, together, tell about few people by one of the `counts`. -#}
{% macro is_few_before(counts, smallest, window) -%}
    ({% for count in counts %}{{ ' or ' if not loop.first }}sum({{ count }}) over {{ window }} - {{ count }} between 1 and {{ smallest }} - 1{% endfor %})
{%- endmacro %}
