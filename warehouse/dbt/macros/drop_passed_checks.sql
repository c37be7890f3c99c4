{#-
    Tests that store their rows make a table in `quality` whether rows fail or not.
    Only those with something to show stay, so that a table there is a finding.
-#}
{% macro drop_passed_checks(results) %}
    {%- for result in results if result.status == 'pass' %}
        {%- set check = result.node %}
        {%- if check.resource_type == 'test' and check.relation_name %}
            drop table if exists {{ check.relation_name }};
        {%- endif %}
    {%- endfor %}
{% endmacro %}
