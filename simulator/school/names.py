"""Names and words of a Chinese school."""

from random import Random

SCHOOLS = (
    "启明实验学校",
    "江畔中学",
    "育才外国语学校",
    "松山湖学校",
    "云帆高级中学",
    "南山书院",
    "明德学校",
    "星海附属学校",
)
DISTRICTS = ("海淀区", "浦东新区", "南山区", "天河区", "西湖区", "江北区", "岳麓区", "高新区")

SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘田董袁于余叶蒋杜苏魏程吕丁"
    "沈任姚卢傅钟姜崔谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武"
    "戴莫孔向汤"
)
RARE_SURNAMES = ("欧阳", "上官", "司马", "诸葛", "尉迟", "阿依古丽·")
GIVEN = (
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉兰红健峰辉波鑫宇欣怡浩然子涵梓轩思雨晨嘉琪诗语"
    "俊豪雅文博天佑若曦一诺可心睿泽"
)

STAGES = ("小学部", "初中部", "高中部")
GRADES = (
    "一年级",
    "二年级",
    "三年级",
    "四年级",
    "五年级",
    "六年级",
    "初一",
    "初二",
    "初三",
    "高一",
    "高二",
    "高三",
)
CAMPUSES = ("本部校区", "东校区")

DOMAINS = ("语言与文学", "数学与科学", "人文与社会", "艺术与体育", "实践与创新")
# Name, code, domain (index) and parent subject. The parent is a subject, so that the terms form a tree.
SUBJECTS = (
    ("语文", "CHN", 0, None),
    ("数学", "MAT", 1, None),
    ("英语", "ENG", 0, None),
    ("综合科学", "SCI", 1, None),
    ("物理", "PHY", 1, "综合科学"),
    ("化学", "CHE", 1, "综合科学"),
    ("历史", "HIS", 2, None),
    ("体育与健康", "PED", 3, None),
    ("音乐", "MUS", 3, None),
)
CORE_SUBJECTS = ("语文", "数学", "英语", "物理", "化学", "历史", "体育与健康", "音乐")
ELECTIVES = (
    "机器人",
    "合唱",
    "篮球",
    "书法",
    "天文观测",
    "戏剧",
    "围棋",
    "摄影",
    "“数学之美”",
    "C++ 编程/入门",
)

REVIEWS = (
    "学习认真，思维活跃，继续保持。",
    "基础扎实，计算仍需细心。",
    '课堂发言积极，被同学称为"小老师"。',
    "近期状态有所下滑，\n请家长多关注作业完成情况。",
    "进步明显！",
    "",
)
SELF_REVIEWS = ("我会继续努力。", "期中之后我改进了复习方法。", "", "")
INVALID_REASONS = ("缺考", "作弊", "病假免评", "转班")


def person(rng: Random) -> str:
    """A name of two to four characters. One in a hundred has a surname of two characters, or a dotted
    name."""
    surname = rng.choice(RARE_SURNAMES) if rng.random() < 0.01 else rng.choice(SURNAMES)
    return surname + "".join(rng.choices(GIVEN, k=1 if rng.random() < 0.25 else 2))


def phone(rng: Random) -> str:
    """A mobile number of an unassigned block."""
    return f"170000{rng.randrange(100_000):05d}"
