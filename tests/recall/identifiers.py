"""Notes that differ in a number or a code only, and questions that ask for one of them.

The tables of `test_identifiers`: sixty notes a kind, and for ten of them or more a question that
writes the identifier in its own way.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

NOTES = 60
ASKED = range(2, NOTES, 5)
# fmt: off
WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)
ORDINALS = (
    "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)
# fmt: on
NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ida", "Jon")


class Kind(NamedTuple):
    """note: the text of the n-th note. questions: ways to ask for the n-th, taken by turns."""

    note: Callable[[int], str]
    questions: Sequence[Callable[[int], str]]
    asked: Sequence[int] = ASKED


def name(n: int) -> str:
    return NAMES[n * 7 % len(NAMES)]


def year(n: int) -> int:
    return 2024 + n % 3


def invoice(n: int) -> int:
    return 10_000 + n * 37


def area(n: int) -> str:
    return f"17{n % 4}"


def phone(n: int) -> int:
    return 4_512_345 + n * 1_117


def book(n: int) -> str:
    return f"{148_400 + n * 111}"


def address(n: int) -> str:
    return f"10.0.{n % 5}.{20 + n}"


def release(n: int) -> str:
    return f"{2 + n % 2}.{n % 6}.{n % 20}"


def amount(n: int) -> int:
    return 31 + n * 7


def hour(n: int) -> int:
    return 13 + n % 9


def minute(n: int) -> str:
    return f"{n * 17 % 60:02d}"


def error(n: int) -> str:
    return f"8007{n * 1_003 % 65_536:04X}"


def commit(n: int) -> str:
    return f"{0x9F3C2AB + n * 0x1010F07:07x}"[:8]


def plate(n: int, *separators: str) -> str:
    parts = "BMHK"[n % 4], ("AX", "MW", "KL")[n % 3], f"{1_200 + n * 3}"
    return parts[0] + separators[0] + parts[1] + separators[1] + parts[2]


def account(n: int) -> str:
    return f"DE{20 + n}37040044053201{3_000 + n * 7:04d}00"


def fours(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def numeral(n: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th") if n not in (11, 12, 13) else "th"
    return f"{n}{ending}"


KINDS: Mapping[str, Kind] = {
    "invoice": Kind(
        lambda n: f"Customer {n} paid invoice {year(n)}-{invoice(n)} by card on day {n}",
        [
            lambda n: f"Who paid invoice {invoice(n)}?",
            lambda n: f"Who paid invoice {year(n)}-{invoice(n)}?",
            lambda n: f"invoice {year(n)}/{invoice(n)}",
            lambda n: f"Has {year(n)}{invoice(n)} been paid?",
        ],
    ),
    "number": Kind(
        lambda n: f"{name(n)} keeps the key of locker {4_030 + n * 13} in the office.",
        [
            lambda n: f"Who has the key of locker {4_030 + n * 13}?",
            lambda n: f"locker no. {(4_030 + n * 13):,}",
            lambda n: f"Where is the key to #{4_030 + n * 13}?",
        ],
    ),
    "year": Kind(
        lambda n: f"In {1_951 + n} the family spent the summer with aunt {name(n)}.",
        [
            lambda n: f"Where was the family in {1_951 + n}?",
            lambda n: f"the summer of {1_951 + n}",
        ],
    ),
    "phone": Kind(
        lambda n: f"{name(n)}'s phone number is 0{area(n)} {phone(n)}.",
        [
            lambda n: f"Whose number is +49 {area(n)} {phone(n)}?",
            lambda n: f"Who called from +49{area(n)}{phone(n)}?",
            lambda n: f"Whose number is 0{area(n)}{phone(n)}?",
            lambda n: f"Who has 0{area(n)}-{phone(n)}?",
            lambda n: f"Whose is 0049 (0){area(n)} {phone(n)}?",
        ],
    ),
    "book": Kind(
        lambda n: f"{name(n)} borrowed the book with the ISBN 978-3-16-{book(n)}-{n % 10}.",
        [
            lambda n: f"Who borrowed ISBN 978316{book(n)}{n % 10}?",
            lambda n: f"Who has the book 978 3 16 {book(n)} {n % 10}?",
            lambda n: f"Who borrowed 978-3-16-{book(n)}-{n % 10}?",
        ],
    ),
    "address": Kind(
        lambda n: f"The server of {name(n)} has the address {address(n)} in the lab.",
        [
            lambda n: f"Whose server is {address(n)}?",
            lambda n: f"What answers at http://{address(n)}:8080/status?",
        ],
    ),
    "release": Kind(
        lambda n: f"Release {release(n)} mended the printing bug that {name(n)} had found.",
        [
            lambda n: f"What did we mend in {release(n)}?",
            lambda n: f"What is in v{release(n)}?",
            lambda n: f"changes of version {release(n)}-final",
        ],
    ),
    "ticket": Kind(
        lambda n: f"{name(n)} works on {'PROJ' if n % 2 else 'TEAM'}-{151 + n // 2}, the search.",
        [
            lambda n: f"Who works on {'PROJ' if n % 2 else 'TEAM'}-{151 + n // 2}?",
            lambda n: f"Who does {'proj' if n % 2 else 'team'}{151 + n // 2}?",
            lambda n: f"Who has {'PROJ' if n % 2 else 'TEAM'} {151 + n // 2}?",
        ],
    ),
    "amount": Kind(
        lambda n: (
            f"{name(n)} paid {f'${amount(n)}' if n % 2 else f'{amount(n)},00 €'} for the tickets."
        ),
        [
            lambda n: f"Who paid ${amount(n)}?",
            lambda n: f"Who paid {amount(n)},00 €?",
            lambda n: f"Whose tickets cost {amount(n)}.00 dollars?",
            lambda n: f"Who paid €{amount(n)}?",
        ],
    ),
    "time": Kind(
        lambda n: f"{name(n)} takes the train at {hour(n)}:{minute(n)}.",
        [
            lambda n: f"Who takes the train at {hour(n)}:{minute(n)}?",
            lambda n: f"Who leaves at {hour(n) - 12}:{minute(n)} pm?",
            lambda n: f"Who takes the train of {hour(n)}.{minute(n)}?",
        ],
    ),
    "error": Kind(
        lambda n: f"{name(n)} got the error 0x{error(n)} when the update started.",
        [
            lambda n: f"Who got error 0x{error(n).lower()}?",
            lambda n: f"What is {error(n)}?",
            lambda n: f"error code 0X{error(n)}",
        ],
    ),
    "commit": Kind(
        lambda n: f"{name(n)} broke the build with commit {commit(n)} on Monday.",
        [
            lambda n: f"Who wrote commit {commit(n)}?",
            lambda n: f"Who wrote {commit(n).upper()}?",
        ],
    ),
    "plate": Kind(
        lambda n: f"The car of {name(n)} has the plate {plate(n, '-', ' ')}.",
        [
            lambda n: f"Whose car is {plate(n, '-', ' ')}?",
            lambda n: f"Whose car is {plate(n, ' ', ' ')}?",
            lambda n: f"Whose car is {plate(n, '', '')}?",
            lambda n: f"Whose car is {plate(n, '-', '-')}?",
        ],
    ),
    "account": Kind(
        lambda n: f"The rent of {name(n)} comes from {fours(account(n))} each month.",
        [
            lambda n: f"Whose account is {account(n)}?",
            lambda n: f"Whose account is {fours(account(n))}?",
            lambda n: f"Whose IBAN is {fours(account(n)).replace(' ', '-')}?",
        ],
    ),
    "rank": Kind(
        lambda n: (
            f"{name(n)} won the {ORDINALS[n - 2] if n <= 20 and n % 2 else numeral(n)} race."
            if n >= 2
            else f"{name(n)} won the last race but {n}."
        ),
        [
            lambda n: f"Who won race {n}?",
            lambda n: f"Who won the {numeral(n)} race?",
            lambda n: f"Who won race number {WORDS[n - 2]}?",
            lambda n: f"Who won the {ORDINALS[n - 2]} race?",
        ],
        asked=range(3, 21),
    ),
    "chinese": Kind(
        lambda n: f"客户用银行卡支付了发票{year(n)}-{invoice(n)}，电话是138{20_013_800 + n * 79}。",
        [
            lambda n: f"谁支付了发票{year(n)}-{invoice(n)}？",
            lambda n: f"发票{invoice(n)}是谁支付的？",
            lambda n: f"电话是+86138{20_013_800 + n * 79}的客户",
            lambda n: f"发票\uff12\uff10{year(n) % 100}/{invoice(n)}",
        ],
    ),
    "chinese rank": Kind(
        lambda n: (
            f"他在第{'零一二三四五六七八九十'[n]}场比赛中获胜。"
            if 0 < n <= 10
            else f"他在第{n}场比赛中获胜。"
        ),
        [
            lambda n: f"谁在第{n}场比赛中获胜？",
            lambda n: f"第{'零一二三四五六七八九十'[n] if n <= 10 else n}场",
        ],
        asked=range(1, 13),
    ),
}
