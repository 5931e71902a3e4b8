"""Whether what a model says of a note is about that note, and not about one shown beside it.

Small models describe the first note that they are shown, or repeat their last answer. Told from
the words alone: an answer is taken for another note's if it has more of that note's words than of
its own, and either repeats what is known of that note or has no word of its own at all.
"""

from collections.abc import Iterable, Sequence

from amem_integrations.analysts.answers import UnusableAnswerError
from amem_integrations.analysts.words import telling
from amem_integrations.core.analysis import Understanding
from amem_integrations.core.note import Note

IMPLAUSIBLE = "implausible"
"""The reason of an answer that describes another note."""
_COMPARED_CHARS = 4000
# A text of fewer telling words, such as "Yes, the blue one", is described in the words of others.
_FEW = 3
_MUCH = 0.5


def require_own(
    note: Note,
    proposal: Understanding,
    others: Sequence[Note],
    said: Iterable[tuple[Note, Understanding]] = (),
) -> None:
    """Raise UnusableAnswerError if `proposal` describes one of the other notes.

    others: the notes that were shown with it. said: what the same answer says of some of them.
    """
    told = telling("\n".join((proposal.context, *proposal.keywords)))
    if not told:
        return
    text = telling(note.content[:_COMPARED_CHARS])
    own = len(told & (text | telling(note.speaker or "")))
    known = {other.id: (other.context, other.keywords) for other in others}
    known |= {other.id: (answer.context, answer.keywords) for other, answer in said}
    for other in (*others, *(other for other, _ in said)):
        theirs = len(told & telling(other.content[:_COMPARED_CHARS]))
        # A constant description has no two words of any note.
        if theirs <= own or theirs < 2 or other.content == note.content:
            continue
        alien = own == 0 and len(text) >= _FEW and theirs >= _MUCH * len(told)
        if alien or _is_repeated(proposal, *known[other.id]):
            raise UnusableAnswerError(
                'it describes another note than the one asked about: describe the text of "new"',
                reason=IMPLAUSIBLE,
            )


def _is_repeated(proposal: Understanding, context: str, keywords: Sequence[str]) -> bool:
    same_words = {word.casefold() for word in proposal.keywords} == {
        word.casefold() for word in keywords
    }
    if proposal.context and context:
        return proposal.context.casefold() == context.casefold()
    return same_words and len(keywords) > 1
