"""Stop words by language.

`STOP` words bound a phrase and are never part of one. `COMMON` words may stand in a phrase
but say little alone. The lists are short: rarity within the namespace does the rest.
"""

from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP: Mapping[str, frozenset[str]] = {
    "en": _words("""
        a an the this that these those some any each every either neither both all most more
        much many few less least several other others another such same own
        i me my mine myself we us our ours ourselves you your yours yourself yourselves
        he him his himself she her hers herself it its itself they them their theirs themselves
        who whom whose which what where when why how whoever whatever whichever whenever wherever
        anybody anyone anything everybody everyone everything nobody nothing none somebody
        someone something anywhere everywhere nowhere somewhere
        am is are was were be been being do does did doing done have has had having will would
        shall should can could may might must ought cannot
        and or but nor so yet for if then else than because since unless until till while
        although though whereas whether as
        of in on at by to from with without within into onto out off over under above below up
        down about across after again against ago along already also always among around away
        back before behind beside besides between beyond during except further here hence inside
        instead just like near never next no not now often once only outside per please quite
        rather really round seldom since sometimes somehow soon still there therefore through
        throughout thus together too toward towards upon very via well yes yeah yep nope ok okay
        hi hello hey thanks thank bye sorry welcome oh ah hm hmm haha lol wow ouch etc eg ie
        perhaps maybe anyway even ever enough almost nearly especially actually basically
        simply usually probably certainly exactly perfect great lovely nice fine good bad better
        worse best worst sure cool fair deal course ones whether else let lets
        dont doesnt didnt isnt arent wasnt cant couldnt wont wouldnt shouldnt im ive id ill
        youre thats theres whats
    """),
    "de": _words("""
        der die das den dem des ein eine einen einem einer eines kein keine keinen ich du er sie
        es wir ihr mich mir dich dir ihn ihm uns euch sich mein meine meinen dein deine sein seine
        ihre ihren unser unsere und oder aber denn weil dass daß wenn als ob wie wer was wo wann
        warum welche welcher ist sind war waren bin bist sein wird werden wurde hat haben hatte
        habe kann können muss müssen soll sollen will wollen mag möchte darf nicht noch nur auch
        schon sehr mehr so zu zum zur im in an am auf aus bei mit nach von vom vor für über unter
        um durch gegen ohne bis seit hier da dort dann doch mal ja nein bitte danke hallo
    """),
    "fr": _words("""
        le la les un une des du de d l au aux ce cet cette ces mon ma mes ton ta tes son sa ses
        notre nos votre vos leur leurs je tu il elle on nous vous ils elles me te se lui y en qui
        que quoi dont où et ou mais donc or ni car si quand comme est sont était suis es sommes
        êtes être été ai as a avons avez ont avoir fait faire va vais peut peux dois doit ne pas
        plus moins très bien aussi encore déjà dans sur sous avec sans pour par chez vers entre
        oui non merci bonjour ça cela c j n s t qu
    """),
    "es": _words("""
        el la los las un una unos unas lo al del de este esta estos estas ese esa eso esto mi mis
        tu tus su sus nuestro nuestra yo tú él ella nosotros ellos ellas me te se le les nos que
        qué quien quién cual cuál donde dónde cuando cuándo como cómo por para con sin sobre entre
        en a y e o u pero porque si es son era soy eres ser está están estoy estar he ha han hay
        fue tiene tengo puede no sí muy más menos ya también todo todos gracias hola
    """),
    "pt": _words("""
        o a os as um uma uns umas ao à do da dos das de no na nos nas em por para com sem sobre
        este esta esse essa isso isto meu minha seu sua eu tu ele ela nós eles elas você vocês me
        te se lhe que quem qual onde quando como porque e ou mas se é são era sou ser está estão
        estou estar tem tenho foi não sim muito mais menos já também obrigado obrigada olá
    """),
    "it": _words("""
        il lo la i gli le un uno una di del della dei delle dello a al alla ai alle da dal dalla in
        nel nella nei su sul sulla con per tra fra e ed o ma se che chi cui come dove quando perché
        io tu lui lei noi voi loro mi ti si ci vi mio mia tuo tua suo sua questo questa quello
        quella è sono era sei siamo essere ho hai ha hanno avere non più meno molto anche già sì
        grazie ciao
    """),
    "nl": _words("""
        de het een en of maar want dat die dit deze ik jij je hij zij ze wij we jullie mij me mijn
        jouw zijn haar ons onze hun is was waren ben bent wordt worden heeft heb hebben had kan
        kunnen moet moeten zal wil niet geen nog ook al zo te in op aan uit bij met naar van voor
        over onder om door tot hier daar dan wel ja nee wat wie waar wanneer hoe als
    """),
    "ru": _words("""
        и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее
        её мне было вот от меня еще ещё нет о из ему теперь когда даже ну ли если уже или ни быть
        был была были до вас нибудь вам ведь там потом себя ей может они тут где есть надо для мы
        тебя их чем сам чтобы без чего раз тоже себе под будет кто этот эта это эти этого тот
        потому какой спасибо привет очень мой моя мои наш наша
    """),
    "ko": _words("""
        그리고 그러나 하지만 그래서 저는 나는 우리는 우리 저희 제가 내가 너는 이것 그것 저것 그 저
        것 수 등 및 또는 또 더 잘 안 못 있다 없다 있는 없는 있어요 합니다 입니다 해요 했다 네
        아니요 감사합니다
    """),
    "ar": _words("""
        في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين هو هي هم أنا انا نحن أنت انت كان
        كانت يكون ما لا لم لن قد كل بعد قبل عند أو او و ثم أن ان إن إذا حتى لكن شكرا نعم
    """),
    "hi": _words("""
        का की के को में से पर और या है हैं था थी थे हो कि यह वह ये वे मैं हम आप तुम मेरा मेरी मेरे
        नहीं भी ही तो जो क्या एक इस उस ने लिए साथ कर रहा रही रहे गया
    """),
}

_COMMON = _words("""
    add allow answer appear arrive ask attend become begin bet book bought break bring brought
    build buy call came care carry change check choose chose clean close come consider continue
    cost cover create cut depend deserve die disappear drop eat end enjoy expect explain fail feed
    feel felt fill find finish fit fix follow forget forgot found freeze gave get give given go
    goes going gone gonna got guess handle happen hate hear heard heat help hit hold hope keep
    kept know known land last lead learn leave left lie live look lose lost love made make
    manage matter mean meant meet mention miss move need note offer open ordered own pay pick
    plan play prefer print promise pull push put ran read remember reply reset run said sat saw
    say see seem seen send sent set show shown shut sign sit sleep sound speak spend spoke stand
    start stay stick stop suggest suit support suppose survive take taken talk tell test thank
    think thought threw told took touch train try turn understand unplug use used visit wait
    wake walk want watch wear went wish wonder work worried worry write wrote worth
    able absolute big bit broad certain clear common complete couple different difficult early
    easy empty entire extra fast few final first fresh full funny general happy hard high hot
    huge important interesting kind large late little long longer loose lot low main major minor
    new normal old open part particular past piece pleasant pretty previous quick ready real
    recent relaxed right second serious short similar simple single slow small special stuff
    taller tasty third thing tiny total true type useless usual various warm way weird whole wide
    wrong young half less zero one two three four five six seven eight nine ten eleven twelve
    twenty thirty forty fifty hundred thousand million
    cheaper colder faster hotter quicker slower warmer minus plus dr mr mrs ms prof otherwise
    front deep middle example quickly daily weekly monthly
    def return self elif const var null none true false
    case end fact idea issue item kinda level list lots number people person place point problem
    question reason rest sense side sort story top word world while
""")

UNITS = _words("""
    mm cm m km g kg t ml l kb mb gb tb ms hz khz mhz ghz w kw kwh v a mah percent euro dollar
    pound yuan rmb usd eur cent degree meter metre kilometer kilometre mile gram kilo litre liter
    unit piece token request user person people
""")

COMMON = _COMMON | UNITS

TIME = _words("""
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur fri sat sun
    january february march april june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec today tomorrow yesterday tonight morning
    afternoon evening night midnight noon day week weekend month year hour minute time date am pm
    later earlier
    montag dienstag mittwoch donnerstag freitag samstag sonntag heute morgen gestern
    lundi mardi mercredi jeudi vendredi samedi dimanche hier demain
    lunes martes miércoles jueves viernes sábado domingo hoy mañana ayer
    今天 明天 昨天 后天 前天 今年 明年 去年 上午 下午 早上 晚上 中午 周末 现在 刚才 以前 以后
    之前 之后 当时 平时 最近 上次 下次 这次 上周 下周 本周 上个月 下个月
    今日 明日 昨日 今週 来週 先週 今年 来年
""")

CHINESE_COMMON = _words("""
    时候 东西 事情 事 没事 问题 没问题 办法 样子 方面 情况 地方 部分 感觉 意思 可以 可能 需要
    应该 知道 觉得 认为 希望 打算 准备 开始 结束 进行 使用 决定 记住 记得 忘了 别忘了 没有 还有
    就是 不是 还是 只是 算是 如果 因为 所以 但是 不过 然后 而且 或者 以及 虽然 基本 直接 一直
    一定 一样 一起 一下 一点 有点 差不多 看到 看见 说到 想到 听说 告诉 表示 成为 出来 起来 过来
    过去 下来 上去 出去 回来 来说 不要 不用 不会 不能 不行 不错 谢谢 多谢 好的 好了 太好 太棒 哈哈
    收到 明白 了解 辛苦 再见 你好 大家 我们 你们 他们 她们 自己 别人 这个 那个 这些 那些 这样 那样
    什么 怎么 怎样 为什么 哪里 哪个 多少 几个 算了 帮我 那边 这边 定了 定就行 想要 要不要 是不是
    可是 整天 不算 急事 比较 非常 特别 真的 其实 已经 正在 通常 一般 一共 总共
    一口气 太棒了 太好了 拿到 总比 再说 收到 看不到 找不到 人数 块钱
    時候 東西 問題 可能 應該 知道 覺得 開始 決定 沒有 還有 這個 那個 謝謝 我們 你們 他們 什麼 怎麼
""")

HOLLOW_CHINESE = frozenset(
    "这那哪的得了着过吗呢吧啊呀哦嗯就都也还又再先很太最不没别是有在和跟与把被给对从到向比"
    "我你他她它一二三四五六七八九十百千万两几"
)

# Nouns that end as adverbs and participles do.
NOT_ADVERBS = _words("""
    family supply assembly reply anomaly belly jelly italy ally butterfly monopoly
    speed seed breed weed shed
""")

# Endings that mark a word's role in a Korean sentence; longer ones first.
KOREAN_PARTICLES = (
    *(
        "에서는",
        "에게서",
        "으로는",
        "이라고",
        "에서",
        "에게",
        "으로",
        "까지",
        "부터",
        "처럼",
        "보다",
    ),
    *("하고", "이나", "은", "는", "이", "가", "을", "를", "에", "의", "와", "과", "도", "로", "만"),
)
