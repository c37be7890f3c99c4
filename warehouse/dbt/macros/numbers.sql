{#-
    The platform's decimals arrive as decimal(38, 18), which overflows as soon as two are multiplied. decimal(18, 6) is
    exact for any mark, credit or weight, and products of two still fit. A value that does not fit becomes null instead of
    failing the build; the test fits_measure shows it. The cast goes by way of text: the result is the same, and DuckDB
    takes half the time.
-#}
{% macro measure(column) -%}
    try_cast(cast({{ column }} as varchar) as decimal(18, 6))
{%- endmacro %}

{#-
    One rounding everywhere: halves away from zero, on exact numbers. A double cannot hold 2.425, and its neighbour rounds
    to 2.42. So a quotient divides whole numbers, and rounds as on paper. A number that only a double can hold (a root, a
    correlation) is rounded by `rounded`. Models use these macros, and never `/`, round() or a cast of their own
    (tests/warehouse/models/marts/test_rounding.py).
-#}

{#- part / whole, both exact. Null if the whole is not above 0, or if the digits do not fit. -#}
{% macro ratio(part, whole, places=4, digits=9) -%}
    {{ _with_places(_quotient(_in_units(part), _in_units(whole), places), places, digits) }}
{%- endmacro %}

{#- The same as a percentage. -#}
{% macro percent(part, whole, places=4, digits=9) -%}
    {{ _with_places(_quotient(_in_units(part), _in_units(whole), places + 2), places, digits) }}
{%- endmacro %}

{#- A percentage of two counts (bigint), with two decimals. It avoids wide numbers, which take forty times as long. -#}
{% macro rate(part, whole) -%}
    try_cast(cast({{ _quotient(part, whole, 4) }} as decimal(18, 0)) * 0.01 as decimal(9, 2))
{%- endmacro %}

{#- Rounds a statistic that is a double. It rounds to 12 decimals first, so that a half with wrong last bits still rounds
    up. Not a number is null. -#}
{% macro rounded(number, places=4, digits=9) -%}
    try_cast(try_cast({{ number }} as decimal(28, 12)) as decimal({{ digits }}, {{ places }}))
{%- endmacro %}

{#- The distance of a value from the mean of a group, in sample standard deviations (n - 1). The group's size, sum and sum
    of squares are exact, so a group of equal values has no deviation. -#}
{% macro z_score(value, size, sum, square_sum) -%}
    {{ rounded(
        '(' ~ size ~ ' * ' ~ value ~ ' - ' ~ sum ~ ') / sqrt(' ~ size ~ ' * nullif(' ~ size ~ ' * ' ~ square_sum
        ~ ' - ' ~ sum ~ ' * ' ~ sum ~ ', 0) / (' ~ size ~ ' - 1))'
    ) }}
{%- endmacro %}

{#- The exact sum of the squares of a measure, in millionths of the measure. -#}
{% macro squares(measure) -%}
    coalesce(sum(cast({{ measure }} * 1000000 as hugeint) * cast({{ measure }} * 1000000 as hugeint)), 0)
{%- endmacro %}

{#- The sum of the squared deviations of a group from its mean, by its size, sum and `squares`. It subtracts whole numbers,
    so a group of equal values gives exactly 0. -#}
{% macro squared_deviations(size, sum, squares) -%}
    ({{ size }} * {{ squares }} - cast({{ sum }} * 1000000 as hugeint) * cast({{ sum }} * 1000000 as hugeint))
        / nullif({{ size }}, 0) / 1e12
{%- endmacro %}

{#- Whether part / whole is no further than the tolerance from another number. Nothing is divided, so that it is
    exact at the edge. -#}
{% macro is_within(tolerance, number, part, whole) -%}
    case
        when {{ whole }} > 0
            then try(abs({{ part }} - {{ number }} * {{ whole }}) <= {{ tolerance }} * {{ whole }})
    end
{%- endmacro %}

{#- Whole numbers: 10 ^ power * part / whole, halves away from zero. -#}
{% macro _quotient(part, whole, power) -%}
    (2{{ '0' * power }} * {{ part }} + sign({{ part }}) * {{ whole }}) // (2 * nullif(greatest({{ whole }}, 0), 0))
{%- endmacro %}

{#- A decimal as a whole number of units of 1e-12. The product of two measures has 12 decimals. What is not below 1e14
    is null, so that no product of a quotient overflows. (DuckDB's `try` would say this too. But a view with it cannot even
    be listed by a DuckDB before 1.3.) -#}
{% macro _in_units(number) -%}
    cast(try_cast({{ number }} as decimal(26, 12)) * 1000000000000 as hugeint)
{%- endmacro %}

{% macro _with_places(whole_number, places, digits) -%}
    try_cast(
        cast({{ whole_number }} as decimal(38, 0))
        * {% if places %}0.{{ '0' * (places - 1) }}{% endif %}1 as decimal({{ digits }}, {{ places }})
    )
{%- endmacro %}

{#- A number as text, without zeros at the end. -#}
{% macro number_text(number) -%}
    format('{:g}', cast({{ number }} as double))
{%- endmacro %}
