{#-
    The platform's decimals arrive as decimal(38, 18), which overflows as soon as two are multiplied.
    decimal(18, 6) is exact for any mark, credit or weight, and products of two still fit. What does not fit
    becomes null instead of failing the build; the test fits_measure shows it. DuckDB rounds in the same way
    from a decimal as from its text, and takes twice as long for it.
-#}
{% macro measure(column) -%}
    try_cast(cast({{ column }} as varchar) as decimal(18, 6))
{%- endmacro %}

{#-
    One rounding everywhere: halves away from zero, on exact numbers. A double cannot hold 2.425, and what is
    rounded from its neighbour is 2.42. So a quotient is one of whole numbers, and rounds as on paper; what only
    a double can be (a root, a correlation) is rounded by `rounded`. Models use these macros and neither `/`,
    nor round(), nor a cast of their own (tests/models/test_rounding.py).
-#}

{#- part / whole, both of them exact. Null where the whole is not above 0, or where the digits do not fit. -#}
{% macro ratio(part, whole, places=4, digits=9) -%}
    {{ _with_places(_quotient(_in_units(part), _in_units(whole), places), places, digits) }}
{%- endmacro %}

{#- The same as a percentage. -#}
{% macro percent(part, whole, places=4, digits=9) -%}
    {{ _with_places(_quotient(_in_units(part), _in_units(whole), places + 2), places, digits) }}
{%- endmacro %}

{#- A percentage of two counts (bigint), with two decimals: the same without wide numbers, which take forty
    times as long. -#}
{% macro rate(part, whole) -%}
    try_cast(cast({{ _quotient(part, whole, 4) }} as decimal(18, 0)) * 0.01 as decimal(9, 2))
{%- endmacro %}

{#- A statistic that is a double: what its last bits miss of a half is made up for. Not a number is null. -#}
{% macro rounded(number, places=4, digits=9) -%}
    try_cast(try_cast({{ number }} as decimal(28, 12)) as decimal({{ digits }}, {{ places }}))
{%- endmacro %}

{#- How far a value is from the mean of a group, in its standard deviations (sample's, n - 1): of the group's size,
    sum and sum of squares, which are exact, so that no deviation is left where all are the same. -#}
{% macro z_score(value, size, sum, square_sum) -%}
    {{ rounded(
        '(' ~ size ~ ' * ' ~ value ~ ' - ' ~ sum ~ ') / sqrt(' ~ size ~ ' * nullif(' ~ size ~ ' * ' ~ square_sum
        ~ ' - ' ~ sum ~ ' * ' ~ sum ~ ', 0) / (' ~ size ~ ' - 1))'
    ) }}
{%- endmacro %}

{#- The sum of the squares of a measure, exact, in its millionths. -#}
{% macro squares(measure) -%}
    coalesce(sum(cast({{ measure }} * 1000000 as hugeint) * cast({{ measure }} * 1000000 as hugeint)), 0)
{%- endmacro %}

{#- The sum of the squared deviations of a group from its mean, by its size, sum and `squares`. The difference is one of
    whole numbers, so that nothing is left where all are the same. -#}
{% macro squared_deviations(size, sum, squares) -%}
    ({{ size }} * {{ squares }} - cast({{ sum }} * 1000000 as hugeint) * cast({{ sum }} * 1000000 as hugeint))
        / nullif({{ size }}, 0) / 1e12
{%- endmacro %}

{#- The 97.5% quantile of Student's t: its expansion by 1 / degrees of freedom (Abramowitz and Stegun, 26.7.5), which is
    exact to 0.03% from 4 degrees of freedom on. -#}
{% macro t_quantile(degrees_of_freedom) -%}
    (
        1.959964 + 2.372271 / {{ degrees_of_freedom }} + 2.822499 / {{ degrees_of_freedom }} ** 2
        + 2.555850 / {{ degrees_of_freedom }} ** 3 + 1.589534 / {{ degrees_of_freedom }} ** 4
    )
{%- endmacro %}

{#- An end of the 95% confidence interval of Pearson's r of so many pairs, by Fisher's z; end: - or +. -#}
{% macro correlation_limit(correlation, pairs, end) -%}
    {%- set bounded = 'if(abs(' ~ correlation ~ ') > 1, sign(' ~ correlation ~ '), ' ~ correlation ~ ')' %}
    case
        when not isnan({{ correlation }})
            then {{ rounded(
                'tanh(atanh(' ~ bounded ~ ') ' ~ end ~ ' 1.959964 / sqrt(nullif(greatest(' ~ pairs ~ ' - 3, 0), 0)))'
            ) }}
    end
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

{#- A decimal as a whole number of its 1e-12s, of which products of two measures have as many. -#}
{% macro _in_units(number) -%}
    cast(cast({{ number }} as decimal(38, 12)) * 1000000000000 as hugeint)
{%- endmacro %}

{% macro _with_places(whole_number, places, digits) -%}
    try_cast(
        try(cast({{ whole_number }} as decimal(38, 0)))
        * {% if places %}0.{{ '0' * (places - 1) }}{% endif %}1 as decimal({{ digits }}, {{ places }})
    )
{%- endmacro %}
