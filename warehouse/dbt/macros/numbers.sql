{#-
    The platform's decimals arrive as decimal(38, 18), which overflows as soon as two are multiplied.
    decimal(18, 6) is exact for any mark, credit or weight, and products of two still fit. What does not fit
    becomes null instead of failing the build; the test fits_measure shows it. DuckDB rounds in the same way
    from a decimal as from its text, and takes twice as long for it.
-#}
{% macro measure(column) -%}
    try_cast(cast({{ column }} as varchar) as decimal(18, 6))
{%- endmacro %}

{#- 100 * part / whole, null where the whole is zero or unknown. -#}
{% macro percent(part, whole) -%}
    try_cast(100 * {{ part }} / nullif({{ whole }}, 0) as decimal(18, 6))
{%- endmacro %}

{#- The same with two decimals, as rates of attendance are told. -#}
{% macro rate(part, whole) -%}
    try_cast(100 * {{ part }} / nullif({{ whole }}, 0) as decimal(9, 2))
{%- endmacro %}
