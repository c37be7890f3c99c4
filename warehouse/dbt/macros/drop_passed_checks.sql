{#-
    Tests that store their rows always make a table in `quality`, even without failing rows. The tables of passed tests
    are dropped, so that each remaining table shows failures.
-#}
{% macro drop_passed_checks(results) %}
    {%- for result in results if result.status == 'pass' %}
        {%- set check = result.node %}
        {%- if check.resource_type == 'test' and check.relation_name %}
            drop table if exists {{ check.relation_name }};
        {%- endif %}
    {%- endfor %}
{% endmacro %}
