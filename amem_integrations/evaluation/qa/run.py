"""Asking systems the questions of a dataset, and a reader for the answers; what came of each.

Answers are kept as they come, so that a run can be interrupted and taken up again. `report`
makes numbers of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from amem_integrations import __version__
from amem_integrations.core.tokens import estimate_tokens
from amem_integrations.core.usage import Usage
from amem_integrations.errors import AMemError, AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.checking import gold_of
from amem_integrations.evaluation.qa.kept import KeptLines, fingerprint
from amem_integrations.evaluation.qa.metering import LIMIT, MeteredModel, Price
from amem_integrations.evaluation.qa.reader import RULES, ModelReader, Reader
from amem_integrations.evaluation.qa.system import Budget, Evidence, Factory, Means, System

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, and how many of all answers there are."""

# No other question would fare better.
_HOPELESS = ("unauthorized", "forbidden", "not-found", "quota")
_ANSWER_TOKENS = 20
_PROMPT_TOKENS = estimate_tokens(RULES) + 120


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system and a reader made of one question.

    place: of the question in `scorable`. turns: what the evidence rests on, best first. tokens:
    of the evidence. failure: why there is no answer, in a word; it is not scored then.
    """

    system: str
    budget: Budget
    place: int
    text: str
    turns: tuple[str, ...]
    tokens: int
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A run, or as much of it as a limit let through.

    missing: how many answers a limit left out. usage: of the model, kept replies included.
    """

    answers: tuple[Answer, ...]
    missing: int
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a system is expected to ask of the model; usd is None where no price is known."""

    system: str
    calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None


def scorable(dataset: Dataset) -> list[tuple[Conversation, Question]]:
    """The questions whose answer is known. Raises InvalidInputError if there is none."""
    found = [asked for asked in dataset.asked if gold_of(asked[1])]
    if not found:
        raise InvalidInputError(
            'No question of this file says what answers it; "answer" is the field for that.'
        )
    return found


class Run:
    """One dataset, one reader, one model; systems by name.

    model: what systems and reader ask, or None. concurrency: questions that are answered side
    by side.
    """

    def __init__(
        self,
        means: Means,
        reader: Reader,
        kept: KeptLines,
        *,
        model: MeteredModel | None = None,
        concurrency: int = 1,
    ) -> None:
        self._means = means
        self._reader = reader
        self._kept = kept
        self._model = model
        self._concurrency = concurrency
        self._asked = scorable(means.dataset)

    def ask(
        self,
        systems: Mapping[str, Factory],
        budgets: Sequence[Budget],
        progress: Progress | None = None,
    ) -> Asked:
        """Answer every question that is not answered yet, with every system and budget.

        Stops in good order at a limit of the model. What fails by an error of the package is
        marked, and tried again by the next run; where no question would fare better, such as
        with a wrong key, the error is raised.
        """
        total = len(systems) * len(budgets) * len(self._asked)
        found: list[Answer] = []
        # Before anything is asked: one may lack something.
        made = {name: make(self._means) for name, make in systems.items()}
        try:
            for name, system in made.items():
                if progress is not None:
                    progress(f"{name}, preparing", len(found), total)
                for answer in self._all(name, system, budgets):
                    found.append(answer)
                    if progress is not None:
                        progress(name, len(found), total)
        finally:
            for system in made.values():
                system.close()
        order = {name: place for place, name in enumerate(systems)}
        found.sort(key=lambda each: (order[each.system], budgets.index(each.budget), each.place))
        usage = None if self._model is None else self._model.total()
        return Asked(tuple(found), total - len(found), usage)

    def forecast(
        self, systems: Mapping[str, Factory], budgets: Sequence[Budget], price: Price | None = None
    ) -> list[Forecast]:
        """What the answers that are not there yet will take, estimated without asking."""
        found: list[Forecast] = []
        for name, make in systems.items():
            system = make(self._means)
            usage = Usage()
            for budget in budgets:
                for conversation, places in self._conversations():
                    left = len([each for each in places if not self._answered(name, budget, each)])
                    usage += self._expected(system, conversation, budget, left)
            system.close()
            usd = None if price is None else price.of(usage)
            found.append(Forecast(name, usage.calls, usage.tokens_in, usage.tokens_out, usd))
        return found

    def _expected(
        self, system: System, conversation: Conversation, budget: Budget, left: int
    ) -> Usage:
        if not left:
            return Usage()
        cost = system.cost(conversation, budget)
        usage = Usage(calls=cost.calls, tokens_in=cost.tokens_in, tokens_out=cost.tokens_out)
        if isinstance(self._reader, ModelReader):
            asked = left * (cost.evidence + _PROMPT_TOKENS)
            usage += Usage(calls=left, tokens_in=asked, tokens_out=left * _ANSWER_TOKENS)
        return usage

    def _all(self, name: str, system: System, budgets: Sequence[Budget]) -> Iterator[Answer]:
        for conversation, places in self._conversations():
            asked = [(budget, place) for budget in budgets for place in places]
            known = [self._answered(name, *each) for each in asked]
            yield from (each for each in known if each is not None)
            left = [each for each, answer in zip(asked, known, strict=True) if answer is None]
            if left and not self._exhausted:
                yield from self._conversation(name, system, conversation, left)

    def _conversation(
        self,
        name: str,
        system: System,
        conversation: Conversation,
        left: Sequence[tuple[Budget, int]],
    ) -> Iterator[Answer]:
        try:
            system.prepare(conversation)
        except AMemError as error:
            if self._marks(error):
                for budget, place in left:
                    failure = f"prepare: {_reason(error)}"
                    yield self._keep(Answer(name, budget, place, "", (), 0, failure))
            return
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="amem-eval")
        try:
            futures: list[Future[Answer | None]] = [
                pool.submit(self._one, name, system, budget, place) for budget, place in left
            ]
            for future in as_completed(futures):
                answer = future.result()
                if answer is not None:
                    yield self._keep(answer)
        finally:
            pool.shutdown(cancel_futures=True)

    def _one(self, name: str, system: System, budget: Budget, place: int) -> Answer | None:
        """None where a limit came between."""
        if self._exhausted:
            return None
        conversation, question = self._asked[place]
        evidence = Evidence("")
        try:
            evidence = system.evidence(conversation, question, budget)
            text, failure = self._reader.answer(conversation, question, evidence), None
        except AMemError as error:
            if not self._marks(error):
                return None
            text, failure = "", _reason(error)
        tokens = estimate_tokens(evidence.text)
        return Answer(name, budget, place, text, evidence.turns, tokens, failure)

    def _marks(self, error: AMemError) -> bool:
        """Whether it says something about a question, or only that a limit has been reached."""
        if isinstance(error, AnalysisError) and error.reason in _HOPELESS:
            raise error
        return _reason(error) != LIMIT and not (
            self._exhausted and isinstance(error, AnalysisError)
        )

    @property
    def _exhausted(self) -> bool:
        return self._model is not None and self._model.exhausted

    def _conversations(self) -> list[tuple[Conversation, list[int]]]:
        found: dict[str, tuple[Conversation, list[int]]] = {}
        for place, (conversation, _) in enumerate(self._asked):
            found.setdefault(conversation.id, (conversation, []))[1].append(place)
        return list(found.values())

    def _answered(self, name: str, budget: Budget, place: int) -> Answer | None:
        kept = self._kept.get(self._key(name, budget, place))
        if kept is None or kept["failure"] is not None:
            return None
        return Answer(name, budget, place, kept["text"], tuple(kept["turns"]), kept["tokens"])

    def _keep(self, answer: Answer) -> Answer:
        conversation, question = self._asked[answer.place]
        shown: dict[str, Any] = {
            "system": answer.system,
            "conversation": conversation.id,
            "category": question.category,
            "k": answer.budget.k,
            "text": answer.text,
            "turns": answer.turns,
            "tokens": answer.tokens,
            "failure": answer.failure,
        }
        self._kept.keep(self._key(answer.system, answer.budget, answer.place), shown)
        return answer

    def _key(self, name: str, budget: Budget, place: int) -> str:
        conversation, question = self._asked[place]
        means = self._means
        return fingerprint(
            __version__,
            [means.dataset.digest, conversation.id, conversation.questions.index(question)],
            [name, asdict(budget), self._reader.name, means.seed],
            [means.embedder.name, None if means.model is None else means.model.name],
        )


def _reason(error: AMemError) -> str:
    return error.reason if isinstance(error, AnalysisError) else type(error).__name__
