"""The analyst that asks no model: what `model=None` means.

Keywords are the salient terms of a note, links follow from nearness, shared rare terms and the
order of a conversation, and a neighbour evolves by taking in terms. Deterministic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from amem_integrations.analysts import terms, words
from amem_integrations.analysts.links import SEQUENCE, SHARED_WORDS, propose_links, quoted
from amem_integrations.analysts.note_types import NOTE_TYPES, note_type_of
from amem_integrations.analysts.readings import reading_of, without_data
from amem_integrations.analysts.sentences import sentence_texts
from amem_integrations.analysts.terms import Corpus, Term
from amem_integrations.core.analysis import (
    BY_STATISTICS,
    Evolution,
    Judgement,
    LinkProposal,
    Subject,
    Turn,
    Understanding,
)
from amem_integrations.core.io import IO
from amem_integrations.core.note import CONTRADICTS, Note, clean_terms, clean_text
from amem_integrations.errors import AnalysisError

__all__ = ["StatisticalAnalyst"]

MAX_KEYWORDS = 5
MAX_TAGS = 3
MAX_CONTEXT_CHARS = 200

# An evolving note takes in new terms up to these numbers, however often it evolves.
MAX_EVOLVED_KEYWORDS = 10
MAX_EVOLVED_TAGS = 6


@dataclass(frozen=True, slots=True)
class StatisticalAnalyst:
    """Analyses notes by statistics (paper §3.1–3.3 without a model); no method uses its `io`.

    Attributes:
        name: what revisions call it.
        reads_candidates: whether text of other notes can end up in what it writes.
        needs_statistics: whether it wants `Subject.background`.

    Examples:
        >>> from amem_integrations.core.analysis import Subject
        >>> from amem_integrations.analysts.statistical import StatisticalAnalyst
        >>> note = memory.add("Calvin wants an LRU policy for the cache", formation="off")
        >>> about = memory.perform(lambda _, io: StatisticalAnalyst().construct(io, Subject(note)))
        >>> "LRU policy" in about.keywords
        True
    """

    name: str = BY_STATISTICS
    reads_candidates: bool = False
    needs_statistics: bool = True

    async def construct(self, io: IO, subject: Subject) -> Understanding:
        """Return up to 5 keywords, up to 3 tags and one sentence of the note."""
        subject = _readable(subject)
        corpus = _corpus(subject)
        return _understanding(subject.note, _salient(subject.note, corpus), corpus)

    async def link(self, io: IO, subject: Subject) -> list[LinkProposal]:
        """Return links to candidates of the same matter, and to the turn just before."""
        subject = _readable(subject)
        return propose_links(subject, _corpus(subject))

    async def evolve(
        self, io: IO, subject: Subject, links: Sequence[LinkProposal]
    ) -> list[Evolution]:
        """Return the terms by which the neighbours in `links` are now known."""
        subject = _readable(subject)
        corpus = _corpus(subject)
        return _evolutions(subject, links, _salient(subject.note, corpus), corpus)

    async def fuse(self, io: IO, subject: Subject) -> Judgement:
        """Return all three."""
        subject = _readable(subject)
        corpus = _corpus(subject)
        found = _salient(subject.note, corpus)
        understanding = _understanding(subject.note, found, corpus)
        links = propose_links(subject, corpus)
        evolutions = _evolutions(subject, links, found, corpus)
        return Judgement(understanding, tuple(links), tuple(evolutions))

    async def batch(self, io: IO, subjects: Sequence[Subject]) -> list[Judgement | AnalysisError]:
        """Return all three of each subject, by its own candidates."""
        return [await self.fuse(io, subject) for subject in subjects]

    async def segment(self, io: IO, turn: Turn) -> None:
        """Return None: statistics have split the turn already."""

    async def distil(self, io: IO, notes: Sequence[Note]) -> None:
        """Return None: statistics write no text of their own."""


def _readable(subject: Subject) -> Subject:
    return Subject(
        without_data(subject.note),
        tuple(replace(each, note=without_data(each.note)) for each in subject.candidates),
        subject.background,
    )


def _corpus(subject: Subject) -> Corpus:
    return Corpus(reading_of(note).vocabulary for note in subject.background)


def _understanding(note: Note, found: Sequence[Term], corpus: Corpus) -> Understanding:
    keywords = [term.text for term in found] or terms.symbols(note.content, MAX_KEYWORDS)
    return Understanding(
        keywords=clean_terms(keywords, MAX_KEYWORDS),
        tags=tuple(_tags(note, found, corpus)),
        context=_context(note, found),
    )


def _salient(note: Note, corpus: Corpus) -> list[Term]:
    speaker = words.keys(note.speaker) if note.speaker else frozenset[str]()
    return terms.salient(note.content, corpus, without=speaker, limit=MAX_KEYWORDS)


def _tags(note: Note, found: Sequence[Term], corpus: Corpus) -> list[str]:
    """Return the type of note, where that is clear, and words that recur in the background."""
    if not found:
        return []
    note_type = note_type_of(note.content)
    strong = [term for term in found if term.score >= words.TELLING]
    labels = sorted(_broad(strong or found[:1], corpus), key=lambda each: -each[0])
    tags = [*([note_type] if note_type else []), *(label for _, label in labels)]
    tags = list(clean_terms(tags, MAX_TAGS))
    return tags if len(tags) > 1 else [*tags, NOTE_TYPES[-1]]


def _broad(found: Sequence[Term], corpus: Corpus) -> Iterator[tuple[int, str]]:
    """Yield how many texts of the background have each term, or else each of its words."""
    for term in found:
        plain = [word for word in term.words if not word.number]
        common = [word for word in plain if corpus.frequency[word.key]]
        # A number says nothing broad, but its unit may.
        whole = len(common) == len(term.words) or (not common and plain == [*term.words])
        for part in [term] if whole else common:
            yield min(corpus.frequency[key] for key in part.keys), part.label


def _context(note: Note, found: Sequence[Term]) -> str:
    """Return the sentence with the most salient terms, with its speaker and day."""
    sentences = sentence_texts(note.content) or [note.content]
    best = max(sentences, key=lambda text: sum(term.score for term in found if term.text in text))
    day = note.local_time.date().isoformat() if note.occurred_at else None
    source = ", ".join(part for part in (note.speaker, day) if part)
    text = clean_text(f"{source}: {best}" if source else best, MAX_CONTEXT_CHARS + 1)
    if len(text) <= MAX_CONTEXT_CHARS:
        return text
    return text[: MAX_CONTEXT_CHARS - 1].rstrip() + "…"


def _evolutions(
    subject: Subject, links: Sequence[LinkProposal], found: Sequence[Term], corpus: Corpus
) -> list[Evolution]:
    candidates = {candidate.note.id: candidate.note for candidate in subject.candidates}
    # What a note contradicts is not to be known by the note's words.
    apart = (SEQUENCE, CONTRADICTS)
    matters = [link for link in links if link.kind not in apart and link.to in candidates]
    proposals = (_evolution(candidates[link.to], link, found, corpus) for link in matters)
    return [proposal for proposal in proposals if proposal is not None]


def _evolution(
    neighbour: Note, link: LinkProposal, found: Sequence[Term], corpus: Corpus
) -> Evolution | None:
    """Return at most two new keywords and one new tag for a neighbour, or None.

    Its own text supports a new term. A term that its text lacks is taken over only where the two
    notes are of the same matter.
    """
    text = reading_of(neighbour).keys
    known = {key for term in (*neighbour.keywords, *neighbour.tags) for key in words.keys(term)}
    strong = [term for term in found if term.score >= words.TELLING and not term.words[0].number]
    supported = [term for term in strong if text.issuperset(term.keys)]
    fresh = [term for term in supported if not known.issuperset(term.keys)][:1]
    if link.kind == SHARED_WORDS:
        fresh += [term for term in strong if (text | known).isdisjoint(term.keys)]
    keywords = _merged(neighbour.keywords, [term.text for term in fresh[:2]], MAX_EVOLVED_KEYWORDS)
    tagged = {key for tag in neighbour.tags for key in words.keys(tag)}
    shared = [label for _, label in _broad(supported, corpus) if not words.keys(label) & tagged]
    tags = _merged(neighbour.tags, shared[:1], MAX_EVOLVED_TAGS)
    context = None if neighbour.context else _context(neighbour, found)
    if keywords is None and tags is None and context is None:
        return None
    added = [*(keywords or ())[len(neighbour.keywords) :], *(tags or ())[len(neighbour.tags) :]]
    return Evolution(neighbour.id, keywords, tags, context, _evolution_reason(link, added))


def _merged(old: Sequence[str], new: Sequence[str], limit: int) -> tuple[str, ...] | None:
    """Return `old` with the terms of `new` that are new and fit; None if there are none."""
    merged = clean_terms([*old, *new], max(limit, len(old)))
    return merged if len(merged) > len(old) else None


def _evolution_reason(link: LinkProposal, added: Sequence[str]) -> str:
    chinese = words.is_chinese(link.reason)
    names = quoted(list(dict.fromkeys(added)), chinese)
    if chinese:
        return f"后来的笔记{link.reason}" + (f"；补充{names}" if added else "")
    return f"a later note {link.reason}" + (f"; now also known by {names}" if added else "")
