"""Links without a model: mutual nearness, shared rare terms, and the order of a conversation.

Each signal alone can mislead: an embedder that does not know the language finds everything
near, and two notes can share a word by chance. Together they decide, each with its reason.
"""

from collections.abc import Sequence
from statistics import median

from amem_integrations.analysts import terms, words
from amem_integrations.analysts.note_types import is_question
from amem_integrations.analysts.readings import reading_of, without_data
from amem_integrations.analysts.statements import compare_notes
from amem_integrations.analysts.terms import Corpus
from amem_integrations.analysts.words import NAME, Word
from amem_integrations.core.analysis import KINDS_SEEN, Candidate, LinkProposal, Subject
from amem_integrations.core.note import CONTRADICTS, Note

MAX_LINKS = 5
SHARED_WORDS, NEAR, SEQUENCE = KINDS_SEEN

# A link needs this much of words and nearness together; nearness alone needs more.
_THRESHOLD, _ALONE = 0.45, 0.5
_SEQUENCE_WEIGHT, _ANSWER_WEIGHT, _MAX_WEIGHT = 0.45, 0.6, 0.95
_COMPARED_WORDS = 12
# Above the usual similarity by this much, a candidate is fully near.
_FULL = 0.3
# With fewer rivals than this, nothing tells what similarity is usual here.
_MIN_RIVALS = 4
# Where this much is usual, the embedder finds all texts alike and words must decide.
_BLIND = 0.45
# Below this cosine, two texts are unrelated for any embedder.
_FLOOR = 0.1


def propose_links(subject: Subject, corpus: Corpus) -> list[LinkProposal]:
    """Return at most MAX_LINKS links: those to notes that it contradicts, then the strongest."""
    opposed = contradictions(subject.note, subject.candidates)
    own = _compared(subject.note, corpus)
    if not own and not opposed:
        return []
    chinese = words.is_chinese(subject.note.content)
    usual = _usual_similarities(subject.candidates)
    matters = [
        link
        for candidate in subject.candidates
        if candidate.note.id not in opposed
        and (link := _matter(candidate, own, usual[candidate.note.id], corpus, chinese))
    ]
    # First, so that no limit leaves them out.
    found = [
        LinkProposal(id, reason, CONTRADICTS, _MAX_WEIGHT) for id, reason in opposed.items()
    ] + sorted(matters, key=lambda link: -link.weight)
    before = _turn_before(subject)
    if before is None or before.id in {link.to for link in found[:MAX_LINKS]}:
        return found[:MAX_LINKS]
    return [*found[: MAX_LINKS - 1], _sequence(before, chinese)]


def contradictions(note: Note, candidates: Sequence[Candidate]) -> dict[str, str]:
    """Return the ids of the candidates that a note contradicts for sure, with the reasons.

    Of those that it contradicts only as an answer, it is the last that was said.
    """
    found = {
        each.note.id: (each.note, relation)
        for each in candidates
        if (relation := compare_notes(each.note, note)).kind == "contradicts"
    }
    answered = [older for older, relation in found.values() if relation.anaphoric]
    last = max(answered, key=lambda older: (older.sequence or 0, older.created_at), default=None)
    return {
        id: relation.reason
        for id, (older, relation) in found.items()
        if not relation.anaphoric or older is last
    }


def quoted(names: Sequence[str], chinese: bool) -> str:
    """Return 'a', 'b' and 'c', as the language writes it."""
    marked = [f"“{name}”" if chinese else f"'{name}'" for name in names]
    if len(marked) < 2:
        return "".join(marked)
    comma, last = ("、", "和") if chinese else (", ", " and ")
    return comma.join(marked[:-1]) + last + marked[-1]


def _compared(note: Note, corpus: Corpus) -> list[Word]:
    """Return the words that can show a shared matter; a number of one or two digits shows none."""
    speaker = words.keys(note.speaker) if note.speaker else frozenset[str]()
    found = terms.telling(note.content, corpus, without=speaker, limit=_COMPARED_WORDS)
    return [word for word in found if not word.number or len(word.key) > 2]


def _matter(
    candidate: Candidate, own: Sequence[Word], usual: float, corpus: Corpus, chinese: bool
) -> LinkProposal | None:
    """Return a link to the candidate, if words and nearness together suffice."""
    read = reading_of(candidate.note).keys
    both = words.occurring([word.key for word in own], candidate.note.content, read)
    shared = [word for word in own if word.key in both]
    evidence = sum(min(word.weight, NAME) * corpus.rarity(word.key) ** 2 for word in shared)
    by_words = evidence / (evidence + 1)
    by_meaning = _nearness(candidate, usual)
    weight = 1 - (1 - by_words) * (1 - by_meaning)
    if weight < (_THRESHOLD if shared else _ALONE):
        return None
    if not shared and not words.has_matter(candidate.note.content):
        return None
    kind = SHARED_WORDS if len(shared) > 1 and by_words >= 0.5 else NEAR
    reason = _reason(shared, by_meaning > 0, chinese)
    return LinkProposal(candidate.note.id, reason, kind, round(min(weight, _MAX_WEIGHT), 2))


def _nearness(candidate: Candidate, usual: float) -> float:
    """Return how near the two are to each other beyond the usual, in [0, 1)."""
    if candidate.reverse_rank is None or usual > _BLIND:
        return 0.0
    beyond = min(1.0, max(0.0, (candidate.similarity - usual) / _FULL))
    return 0.9 * beyond / (1 + (candidate.rank + candidate.reverse_rank) / 8)


def _usual_similarities(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return for each candidate the similarity above which nearness means something.

    Embedders differ in scale, and one that does not know a script finds all its texts alike, so
    a candidate is compared with the others in its script. Too few of them tell nothing.
    """
    scripts = {each.note.id: reading_of(each.note).script for each in candidates}
    usual: dict[str, float] = {}
    for candidate in candidates:
        script = scripts[candidate.note.id]
        rivals = [each.similarity for each in candidates if scripts[each.note.id] == script]
        known = len(rivals) >= _MIN_RIVALS
        usual[candidate.note.id] = max(median(rivals), _FLOOR) if known else 1.0
    return usual


def _reason(shared: Sequence[Word], mutual: bool, chinese: bool) -> str:
    names = quoted([word.plain for word in shared[:3]], chinese)
    if chinese:
        parts = [f"都提到{names}"] if shared else []
        return "；".join([*parts, "互在对方最相近的笔记之列"] if mutual else parts)
    parts = [f"shares {names}"] if shared else []
    return "; ".join([*parts, "each among the other's nearest notes"] if mutual else parts)


def _turn_before(subject: Subject) -> Note | None:
    """Return the turn right before the subject in its session, unless it says nothing."""
    note = subject.note
    if note.session is None:
        return None
    known = {each.note.id: each.note for each in subject.candidates}
    known.update((each.id, each) for each in subject.background)
    turns = [each for each in known.values() if each.session == note.session]
    if note.sequence is not None:
        before = [each for each in turns if each.sequence == note.sequence - 1]
    else:
        before = [each for each in turns if each.created_at < note.created_at]
    last = max(before, key=lambda each: (each.created_at, each.id), default=None)
    if last is None:
        return None
    last = without_data(last)
    return last if words.has_matter(last.content) else None


def _sequence(before: Note, chinese: bool) -> LinkProposal:
    asked = is_question(before.content)
    who = before.speaker
    if chinese:
        turn = f"{who}的" if who else "前一条"
        reason = f"紧接着{turn}{'提问' if asked else '发言'}"
    else:
        turn = "question" if asked else "turn"
        reason = f"comes right after {who}'s {turn}" if who else f"comes right after that {turn}"
    return LinkProposal(before.id, reason, SEQUENCE, _ANSWER_WEIGHT if asked else _SEQUENCE_WEIGHT)
