{#-
    How sure a figure is: 95% intervals, and the verdict on a difference. Intervals hold for the unit that varies by
    itself: a student, whose lessons and grades go together, and not a lesson of a student.
-#}

{#- The 97.5% quantile of Student's t: its expansion by 1 / degrees of freedom (Abramowitz and Stegun, 26.7.5), and a
    last term that makes it exact for 1. Exact to 0.3% for 2, to 0.02% from 4 on. -#}
{% macro t_quantile(degrees_of_freedom) -%}
    (
        1.959964 + 2.372271 / {{ degrees_of_freedom }} + 2.822499 / {{ degrees_of_freedom }} ** 2
        + 2.555850 / {{ degrees_of_freedom }} ** 3 + 1.589534 / {{ degrees_of_freedom }} ** 4
        + 1.406087 / {{ degrees_of_freedom }} ** 5
    )
{%- endmacro %}

{#- The normal deviate that is as rare as Student's t (Hill 1970, Communications of the ACM 13, 617). -#}
{% macro t_as_normal(t, degrees_of_freedom) -%}
    {%- set z = 'sqrt((' ~ degrees_of_freedom ~ ' - 0.5) * ln(1 + ' ~ t ~ ' ** 2 / ' ~ degrees_of_freedom ~ '))' -%}
    {%- set scale = '(48 * (' ~ degrees_of_freedom ~ ' - 0.5) ** 2)' -%}
    (
        {{ z }} + ({{ z }} ** 3 + 3 * {{ z }}) / {{ scale }}
        - (4 * {{ z }} ** 7 + 33 * {{ z }} ** 5 + 240 * {{ z }} ** 3 + 855 * {{ z }})
        / (10 * {{ scale }} * ({{ scale }} + 0.8 * {{ z }} ** 4 + 100))
    )
{%- endmacro %}

{#- The chance of a normal deviate of at least this size, of either sign (Abramowitz and Stegun, 26.2.17). -#}
{% macro normal_p_value(deviate) -%}
    {%- set k = '(1 / (1 + 0.2316419 * ' ~ deviate ~ '))' -%}
    2 * 0.3989422804 * exp(-({{ deviate }} ** 2) / 2) * {{ k }} * (0.319381530 + {{ k }} * (
        -0.356563782 + {{ k }} * (1.781477937 + {{ k }} * (-1.821255978 + {{ k }} * 1.330274429))
    ))
{%- endmacro %}

{#- An end (+ or -) of the 95% interval of `value` minus the mean of a group that the value is not of, which tells where
    the difference of one more of the group would be: by the group's size, sum and `squares`. Null below 5 values. -#}
{% macro difference_limit(value, size, sum, squares, end) -%}
    case
        when {{ size }} >= 5
            then {{ rounded(
                value ~ ' - ' ~ sum ~ ' / ' ~ size ~ ' ' ~ end ~ ' ' ~ t_quantile('(' ~ size ~ ' - 1)') ~ ' * sqrt('
                ~ squared_deviations(size, sum, squares) ~ ' / (' ~ size ~ ' - 1) * (1 + 1 / ' ~ size ~ '))', places=2
            ) }}
    end
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

{#- An end (low or high) of the 95% confidence interval of a share of counts, by Wilson's score, in percent. -#}
{% macro wilson_limit(part, whole, end) -%}
    case when {{ whole }} > 0 then {{ rounded(_wilson(part, whole, end), places=2) }} end
{%- endmacro %}

{% macro _wilson(part, whole, end) -%}
    least(greatest(100 * (2 * {{ part }} + 3.841459 {{ '-' if end == 'low' else '+' }} 1.959964 * sqrt(
        3.841459 + 4.0 * {{ part }} * ({{ whole }} - {{ part }}) / {{ whole }}
    )) / (2 * ({{ whole }} + 3.841459)), 0), 100)
{%- endmacro %}

{#- An end of the interval of the difference of two shares of counts, by Newcombe's method from Wilson's intervals, in
    percentage points. -#}
{% macro newcombe_limit(part, whole, other_part, other_whole, end) -%}
    {{ rounded(newcombe_end(part, whole, other_part, other_whole, end), places=2) }}
{%- endmacro %}

{#- The same, not rounded. -#}
{% macro newcombe_end(part, whole, other_part, other_whole, end) -%}
    {%- set sign, other_end = ('-', 'high') if end == 'low' else ('+', 'low') -%}
    {{ rate_difference(part, whole, other_part, other_whole) }} {{ sign }} sqrt(
        (100.0 * {{ part }} / nullif({{ whole }}, 0) - {{ _wilson(part, whole, end) }}) ** 2
        + (100.0 * {{ other_part }} / nullif({{ other_whole }}, 0) - {{ _wilson(other_part, other_whole, other_end) }}) ** 2
    )
{%- endmacro %}

{#- How likely is each table with the margins of part of whole beside other_part of other_whole, as a multiple of the
    chance of this table. -#}
{% macro table_weights(part, whole, other_part, other_whole) -%}
    {%- set both = '(' ~ part ~ ' + ' ~ other_part ~ ')' -%}
    list_transform(
        range(greatest({{ both }} - {{ other_whole }}, 0), least({{ both }}, {{ whole }}) + 1),
        lambda number: exp(
            {{ _table_logarithm(part, whole, both, other_whole) }}
            - ({{ _table_logarithm('number', whole, both, other_whole) }})
        )
    )
{%- endmacro %}

{% macro _table_logarithm(number, whole, both, other_whole) -%}
    lgamma({{ number }} + 1) + lgamma({{ whole }} - {{ number }} + 1) + lgamma({{ both }} - {{ number }} + 1)
    + lgamma({{ other_whole }} - {{ both }} + {{ number }} + 1)
{%- endmacro %}

{#- DeLong's variance of an area, or of a difference of areas, by the weights of the students with the outcome and without,
    one more of either than there are. below: the share without it at less risk; above: the share with it at more risk. -#}
{% macro area_variance(with_it, without_it, below, above) -%}
    {%- for weight, share in [(with_it, below), (without_it, above)] %}
    {{ '+ ' if not loop.first }}greatest(
        sum({{ weight }} * ({{ share }}) ** 2) / sum({{ weight }}) - (sum({{ weight }} * ({{ share }})) / sum({{ weight }})) ** 2, 0
    ) / nullif(sum({{ weight }}) - 2, 0)
    {%- endfor %}
{%- endmacro %}

{#- An end (- or +) of the interval of an area by its logarithm of odds. -#}
{% macro logit_limit(area, variance, end, quantile='1.959964') -%}
    1 / (1 + exp(-(ln({{ area }} / (1 - {{ area }})) {{ end }} {{ quantile }} * sqrt({{ variance }}) / ({{ area }} * (1 - {{ area }})))))
{%- endmacro %}

{#- An end (low or high) of the interval of Cronbach's alpha, by the normal approximation of log(1 - alpha) (Bonett 2002, Journal
    of Educational and Behavioral Statistics 27, 335). -#}
{% macro alpha_limit(alpha, items, students, end) -%}
    {{ rounded(
        '1 - exp(ln(nullif(greatest(1 - ' ~ alpha ~ ', 0), 0)) ' ~ ('+' if end == 'low' else '-')
        ~ ' 1.959964 * sqrt(2 * ' ~ items ~ ' / (nullif(' ~ items ~ ' - 1, 0) * nullif(greatest(' ~ students
        ~ ' - 2, 0), 0))))'
    ) }}
{%- endmacro %}

{#- The sums of a group of rows, one a student, by which the ratio of part to whole varies from student to student. -#}
{% macro cluster_sums(name, part, whole) -%}
    count(*) filter (where {{ whole }} > 0) as {{ name }}_clusters,
    coalesce(sum(cast({{ part }} as double) ** 2), 0) as {{ name }}_part_squares,
    coalesce(sum(cast({{ part }} as double) * cast({{ whole }} as double)), 0) as {{ name }}_products,
    coalesce(sum(cast({{ whole }} as double) ** 2), 0) as {{ name }}_whole_squares
{%- endmacro %}

{#- The squared distances of the students' parts from what the ratio of the group makes of their wholes. -#}
{% macro cluster_deviations(name, part, whole) -%}
    greatest(
        {{ name }}_part_squares - 2 * cast({{ part }} as double) / nullif({{ whole }}, 0) * {{ name }}_products
            + (cast({{ part }} as double) / nullif({{ whole }}, 0)) ** 2 * {{ name }}_whole_squares,
        0
    )
{%- endmacro %}

{#- The variance of the ratio of part to whole with the student as the unit (Cochran, Sampling Techniques, section 6.8); with one
    row a student that of a mean. Null for fewer than two students. -#}
{% macro ratio_variance(name, part, whole) -%}
    {{ name }}_clusters / nullif(greatest({{ name }}_clusters - 1, 0), 0)
        * {{ cluster_deviations(name, part, whole) }} / nullif(cast({{ whole }} as double), 0) ** 2
{%- endmacro %}

{#- An end (low or high) of the interval of an estimate with this variance and so many degrees of freedom. -#}
{% macro t_limit(estimate, variance, degrees_of_freedom, end, places=4) -%}
    {{ rounded(
        estimate ~ (' - ' if end == 'low' else ' + ') ~ t_quantile('nullif(greatest(' ~ degrees_of_freedom ~ ', 0), 0)')
        ~ ' * sqrt(' ~ variance ~ ')', places=places
    ) }}
{%- endmacro %}

{#- The degrees of freedom of the difference of two estimates, of their variances and degrees of freedom (Welch and
    Satterthwaite). -#}
{% macro welch_degrees(variance, degrees, other_variance, other_degrees) -%}
    ({{ variance }} + {{ other_variance }}) ** 2
        / nullif({{ variance }} ** 2 / nullif({{ degrees }}, 0) + {{ other_variance }} ** 2 / nullif({{ other_degrees }}, 0), 0)
{%- endmacro %}

{#- How much more a share of counts varies than with one count a student (Kish's design effect): pooled over the groups of
    a window, as the students of one group are too few to tell. Where nothing varies: the counts a student. -#}
{% macro design_effect(name, part, whole, window) -%}
    greatest(
        coalesce(
            sum({{ cluster_deviations(name, part, whole) }}) over {{ window }}
                / nullif(sum({{ part }} * cast({{ whole }} - {{ part }} as double) / nullif({{ whole }}, 0)) over {{ window }}, 0),
            sum({{ whole }}) over {{ window }} / nullif(sum({{ name }}_clusters) over {{ window }}, 0)
        ),
        1
    )
{%- endmacro %}

{#- The difference of two ratios, in percentage points. -#}
{% macro rate_difference(part, whole, other_part, other_whole) -%}
    100 * (cast({{ part }} as double) / nullif({{ whole }}, 0) - cast({{ other_part }} as double) / nullif({{ other_whole }}, 0))
{%- endmacro %}

{#- The rate of the others and the share of the difference from it that is no chance, in percent. -#}
{% macro shrunken_rate(other_part, other_whole, difference, reliability) -%}
    {{ rounded(
        '100 * cast(' ~ other_part ~ ' as double) / nullif(' ~ other_whole ~ ', 0) + ' ~ difference ~ ' * ' ~ reliability, places=2
    ) }}
{%- endmacro %}

{#- The standard error of the difference of two shares, in percentage points, where chance alone divides them. -#}
{% macro share_error(part, whole, other_part, other_whole, design_effect='1') -%}
    100 * sqrt(
        {{ design_effect }} * ({{ part }} + {{ other_part }}) * cast({{ whole }} + {{ other_whole }} - {{ part }} - {{ other_part }} as double)
            / nullif(cast({{ whole }} + {{ other_whole }} as double) * {{ whole }} * {{ other_whole }}, 0)
    )
{%- endmacro %}

{#- The variance of the true differences of the groups of a window: that of the differences beyond what chance makes of
    them (the method of moments of DerSimonian and Laird, around no difference). -#}
{% macro between_variance(difference, error, window) -%}
    greatest(
        sum(({{ difference }} / nullif({{ error }}, 0)) ** 2) over {{ window }}
            - count({{ difference }} / nullif({{ error }}, 0)) over {{ window }},
        0
    ) / nullif(sum(1 / nullif({{ error }}, 0) ** 2) over {{ window }}, 0)
{%- endmacro %}

{#- The share of a difference that is no chance, from 0 to 1 (empirical Bayes): by it a difference is shrunken. -#}
{% macro reliability(error, between) -%}
    case when {{ error }} = 0 then 1 else {{ between }} / ({{ between }} + {{ error }} ** 2) end
{%- endmacro %}

{#- What a difference from the others says: above or below, where the 95% interval of the shrunken difference leaves out zero.
    quantile * error is the half width of the difference's own interval, of which the shrunken one has
    sqrt(reliability). Where groups do not differ, about one window in twenty has a group that seems to, however many
    groups a window has. Null without others; fewest: how many the smaller side has. -#}
{% macro verdict(difference, error, reliability, fewest, minimum, quantile='1.959964') -%}
    case
        when {{ difference }} is null then null
        when {{ fewest }} < {{ minimum }} then 'too few'
        -- Without an error neither side varies.
        when not coalesce(
            abs({{ difference }}) * sqrt({{ reliability }}) > {{ quantile }} * {{ error }}, {{ error }} = 0 and {{ difference }} <> 0, false
        ) then 'not distinguishable'
        when {{ difference }} > 0 then 'above'
        else 'below'
    end
{%- endmacro %}
