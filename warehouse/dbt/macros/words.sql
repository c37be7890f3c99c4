{#- Names of the marts' codes in English and in Chinese, by kind. -#}
{% macro words() -%}
    {{ return({
        'weekday': {
            '1': ('Monday', '星期一'),
            '2': ('Tuesday', '星期二'),
            '3': ('Wednesday', '星期三'),
            '4': ('Thursday', '星期四'),
            '5': ('Friday', '星期五'),
            '6': ('Saturday', '星期六'),
            '7': ('Sunday', '星期日')
        },
        'tier': {
            'severe': ('Severe absence', '严重缺勤'),
            'chronic': ('Chronic absence', '长期缺勤'),
            'watch': ('Watch', '关注'),
            'satisfactory': ('All is well', '正常'),
            'unrecorded': ('Not recorded', '无考勤记录'),
            'unknown': ('Not known', '无数据')
        },
        'level': {
            'at_risk': ('At risk', '高风险'),
            'warning': ('Warning', '预警'),
            'watch': ('Watch', '关注'),
            'none': ('All is well', '正常'),
            'unknown': ('Not known', '无数据')
        },
        'grade': {
            'grade 1': ('Grade 1', '一年级'),
            'grade 2': ('Grade 2', '二年级'),
            'grade 3': ('Grade 3', '三年级'),
            'grade 4': ('Grade 4', '四年级'),
            'grade 5': ('Grade 5', '五年级'),
            'grade 6': ('Grade 6', '六年级'),
            'grade 7': ('Grade 7', '七年级'),
            'grade 8': ('Grade 8', '八年级'),
            'grade 9': ('Grade 9', '九年级'),
            'grade 10': ('Grade 10', '高一'),
            'grade 11': ('Grade 11', '高二'),
            'grade 12': ('Grade 12', '高三')
        },
        'change': {
            'first': ('First known', '首次记录'),
            'new': ('New', '新增预警'),
            'came back': ('Came back', '再次预警'),
            'worse': ('Worse', '加重'),
            'better': ('Better', '好转'),
            'left': ('Left', '已离校')
        },
        'absence_reason': {
            'leave': ('Leave', '请假'),
            'unexcused': ('Unexcused', '无故缺勤')
        },
        'intervention': {
            'talk': ('Talk', '谈话'),
            'call_home': ('Call home', '联系家长'),
            'plan': ('Support plan', '帮扶计划'),
            'other': ('Other', '其他')
        },
        'backtest_status': {
            'ready': ('Ready', '可回测'),
            'semester not over': ('The semester is not over', '学期未结束'),
            'next semester not begun': ('The next semester has not begun', '下学期未开始'),
            'next semester not over': ('The next semester is not over', '下学期未结束'),
            'not loaded': ('Its data were never loaded', '数据未加载'),
            'outcome not known': ('The outcome is known of nobody', '结果未知'),
            'too few': ('Too few students', '人数太少')
        },
        'discrimination_label': {
            'very good': ('Very good', '优秀'),
            'good': ('Good', '良好'),
            'revise': ('Revise', '需修改'),
            'poor': ('Poor', '较差'),
            'cannot be told': ('Cannot be told', '无法判断')
        },
        'verdict': {
            'above': ('Above the others', '高于其他'),
            'below': ('Below the others', '低于其他'),
            'not distinguishable': ('Not distinguishable', '无明显差异'),
            'too few': ('Too few', '数量过少')
        },
        'band': {
            '90 and above': ('90% and above', '90%及以上'),
            '80 to 90': ('80% to 90%', '80%至90%'),
            '70 to 80': ('70% to 80%', '70%至80%'),
            '60 to 70': ('60% to 70%', '60%至70%'),
            'below 60': ('below 60%', '60%以下'),
            'unscored': ('No score', '无成绩'),
            'unknown': ('Not known', '无数据')
        },
        'group': {
            'all': ('All', '全部'),
            'm': ('Boys', '男生'),
            'f': ('Girls', '女生'),
            'boarding': ('Boarders', '住校生'),
            'day': ('Day students', '走读生'),
            'unknown': ('Not known', '未知')
        },
        'source': {
            'moral': ('Moral conduct', '德育'),
            'dorm': ('Dormitory', '宿舍'),
            'custom': ('Custom', '自定义'),
            'teacher_assessment': ('Teacher assessment', '教师评价'),
            'awarded_credit': ('Awarded credit', '认定学分'),
            'stage': ('Stage', '阶段')
        },
        'measure': {
            'rows': ('Rows of a slice', '记录数'),
            'assessment_items': ('Items of an assessment', '评价项数'),
            'admin_class_students': ('Students of an administrative class', '行政班学生数'),
            'attendance_normal': ('Present in a session', '每节出勤数'),
            'attendance_late': ('Late in a session', '每节迟到数'),
            'attendance_absent': ('Absent in a session', '每节缺勤数'),
            'attendance_rate': ('Attendance rate of a session', '每节出勤率'),
            'real_score': ('Score that counts', '实际得分'),
            'suggest_score': ('Suggested score', '系统评分'),
            'grade_rank': ('Rank in the class', '班级名次'),
            'grade_rank_base': ('Number ranked', '参评人数'),
            'transcript_gpa': ('GPA of a semester', '学期绩点'),
            'transcript_cumulative_gpa': ('Cumulative GPA', '累计绩点'),
            'transcript_credits': ('Credits of a semester', '学期学分'),
            'transcript_gained_credits': ('Credits gained in a semester', '学期已获学分')
        }
    }) }}
{%- endmacro %}

{#- The columns <name>_en and <name>_zh: the name of a code in either language. name: default is the kind. A code of a
    school's own seed keeps its own name. -#}
{% macro in_words(kind, code, name=none) -%}
    {%- for language in ('en', 'zh') %}
    case cast({{ code }} as varchar)
        {%- for each, names in words()[kind].items() %}
        when '{{ each }}' then '{{ names[0 if language == 'en' else 1] }}'
        {%- endfor %}
        else cast({{ code }} as varchar)
    end as {{ name or kind }}_{{ language }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}
